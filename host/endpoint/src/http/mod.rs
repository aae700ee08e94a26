//! A component as a deployment over HTTP: HTTP/2 with prior knowledge, and HTTP/1.1, on one port.
//!
//! ```text
//! GET  /discover                    the manifest, in the newest version that the runtime reads
//! POST /invoke/SERVICE/HANDLER      one attempt: frames in both bodies
//! GET  /health                      200
//! ```
//!
//! Each path may have any prefix (`/shop/invoke/…`), as a proxy passes it on.

mod identity;

use std::{future::Future, io, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header, uri::PathAndQuery},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{get, post},
    serve::ListenerExt as _,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use segno_api::AccessControl;
use segno_core::time::Millis;
use segno_restate::{ProtocolVersion, manifest::ManifestVersion};
use tokio::net::TcpListener;

pub use self::identity::{IdentityKeyError, IdentityKeys};
use crate::{Endpoint, EndpointAttempt, SPOKEN};

/// The header in which a deployment names its software.
const SERVER: HeaderName = HeaderName::from_static("x-restate-server");
/// Oldest manifest version that this endpoint writes. Earlier ones lack documentation and metadata.
const OLDEST_MANIFEST: ManifestVersion = ManifestVersion::V2;
/// Time that attempts have to suspend when the process is to end.
const GRACE: Millis = Millis(10_000);

#[derive(Clone)]
struct EndpointState {
    endpoint: Arc<Endpoint>,
    callers: Arc<PermittedCallers>,
}

/// The permitted callers of an endpoint.
#[derive(Debug)]
pub enum PermittedCallers {
    /// Runtimes that sign their requests with one of these keys.
    Signed(IdentityKeys),
    /// Every client that reaches the endpoint under one of its names, except web pages: the same
    /// rule as for a host without a token.
    Anybody(AccessControl),
}

/// Serves until `stop` completes and attempts have had time to suspend.
///
/// # Errors
/// The listener failed.
pub async fn serve_endpoint(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    callers: PermittedCallers,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = endpoint_router(endpoint.clone(), callers);
    let (env, draining) = (endpoint.env.clone(), endpoint.draining.clone());
    let stopping = draining.clone();
    // Sends each frame when it is written. Otherwise the second of two frames would wait for an
    // acknowledgement from the peer.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        stop.await;
        stopping.cancel();
    });
    let overdue = async {
        draining.cancelled().await;
        env.runtime.sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        served = serving.into_future() => served,
        () = overdue => {
            tracing::warn!("attempts were still busy when the endpoint stopped; they are repeated");
            Ok(())
        }
    }
}

/// Builds the routes of an endpoint, for requests of these callers.
pub fn endpoint_router(endpoint: Arc<Endpoint>, callers: PermittedCallers) -> Router {
    let served = EndpointState { endpoint, callers: Arc::new(callers) };
    let routes = Router::new()
        .route("/discover", get(discover))
        .route("/invoke/{service}/{handler}", post(invoke))
        .layer(middleware::from_fn_with_state(served.clone(), guard))
        .route("/health", get(async || StatusCode::OK))
        .fallback(async || {
            refused(StatusCode::NOT_FOUND, "no such path; there are /discover, /invoke and /health")
        })
        .layer(middleware::map_response(named))
        .with_state(served);
    // Outside of the router, so that the path is changed before a route is chosen.
    Router::new().fallback_service(routes).layer(middleware::map_request(without_prefix))
}

/// Removes the prefix before a path of an endpoint.
async fn without_prefix(mut request: Request) -> Request {
    let segments: Vec<&str> = request.uri().path().split('/').collect();
    let own = match segments.as_slice() {
        [.., "invoke", service, handler] => format!("/invoke/{service}/{handler}"),
        [.., route @ ("discover" | "health")] => format!("/{route}"),
        _ => return request,
    };
    let Ok(own) = PathAndQuery::try_from(own) else { return request };
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(own);
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

/// Middleware that passes on requests of permitted callers.
async fn guard(State(served): State<EndpointState>, request: Request, next: Next) -> Response {
    let checked = match &*served.callers {
        PermittedCallers::Signed(identity) => {
            let now = served.endpoint.env.clock.now();
            let checked = identity.check(request.headers(), request.uri().path(), now);
            checked.map_err(|reason| (StatusCode::UNAUTHORIZED, reason.to_string()))
        }
        PermittedCallers::Anybody(access) => {
            let checked = access.check_sender(&request, false);
            checked.map_err(|reason| (StatusCode::FORBIDDEN, reason.to_string()))
        }
    };
    match checked {
        Ok(()) => next.run(request).await,
        Err((status, reason)) => refused(status, &reason),
    }
}

async fn named(mut response: Response) -> Response {
    let name = HeaderValue::from_static(concat!("segno/", env!("CARGO_PKG_VERSION")));
    response.headers_mut().insert(SERVER, name);
    response
}

async fn discover(State(served): State<EndpointState>, headers: HeaderMap) -> Response {
    let accept =
        headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let version = ManifestVersion::choose(accept).filter(|version| *version >= OLDEST_MANIFEST);
    let Some(version) = version else {
        let message = format!(
            "the manifest is written as `{}` and later; the request accepts `{accept}`",
            OLDEST_MANIFEST.media_type()
        );
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &message);
    };
    let manifest = served.endpoint.offer.manifest.write(version);
    ([(header::CONTENT_TYPE, version.media_type())], manifest).into_response()
}

async fn invoke(
    State(served): State<EndpointState>,
    Path((service, handler)): Path<(String, String)>,
    request: Request,
) -> Response {
    let endpoint = &served.endpoint;
    let Some(of) = endpoint.offer.handler(&service, &handler) else {
        let message = format!(
            "there is no handler `{handler}` of a service `{service}` here; it has {}",
            endpoint.offer.known(&service)
        );
        return refused(StatusCode::NOT_FOUND, &message);
    };
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let version = content_type.parse::<ProtocolVersion>();
    let version = match version {
        Ok(version) if SPOKEN.contains(version) => version,
        Ok(version) => {
            let message = format!("{version} of the protocol is not spoken here, but {SPOKEN}");
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &message);
        }
        Err(error) => return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error.to_string()),
    };
    let input = request.into_body().into_data_stream().map_err(|error| {
        tracing::debug!("a request broke off: {error}");
    });
    let attempt = endpoint.attempt(of, version, input.boxed());
    // The response begins immediately; dropping its body drops the attempt.
    let frames = stream::unfold(attempt, async |mut attempt: EndpointAttempt| {
        let bytes = attempt.next().await?;
        Some((Ok::<Bytes, io::Error>(bytes), attempt))
    });
    ([(header::CONTENT_TYPE, version.media_type())], Body::from_stream(frames)).into_response()
}

fn refused(status: StatusCode, message: &str) -> Response {
    (status, format!("{message}\n")).into_response()
}

#[cfg(test)]
mod tests;
