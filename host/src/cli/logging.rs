//! Log lines of a host, on standard error.

use std::fmt::{self, Write as _};

use clap::ValueEnum;
use tracing::{Subscriber, field::Field};
use tracing_subscriber::{
    EnvFilter, Layer,
    field::MakeExt as _,
    fmt::{
        MakeWriter,
        format::{self, Writer},
    },
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

use super::text::steers;

/// The default filter: warnings of all crates, and info lines of this host and of guests.
const USUALLY: &str = "warn,segno=info";

/// Prepended to `SEGNO_LOG`, unless it names these crates: only warnings of a compiler are useful
/// here, and at `debug` it writes tens of thousands of lines per module.
const QUIET: &str = "cranelift=warn,wasmtime=warn,regalloc2=warn,h2=warn,hyper=warn";

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Text for people.
    Text,
    /// A JSON object per line, for programs.
    Json,
}

/// Installs logging to standard error. An error describes an invalid `SEGNO_LOG`.
pub(super) fn to_standard_error(format: LogFormat) -> Result<(), String> {
    let given = std::env::var("SEGNO_LOG").ok();
    let (filter, checked) = match filter(given.as_deref()) {
        Ok(filter) => (filter, Ok(())),
        Err(reason) => (EnvFilter::new(USUALLY), Err(reason)),
    };
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let lines = lines(format, colours, std::io::stderr);
    // A second subscriber in one process (tests) is not an error.
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
    checked
}

/// The filter from `SEGNO_LOG`.
fn filter(given: Option<&str>) -> Result<EnvFilter, String> {
    let Some(given) = given.filter(|given| !given.trim().is_empty()) else {
        return Ok(EnvFilter::new(USUALLY));
    };
    EnvFilter::try_new(format!("{QUIET},{given}")).map_err(|error| {
        format!(
            "SEGNO_LOG is ignored: `{given}` is no filter ({error}); write it like \
             `info,segno_engine=debug`, with the levels error, warn, info, debug, trace and off"
        )
    })
}

/// Formats lines with the ids of their execution.
fn lines<S, W>(format: LogFormat, colours: bool, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Text => {
            let fields = format::debug_fn(field).delimited(" ");
            layer.with_ansi(colours).fmt_fields(fields).boxed()
        }
        LogFormat::Json => layer.json().flatten_event(true).with_span_list(false).boxed(),
    }
}

/// Writes a field of a text line. Fields contain text of guests and clients, which must neither
/// begin a new line nor control a terminal.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{}=", field.name())?;
    }
    write!(EscapingWriter(writer), "{value:?}")
}

/// Writes invisible characters as escapes.
struct EscapingWriter<'a, 'w>(&'a mut Writer<'w>);

impl fmt::Write for EscapingWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            match letter {
                letter if letter.is_control() => write!(self.0, "{}", letter.escape_default())?,
                letter if steers(letter) => write!(self.0, "{}", letter.escape_unicode())?,
                letter => self.0.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex, PoisonError},
    };

    use super::*;

    /// Keeps the written bytes.
    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The output while `says` runs.
    fn written(format: LogFormat, says: impl FnOnce()) -> String {
        let kept = LogBuffer::default();
        let writer = kept.clone();
        let lines = lines(format, false, move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, says);
        let bytes = kept.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("lines are text")
    }

    fn something() {
        let span =
            tracing::error_span!("execution", invocation = "order-1", version = 3, node = "a");
        span.in_scope(|| tracing::warn!(message = "the guest trapped", kind = "trap"));
        tracing::info!(target: "segno::guest", invocation = "order-1", line = 4, "charging");
    }

    #[test]
    fn a_json_line_is_an_object_with_the_ids_of_its_execution() {
        let text = written(LogFormat::Json, something);
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
            })
            .collect();
        assert_eq!(lines[0]["level"], "WARN");
        assert_eq!(lines[0]["message"], "the guest trapped");
        assert_eq!(lines[0]["span"]["invocation"], "order-1");
        assert_eq!(lines[0]["span"]["version"], 3);
        assert_eq!(lines[0]["span"]["node"], "a");
        assert_eq!(lines[1]["target"], "segno::guest");
        assert_eq!(lines[1]["invocation"], "order-1");
        assert_eq!(lines[1]["message"], "charging");
    }

    #[test]
    fn a_text_line_carries_the_same_ids() {
        let text = written(LogFormat::Text, something);
        let first = text.lines().next().expect("a line");
        for part in
            ["WARN", "invocation=\"order-1\"", "version=3", "node=\"a\"", "the guest trapped"]
        {
            assert!(first.contains(part), "{part}: {first}");
        }
    }

    #[test]
    fn compilers_are_quiet_unless_they_are_named() {
        let says = || {
            tracing::debug!(target: "cranelift_codegen::timing", "a pass");
            tracing::debug!(target: "wasmtime::compile", "a module");
            tracing::debug!(target: "segno_engine", "a task");
        };
        for (given, expected) in [
            (None, &[][..]),
            (Some("debug"), &["a task"]),
            (Some("debug,cranelift_codegen=debug"), &["a pass", "a task"]),
            (Some("wasmtime=debug"), &["a module"]),
        ] {
            let kept = LogBuffer::default();
            let writer = kept.clone();
            let lines = lines(LogFormat::Text, false, move || writer.clone());
            let subscriber = tracing_subscriber::registry()
                .with(lines.with_filter(filter(given).expect("a filter")));
            tracing::subscriber::with_default(subscriber, says);
            let bytes = kept.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let text = String::from_utf8(bytes).expect("lines are text");
            let said: Vec<&str> = text.lines().filter_map(|line| line.split(": ").last()).collect();
            assert_eq!(said, expected, "{given:?}");
        }
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_named() {
        let refused = filter(Some("segno=loud")).expect_err("there is no such level");
        assert!(refused.contains("`segno=loud` is no filter"), "{refused}");
        assert!(refused.contains("write it like"), "{refused}");
    }

    #[test]
    fn nothing_that_is_logged_begins_a_line_of_its_own_or_commands_a_terminal() {
        let forged = "sold\n2026-01-01T00:00:00Z  WARN segno: all is lost\r\u{1b}[2J\u{9b}1m\u{2028}\u{202e}x";
        let says = || {
            let span = tracing::error_span!("execution", invocation = %forged, node = forged);
            span.in_scope(|| {
                tracing::info!(target: "segno::guest", kind = forged, why = %forged, "{forged}");
            });
        };
        for colours in [false, true] {
            let kept = LogBuffer::default();
            let writer = kept.clone();
            let lines = lines(LogFormat::Text, colours, move || writer.clone());
            let subscriber = tracing_subscriber::registry().with(lines);
            tracing::subscriber::with_default(subscriber, says);
            let bytes = kept.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let text = String::from_utf8(bytes).expect("lines are text");
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(
                text.ends_with('\n')
                    && !text.trim_end().contains(['\r', '\u{9b}', '\u{2028}', '\u{202e}'])
            );
            assert!(!text.contains("\u{1b}[2J"), "{text}");
            assert_eq!(text.matches("\\n2026-01-01").count(), 5, "{text}");
            assert!(text.contains(r"\u{1b}[2J") && text.contains(r"\u{202e}x"), "{text}");
        }
        let json = written(LogFormat::Json, says);
        assert_eq!(json.lines().count(), 1, "{json}");
    }
}
