//! Connections: how many, how slow they may be, and how they end.

use std::{future::Future, io, pin::pin, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use segno_core::time::Millis;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::{Api, figures::figures_only, router};

/// What was sent and not taken for so long tells that the other side is gone, or does not read any more.
#[cfg(target_os = "linux")]
const UNTAKEN_MS: u32 = 60_000;
/// A request's head must arrive within this time; also how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(60);
/// About so many bytes are read ahead or wait to be sent, for each connection. A longer head is refused.
const BUFFER: usize = 64 * 1024;
/// At the end, requests get this long to finish.
const GRACE: Millis = Millis(10_000);
/// After a failed accept (out of files, say).
const PAUSE: Millis = Millis(100);

/// Answers on `listener` until `stop` ends and the requests that were being answered then are done.
pub async fn serve(listener: TcpListener, api: Api, stop: impl Future<Output = ()>) {
    let router = router(api.clone());
    answer(listener, api.clone(), router, stop).await;
    api.stopping.cancel();
}

/// Answers for the figures alone on `listener`, until the host stops. Whoever reaches it needs no token.
pub async fn serve_figures(listener: TcpListener, api: Api) {
    let stopping = api.stopping.clone();
    answer(listener, api.clone(), figures_only(api), stopping.cancelled()).await;
}

async fn answer(listener: TcpListener, api: Api, router: Router, stop: impl Future<Output = ()>) {
    let surroundings = api.host.surroundings.clone();
    let room = std::sync::Arc::new(Semaphore::new(api.connections));
    let open = TaskTracker::new();
    let service = TowerToHyperService::new(router);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let (stream, permit) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                surroundings.runtime.sleep(PAUSE).await;
                continue;
            }
        };
        let connection = connection(stream, service.clone(), api.clone());
        let tracked = open.track_future(async move {
            connection.await;
            drop(permit);
        });
        surroundings.runtime.spawn("connection", Box::pin(tracked));
    }
    drop(listener);
    api.stopping.cancel();
    open.close();
    if surroundings.within(GRACE, open.wait()).await.is_none() {
        tracing::warn!("{} connections were still busy when the host stopped", open.len());
    }
}

async fn accept(
    listener: &TcpListener,
    room: &std::sync::Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    // Answers are small and complete: waiting for more to send only adds delay.
    stream.set_nodelay(true)?;
    // Somebody who vanished without a word would otherwise be sent to for a quarter of an hour.
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(&stream, UNTAKEN_MS)?;
    Ok((stream, permit))
}

async fn connection(stream: TcpStream, service: TowerToHyperService<Router>, api: Api) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        biased;
        ended = &mut connection => ended,
        () = api.stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}
