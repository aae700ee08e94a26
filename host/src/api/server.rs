//! Connections: how many there are, and how they end.

use std::{future::Future, io, pin::pin};

use axum::Router;
use segno_core::time::Millis;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::{Api, connection, figures::figures_only, router};

/// What was sent and not taken for so long tells that the other side is gone, or does not read any more.
#[cfg(target_os = "linux")]
const UNTAKEN_MS: u32 = 60_000;
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
        let answering = connection::answer(stream, router.clone(), api.clone());
        let tracked = open.track_future(async move {
            answering.await;
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
