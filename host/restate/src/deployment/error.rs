//! Reasons for refusing a handler's command.

use super::difference::HandlerDivergence;
use crate::{failure, immutable::ErrorMessage, version::ProtocolVersion};

/// The reason for refusing a handler's command. The driver must [fail](super::DeploymentAttempt::fail) the attempt
/// with [`AttemptError::to_message`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// The command differs from the journal.
    #[error(transparent)]
    Divergence(#[from] HandlerDivergence),
    /// The version in use lacks the feature.
    #[error("{feature} came with {since} of the protocol, and this attempt speaks {version}")]
    Unsupported {
        /// Name of the feature.
        feature: &'static str,
        /// The first version with the feature.
        since: ProtocolVersion,
        version: ProtocolVersion,
    },
    /// The handler waits for nothing that can arrive.
    #[error("the handler waits for nothing that can come")]
    EmptyWait,
    /// An outcome was proposed for something other than an open run.
    #[error("no run is waiting for an outcome under completion {completion_id}")]
    NoSuchRun { completion_id: u32 },
    /// The attempt is not ready yet, or is over.
    #[error("no attempt is in progress")]
    Closed,
}

impl AttemptError {
    /// Builds the error frame that reports this error.
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
