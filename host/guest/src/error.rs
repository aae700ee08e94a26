//! Errors of guests, by who has to act.

use segno_core::id::Digest;

use super::{Stop, backtrace::Backtrace, panics::Panic, text::cut};

/// Maximum size of a trap's message, in bytes.
const MESSAGE_BYTES: usize = 4 << 10;

/// Why a poll or an attempt ended without an answer. The instance has been removed.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The [`Journal`](super::Journal) stopped the guest.
    #[error("{stop}")]
    Stopped {
        /// The reason.
        stop: Stop,
        /// The guest's stack, as far as it has names.
        backtrace: Option<Backtrace>,
    },
    /// The code of the guest, in Rust, panicked.
    #[error("the guest {panic}")]
    Panicked {
        /// The place and the message.
        panic: Panic,
        /// The guest's stack, as far as it has names.
        backtrace: Option<Backtrace>,
    },
    /// The guest's own fault: an abort, a refused import.
    #[error("the guest trapped: {message}{}", quoted(.last_words))]
    Trap {
        /// The trap's message, which names a setting or an alternative if there is one.
        message: String,
        /// What the guest wrote to standard error before it; empty: nothing.
        last_words: String,
        /// The guest's stack, as far as it has names.
        backtrace: Option<Backtrace>,
    },
    /// The guest ran longer than the limit allows without returning.
    #[error(
        "the guest used more than {limit_ms} ms of CPU time in one call; raise `limits.cpu_ms`, or split the work into steps"
    )]
    OutOfTime {
        /// The limit, in milliseconds.
        limit_ms: u64,
        /// The guest's stack, as far as it has names.
        backtrace: Option<Backtrace>,
    },
    /// The guest returned more than the limit allows.
    #[error("the guest's {what} has {size} bytes; the limit is {limit} (`limits.output_bytes`)")]
    OutputTooLarge {
        /// The name of the value, for example "input of `ship`".
        what: String,
        /// The size of the value, in bytes.
        size: usize,
        /// The limit, in bytes.
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
        /// The name that was asked for.
        function: String,
        /// The functions of the module, for people.
        known: String,
    },
    /// A function of an object was called without a key.
    #[error("`{function}` is a function of an object and needs a key: call it as `{}`", with_key(.function))]
    NeedsKey {
        /// Its name in the module.
        function: String,
    },
    /// The execution began under settings that this host does not have.
    #[error("the execution began under other settings of the engine: {0}")]
    OtherEngine(String),
    /// The call computes for long, and the maximum number of such calls do so already. The call is
    /// put off; nothing is wrong with it.
    #[error("{limit} calls compute for long already (`limits.computing`)")]
    Crowded {
        /// The maximum number of such calls.
        limit: u32,
    },
    /// The host lacks resources, or could not prepare the module; nothing is wrong with the
    /// execution.
    #[error("the host could not run the module: {0}")]
    Host(String),
}

impl GuestError {
    /// The error in words, within a limit.
    pub fn message(&self) -> String {
        cut(self.to_string(), 2 * MESSAGE_BYTES)
    }

    /// The error without the guest's own words, in which a time or a number may differ: equal
    /// causes are equal traps.
    pub fn cause(&self) -> String {
        let cause = match self {
            Self::Panicked { panic, .. } => format!("the guest panicked at {}", panic.at),
            Self::Trap { message, .. } => format!("the guest trapped: {message}"),
            other => other.to_string(),
        };
        cut(cause, MESSAGE_BYTES)
    }

    /// The guest's stack, where one is known.
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

    /// Whether the guest's code is the cause: it would fail again in the same way.
    pub fn is_of_guest(&self) -> bool {
        match self {
            Self::Stopped { stop, .. } => !matches!(stop, Stop::Damaged(_)),
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

    /// A trap with this message, within its limit.
    pub(super) fn trap(message: String, last_words: String, backtrace: Option<Backtrace>) -> Self {
        Self::Trap { message: cut(message, MESSAGE_BYTES), last_words, backtrace }
    }
}

/// How a function of an object is called.
fn with_key(function: &str) -> String {
    match function.split_once('/') {
        Some((object, function)) => format!("{object}@KEY/{function}"),
        None => format!("{function}@KEY/…"),
    }
}

fn quoted(last_words: &str) -> String {
    match last_words {
        "" => String::new(),
        words => format!("; it wrote to standard error: {words}"),
    }
}
