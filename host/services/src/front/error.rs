//! Refusals in the forms that clients of Restate expect.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use segno_api::ApiError;
use segno_core::reply::Refusal;
use segno_restate::wire;
use segno_store::StoreError;
use serde_json::{Map, Value as Json_, json};

use crate::UnknownHandler;

/// The answer to a caller, or a refusal.
pub(super) type IngressResult<T = Response> = Result<T, IngressError>;

/// The answer to an operator, or a refusal.
pub(super) type AdminResult<T = Response> = Result<T, AdminError>;

/// The header with the id of the invocation.
pub(super) const ID_HEADER: HeaderName = HeaderName::from_static("x-restate-id");

/// The reason why a request was refused, or the failure of a handler.
#[derive(Debug)]
pub(super) struct IngressError {
    status: StatusCode,
    code: u32,
    message: String,
    /// True if the error is the handler's failure.
    by_invocation: bool,
    id: Option<String>,
    metadata: Map<String, Json_>,
}

impl IngressError {
    /// Creates a refusal with this status.
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: status.into(),
            message: message.into(),
            by_invocation: false,
            id: None,
            metadata: Map::new(),
        }
    }

    /// Creates an error from the failure of an invocation.
    pub(super) fn of_invocation(id: &str, failure: wire::Failure) -> Self {
        let status = u16::try_from(failure.code).ok().filter(|code| (200..1_000).contains(code));
        let metadata = failure.metadata.into_iter().map(|fact| (fact.key, fact.value.into()));
        Self {
            by_invocation: true,
            id: Some(id.to_owned()),
            metadata: metadata.collect(),
            code: failure.code,
            ..Self::new(status.unwrap_or(500), failure.message)
        }
    }

    /// Removes the id, for an invocation that does not exist.
    pub(super) fn without_id(self) -> Self {
        Self { id: None, ..self }
    }

    /// Adds the id of the related invocation.
    pub(super) fn about(self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self }
    }
}

impl IntoResponse for IngressError {
    fn into_response(self) -> Response {
        let source = if self.by_invocation { "invocation" } else { "ingress" };
        let mut body = json!({ "code": self.code, "message": self.message, "source": source });
        if !self.metadata.is_empty() {
            body["metadata"] = Json_::Object(self.metadata);
        }
        let mut response = match self.by_invocation {
            true => (self.status, Json(body)).into_response(),
            false => answered(self.status, body),
        };
        if let Some(id) = self.id.and_then(|id| HeaderValue::from_str(&id).ok()) {
            response.headers_mut().insert(ID_HEADER, id);
        }
        response
    }
}

impl From<UnknownHandler> for IngressError {
    fn from(unknown: UnknownHandler) -> Self {
        match unknown {
            UnknownHandler::Service(_) | UnknownHandler::Handler { .. } => {
                Self::new(404, unknown.to_string())
            }
            UnknownHandler::Key(message) => Self::new(400, message),
            UnknownHandler::Store(error) => error.into(),
            UnknownHandler::Unreadable(error) => Self::new(500, error.to_string()),
        }
    }
}

/// The reason why an operator's request was refused.
#[derive(Debug)]
pub(super) struct AdminError {
    status: StatusCode,
    message: String,
    code: Option<&'static str>,
}

impl AdminError {
    /// Creates a refusal with this status.
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, message: message.into(), code: None }
    }

    /// Adds a Restate error code, which tools recognize.
    pub(super) fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }
}

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        let body = json!({ "message": self.message, "restate_code": self.code });
        answered(self.status, body)
    }
}

/// Builds the response. A temporary overload has a `Retry-After` header.
fn answered(status: StatusCode, body: Json_) -> Response {
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

impl From<UnknownHandler> for AdminError {
    fn from(unknown: UnknownHandler) -> Self {
        let IngressError { status, message, .. } = unknown.into();
        Self { status, message, code: None }
    }
}

macro_rules! refusals {
    ($($error:ident),+) => {$(
        impl From<StoreError> for $error {
            fn from(error: StoreError) -> Self {
                ApiError::from(error).into()
            }
        }

        impl From<Refusal> for $error {
            fn from(refusal: Refusal) -> Self {
                Self::new(refusal.code(), refusal.to_string())
            }
        }

        impl From<ApiError> for $error {
            fn from(error: ApiError) -> Self {
                Self::new(error.status().as_u16(), error.to_string())
            }
        }
    )+};
}
refusals!(IngressError, AdminError);
