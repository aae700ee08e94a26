//! Streamable HTTP: the transport of rmcp behind the access rules of a host.

use std::{io, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use segno_api::AccessControl;
use segno_env::Env;
use segno_mcp::McpServer;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

/// The rules of requests.
#[derive(Clone)]
struct Guard {
    access: AccessControl,
    env: Env,
}

/// Serves sessions until SIGTERM or Ctrl-C.
///
/// # Errors
/// Signals cannot be awaited, or the listener failed.
pub(super) async fn serve(
    listener: TcpListener,
    server: McpServer,
    access: AccessControl,
    env: Env,
) -> io::Result<()> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // `AccessControl` checks `Host` and `Origin`, by the same rules as for a host.
    let config = StreamableHttpServerConfig::default().disable_allowed_hosts();
    let stopping = config.cancellation_token.clone();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.session()), sessions, config);
    let router = Router::new()
        .nest_service("/mcp", service)
        .layer(middleware::from_fn_with_state(Guard { access, env }, guard));
    let stop = async move {
        tokio::select! {
            biased;
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stopping.cancel();
    };
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}

/// Passes on requests of this server's own clients.
async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if let Err(refused) = guard.access.check_sender(&request, false) {
        return refused.into_response();
    }
    match guard.access.rights_of(request.headers(), None, guard.env.clock.now()) {
        Ok(_) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}
