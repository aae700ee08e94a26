//! What the handlers share.

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::{PromiseId, TooLong, fits},
    reply::{Conflict, Refusal, Reply},
};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use axum::{
    Router,
    body::Body,
    http::{Extensions, HeaderMap, StatusCode},
};

use segno_engine::delivery::Reach;
use segno_engine::host::Host;
use segno_store::PromiseRow;

use super::{
    access::Access,
    admission::{Admission, AdmissionLimits, AdmissionTicket},
    body,
    catalog::Catalog,
    error::ApiError,
    inspector::ComponentInspector,
    reads::{Read, Reads},
};

/// Connections where nobody says otherwise.
pub const CONNECTIONS: usize = 4_096;
/// Of them, those from one address other than this machine's.
pub const CONNECTIONS_OF_A_PEER: usize = 3_072;

/// Everything behind the routes. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    /// The host that is spoken for.
    pub host: Host,
    /// Who checks uploads.
    pub inspector: Arc<dyn ComponentInspector>,
    /// Who may ask.
    pub access: Access,
    /// Where workers outside may be.
    pub reach: Reach,
    /// The largest component, in bytes.
    pub component_limit: usize,
    /// Ends long polls and readiness when the host stops.
    pub stopping: CancellationToken,
    /// Connections that may be open; a further one takes the place of one that is idle.
    pub connections: usize,
    /// Of them, those from one address other than this machine's.
    pub connections_of_a_peer: usize,
    /// How much is let in at once.
    pub admission: Admission,
    /// What clients look at.
    pub reads: Reads,
    /// Routes beside the API's own, with guards of their own.
    pub beside: Router,
    pub(super) catalog: Arc<Catalog>,
    /// Who counts for the metrics does so alone: there is nothing to be gained from counting twice at a time.
    pub(super) counts: Arc<tokio::sync::Mutex<()>>,
}

impl Api {
    /// An API for `host`.
    pub fn new(
        host: Host,
        inspector: Arc<dyn ComponentInspector>,
        access: Access,
        component_limit: usize,
    ) -> Self {
        Self {
            host,
            inspector,
            access,
            reach: Reach { private: true },
            component_limit,
            stopping: CancellationToken::new(),
            connections: CONNECTIONS,
            connections_of_a_peer: CONNECTIONS_OF_A_PEER,
            admission: Admission::new(AdmissionLimits::default()),
            reads: Reads::new(AdmissionLimits::default()),
            beside: Router::new(),
            catalog: Arc::default(),
            counts: Arc::default(),
        }
    }

    /// The same with other bounds on what is let in at once.
    #[must_use]
    pub fn admitting(self, limits: AdmissionLimits) -> Self {
        Self { admission: Admission::new(limits), reads: Reads::new(limits), ..self }
    }

    /// The store for a client that looks around, when there is a place for it.
    pub(crate) async fn look(&self) -> Result<Read, ApiError> {
        self.reads.place(&self.host).await
    }

    /// Room for one command, until this is dropped.
    pub(crate) async fn room(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.admission.command(&self.host.env).await
    }

    /// Lets one request in whose body is still to be read, if there is room, or if its connection has waited for it.
    pub(crate) async fn let_in(&self, came: &Extensions) -> Result<OwnedSemaphorePermit, ApiError> {
        match came.get().and_then(AdmissionTicket::take) {
            Some(place) => place,
            None => self.admission.request(&self.host.env).await,
        }
    }

    /// A body of at most `limit` bytes; what sets the limit is `setting`. It holds the place of a request that was let in;
    /// one that was not is read to be refused.
    pub(crate) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        entry: Option<OwnedSemaphorePermit>,
        limit: usize,
        setting: &'static str,
    ) -> Result<(Vec<u8>, impl Send + use<>), ApiError> {
        body::read(self, headers, body, entry, limit, setting).await
    }

    /// Sends one command, if there is room. A refusal is a reply here; only the store's failures are errors.
    pub(super) async fn execute(&self, command: Command) -> Result<Reply, ApiError> {
        let _room = self.room().await?;
        Ok(self.host.attempt(command).await?)
    }

    /// An invocation: a promise that a function produces.
    pub(super) async fn invocation(&self, id: &PromiseId) -> Result<PromiseRow, ApiError> {
        self.host
            .store
            .read()
            .promise(id)
            .await?
            .filter(|row| row.task.is_some())
            .ok_or_else(|| ApiError::UnknownInvocation(id.to_string()))
    }
}

/// The id of something that is to be made.
pub(super) fn new_id(id: String) -> Result<PromiseId, ApiError> {
    let id = promise_id(id)?;
    match fits("the id", id.as_str()) {
        Ok(()) => Ok(id),
        Err(TooLong { begins, .. }) => Err(ApiError::BadId {
            id: format!("{begins}…"),
            reason: "it has more than 2,048 bytes",
        }),
    }
}

/// The id of something that may be there. An earlier version may have made it, however long it is.
pub(super) fn promise_id(id: String) -> Result<PromiseId, ApiError> {
    let reason = match id.as_str() {
        "" => "it is empty",
        "." | ".." => "it would vanish from a path",
        _ if id.chars().any(char::is_control) => "it holds control characters",
        _ => return Ok(PromiseId::new(id)),
    };
    Err(ApiError::BadId { id: id.escape_debug().to_string(), reason })
}

/// A refusal of the engine to clients who spoke of the invocation `id`.
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
        other => ApiError::Refused {
            status: match other.code() {
                400 => StatusCode::BAD_REQUEST,
                409 => StatusCode::CONFLICT,
                500 => StatusCode::INTERNAL_SERVER_ERROR,
                _ => StatusCode::UNPROCESSABLE_ENTITY,
            },
            code: other.kind(),
            reason: other.to_string(),
        },
    }
}

/// A reply that the command cannot have.
pub(super) fn unexpected(reply: &Reply) -> ApiError {
    ApiError::Internal(format!("the engine gave an answer of the wrong kind: {reply:?}"))
}
