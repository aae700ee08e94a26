//! Errors of guests, by who has to act.

use segno_core::id::Digest;

use super::Stop;

/// Why a poll or an attempt ended without an answer. The instance has been removed.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The [`Journal`](super::Journal) stopped the guest.
    #[error("{stop}")]
    Stopped {
        /// The reason.
        stop: Stop,
        /// The guest's stack, as far as it has names.
        backtrace: Option<String>,
    },
    /// The guest's own fault: a panic, an `unreachable`, a refused import.
    #[error("the guest trapped: {message}")]
    Trap {
        /// The trap's message, which names a setting or an alternative if there is one.
        message: String,
        /// The guest's stack, as far as it has names.
        backtrace: Option<String>,
    },
    /// The guest ran longer than the limit allows without returning.
    #[error(
        "the guest used more than {limit_ms} ms of CPU time in one call; raise `limits.cpu_ms`, or split the work into steps"
    )]
    OutOfTime {
        /// The limit, in milliseconds.
        limit_ms: u64,
        /// The guest's stack, as far as it has names.
        backtrace: Option<String>,
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
    /// Adds the guest's last output before the trap, which says more than the trap.
    pub(super) fn after(self, last_words: &str) -> Self {
        match self {
            Self::Trap { message, backtrace } if !last_words.is_empty() => Self::Trap {
                message: format!("{message}; it wrote to standard error: {last_words}"),
                backtrace,
            },
            other => other,
        }
    }
}
