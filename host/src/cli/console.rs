//! The output of a command: answers on one stream, remarks on the other, colours and progress for
//! people only.

use std::{
    io::{IsTerminal, Write},
    os::fd::AsFd,
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::{CliError, Color, show::plain_lines, table::TextTable, text};

/// Delay before progress is shown.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// The two streams and their settings.
pub struct Console {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    json: bool,
    styled: bool,
    styled_err: bool,
    progress: bool,
    speaks: bool,
    /// Width of the terminal that shows the answer, in columns. `None`: text is neither cut nor
    /// wrapped.
    width: Option<usize>,
    /// Width of the terminal that shows remarks, in columns.
    width_err: Option<usize>,
}

impl Console {
    /// A console on the process's own streams. With `full`, the width of the terminal is ignored.
    pub fn system(json: bool, color: Color, full: bool) -> Self {
        let styled = |is_terminal: bool, choice: anstream::ColorChoice| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && choice != anstream::ColorChoice::Never,
        };
        let (out, err) = (std::io::stdout(), std::io::stderr());
        Self {
            json,
            styled: !json && styled(out.is_terminal(), anstream::AutoStream::choice(&out)),
            styled_err: styled(err.is_terminal(), anstream::AutoStream::choice(&err)),
            progress: !json && err.is_terminal(),
            speaks: !json,
            width: columns(&out).filter(|_| !full),
            width_err: columns(&err),
            out: Box::new(anstream::AutoStream::always(out)),
            err: Box::new(anstream::AutoStream::always(err)),
        }
    }

    /// A console on these streams, without colours and progress.
    pub fn plain(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
        json: bool,
    ) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            json,
            styled: false,
            styled_err: false,
            progress: false,
            speaks: false,
            width: None,
            width_err: None,
        }
    }

    /// The same console, on terminals of this width.
    #[must_use]
    pub fn of_width(self, columns: usize) -> Self {
        Self { width: Some(columns), width_err: Some(columns), ..self }
    }

    /// Width of the terminal, in columns. `None`: text is neither cut nor wrapped.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// `text` on one line, cut to the columns that remain after `used` ones.
    pub fn fit(&self, text: &str, used: usize) -> String {
        let flat = text::plain(&text.replace(['\n', '\r', '\t'], " "));
        match self.width {
            Some(columns) => text::cut(&flat, columns.saturating_sub(used).max(8)),
            None => flat,
        }
    }

    /// Prints a paragraph of the answer: the first line after `lead`, and further ones indented by
    /// `indent` columns.
    pub fn paragraph(&mut self, lead: &str, text: &str, indent: usize) -> Result<(), CliError> {
        let columns =
            self.width.map_or(usize::MAX, |columns| columns.saturating_sub(indent).max(8));
        let used = text::width(lead).saturating_sub(indent);
        let text = &text::tame(text, self.styled);
        let text = text::wrap_after(used, text, columns).join(&format!("\n{:indent$}", ""));
        self.line(format!("{lead}{text}").trim_end())
    }

    /// Returns true if JSON was requested.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints a line of the answer, with terminal control characters escaped.
    pub fn line(&mut self, line: impl AsRef<str>) -> Result<(), CliError> {
        writeln!(self.out, "{}", text::tame(line.as_ref(), self.styled))?;
        Ok(())
    }

    /// Prints the answer as JSON.
    pub fn document(&mut self, document: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(document).map_err(std::io::Error::from)?;
        self.line(text::tame_json(text))
    }

    /// Prints a table, as wide as its content or the terminal.
    pub fn table(&mut self, table: &TextTable) -> Result<(), CliError> {
        for line in table.lines(self.width, self.styled) {
            self.line(line)?;
        }
        Ok(())
    }

    /// `text` in this colour, if colours are enabled.
    pub fn paint(&self, style: Style, text: &str) -> String {
        paint(self.styled, style, text)
    }

    /// Prints bytes unchanged; they must come from this program.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.out.write_all(bytes)?;
        Ok(())
    }

    /// Prints a remark.
    pub fn remark(&mut self, text: &str) {
        let columns = self.width_err.unwrap_or(usize::MAX);
        for line in text::wrap(&text::tame(text, self.styled_err), columns) {
            // A failure to write a remark is ignored: there is no other stream to report it on.
            let _ = writeln!(self.err, "{line}");
        }
    }

    /// Prints a warning.
    pub fn warn(&mut self, text: &str) {
        let lead = paint(self.styled_err, YELLOW.bold(), "warning:");
        self.remark(&format!("{lead} {text}"));
    }

    /// Prints an error: one line for people, a document for programs.
    pub fn error(&mut self, error: &CliError) {
        if matches!(error, CliError::Output(source) if source.kind() == std::io::ErrorKind::BrokenPipe)
        {
            return;
        }
        if self.json {
            let document = error.document();
            return self.remark(&text::tame_json(document.to_string()));
        }
        let lead = paint(self.styled_err, RED.bold(), "error:");
        self.remark(&format!("{lead} {}", plain_lines(&error.to_string(), 0)));
    }

    /// A progress bar; its length is set when known.
    pub fn bar(&self, text: &'static str) -> ProgressMeter {
        if !self.progress {
            return ProgressMeter { bar: None };
        }
        let style = "{msg} {wide_bar} {human_pos} of {human_len} rows ({eta})";
        let style =
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressMeter { bar: Some(ProgressBar::no_length().with_message(text).with_style(style)) }
    }

    /// A progress message, shown after one second, until dropped.
    pub fn progress(&self, text: impl Into<String>) -> ProgressMessage {
        if !self.progress {
            return ProgressMessage { bar: None, speaks: self.speaks };
        }
        let bar = ProgressBar::new_spinner().with_message(text::plain(&text.into()));
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let delayed = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PROGRESS_DELAY);
            if !delayed.is_finished() {
                delayed.set_draw_target(ProgressDrawTarget::stderr());
                delayed.enable_steady_tick(Duration::from_millis(120));
            }
        });
        ProgressMessage { bar: Some(bar), speaks: self.speaks }
    }
}

/// A progress bar, removed when dropped.
pub struct ProgressMeter {
    bar: Option<ProgressBar>,
}

impl ProgressMeter {
    /// Sets the total.
    pub fn expect(&self, all: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(all);
        }
    }

    /// Adds to the progress.
    pub fn advance(&self, by: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(by);
        }
    }
}

impl Drop for ProgressMeter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A progress message, removed when dropped.
pub struct ProgressMessage {
    bar: Option<ProgressBar>,
    /// True if steps are printed.
    speaks: bool,
}

impl ProgressMessage {
    /// Changes the message.
    pub fn say(&self, text: impl Into<String>) {
        if let Some(bar) = &self.bar {
            bar.set_message(text::plain(&text.into()));
        }
    }
}

impl segno_build::BuildProgress for ProgressMessage {
    /// Prints a step that stays on the screen, because it changed this machine.
    fn step(&self, message: &str) {
        let say = || anstream::eprintln!("{DIM}{message}{DIM:#}");
        match &self.bar {
            _ if !self.speaks => {}
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    fn line(&self, line: &str) {
        self.say(line.trim());
    }
}

impl Drop for ProgressMessage {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// For success.
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
/// For failure.
pub(super) const RED: Style = AnsiColor::Red.on_default();
/// For warnings.
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// For names.
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default();
/// For details.
pub(super) const DIM: Style = Style::new().dimmed();
/// For headings.
pub(super) const BOLD: Style = Style::new().bold();

/// Assumed width of a terminal of unknown width, in columns.
const COLUMNS: usize = 80;

/// Width of a terminal, in columns. `None` for other streams. The variable `COLUMNS` has precedence
/// over the terminal's own report.
fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked = || terminal_size::terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    given.or_else(asked).filter(|columns| *columns > 0).or(Some(COLUMNS))
}

fn paint(styled: bool, style: Style, text: &str) -> String {
    if styled { format!("{style}{text}{style:#}") } else { text.to_owned() }
}
