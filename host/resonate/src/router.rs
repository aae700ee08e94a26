//! The routes of the protocol, and their guards.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Json, Router,
    body::Body,
    extract::{Request as HttpRequest, State},
    http::{Extensions, HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use futures::TryStreamExt as _;
use serde::Deserialize;
use serde_json::{Value as Json_, json};

use super::{
    envelope::{OperationResult, ResonateRequest, UnreadableRequest, wrapped},
    handler::Resonate,
    operations, poll,
    protocol_error::ProtocolError,
};

/// Maximum size of a request, in bytes.
const LIMIT: usize = 8 * 1024 * 1024;

/// Number of bytes kept of a request that is not read completely, to identify it.
const BEGINNING: usize = 64 * 1024;

impl Resonate {
    /// Builds the routes of the protocol.
    pub fn router(&self) -> Router {
        let router = Router::new()
            .route("/", post(operate))
            .route("/poll/{group}/{worker}", get(poll::poll));
        let legacy = ["promises", "tasks", "schedules"];
        let router = legacy.into_iter().fold(router, |router, name| {
            router
                .route(&format!("/{name}"), any(legacy_rest))
                .route(&format!("/{name}/{{*rest}}"), any(legacy_rest))
        });
        let router = router.layer(middleware::from_fn_with_state(self.clone(), guard));
        let router = match self.settings.cors.layer([]) {
            Some(cors) => router.layer(cors),
            None => router,
        };
        router.with_state(self.clone())
    }
}

/// Checks the host and origin of a request, as for the native API; configured origins pass. Tokens
/// are checked when the request is answered.
async fn guard(State(front): State<Resonate>, mut request: HttpRequest, next: Next) -> Response {
    let is_allowed = front.settings.cors.allow(&request);
    if let Err(error) = front.access.check_sender(&request, is_allowed) {
        return plain(StatusCode::FORBIDDEN, &error.to_string());
    }
    if request.uri().path() != "/" {
        let now = front.host.env.clock.now();
        match front.access.rights_of(request.headers(), None, now) {
            Ok(rights) => request.extensions_mut().insert(rights),
            Err(error) => return plain(error.status(), &error.to_string()),
        };
    }
    next.run(request).await
}

/// Answers any operation.
async fn operate(
    State(front): State<Resonate>,
    headers: HeaderMap,
    came: Extensions,
    body: Body,
) -> Response {
    if let Err(refused) = plainly_encoded(&headers) {
        return told("unknown", "0", None, Err(refused));
    }
    // A request that is not admitted is still read, because the answer identifies the request.
    let (entry, full) = match front.api.let_in(&came).await {
        Ok(entry) => (Some(entry), None),
        Err(full) => (None, Some(full)),
    };
    let (body, beginning) = with_beginning(body);
    let unreadable =
        |UnreadableRequest { kind, corr_id, refused }| told(&kind, &corr_id, None, Err(refused));
    let (bytes, _room) = match front.api.read(&headers, body, entry, LIMIT, "of requests").await {
        Ok(read) => read,
        Err(error) => {
            let beginning = beginning.lock().unwrap_or_else(PoisonError::into_inner);
            return unreadable(ResonateRequest::unreadable(&beginning, error.into()));
        }
    };
    let mut request = match ResonateRequest::decode(&bytes) {
        Ok(request) => request,
        Err(refusal) => return unreadable(refusal),
    };
    let now = front.host.env.clock.now();
    let answer = match front.access.rights_of(&headers, request.auth.as_deref(), now) {
        Ok(rights) => match full {
            Some(full) => Err(full.into()),
            None => {
                request.rights = rights;
                operations::answer(&front, &request).await
            }
        },
        Err(error) => {
            Err(ProtocolError { status: error.status().as_u16(), message: error.to_string() })
        }
    };
    told(&request.kind, &request.corr_id, Some(&request), answer)
}

/// Keeps the beginning of a body while the body is read.
fn with_beginning(body: Body) -> (Body, Arc<Mutex<Vec<u8>>>) {
    let beginning = Arc::new(Mutex::new(Vec::new()));
    let kept = beginning.clone();
    let pieces = body.into_data_stream().inspect_ok(move |piece| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = BEGINNING.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..piece.len().min(room)]);
    });
    (Body::from_stream(pieces), beginning)
}

/// The ids in a request, for the log.
#[derive(Default, Deserialize)]
struct RequestIds {
    id: Option<String>,
    awaited: Option<String>,
}

/// Wraps the answer in its envelope. Some clients never show the sentence of a refusal, so it is
/// logged as well.
fn told(
    kind: &str,
    corr_id: &str,
    request: Option<&ResonateRequest>,
    answer: OperationResult,
) -> Response {
    if let Err(ProtocolError { status, message }) = &answer
        && tracing::enabled!(tracing::Level::DEBUG)
    {
        let data = request.map(|request| request.data.get());
        let about: RequestIds =
            data.and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
        let id = about.id.or(about.awaited).unwrap_or_default();
        tracing::debug!(kind, id, corr_id, status, message, "an operation was refused");
    }
    enveloped(wrapped(kind, corr_id, answer))
}

fn enveloped((status, reply): (u16, Json_)) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(reply)).into_response();
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Refuses compressed bodies: a small one could expand to an enormous size.
fn plainly_encoded(headers: &HeaderMap) -> Result<(), ProtocolError> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    match encoding.filter(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        None => Ok(()),
        Some(encoding) => Err(ProtocolError::bad(format!(
            "the body is encoded (content-encoding: {}): send it as it is",
            encoding.to_str().unwrap_or("unreadable")
        ))),
    }
}

async fn legacy_rest() -> Response {
    let message = "this is the protocol of an older server: send envelopes to POST / instead";
    plain(StatusCode::GONE, message)
}

/// Builds a refusal without the protocol's envelope.
pub(super) fn plain(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}
