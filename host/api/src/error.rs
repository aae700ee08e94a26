//! Errors of the API. Each has a row of the table of problems, and fields of its own.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use segno_blobs::BlobError;
use segno_guest::{SchemaMismatch, misfit_words};
use segno_store::StoreError;
use serde_json::{Map, Value, json};

use super::{
    model::{FailureView, HandlerKind, Problem},
    problem_kind::{self as kind, ProblemKind},
};

/// The reason why a request was refused or failed. [`ApiError::code`] is stable.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No such route exists.
    #[error("there is nothing at {path}; GET /openapi.json lists what there is")]
    UnknownRoute { path: String },
    /// The route exists for other methods.
    #[error("{method} is not a method of {path}")]
    WrongMethod { method: String, path: String },
    /// The body does not have the content type of the route.
    #[error("the body's content type is {given}; send {wanted}")]
    WrongContentType { given: String, wanted: &'static str },
    /// The body is larger than the limit.
    #[error("the body is larger than the limit of {limit} bytes ({setting})")]
    TooLarge {
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
    BadField { field: &'static str, reason: String },
    /// A header has an invalid value, or is missing.
    #[error("the header `{header}` {reason}")]
    BadHeader { header: String, reason: String },
    /// The body is not what the address takes.
    #[error("the body cannot be appended: {reason}")]
    BadBody { reason: String },
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
    BadTarget { target: String, reason: String },
    /// No module has this alias or digest.
    #[error("there is no module `{name}`; {}", known_words("there are", .known, "upload one with `segno deploy`"))]
    UnknownModule { name: String, known: Vec<String> },
    /// The module has no such function.
    #[error("module `{module}` has no function `{function}`; {}", known_words("it has", .known, "it has none"))]
    UnknownFunction { module: String, function: String, known: Vec<String> },
    /// A plan has faults.
    #[error("the plan cannot be run:{}", faults_words(.faults, *.more))]
    BadPlan { faults: Vec<SchemaMismatch>, more: usize },
    /// The input does not fit the function's schema.
    #[error("the input does not fit the schema of `{target}`: {}", misfit_words(.errors))]
    BadInput {
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
        name: String,
        function: String,
        /// The places that do not match, with reasons.
        errors: Vec<SchemaMismatch>,
    },
    /// The workflow does not accept this signal.
    #[error("`{function}` does not take the signal `{name}`: {}", known_words("it takes", .known, "it takes none"))]
    UnknownSignal {
        function: String,
        name: String,
        /// The signals that it accepts.
        known: Vec<String>,
    },
    /// The workflow has no such query or update.
    #[error("`{function}` has no {} `{name}`: {}", kind.as_str(), known_words("it has", .known, "it has none"))]
    UnknownHandler {
        kind: HandlerKind,
        function: String,
        name: String,
        /// The queries or updates that it has.
        known: Vec<String>,
    },
    /// The workflow answered a query with a failure, or refused an update.
    #[error("the {} `{name}` was refused: {} (code {})", kind.as_str(), failure.message, failure.code)]
    HandlerFailed { kind: HandlerKind, name: String, failure: FailureView },
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
    Settled { id: String, state: &'static str },
    /// The object's state does not allow the operation.
    #[error("`{id}` is {state}; {wanted}")]
    WrongState {
        id: String,
        state: String,
        /// The state that the operation requires.
        wanted: &'static str,
    },
    /// Another refusal of the engine.
    #[error("refused: {reason}")]
    Refused { kind: ProblemKind, reason: String },
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
    /// A blob was not read or written.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The host has no place for blobs.
    #[error("this host has no place for blobs: start it with `serve --blobs DIR` or s3://BUCKET")]
    NoBlobs,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Databases of several do not answer, so a list would be incomplete.
    #[error("{reason}; list what the other databases have with `partial=true`")]
    Incomplete {
        /// The error of the store.
        reason: StoreError,
        /// The addresses of these databases.
        missing: Vec<String>,
    },
    /// An internal fault of the host.
    #[error("a fault of the host: {0}")]
    Internal(String),
}

impl ApiError {
    /// A refusal of this kind that has no further fields.
    pub(crate) fn refused(kind: ProblemKind, reason: impl Into<String>) -> Self {
        Self::Refused { kind, reason: reason.into() }
    }

    /// The stable code, in kebab case.
    pub fn code(&self) -> &str {
        match self {
            Self::BadModule { code, .. } => code,
            other => other.row().0.code,
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.row().0.status
    }

    /// The kind of the problem, and the fields that its document has in addition.
    fn row(&self) -> (ProblemKind, Value) {
        let plain = |kind| (kind, Value::Null);
        let of = |kind, id: &String| (kind, json!({ "id": id }));
        match self {
            Self::UnknownRoute { .. } => plain(kind::UNKNOWN_ROUTE),
            Self::WrongMethod { .. } => plain(kind::METHOD_NOT_ALLOWED),
            Self::WrongContentType { .. } => plain(kind::UNSUPPORTED_MEDIA_TYPE),
            Self::TooLarge { limit, .. } => (kind::BODY_TOO_LARGE, json!({ "limit": limit })),
            Self::TooSlow { .. } => plain(kind::BODY_TOO_SLOW),
            Self::BrokenBody(_) => plain(kind::BROKEN_BODY),
            Self::BadJson { line, column, .. } => {
                (kind::INVALID_JSON, json!({ "line": line, "column": column }))
            }
            Self::BadQuery(_) => plain(kind::INVALID_QUERY),
            Self::BadPath(_) => plain(kind::INVALID_PATH),
            Self::BadField { field, .. } => (kind::INVALID_FIELD, json!({ "field": field })),
            Self::BadHeader { header, .. } => (kind::INVALID_HEADER, json!({ "header": header })),
            Self::BadBody { .. } => plain(kind::INVALID_BODY),
            Self::BadId(_) => plain(kind::INVALID_ID),
            Self::Unauthorized(_) => plain(kind::UNAUTHORIZED),
            Self::NoRights(_) => plain(kind::NOT_ALLOWED),
            Self::ForeignHost(_) => plain(kind::FOREIGN_HOST),
            Self::ForeignOrigin(_) => plain(kind::FOREIGN_ORIGIN),
            Self::NoCsrf => plain(kind::MISSING_CSRF),
            Self::BadTarget { .. } => plain(kind::INVALID_TARGET),
            Self::UnknownModule { name, known } => {
                (kind::UNKNOWN_MODULE, json!({ "module": name, "known": known }))
            }
            Self::UnknownFunction { module, function, known } => (
                kind::UNKNOWN_FUNCTION,
                json!({ "module": module, "function": function, "known": known }),
            ),
            Self::BadPlan { faults, more } => {
                (kind::INVALID_PLAN, json!({ "errors": misfits_json(faults), "more": more }))
            }
            Self::BadInput { target, errors } => {
                (kind::INVALID_INPUT, json!({ "target": target, "errors": misfits_json(errors) }))
            }
            Self::BadMessage { kind, name, function, errors } => {
                let errors = misfits_json(errors);
                let fields =
                    json!({ "kind": kind, "name": name, "function": function, "errors": errors });
                (kind::INVALID_VALUE, fields)
            }
            Self::UnknownSignal { function, name, known } => (
                kind::UNKNOWN_SIGNAL,
                json!({ "function": function, "name": name, "known": known }),
            ),
            Self::UnknownHandler { kind, function, name, known } => (
                match kind {
                    HandlerKind::Query => kind::UNKNOWN_QUERY,
                    HandlerKind::Update => kind::UNKNOWN_UPDATE,
                },
                json!({ "function": function, "name": name, "known": known }),
            ),
            Self::HandlerFailed { kind, name, failure } => (
                match kind {
                    HandlerKind::Query => kind::QUERY_FAILED,
                    HandlerKind::Update => kind::UPDATE_REFUSED,
                },
                json!({ "name": name, "failure": failure }),
            ),
            Self::UnknownInvocation(id) => of(kind::UNKNOWN_INVOCATION, id),
            Self::UnknownPromise(id) => of(kind::UNKNOWN_PROMISE, id),
            Self::UnknownTask(id) => of(kind::UNKNOWN_TASK, id),
            Self::NoTask(id) => of(kind::NO_TASK, id),
            Self::UnknownSchedule(id) => of(kind::UNKNOWN_SCHEDULE, id),
            Self::UnknownResource(id) => of(kind::UNKNOWN_RESOURCE, id),
            Self::IsInvocation(id) => of(kind::IS_AN_INVOCATION, id),
            Self::Settled { id, state } => {
                (kind::ALREADY_SETTLED, json!({ "id": id, "state": state }))
            }
            Self::WrongState { id, state, .. } => {
                (kind::WRONG_STATE, json!({ "id": id, "state": state }))
            }
            Self::Refused { kind, .. } => plain(*kind),
            Self::BadModule { report, .. } => (
                kind::INVALID_MODULE,
                report.as_ref().map_or(Value::Null, |report| json!({ "report": report })),
            ),
            Self::NotReady(_) => plain(kind::NOT_READY),
            Self::Overloaded(_) => plain(kind::OVERLOADED),
            Self::NoBlobs => plain(kind::NO_BLOBS),
            Self::Blob(BlobError::BadReference(_) | BlobError::LongId(_)) => {
                plain(kind::INVALID_ID)
            }
            Self::Blob(BlobError::ContentType(_)) => {
                (kind::INVALID_HEADER, json!({ "header": "content-type" }))
            }
            Self::Blob(BlobError::Absent(id)) => of(kind::UNKNOWN_BLOB, id),
            Self::Blob(BlobError::TooLarge { limit }) => {
                (kind::BODY_TOO_LARGE, json!({ "limit": limit }))
            }
            Self::Blob(BlobError::WrongDigest { announced, actual }) => (
                kind::WRONG_DIGEST,
                json!({ "announced": announced.to_string(), "actual": actual.to_string() }),
            ),
            Self::Blob(BlobError::Damaged { id, .. }) => of(kind::BLOB_DAMAGED, id),
            Self::Blob(BlobError::Unavailable { .. }) => plain(kind::BLOBS_UNAVAILABLE),
            Self::Store(StoreError::UnknownOutcome(_)) => plain(kind::UNKNOWN_OUTCOME),
            Self::Store(StoreError::Filter(_)) => plain(kind::INVALID_FILTER),
            Self::Store(StoreError::Conflict) => plain(kind::CONFLICT),
            Self::Store(StoreError::TooLong { .. }) => plain(kind::READ_TOO_LONG),
            Self::Store(_) => plain(kind::STORE_UNAVAILABLE),
            Self::Incomplete { missing, .. } => {
                (kind::STORE_UNAVAILABLE, json!({ "missing": missing }))
            }
            Self::Internal(_) => plain(kind::INTERNAL),
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
        let (kind, fields) = self.row();
        Problem {
            kind: format!("urn:segno:problem:{}", self.code()),
            title: kind.title.to_owned(),
            status: kind.status.as_u16(),
            detail,
            code: self.code().to_owned(),
            fields: match fields {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
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
