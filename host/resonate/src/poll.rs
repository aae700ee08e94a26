//! The stream of messages to one worker: server-sent events, one for each message.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension,
    body::Body,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use segno_api::{ClientRights, EndsWithClient};
use segno_core::{command::Command, id::Holder, time::Millis};

use super::{
    handler::Resonate,
    router::plain,
    streams::{StreamMessages, WorkerStreams},
    tasks,
};

/// Time without messages after which a comment is sent, so that dead connections are detected.
const READ_IDLE_TIMEOUT: Millis = Millis::seconds(15);
const PING: Bytes = Bytes::from_static(b": ping\n\n");
const HELLO: Bytes = Bytes::from_static(b": connected\n\n");
const NAME_LIMIT: usize = 512;

/// An open stream; dropping it closes it.
struct PollStream {
    front: Resonate,
    streams: Arc<WorkerStreams>,
    group: String,
    worker: String,
    number: u64,
    messages: StreamMessages,
    rights: ClientRights,
    greeted: bool,
}

/// Opens a stream.
pub(super) async fn poll(
    State(front): State<Resonate>,
    Extension(rights): Extension<ClientRights>,
    Path((group, worker)): Path<(String, String)>,
) -> Response {
    if group.len() > NAME_LIMIT || worker.len() > NAME_LIMIT {
        let message = "the names of groups and workers have at most 512 bytes";
        return plain(StatusCode::BAD_REQUEST, message);
    }
    let Some(stream) = front.streams.open(&group, &worker, &rights) else {
        let limit = front.settings.streams;
        let message = format!("{limit} streams are open, and no more are allowed (`--streams`)");
        return plain(StatusCode::SERVICE_UNAVAILABLE, &message);
    };
    tracing::debug!(group, worker, "a worker listens");
    let waiting = stream.waiting;
    let listening = PollStream {
        streams: front.streams.clone(),
        front: front.clone(),
        group,
        worker,
        number: stream.number,
        messages: stream.messages,
        rights,
        greeted: false,
    };
    if !waiting.is_empty() {
        let offering = async move { front.deliverer.offer(waiting).await };
        let runtime = listening.front.host.env.runtime.clone();
        runtime.spawn("offer", Box::pin(offering));
    }
    let frames = futures::stream::unfold(listening, |mut listening| async move {
        let frame = listening.next().await?;
        Some((Ok::<_, Infallible>(frame), listening))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Extension(EndsWithClient), Body::from_stream(frames)).into_response()
}

impl PollStream {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.greeted {
            // Sent first, so that the client knows immediately that it is connected.
            self.greeted = true;
            return Some(HELLO);
        }
        let env = &self.front.host.env;
        // A stream ends when its token expires.
        let left = self.rights.until().since(env.clock.now());
        if left <= Millis(0) {
            return None;
        }
        tokio::select! {
            biased;
            () = self.front.stopping.cancelled() => None,
            message = self.messages.recv() => Some(frame(&message?)),
            () = env.runtime.sleep(READ_IDLE_TIMEOUT.min(left)) => Some(PING),
        }
    }
}

impl Drop for PollStream {
    fn drop(&mut self) {
        let was_last = self.streams.close(&self.group, self.number);
        let Some(grace) = self.front.settings.grace else { return };
        if was_last && !self.front.stopping.is_cancelled() {
            let (front, worker) = (self.front.clone(), std::mem::take(&mut self.worker));
            let env = self.front.host.env.clone();
            let rights = self.rights.clone();
            let leaving = async move { left(&front, &worker, &rights, grace).await };
            env.runtime.spawn("departure", Box::pin(leaving));
        }
    }
}

/// Releases the claims of a worker whose streams closed. A worker that reconnects or sends a
/// heartbeat within the grace period keeps its claims.
async fn left(front: &Resonate, worker: &str, rights: &ClientRights, grace: Millis) {
    let closed_at = front.host.env.clock.now();
    front.host.env.runtime.sleep(grace).await;
    if front.streams.is_open(worker) || front.stopping.is_cancelled() {
        return;
    }
    // Any client may open a stream under any name, so claims are released only if the client has
    // rights over all of them.
    let own = match rights.prefix() {
        None => true,
        Some(_) => tasks::held(front, worker, None)
            .await
            .is_ok_and(|held| held.iter().all(|claim| rights.over(claim.id.as_str()))),
    };
    if !own {
        tracing::debug!(worker, "the claims of a worker that left end with their leases");
        return;
    }
    let holder = Holder::worker(worker);
    // Claims acquired or extended since then are left to their leases.
    let command = Command::WorkerGone { holder, unheard_since: closed_at };
    if let Err(refused) = front.decide(command).await {
        tracing::debug!(worker, %refused, "the claims of a worker that left end with their leases");
    }
}

fn frame(message: &[u8]) -> Bytes {
    // The JSON has no line breaks.
    let mut frame = Vec::with_capacity(message.len() + 8);
    frame.extend_from_slice(b"data: ");
    frame.extend_from_slice(message);
    frame.extend_from_slice(b"\n\n");
    frame.into()
}
