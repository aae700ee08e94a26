//! Refusals of operations: a status of the protocol, and a sentence.

use segno_api::ApiError;
use segno_core::reply::Refusal;
use segno_store::StoreError;

/// A refusal in an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {message}")]
pub struct ProtocolError {
    /// 400, 401, 403, 404, 409, 422, 429, 500 or 503.
    pub status: u16,
    /// The fault, and how to correct it if possible.
    pub message: String,
}

impl ProtocolError {
    /// The request is invalid.
    pub fn bad(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into() }
    }

    /// The caller has no valid token.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self { status: 401, message: message.into() }
    }

    /// The caller does not have the rights.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { status: 403, message: message.into() }
    }

    /// The object does not exist.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self { status: 404, message: message.into() }
    }

    /// An internal fault of the host.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { status: 500, message: message.into() }
    }
}

impl From<Refusal> for ProtocolError {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.code() {
            status @ (400 | 404 | 409 | 422) => status,
            _ => 500,
        };
        Self { status, message: refusal.to_string() }
    }
}

/// Converts the refusal of a request before it was parsed.
impl From<ApiError> for ProtocolError {
    fn from(error: ApiError) -> Self {
        let status = if matches!(error, ApiError::Overloaded(_)) { 429 } else { 400 };
        Self { status, message: error.to_string() }
    }
}

impl From<StoreError> for ProtocolError {
    fn from(error: StoreError) -> Self {
        let status = match error {
            StoreError::Filter(_) => 400,
            StoreError::Conflict
            | StoreError::UnknownOutcome(_)
            | StoreError::Unavailable { .. }
            | StoreError::Database { .. }
            | StoreError::Away { .. }
            | StoreError::TooLong { .. }
            | StoreError::Closed => 503,
        };
        Self { status, message: error.to_string() }
    }
}
