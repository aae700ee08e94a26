//! The listeners: number and end of connections.

use std::{future::Future, io, net::SocketAddr, pin::pin};

use axum::Router;
use segno_core::time::Millis;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use super::{Api, connection, connections::Connections, health, metrics::metrics_only, router};

/// Maximum time that sent bytes may stay unacknowledged, in milliseconds. After it the client is
/// considered gone, or no longer reading.
#[cfg(target_os = "linux")]
const UNTAKEN_MS: u32 = 60_000;
/// Time that requests have to finish when the host stops.
const GRACE: Millis = Millis(10_000);
/// Pause after a failed accept, for example because of missing file descriptors.
const PAUSE: Millis = Millis(100);

/// Interval between checks for slow heads.
const SWEEP: Millis = Millis(1_000);

/// Serves on `listener` until `stop` completes and the requests in progress then are done.
pub async fn serve(listener: TcpListener, api: Api, stop: impl Future<Output = ()>) {
    let router = router(api.clone());
    answer(listener, api.clone(), router, stop).await;
    api.stopping.cancel();
}

/// Serves only the metrics on `listener`, until the host stops. Clients need no token.
pub async fn serve_metrics(listener: TcpListener, api: Api) {
    let stopping = api.stopping.clone();
    answer(listener, api.clone(), metrics_only(api), stopping.cancelled()).await;
}

/// Serves other routes on `listener`, with separate guards, until the host stops.
pub async fn serve_beside(listener: TcpListener, api: Api, router: Router) {
    let stopping = api.stopping.clone();
    answer(listener, api, router, stopping.cancelled()).await;
}

async fn answer(listener: TcpListener, api: Api, router: Router, stop: impl Future<Output = ()>) {
    let env = api.host.env.clone();
    let (all, of_a_peer) = (api.connections, api.connections_of_a_peer);
    let connections = Connections::new(env.clock.clone(), all, of_a_peer);
    let health = health::only(api.clone());
    let open = TaskTracker::new();
    let mut stop = pin!(stop);
    let mut sweep = env.runtime.sleep(SWEEP);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            () = &mut sweep => {
                connections.end_slow_heads();
                sweep = env.runtime.sleep(SWEEP);
                continue;
            }
            accepted = accept(&listener) => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                env.runtime.sleep(PAUSE).await;
                continue;
            }
        };
        let entered = connections.enter(address.ip());
        let router = if entered.for_health { &health } else { &router };
        let mark = entered.mark.clone();
        let answering = connection::answer(stream, router.clone(), api.clone(), mark);
        let tracked = open.track_future(async move {
            answering.await;
            drop(entered);
        });
        env.runtime.spawn("connection", Box::pin(tracked));
    }
    drop(listener);
    api.stopping.cancel();
    open.close();
    if env.within(GRACE, open.wait()).await.is_none() {
        tracing::warn!("{} connections were still busy when the host stopped", open.len());
    }
}

async fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, address) = listener.accept().await?;
    // Answers are small and complete, so waiting for more bytes to send would only add delay.
    stream.set_nodelay(true)?;
    // Otherwise, data for a client that vanished silently would be retransmitted for a quarter of
    // an hour.
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(&stream, UNTAKEN_MS)?;
    Ok((stream, address))
}
