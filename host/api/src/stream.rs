//! The stream of changes: server-sent events that say which invocations and promises were written.
//!
//! An event says that something is to be read again, and not what it is now: so one that is lost, or
//! comes twice, does no harm. A client that does not read fast enough has at most a bounded set of
//! ids waiting, and is told when there were more.

use std::convert::Infallible;

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use segno_core::time::{Millis, Timestamp};
use segno_engine::changes::ChangeWatcher;

use super::{
    Api, ApiError, EndsWithClient,
    body::Query,
    model::{ChangedIds, StreamQuery},
    openapi::Refusals,
    state::promise_id,
};

/// The silence after which a comment is sent, so that dead connections are noticed.
const PING_AFTER: Millis = Millis::seconds(15);
/// The least time between two events: what changes meanwhile is told together.
const BETWEEN: Millis = Millis(200);

/// Server-sent events: a `changed` event names the invocations and promises that this host has
/// written since the event before, at most five times a second. Changes by other hosts of the same
/// database are named as far as they settle or cancel something.
#[utoipa::path(
    get, path = "/v1/stream", tag = "host", params(StreamQuery),
    responses(
        (status = 200, body = ChangedIds, content_type = "text/event-stream",
         description = "Events whose `data` is this JSON; the stream lasts until one side ends it"),
        Refusals,
    ),
)]
pub async fn stream(
    State(api): State<Api>,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> Result<Response, ApiError> {
    let within = query.id.map(promise_id).transpose()?;
    let now = api.host.env.clock.now();
    let session = api.session(&headers, now);
    let token = session.as_ref().map(|session| session.token());
    let rights = api.access.rights_of(&headers, token, now)?;
    let ends_at = session.as_ref().map_or(rights.until(), |session| session.ends_at);
    let changes = &api.host.notifier.changes;
    let watcher = changes.watch(within);
    let watcher = watcher.ok_or(ApiError::Overloaded("as many streams as it serves are open"))?;
    let state = Streaming { api: api.clone(), watcher, ends_at, told: Told::Nothing };
    let frames = futures::stream::unfold(state, |mut streaming| async move {
        let frame = streaming.next().await?;
        Some((Ok::<_, Infallible>(frame), streaming))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Extension(EndsWithClient), Body::from_stream(frames)).into_response())
}

struct Streaming {
    api: Api,
    watcher: ChangeWatcher,
    /// The end of the token or the session.
    ends_at: Timestamp,
    told: Told,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Silence,
    Changes,
}

impl Streaming {
    async fn next(&mut self) -> Option<Bytes> {
        let env = &self.api.host.env;
        if self.told == Told::Nothing {
            // So that the client learns at once that it is connected. It waits for two seconds before
            // it connects again.
            self.told = Told::Silence;
            return Some(Bytes::from_static(b"retry: 2000\n: connected\n\n"));
        }
        let left = self.ends_at.since(env.clock.now());
        if left <= Millis::ZERO {
            return None;
        }
        let told = async {
            if self.told == Told::Changes {
                env.runtime.sleep(BETWEEN).await;
            }
            self.watcher.next().await
        };
        tokio::select! {
            biased;
            () = self.api.stopping.cancelled() => None,
            changed = told => {
                self.told = Told::Changes;
                let ids = changed.ids.iter().map(ToString::to_string).collect();
                let data = ChangedIds { ids, missed: changed.missed };
                let json = serde_json::to_string(&data).ok()?;
                Some(format!("event: changed\ndata: {json}\n\n").into())
            }
            () = env.runtime.sleep(PING_AFTER.min(left)) => {
                self.told = Told::Silence;
                Some(Bytes::from_static(b": ping\n\n"))
            }
        }
    }
}
