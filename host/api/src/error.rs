//! Errors of the API: one enum, with one problem document for each variant.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use segno_guest::{SchemaMismatch, misfit_words};
use segno_store::StoreError;
use serde_json::{Map, Value, json};

use super::model::{FailureView, HandlerKind, Problem};

/// The reason why a request was refused or failed. [`ApiError::code`] is stable.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No such route exists.
    #[error("there is nothing at {path}; GET /openapi.json lists what there is")]
    UnknownRoute {
        /// The path of the request.
        path: String,
    },
    /// The route exists for other methods.
    #[error("{method} is not a method of {path}")]
    WrongMethod {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
    },
    /// The body does not have the content type of the route.
    #[error("the body's content type is {given}; send {wanted}")]
    WrongContentType {
        /// The content type as sent.
        given: String,
        /// The content type to send.
        wanted: &'static str,
    },
    /// The body is larger than the limit.
    #[error("the body is larger than the limit of {limit} bytes ({setting})")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
        /// The setting that determines the limit.
        setting: &'static str,
    },
    /// The body came too slowly.
    #[error(
        "the body did not arrive in time: nothing came for {seconds} s, or less than 4 KiB a second, or it took too long \
         in all"
    )]
    TooSlow {
        /// Maximum silence between two pieces, in seconds.
        seconds: i64,
    },
    /// The connection broke while the body was read.
    #[error("the body could not be read: {0}")]
    BrokenBody(String),
    /// The body is not JSON, or not the expected JSON.
    #[error("the body is not what is expected: {reason}")]
    BadJson {
        /// The reason.
        reason: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The query is not the expected one.
    #[error("the query is not what is expected: {0}")]
    BadQuery(String),
    /// The path cannot be decoded.
    #[error("the path is not what is expected: {0}")]
    BadPath(String),
    /// A field has an invalid value.
    #[error("`{field}` {reason}")]
    BadField {
        /// The name of the field.
        field: &'static str,
        /// The reason.
        reason: String,
    },
    /// The text cannot be an id.
    #[error("{0}")]
    BadId(String),
    /// The token is missing or wrong.
    #[error(
        "{0}; send it as `Authorization: Bearer TOKEN` (`--token` or SEGNO_TOKEN for the command line)"
    )]
    Unauthorized(String),
    /// The token is valid but does not allow the request.
    #[error("{0}")]
    NoRights(String),
    /// The request is addressed to another host name.
    #[error("the Host header names `{0}`, which is not this host; allow it with `--name`")]
    ForeignHost(String),
    /// The request was made by a page of another site.
    #[error("requests from pages of `{0}` are refused")]
    ForeignOrigin(String),
    /// A request with a session's cookie lacks the header that pages of other sites cannot send.
    #[error(
        "the request has the cookie of a session and not its `x-segno-csrf`: send the `csrf` of GET /v1/session"
    )]
    NoCsrf,
    /// The target is not an address of a function.
    #[error(
        "`{target}` is not a function: {reason}; write MODULE/FUNCTION or wasm://MODULE/FUNCTION"
    )]
    BadTarget {
        /// The target as sent.
        target: String,
        /// The reason.
        reason: String,
    },
    /// No module has this alias or digest.
    #[error("there is no module `{name}`; {}", known_words("there are", .known, "upload one with `segno deploy`"))]
    UnknownModule {
        /// The name as sent.
        name: String,
        /// The aliases that exist.
        known: Vec<String>,
    },
    /// The module has no such function.
    #[error("module `{module}` has no function `{function}`; {}", known_words("it has", .known, "it has none"))]
    UnknownFunction {
        /// The name of the module.
        module: String,
        /// The name as sent.
        function: String,
        /// The functions of the module.
        known: Vec<String>,
    },
    /// A plan has faults.
    #[error("the plan cannot be run:{}", faults_words(.faults, *.more))]
    BadPlan {
        /// The reported faults.
        faults: Vec<SchemaMismatch>,
        /// Number of further faults.
        more: usize,
    },
    /// The input does not fit the function's schema.
    #[error("the input does not fit the schema of `{target}`: {}", misfit_words(.errors))]
    BadInput {
        /// The target of the call.
        target: String,
        /// The places that do not match, with reasons.
        errors: Vec<SchemaMismatch>,
    },
    /// The value of a promise or a signal, or the input of a query or an update, does not match the
    /// schema that the workflow declares.
    #[error("the value does not fit the {kind} `{name}` of `{function}`: {}", misfit_words(.errors))]
    BadMessage {
        /// Kind of the message: a promise, a signal, a query or an update.
        kind: &'static str,
        /// Name of the message.
        name: String,
        /// Name of the workflow function.
        function: String,
        /// The places that do not match, with reasons.
        errors: Vec<SchemaMismatch>,
    },
    /// The workflow does not accept this signal.
    #[error("`{function}` does not take the signal `{name}`: {}", known_words("it takes", .known, "it takes none"))]
    UnknownSignal {
        /// Name of the workflow function.
        function: String,
        /// The name as sent.
        name: String,
        /// The signals that it accepts.
        known: Vec<String>,
    },
    /// The workflow has no such query or update.
    #[error("`{function}` has no {} `{name}`: {}", kind.as_str(), known_words("it has", .known, "it has none"))]
    UnknownHandler {
        /// The requested kind.
        kind: HandlerKind,
        /// Name of the workflow function.
        function: String,
        /// The name as sent.
        name: String,
        /// The queries or updates that it has.
        known: Vec<String>,
    },
    /// The workflow answered a query with a failure, or refused an update.
    #[error("the {} `{name}` was refused: {} (code {})", kind.as_str(), failure.message, failure.code)]
    HandlerFailed {
        /// The requested kind.
        kind: HandlerKind,
        /// Name of the query or update.
        name: String,
        /// The workflow's failure.
        failure: FailureView,
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
    /// The resource has never been leased or written.
    #[error("there is no resource `{0}`: it was never leased or written")]
    UnknownResource(String),
    /// The promise belongs to an invocation, which settles it.
    #[error("`{0}` is an invocation, which settles itself; use cancel or kill")]
    IsInvocation(String),
    /// The promise is settled; nothing can change it.
    #[error("`{id}` has already ended: it is {state}")]
    Settled {
        /// The id of the promise.
        id: String,
        /// The state of the promise.
        state: &'static str,
    },
    /// The object's state does not allow the operation.
    #[error("`{id}` is {state}; {wanted}")]
    WrongState {
        /// The id of the object.
        id: String,
        /// The state of the object.
        state: String,
        /// The state that the operation requires.
        wanted: &'static str,
    },
    /// Another refusal of the engine.
    #[error("refused: {reason}")]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The stable code.
        code: &'static str,
        /// The reason.
        reason: String,
    },
    /// The uploaded component cannot be run.
    #[error("{reason}")]
    BadModule {
        /// A stable code for the fault.
        code: String,
        /// The fault, and how to correct it.
        reason: String,
        /// The report of the check, as far as it got.
        report: Option<Value>,
    },
    /// The host is stopping, or has not started yet.
    #[error("the host is {0}")]
    NotReady(&'static str),
    /// More requests arrive than the host can process.
    #[error("the host is overloaded: {0}; nothing was done, send it again in a moment")]
    Overloaded(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An internal fault of the host.
    #[error("a fault of the host: {0}")]
    Internal(String),
}

impl ApiError {
    /// The stable code, in kebab case.
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
            Self::BadId(_) => "invalid-id",
            Self::Unauthorized(_) => "unauthorized",
            Self::NoRights(_) => "not-allowed",
            Self::ForeignHost(_) => "foreign-host",
            Self::ForeignOrigin(_) => "foreign-origin",
            Self::BadTarget { .. } => "invalid-target",
            Self::UnknownModule { .. } => "unknown-module",
            Self::UnknownFunction { .. } => "unknown-function",
            Self::BadPlan { .. } => "invalid-plan",
            Self::BadInput { .. } | Self::BadMessage { .. } => "invalid-input",
            Self::UnknownSignal { .. } => "unknown-signal",
            Self::UnknownHandler { kind: HandlerKind::Query, .. } => "unknown-query",
            Self::UnknownHandler { kind: HandlerKind::Update, .. } => "unknown-update",
            Self::HandlerFailed { kind: HandlerKind::Query, .. } => "query-failed",
            Self::HandlerFailed { kind: HandlerKind::Update, .. } => "update-refused",
            Self::UnknownInvocation(_) => "unknown-invocation",
            Self::UnknownPromise(_) => "unknown-promise",
            Self::UnknownTask(_) | Self::NoTask(_) => "unknown-task",
            Self::UnknownSchedule(_) => "unknown-schedule",
            Self::UnknownResource(_) => "unknown-resource",
            Self::IsInvocation(_) => "is-an-invocation",
            Self::Settled { .. } => "already-settled",
            Self::WrongState { .. } => "wrong-state",
            Self::NoCsrf => "missing-csrf",
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
            | Self::UnknownHandler { .. }
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
            | Self::BadId(_)
            | Self::BadTarget { .. }
            | Self::Store(StoreError::Filter(_)) => StatusCode::BAD_REQUEST,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::NoRights(_) | Self::ForeignHost(_) | Self::ForeignOrigin(_) | Self::NoCsrf => {
                StatusCode::FORBIDDEN
            }
            Self::BadPlan { .. }
            | Self::BadInput { .. }
            | Self::BadMessage { .. }
            | Self::UnknownSignal { .. }
            | Self::HandlerFailed { .. }
            | Self::BadModule { .. } => StatusCode::UNPROCESSABLE_ENTITY,
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
            Self::BadId(_) => "Invalid id",
            Self::Unauthorized(_) => "Token needed",
            Self::NoRights(_) => "Not allowed by the token",
            Self::ForeignHost(_) => "Foreign host",
            Self::ForeignOrigin(_) => "Foreign origin",
            Self::NoCsrf => "CSRF header needed",
            Self::BadTarget { .. } => "Invalid target",
            Self::UnknownModule { .. } => "Unknown module",
            Self::UnknownFunction { .. } => "Unknown function",
            Self::BadPlan { .. } => "Invalid plan",
            Self::BadInput { .. } => "Input does not fit",
            Self::BadMessage { .. } => "Value does not fit",
            Self::UnknownSignal { .. } => "Unknown signal",
            Self::UnknownHandler { kind: HandlerKind::Query, .. } => "Unknown query",
            Self::UnknownHandler { kind: HandlerKind::Update, .. } => "Unknown update",
            Self::HandlerFailed { kind: HandlerKind::Query, .. } => "Query failed",
            Self::HandlerFailed { kind: HandlerKind::Update, .. } => "Update refused",
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
            Self::BadPlan { faults, more } => {
                json!({ "errors": misfits_json(faults), "more": more })
            }
            Self::BadInput { target, errors } => {
                json!({ "target": target, "errors": misfits_json(errors) })
            }
            Self::BadMessage { kind, name, function, errors } => {
                let errors = misfits_json(errors);
                json!({ "kind": kind, "name": name, "function": function, "errors": errors })
            }
            Self::UnknownSignal { function, name, known } => {
                json!({ "function": function, "name": name, "known": known })
            }
            Self::UnknownHandler { function, name, known, .. } => {
                json!({ "function": function, "name": name, "known": known })
            }
            Self::HandlerFailed { name, failure, .. } => {
                json!({ "name": name, "failure": failure })
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

    /// The problem document of the answer.
    pub fn problem(&self) -> Problem {
        let detail = match self {
            // The database's own message helps the operator.
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
            // An overloaded host should log little.
            Self::Overloaded(_) => tracing::debug!(code = self.code(), "{self}"),
            // The store has already logged it once.
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

fn misfits_json(errors: &[SchemaMismatch]) -> Vec<Value> {
    let json = |misfit: &SchemaMismatch| json!({ "path": misfit.path, "reason": misfit.reason });
    errors.iter().map(json).collect()
}

/// Formats the faults of a plan, one on each line.
fn faults_words(faults: &[SchemaMismatch], more: usize) -> String {
    let lines = faults.iter().map(|fault| match fault.path.as_str() {
        "" => format!("\n  {}", fault.reason),
        path => format!("\n  {path}: {}", fault.reason),
    });
    let rest = (more > 0).then(|| format!("\n  and {more} more"));
    lines.chain(rest).collect()
}
