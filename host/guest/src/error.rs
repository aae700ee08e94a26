//! What can go wrong with a guest, told apart by who has to act.

use segno_core::id::Digest;

use super::Stop;

/// Why a poll or an attempt ended without an answer. The instance is gone afterwards.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The [`Journal`](super::Journal) stopped it.
    #[error("{stop}")]
    Stopped {
        /// Why.
        stop: Stop,
        /// Where in the guest, as far as it has names.
        backtrace: Option<String>,
    },
    /// The guest's own fault: a panic, an unreachable, a refused import.
    #[error("the guest trapped: {message}")]
    Trap {
        /// The trap's message, in words that name a setting or an alternative where there is one.
        message: String,
        /// Where in the guest, as far as it has names.
        backtrace: Option<String>,
    },
    /// It ran longer than the limit allows without giving control back.
    #[error(
        "the guest used more than {limit_ms} ms of CPU time in one call; raise `limits.cpu_ms`, or split the work into steps"
    )]
    OutOfTime {
        /// The limit it met.
        limit_ms: u64,
        /// Where in the guest, as far as it has names.
        backtrace: Option<String>,
    },
    /// It answered with more than the limit allows.
    #[error("the guest's {what} has {size} bytes; the limit is {limit} (`limits.output_bytes`)")]
    OutputTooLarge {
        /// What was too large, for example "input of `ship`".
        what: String,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// No such module in this store.
    #[error("no module {0} is stored here")]
    NoSuchModule(Digest),
    /// The module has no such function.
    #[error("the module has no {kind} `{function}`; it has {known}")]
    NoSuchFunction {
        /// "workflow" or "activity".
        kind: &'static str,
        /// What was asked for.
        function: String,
        /// What it has, for people.
        known: String,
    },
    /// The execution began under settings that this host does not have.
    #[error("the execution began under other settings of the engine: {0}")]
    OtherEngine(String),
    /// It computes for long, and as many as may do so do already. Nothing is wrong with it: it is to be put off.
    #[error("{limit} calls compute for long already (`limits.computing`)")]
    Crowded {
        /// How many may.
        limit: u32,
    },
    /// The host lacks room or the module could not be made ready; nothing is wrong with the execution.
    #[error("the host could not run the module: {0}")]
    Host(String),
}

impl GuestError {
    /// Adds what the guest said before it trapped, which is more than the trap knows.
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
