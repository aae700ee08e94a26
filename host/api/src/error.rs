//! How the API says no: one enum, one problem document each.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use segno_store::StoreError;

use super::model::Problem;

/// A place in an input and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// A JSON pointer into the input; empty: the input itself.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

/// Why a request was refused or failed. [`ApiError::code`] is stable.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No such route.
    #[error("there is nothing at {path}; GET /openapi.json lists what there is")]
    UnknownRoute {
        /// The path.
        path: String,
    },
    /// The route exists for other methods.
    #[error("{method} is not a method of {path}")]
    WrongMethod {
        /// The method.
        method: String,
        /// The path.
        path: String,
    },
    /// The body is not of the type that the route takes.
    #[error("the body's content type is {given}; send {wanted}")]
    WrongContentType {
        /// As it was sent.
        given: String,
        /// As it should be.
        wanted: &'static str,
    },
    /// The body is larger than the limit.
    #[error("the body is larger than the limit of {limit} bytes ({setting})")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
        /// What sets it.
        setting: &'static str,
    },
    /// The body came too slowly.
    #[error(
        "the body did not arrive in time: nothing came for {seconds} s, or less than 4 KiB a second, or it took too long \
         in all"
    )]
    TooSlow {
        /// The limit between two pieces.
        seconds: i64,
    },
    /// The connection broke while the body was read.
    #[error("the body could not be read: {0}")]
    BrokenBody(String),
    /// The body is not JSON, or not the JSON that the route takes.
    #[error("the body is not what is expected: {reason}")]
    BadJson {
        /// What is wrong.
        reason: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// The query is not what the route takes.
    #[error("the query is not what is expected: {0}")]
    BadQuery(String),
    /// A path that cannot be read.
    #[error("the path is not what is expected: {0}")]
    BadPath(String),
    /// Something in the request has an impossible value.
    #[error("`{field}` {reason}")]
    BadField {
        /// The field.
        field: &'static str,
        /// Why not.
        reason: String,
    },
    /// The id cannot be one.
    #[error("`{id}` cannot be an id: {reason}")]
    BadId {
        /// The id.
        id: String,
        /// Why not.
        reason: &'static str,
    },
    /// No token, or a wrong one.
    #[error(
        "{0}; send it as `Authorization: Bearer TOKEN` (`--token` or SEGNO_TOKEN for the command line)"
    )]
    Unauthorized(String),
    /// A good token that does not allow this.
    #[error("{0}")]
    NoRights(String),
    /// The request was meant for another host name.
    #[error(
        "the Host header names `{0}`, which is not this host; allow it with `segno serve --name`"
    )]
    ForeignHost(String),
    /// The request was made by a page of another site.
    #[error("requests from pages of `{0}` are refused")]
    ForeignOrigin(String),
    /// The target is not an address of a function.
    #[error(
        "`{target}` is not a function: {reason}; write MODULE/FUNCTION or wasm://MODULE/FUNCTION"
    )]
    BadTarget {
        /// The target.
        target: String,
        /// Why not.
        reason: String,
    },
    /// No module has this alias or digest.
    #[error("there is no module `{name}`; {}", known_words("there are", .known, "upload one with `segno deploy`"))]
    UnknownModule {
        /// As it was asked for.
        name: String,
        /// The aliases that exist.
        known: Vec<String>,
    },
    /// The module has no such function.
    #[error("module `{module}` has no function `{function}`; {}", known_words("it has", .known, "it has none"))]
    UnknownFunction {
        /// The module.
        module: String,
        /// As it was asked for.
        function: String,
        /// The functions that it has.
        known: Vec<String>,
    },
    /// The input does not fit the function's schema.
    #[error("the input does not fit the schema of `{target}`: {}", misfit_words(.errors))]
    BadInput {
        /// The function.
        target: String,
        /// Where and why.
        errors: Vec<Misfit>,
    },
    /// No invocation has this id.
    #[error("there is no invocation `{0}`; `segno list` shows which there are")]
    UnknownInvocation(String),
    /// No promise has this id.
    #[error("there is no promise `{0}`")]
    UnknownPromise(String),
    /// No task has this id.
    #[error("there is no task `{0}`; `segno task list` shows which there are")]
    UnknownTask(String),
    /// The promise has no task.
    #[error("`{0}` is a promise that no function produces: it has no task")]
    NoTask(String),
    /// No schedule has this id.
    #[error("there is no schedule `{0}`; `segno schedule list` shows which there are")]
    UnknownSchedule(String),
    /// Nobody has taken or written this resource.
    #[error("there is no resource `{0}`: nobody has taken or written it")]
    UnknownResource(String),
    /// The promise is that of an invocation: nobody else may settle it.
    #[error("`{0}` is an invocation, which settles itself; use cancel or kill")]
    IsInvocation(String),
    /// It has ended; nothing can be done to it.
    #[error("`{id}` has already ended: it is {state}")]
    Settled {
        /// The id.
        id: String,
        /// How it ended.
        state: &'static str,
    },
    /// It is not in the state in which that can be done.
    #[error("`{id}` is {state}; {wanted}")]
    WrongState {
        /// The id.
        id: String,
        /// Where it stands.
        state: String,
        /// What it would have to be.
        wanted: &'static str,
    },
    /// Something else was refused by the engine.
    #[error("refused: {reason}")]
    Refused {
        /// The status that says so.
        status: StatusCode,
        /// Stable.
        code: &'static str,
        /// Why.
        reason: String,
    },
    /// An upload that cannot be run.
    #[error("{reason}")]
    BadModule {
        /// Stable: what is wrong.
        code: String,
        /// What is wrong and what to do.
        reason: String,
        /// The report as far as it got.
        report: Option<Value>,
    },
    /// The host is stopping or has not begun.
    #[error("the host is {0}")]
    NotReady(&'static str),
    /// More arrives than the host can take.
    #[error("the host is overloaded: {0}; nothing was done, send it again in a moment")]
    Overloaded(&'static str),
    /// The store did not answer as it should.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A fault of the host.
    #[error("a fault of the host: {0}")]
    Internal(String),
}

impl ApiError {
    /// Stable, in kebab case.
    pub fn code(&self) -> &str {
        match self {
            Self::UnknownRoute { .. } => "unknown-route",
            Self::WrongMethod { .. } => "method-not-allowed",
            Self::WrongContentType { .. } => "unsupported-media-type",
            Self::TooLarge { .. } => "body-too-large",
            Self::TooSlow { .. } => "body-too-slow",
            Self::BrokenBody(_) => "broken-body",
            Self::BadJson { .. } => "invalid-json",
            Self::BadQuery(_) => "invalid-query",
            Self::BadPath(_) => "invalid-path",
            Self::BadField { .. } => "invalid-field",
            Self::BadId { .. } => "invalid-id",
            Self::Unauthorized(_) => "unauthorized",
            Self::NoRights(_) => "not-allowed",
            Self::ForeignHost(_) => "foreign-host",
            Self::ForeignOrigin(_) => "foreign-origin",
            Self::BadTarget { .. } => "invalid-target",
            Self::UnknownModule { .. } => "unknown-module",
            Self::UnknownFunction { .. } => "unknown-function",
            Self::BadInput { .. } => "invalid-input",
            Self::UnknownInvocation(_) => "unknown-invocation",
            Self::UnknownPromise(_) => "unknown-promise",
            Self::UnknownTask(_) | Self::NoTask(_) => "unknown-task",
            Self::UnknownSchedule(_) => "unknown-schedule",
            Self::UnknownResource(_) => "unknown-resource",
            Self::IsInvocation(_) => "is-an-invocation",
            Self::Settled { .. } => "already-settled",
            Self::WrongState { .. } => "wrong-state",
            Self::Refused { code, .. } => code,
            Self::BadModule { code, .. } => code,
            Self::NotReady(_) => "not-ready",
            Self::Overloaded(_) => "overloaded",
            Self::Store(StoreError::UnknownOutcome(_)) => "unknown-outcome",
            Self::Store(StoreError::Conflict) => "conflict",
            Self::Store(StoreError::Filter(_)) => "invalid-query",
            Self::Store(StoreError::TooLong { .. }) => "read-too-long",
            Self::Store(_) => "store-unavailable",
            Self::Internal(_) => "internal",
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::UnknownRoute { .. }
            | Self::UnknownModule { .. }
            | Self::UnknownFunction { .. }
            | Self::UnknownInvocation(_)
            | Self::UnknownPromise(_)
            | Self::UnknownTask(_)
            | Self::NoTask(_)
            | Self::UnknownSchedule(_)
            | Self::UnknownResource(_) => StatusCode::NOT_FOUND,
            Self::WrongMethod { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::WrongContentType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::BrokenBody(_)
            | Self::BadJson { .. }
            | Self::BadQuery(_)
            | Self::BadPath(_)
            | Self::BadField { .. }
            | Self::BadId { .. }
            | Self::BadTarget { .. }
            | Self::Store(StoreError::Filter(_)) => StatusCode::BAD_REQUEST,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::NoRights(_) | Self::ForeignHost(_) | Self::ForeignOrigin(_) => {
                StatusCode::FORBIDDEN
            }
            Self::BadInput { .. } | Self::BadModule { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::IsInvocation(_) | Self::Settled { .. } | Self::WrongState { .. } => {
                StatusCode::CONFLICT
            }
            Self::Refused { status, .. } => *status,
            Self::NotReady(_) | Self::Overloaded(_) | Self::Store(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Self::UnknownRoute { .. } => "No such route",
            Self::WrongMethod { .. } => "Method not allowed",
            Self::WrongContentType { .. } => "Unsupported content type",
            Self::TooLarge { .. } => "Body too large",
            Self::TooSlow { .. } => "Body too slow",
            Self::BrokenBody(_) => "Body not read",
            Self::BadJson { .. } => "Invalid JSON",
            Self::BadQuery(_) => "Invalid query",
            Self::BadPath(_) => "Invalid path",
            Self::BadField { .. } => "Invalid field",
            Self::BadId { .. } => "Invalid id",
            Self::Unauthorized(_) => "Token needed",
            Self::NoRights(_) => "Not allowed by the token",
            Self::ForeignHost(_) => "Foreign host",
            Self::ForeignOrigin(_) => "Foreign origin",
            Self::BadTarget { .. } => "Invalid target",
            Self::UnknownModule { .. } => "Unknown module",
            Self::UnknownFunction { .. } => "Unknown function",
            Self::BadInput { .. } => "Input does not fit",
            Self::UnknownInvocation(_) => "Unknown invocation",
            Self::UnknownPromise(_) => "Unknown promise",
            Self::UnknownTask(_) => "Unknown task",
            Self::NoTask(_) => "No task",
            Self::UnknownSchedule(_) => "Unknown schedule",
            Self::UnknownResource(_) => "Unknown resource",
            Self::IsInvocation(_) => "Not settled from outside",
            Self::Settled { .. } => "Already settled",
            Self::WrongState { .. } => "Wrong state",
            Self::Refused { .. } => "Refused",
            Self::BadModule { .. } => "Module refused",
            Self::NotReady(_) => "Not ready",
            Self::Overloaded(_) => "Overloaded",
            Self::Store(StoreError::TooLong { .. }) => "Read took too long",
            Self::Store(_) => "Store unavailable",
            Self::Internal(_) => "Internal error",
        }
    }

    fn fields(&self) -> Map<String, Value> {
        let fields = match self {
            Self::TooLarge { limit, .. } => json!({ "limit": limit }),
            Self::BadJson { line, column, .. } => json!({ "line": line, "column": column }),
            Self::BadField { field, .. } => json!({ "field": field }),
            Self::UnknownModule { name, known } => json!({ "module": name, "known": known }),
            Self::UnknownFunction { module, function, known } => {
                json!({ "module": module, "function": function, "known": known })
            }
            Self::BadInput { target, errors } => {
                let errors: Vec<Value> = errors
                    .iter()
                    .map(|misfit| json!({ "path": misfit.path, "reason": misfit.reason }))
                    .collect();
                json!({ "target": target, "errors": errors })
            }
            Self::Settled { id, state } => json!({ "id": id, "state": state }),
            Self::WrongState { id, state, .. } => json!({ "id": id, "state": state }),
            Self::BadModule { report: Some(report), .. } => json!({ "report": report }),
            Self::UnknownInvocation(id)
            | Self::UnknownPromise(id)
            | Self::UnknownTask(id)
            | Self::NoTask(id)
            | Self::UnknownSchedule(id)
            | Self::UnknownResource(id)
            | Self::IsInvocation(id) => json!({ "id": id }),
            _ => Value::Null,
        };
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// The document that is answered.
    pub fn problem(&self) -> Problem {
        let detail = match self {
            // The database's own words help whoever runs the host.
            Self::Store(error) => match std::error::Error::source(error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            },
            other => other.to_string(),
        };
        Problem {
            kind: format!("urn:segno:problem:{}", self.code()),
            title: self.title().to_owned(),
            status: self.status().as_u16(),
            detail,
            code: self.code().to_owned(),
            fields: self.fields(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        match &self {
            // The busier it is, the less it should say.
            Self::Overloaded(_) => tracing::debug!(code = self.code(), "{self}"),
            // The store has said it, once.
            Self::Store(StoreError::Unavailable { .. }) | Self::NotReady(_) => {
                tracing::debug!(code = self.code(), "{self}");
            }
            _ if status.is_server_error() => tracing::error!(code = self.code(), "{self}"),
            _ => {}
        }
        let mut response = (status, Json(self.problem())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, IN_A_SECOND);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, BEARER);
        }
        response
    }
}

const PROBLEM_JSON: header::HeaderValue =
    header::HeaderValue::from_static("application/problem+json");
const IN_A_SECOND: header::HeaderValue = header::HeaderValue::from_static("1");
const BEARER: header::HeaderValue = header::HeaderValue::from_static("Bearer");

fn known_words(lead: &str, known: &[String], none: &str) -> String {
    if known.is_empty() {
        return none.to_owned();
    }
    format!("{lead} {}", known.join(", "))
}

fn misfit_words(errors: &[Misfit]) -> String {
    let words: Vec<String> = errors
        .iter()
        .map(|misfit| match misfit.path.as_str() {
            "" => misfit.reason.clone(),
            path => format!("at {path}: {}", misfit.reason),
        })
        .collect();
    words.join("; ")
}
