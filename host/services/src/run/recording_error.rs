//! The reason why a command cannot be recorded.

use crate::deployments::signals::AwakeableIdError;

/// The reason why a command cannot be recorded. The attempt fails, and another one may succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecordingError {
    /// No deployment has the handler.
    #[error("{0}")]
    Unknown(String),
    /// A handler may not issue this command.
    #[error("{0}")]
    Invalid(String),
}

impl From<AwakeableIdError> for RecordingError {
    fn from(refused: AwakeableIdError) -> Self {
        Self::Invalid(refused.to_string())
    }
}
