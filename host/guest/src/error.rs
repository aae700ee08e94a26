//! Errors of guests, grouped by the party that has to act.

use segno_core::id::Digest;

use super::{
    StopReason,
    backtrace::{Backtrace, BacktraceFrame},
    panics::Panic,
    text::cut,
};

/// Maximum size of a trap's message, in bytes.
const MESSAGE_BYTES: usize = 4 << 10;

/// The reason that a poll or an attempt ended without an answer. The instance has been removed.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The [`GuestJournal`](super::GuestJournal) stopped the guest.
    #[error("{stop}")]
    Stopped {
        stop: StopReason,
        /// The guest's stack, with names where known.
        backtrace: Option<Backtrace>,
    },
    /// The code panicked, as guests tell it.
    #[error("the code {panic}")]
    Panicked {
        /// The place and the message of the panic.
        panic: Panic,
        /// The guest's stack, with names where known.
        backtrace: Option<Backtrace>,
    },
    /// The guest trapped by its own fault, for example by an abort or a refused import.
    #[error("the guest trapped: {message}{}", quoted(.last_words))]
    Trap {
        /// The trap's message, which names a setting or an alternative if one exists.
        message: String,
        /// The guest's last output on standard error before the trap. Empty if it wrote nothing.
        last_words: String,
        /// The guest's stack, with names where known.
        backtrace: Option<Backtrace>,
    },
    /// The guest used more CPU time in one call than the limit allows.
    #[error(
        "the guest used more than {limit_ms} ms of CPU time in one call{}: look for a loop that does not end, split the work into steps, or raise `limits.cpu_ms`",
        at(.backtrace)
    )]
    OutOfTime {
        limit_ms: u64,
        /// The guest's stack, with names where known.
        backtrace: Option<Backtrace>,
    },
    /// The guest returned more than the limit allows.
    #[error("the guest's {what} has {size} bytes; the limit is {limit} (`limits.output_bytes`)")]
    OutputTooLarge {
        /// The name of the value, for example "input of `ship`".
        what: String,
        size: usize,
        limit: usize,
    },
    /// The module is not stored.
    #[error("no module {0} is stored here")]
    NoSuchModule(Digest),
    /// The module has no such function.
    #[error("the module has no {kind} `{function}`; it has {known}")]
    NoSuchFunction {
        /// Either "workflow" or "activity".
        kind: &'static str,
        /// The requested name.
        function: String,
        /// The functions of the module, listed for people.
        known: String,
    },
    /// A function of an object was called without a key.
    #[error("`{function}` is a function of an object and needs a key: call it as `{}`", with_key(.function))]
    NeedsKey {
        /// The function's name in the module.
        function: String,
    },
    /// The execution began under engine settings that this host does not have.
    #[error("the execution began under other settings of the engine: {0}")]
    OtherEngine(String),
    /// The call computes for long while the maximum number of such calls is running. The call is
    /// rejected and retried later; nothing is wrong with it.
    #[error("{limit} calls compute for long already (`limits.computing`)")]
    Crowded {
        /// The maximum number of calls that compute for long.
        limit: u32,
    },
    /// The host lacks resources, or could not prepare the module; nothing is wrong with the
    /// execution.
    #[error("the host could not run the module: {0}")]
    Host(String),
}

impl GuestError {
    /// The error as text, cut at a maximum length.
    pub fn message(&self) -> String {
        cut(self.to_string(), 2 * MESSAGE_BYTES)
    }

    /// The error without text from the guest, which may contain varying times or numbers: equal
    /// causes compare as equal traps.
    pub fn cause(&self) -> String {
        let cause = match self {
            Self::Panicked { panic, .. } => format!("the code failed at {}", panic.at),
            Self::Trap { message, .. } => format!("the guest trapped: {message}"),
            // It is at another line of its loop each time.
            Self::OutOfTime { limit_ms, .. } => {
                Self::OutOfTime { limit_ms: *limit_ms, backtrace: None }.to_string()
            }
            other => other.to_string(),
        };
        cut(cause, MESSAGE_BYTES)
    }

    /// The guest's stack. `None` if it is not known.
    pub fn backtrace(&self) -> Option<&Backtrace> {
        match self {
            Self::Stopped { backtrace, .. }
            | Self::Panicked { backtrace, .. }
            | Self::Trap { backtrace, .. }
            | Self::OutOfTime { backtrace, .. } => backtrace.as_ref(),
            Self::OutputTooLarge { .. }
            | Self::NoSuchModule(_)
            | Self::NoSuchFunction { .. }
            | Self::NeedsKey { .. }
            | Self::OtherEngine(_)
            | Self::Crowded { .. }
            | Self::Host(_) => None,
        }
    }

    /// Returns true if the guest's code is the cause, so that a retry would fail in the same way.
    pub fn is_of_guest(&self) -> bool {
        match self {
            Self::Stopped { stop, .. } => !matches!(stop, StopReason::Damaged(_)),
            Self::Panicked { .. }
            | Self::Trap { .. }
            | Self::OutOfTime { .. }
            | Self::OutputTooLarge { .. } => true,
            Self::NoSuchModule(_)
            | Self::NoSuchFunction { .. }
            | Self::NeedsKey { .. }
            | Self::OtherEngine(_)
            | Self::Crowded { .. }
            | Self::Host(_) => false,
        }
    }

    /// Creates a trap with this message, cut at its maximum length.
    pub(super) fn trap(message: String, last_words: String, backtrace: Option<Backtrace>) -> Self {
        Self::Trap { message: cut(message, MESSAGE_BYTES), last_words, backtrace }
    }
}

/// The notation for calling a function of an object.
fn with_key(function: &str) -> String {
    match function.split_once('/') {
        Some((object, function)) => format!("{object}@KEY/{function}"),
        None => format!("{function}@KEY/…"),
    }
}

/// The innermost place of the author's code, as the end of a clause. Empty if it is not known.
fn at(backtrace: &Option<Backtrace>) -> String {
    let places = backtrace.iter().flat_map(|backtrace| &backtrace.own);
    let place = places.filter_map(|frame| Some((frame, frame.file.as_ref()?, frame.line?))).next();
    match place {
        Some((BacktraceFrame { function, .. }, file, line)) if function.is_empty() => {
            format!(", at {file}:{line}")
        }
        Some((BacktraceFrame { function, .. }, file, line)) => {
            format!(", in `{function}` at {file}:{line}")
        }
        None => String::new(),
    }
}

fn quoted(last_words: &str) -> String {
    match last_words {
        "" => String::new(),
        words => format!("; it wrote to standard error: {words}"),
    }
}
