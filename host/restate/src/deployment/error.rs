//! Why an attempt does not do what a handler asks.

use super::difference::Divergence;
use crate::{failure, immutable::ErrorMessage, version::ProtocolVersion};

/// Why a handler's wish is refused. The attempt is to be [failed](Attempt::fail) with
/// [`AttemptError::to_message`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// The journal says something else.
    #[error(transparent)]
    Divergence(#[from] Divergence),
    /// The version in use does not have it.
    #[error("{feature} came with {since} of the protocol, and this attempt speaks {version}")]
    Unsupported {
        /// What.
        feature: &'static str,
        /// The version that has it.
        since: ProtocolVersion,
        /// The version in use.
        version: ProtocolVersion,
    },
    /// A wait that nothing can end.
    #[error("the handler waits for nothing that can come")]
    EmptyWait,
    /// The outcome of something that is no open run.
    #[error("no run is waiting for an outcome under completion {completion_id}")]
    NoSuchRun {
        /// The completion id.
        completion_id: u32,
    },
    /// The attempt has not begun, or is over.
    #[error("the attempt is not going on")]
    Closed,
}

impl AttemptError {
    /// The error that reports it.
    pub fn to_message(&self) -> ErrorMessage {
        let code = match self {
            Self::Divergence(divergence) => return divergence.to_message(),
            Self::Unsupported { .. } => failure::UNSUPPORTED_FEATURE,
            Self::EmptyWait | Self::NoSuchRun { .. } => failure::INTERNAL,
            Self::Closed => failure::CLOSED,
        };
        ErrorMessage::new(code, self.to_string())
    }
}
