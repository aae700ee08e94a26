//! Reads a Rust guest's panic from the line that the SDK logs before the trap.

use std::fmt;

use super::{
    FunctionKind, Level,
    backtrace::{Backtrace, is_library_path},
    platform,
    text::cut,
};

/// The beginning of the line, as written by the standard library.
const LEAD: &str = "panicked at ";
/// Maximum size of the message, in bytes.
pub(super) const PANIC_BYTES: usize = 4 << 10;

/// The place and the message of a panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic {
    /// File, line and column; in the author's code if the backtrace shows it.
    pub at: String,
    pub message: String,
    /// An alternative, if the code used something that a component does not have.
    pub hint: Option<&'static str>,
}

/// Returns true if this line reports a panic before its trap.
pub(super) fn is_panic(level: Level, line: &str) -> bool {
    level == Level::Error && line.starts_with(LEAD)
}

impl Panic {
    /// Parses the panic from a logged line, in a function of this kind.
    pub(super) fn read(
        line: &str,
        backtrace: Option<&Backtrace>,
        kind: FunctionKind,
    ) -> Option<Self> {
        let (place, message) = line.strip_prefix(LEAD)?.split_once('\n')?;
        let place = place.trim_end().trim_end_matches(':');
        let at = match author(backtrace) {
            Some(author) if is_library_path(place) => author,
            _ => place.to_owned(),
        };
        let message = cut(message.trim_end().to_owned(), PANIC_BYTES);
        Some(Self { at, hint: platform::hint(&message, kind), message })
    }
}

/// The innermost place in the author's code.
fn author(backtrace: Option<&Backtrace>) -> Option<String> {
    let frame = backtrace?.own.first()?;
    Some(format!("{}:{}:{}", frame.file.as_ref()?, frame.line?, frame.column?))
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed at {}: {}", self.at, self.message)?;
        match self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BacktraceFrame;

    fn stack(file: &str) -> Backtrace {
        let (function, file) = ("order".to_owned(), Some(file.to_owned()));
        let frame = BacktraceFrame { function, file, line: Some(12), column: Some(9) };
        Backtrace { text: String::new(), own: vec![frame] }
    }

    fn read(line: &str) -> String {
        let stack = stack("src/shop.rs");
        let panic = Panic::read(line, Some(&stack), FunctionKind::Workflow).expect("it is a panic");
        panic.to_string()
    }

    #[test]
    fn a_panic_is_placed_in_the_authors_code() {
        assert_eq!(
            read("panicked at src/lib.rs:3:5:\nno stock"),
            "failed at src/lib.rs:3:5: no stock"
        );
        assert_eq!(
            read(
                "panicked at /rustc/ac68/library/std/src/sys/time/unsupported.rs:35:9:\ntime not implemented on this platform"
            ),
            "failed at src/shop.rs:12:9: time not implemented on this platform; use `ctx.now()`, which a replay repeats, in place of `SystemTime` and `Instant`"
        );
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        let long = read(&format!("panicked at src/lib.rs:3:5:\n{}", "ž".repeat(PANIC_BYTES)));
        assert!(long.len() < PANIC_BYTES + 100 && long.ends_with("ž…"), "{}", long.len());
    }

    #[test]
    fn only_errors_that_begin_as_the_standard_library_writes_them_are_panics() {
        assert!(is_panic(Level::Error, "panicked at src/lib.rs:3:5:\nno stock"));
        assert!(!is_panic(Level::Warn, "panicked at src/lib.rs:3:5:\nno stock"));
        assert!(!is_panic(Level::Error, "the worker panicked at noon"));
        assert_eq!(Panic::read("panicked at noon", None, FunctionKind::Workflow), None);
    }
}
