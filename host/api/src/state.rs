//! Shared state of the route handlers.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use axum::{
    Router,
    http::{HeaderMap, StatusCode, header},
};
use segno_core::{
    command::Command,
    id::{MalformedName, PromiseId, check_name, fits},
    keyed_request::KeyReuseError,
    promise::Task,
    reply::{Conflict, Refusal, Reply},
    time::Timestamp,
};
use segno_engine::{delivery::Reach, host::Host};
use segno_store::PromiseRow;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::{
    access::{
        AccessControl,
        sessions::{BrowserSession, BrowserSessions},
    },
    admission::{Admission, AdmissionLimits},
    catalog::Catalog,
    error::ApiError,
    inspector::ComponentInspector,
    origins::AllowedOrigins,
    problem_kind::ProblemKind,
    reads::{PermittedRead, ReadPermits},
};

/// Default maximum number of open connections.
pub const CONNECTIONS: usize = 4_096;
/// Default maximum number of open connections from one address other than this machine's.
pub const CONNECTIONS_OF_A_PEER: usize = 3_072;

/// Maximum number of concurrent uploads of blobs.
const UPLOADS: usize = 16;

/// The API of a host. A clone shares its state until one of the two is changed.
#[derive(Clone)]
pub struct Api(Arc<ApiState>);

/// Shared state of the route handlers.
#[derive(Clone)]
pub struct ApiState {
    /// The host behind the API.
    pub host: Host,
    /// Checks uploads.
    pub inspector: Arc<dyn ComponentInspector>,
    /// Checks who may send requests.
    pub access: AccessControl,
    /// The addresses at which external workers may be reached.
    pub reach: Reach,
    /// Maximum size of a component, in bytes.
    pub component_limit: usize,
    /// Cancelled when the host stops; ends long polls and readiness.
    pub stopping: CancellationToken,
    /// Maximum number of open connections; a further one replaces an idle one.
    pub connections: usize,
    /// Maximum number of open connections from one address other than this machine's.
    pub connections_of_a_peer: usize,
    /// Permits for requests, commands and bodies.
    pub admission: Admission,
    /// Permits for reads of clients.
    pub reads: ReadPermits,
    /// Permits for uploads of blobs, each of which takes a few parts of memory.
    pub uploads: Arc<Semaphore>,
    /// Foreign origins whose pages may read and write streams.
    pub origins: AllowedOrigins,
    /// Additional routes, with separate guards.
    pub beside: Router,
    pub(super) catalog: Arc<Catalog>,
    pub(super) sessions: Arc<BrowserSessions>,
    /// Serializes the counts for metrics: concurrent counts would be redundant.
    pub(super) counts: Arc<tokio::sync::Mutex<()>>,
}

impl Deref for Api {
    type Target = ApiState;

    fn deref(&self) -> &ApiState {
        &self.0
    }
}

impl DerefMut for Api {
    fn deref_mut(&mut self) -> &mut ApiState {
        Arc::make_mut(&mut self.0)
    }
}

impl Api {
    /// Creates an API for `host`.
    pub fn new(
        host: Host,
        inspector: Arc<dyn ComponentInspector>,
        access: AccessControl,
        component_limit: usize,
    ) -> Self {
        Self(Arc::new(ApiState {
            host,
            inspector,
            access,
            reach: Reach { private: true },
            component_limit,
            stopping: CancellationToken::new(),
            connections: CONNECTIONS,
            connections_of_a_peer: CONNECTIONS_OF_A_PEER,
            admission: Admission::new(AdmissionLimits::default()),
            reads: ReadPermits::new(AdmissionLimits::default()),
            uploads: Arc::new(Semaphore::new(UPLOADS)),
            origins: AllowedOrigins::default(),
            beside: Router::new(),
            catalog: Arc::default(),
            sessions: Arc::default(),
            counts: Arc::default(),
        }))
    }

    /// Sets other admission limits.
    #[must_use]
    pub fn admitting(mut self, limits: AdmissionLimits) -> Self {
        self.admission = Admission::new(limits);
        self.reads = ReadPermits::new(limits);
        self
    }

    /// Returns the session of the sender of these headers, if the host requires a token and they
    /// contain none.
    pub(crate) fn session(&self, headers: &HeaderMap, now: Timestamp) -> Option<BrowserSession> {
        let asks = self.access.needs_token() && !headers.contains_key(header::AUTHORIZATION);
        asks.then(|| self.sessions.find(headers, now)).flatten()
    }

    /// Returns the store for client reads, with a read permit.
    pub async fn look(&self) -> Result<PermittedRead, ApiError> {
        self.reads.place(&self.host).await
    }

    /// Waits for a permit for one command, held until dropped.
    pub async fn room(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.admission.command(&self.host.env).await
    }

    /// Sends one command, with a permit. A refusal is returned as a reply; only failures of the
    /// store are errors.
    pub async fn execute(&self, command: Command) -> Result<Reply, ApiError> {
        let _room = self.room().await?;
        Ok(self.host.attempt(command).await?)
    }

    /// Returns the generation of an invocation that an id refers to: the newest one, unless the id
    /// names a generation (`ID/g/1` is the first).
    pub(super) async fn generation(&self, id: String) -> Result<PromiseId, ApiError> {
        let stored = self.stored_id(id.clone()).await?;
        if stored.as_str() != id {
            return Ok(stored);
        }
        let newest = self.task(&stored).await?.as_ref().and_then(Task::newest);
        Ok(newest.unwrap_or(stored))
    }

    /// Returns the id under which an invocation is stored: the first generation, `ID/g/1`, is
    /// stored as `ID`.
    pub(super) async fn stored_id(&self, id: String) -> Result<PromiseId, ApiError> {
        let id = promise_id(id)?;
        if let Some(first) = id.as_str().strip_suffix("/g/1").map(PromiseId::from)
            && self.task(&first).await?.is_some_and(|task| task.successors > 0)
        {
            return Ok(first);
        }
        Ok(id)
    }

    async fn task(&self, id: &PromiseId) -> Result<Option<Task>, ApiError> {
        Ok(self.host.store.read().promise(id).await?.and_then(|row| row.task))
    }

    /// Reads an invocation: a promise that a function produces.
    pub async fn invocation(&self, id: &PromiseId) -> Result<PromiseRow, ApiError> {
        self.host
            .store
            .read()
            .promise(id)
            .await?
            .filter(|row| row.task.is_some())
            .ok_or_else(|| ApiError::UnknownInvocation(id.to_string()))
    }
}

/// Validates the id of a new object.
pub(super) fn new_id(id: String) -> Result<PromiseId, ApiError> {
    let id = promise_id(id)?;
    check_name("the id", id.as_str()).map_err(|bad| ApiError::BadId(bad.to_string()))?;
    fits("the id", id.as_str()).map_err(|long| ApiError::BadId(long.to_string()))?;
    Ok(id)
}

/// Validates the id of an object that may exist. Earlier versions may have created it with any
/// length, from blanks, or below an execution with any name.
pub(super) fn promise_id(id: String) -> Result<PromiseId, ApiError> {
    let is_named = |id: &str| id.contains("/p/");
    let is_possible = match id.as_str() {
        "" | "." | ".." => false,
        _ => is_named(&id) || !id.chars().any(char::is_control),
    };
    match check_name("the id", &id) {
        Err(bad) if !is_possible => Err(ApiError::BadId(bad.to_string())),
        _ => Ok(PromiseId::new(id)),
    }
}

/// Converts a refusal of the engine that concerns the invocation `id`.
pub(super) fn refused(id: &PromiseId, refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::NotFound(missing) => ApiError::UnknownInvocation(missing.to_string()),
        Refusal::Conflict(Conflict::PromiseSettled(_)) => {
            ApiError::Settled { id: id.to_string(), state: "settled" }
        }
        Refusal::Conflict(Conflict::WrongState { id, status }) => ApiError::WrongState {
            id: id.to_string(),
            state: status.to_string(),
            wanted: "this can be done to halted invocations only",
        },
        other => {
            let status = match other.code() {
                400 => StatusCode::BAD_REQUEST,
                409 => StatusCode::CONFLICT,
                500 => StatusCode::INTERNAL_SERVER_ERROR,
                _ => StatusCode::UNPROCESSABLE_ENTITY,
            };
            ApiError::refused(ProblemKind::of_engine(status, other.kind()), other.to_string())
        }
    }
}

/// Builds the error for a field with an invalid name.
pub(super) fn bad_name(field: &'static str, bad: &MalformedName) -> ApiError {
    ApiError::BadField { field, reason: format!("cannot be used: {bad}") }
}

impl From<KeyReuseError> for ApiError {
    fn from(reused: KeyReuseError) -> Self {
        let refusal = Refusal::from(reused);
        let kind = ProblemKind::of_engine(StatusCode::CONFLICT, refusal.kind());
        Self::refused(kind, refusal.to_string())
    }
}

/// Builds the error for a reply that the command cannot have.
pub fn unexpected(reply: &Reply) -> ApiError {
    ApiError::Internal(format!("the engine gave an answer of the wrong kind: {reply:?}"))
}
