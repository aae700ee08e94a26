//! Waiting for new data.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use segno_core::{
    id::{PromiseId, StreamId},
    time::{Millis, Timestamp},
};
use segno_engine::{notifier::SettlementNotice, stream_watch::StreamWatch};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{
    found::{FoundStream, ReadFailure, data, extend_lifetime, find, set_cursor, set_data_headers},
    offset::ReadStart,
};
use crate::{Api, ApiError};

/// Longest wait of a long poll.
const LONG_POLL: Millis = Millis(20_000);
/// Interval of reads without a notice, which may be lost between hosts.
const LOOK_AGAIN: Millis = Millis(500);

/// Waits for changes of a stream.
pub(super) struct LiveReader {
    api: Api,
    id: StreamId,
    watch: StreamWatch,
    owner: Option<(PromiseId, UnboundedReceiver<SettlementNotice>)>,
}

impl LiveReader {
    /// Watches the stream, and the end of its execution, from now on.
    pub(super) fn new(api: &Api, id: &StreamId) -> Self {
        let notifier = &api.host.notifier;
        let owner = id.owner().map(|owner| {
            let (sender, settled) = unbounded_channel();
            notifier.watch(owner.clone(), sender);
            (owner, settled)
        });
        Self { api: api.clone(), id: id.clone(), watch: notifier.streams.watch(id), owner }
    }

    /// Returns the stream when it has data after `position`, or is closed, or at `until`.
    pub(super) async fn next(
        &mut self,
        position: u64,
        until: Timestamp,
    ) -> Result<FoundStream, ReadFailure> {
        loop {
            self.watch.mark_read();
            let found = find(&self.api, &self.id).await;
            let left = until.since(self.api.host.env.clock.now());
            let is_over = left <= Millis::ZERO || self.api.stopping.is_cancelled();
            match found {
                Err(ReadFailure::NotYet(_)) if !is_over => {}
                Ok(found) if found.stream.tail <= position && !found.closed && !is_over => {}
                found => return found,
            }
            self.changed(left.min(LOOK_AGAIN)).await;
        }
    }

    /// Completes when the stream may have changed, at the latest after `limit`.
    async fn changed(&mut self, limit: Millis) {
        let settled = async {
            match &mut self.owner {
                Some((_, settled)) if !settled.is_closed() => drop(settled.recv().await),
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.api.stopping.cancelled() => {}
            () = self.watch.changed() => {}
            () = settled => {}
            () = self.api.host.env.runtime.sleep(limit) => {}
        }
    }
}

impl Drop for LiveReader {
    fn drop(&mut self) {
        if let Some((owner, settled)) = self.owner.take() {
            drop(settled);
            self.api.host.notifier.unwatch(&owner);
        }
    }
}

/// Answers with the data after an offset as soon as there is any.
pub(super) async fn long_poll(
    api: &Api,
    id: &StreamId,
    start: ReadStart,
    cursor: Option<&str>,
) -> Result<Response, ApiError> {
    let mut reader = LiveReader::new(api, id);
    let until = api.host.env.clock.now() + LONG_POLL;
    let from = match start {
        ReadStart::At(from) => from,
        ReadStart::Now => match find(api, id).await {
            Ok(found) => found.stream.tail,
            Err(ReadFailure::NotYet(_)) => 0,
            Err(failure) => return failure.answer(),
        },
    };
    let found = match reader.next(from, until).await {
        Ok(found) => found,
        Err(failure) => return failure.answer(),
    };
    extend_lifetime(api, &found.stream).await?;
    let part = data(api, &found, from).await?;
    let is_last = part.end >= found.stream.tail;
    let closed = found.closed && is_last;
    let mut answer = match part.data.is_empty() {
        true => StatusCode::NO_CONTENT.into_response(),
        false => StatusCode::OK.into_response(),
    };
    let headers = answer.headers_mut();
    set_data_headers(headers, &found.stream, part.end, is_last, closed);
    set_cursor(api, headers, cursor);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !part.data.is_empty() {
        *answer.body_mut() = Body::from(part.into_body(&found.stream));
    } else {
        answer.headers_mut().remove(header::CONTENT_TYPE);
    }
    Ok(answer)
}
