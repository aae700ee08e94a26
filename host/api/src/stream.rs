//! The stream of changes: server-sent events with the ids of changed invocations and promises.
//!
//! An event means that something has to be read again; it does not contain the new state. So lost
//! or duplicate events are harmless. For a client that reads too slowly, the host keeps a bounded
//! set of ids, and reports if there were more.

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
    body::UrlQuery,
    model::{ChangedIds, StreamQuery},
    refusals::Refusals,
    state::promise_id,
};

/// Time without events after which a comment is sent, so that dead connections are detected.
const PING_AFTER: Millis = Millis::seconds(15);
/// Minimum time between two events; changes in between are combined.
const BETWEEN: Millis = Millis(200);

/// Server-sent events: a `changed` event contains the invocations and promises that this host has
/// written since the previous event, at most five times per second. Changes by other hosts of the
/// same database are included only if they settle or cancel something.
#[utoipa::path(
    get, path = "/v1/stream", tag = "host", params(StreamQuery),
    responses(
        (status = 200, body = ChangedIds, content_type = "text/event-stream",
         description = "Events whose `data` is this JSON; the stream lasts until one side ends it"),
        Refusals,
    ),
)]
pub(crate) async fn stream(
    State(api): State<Api>,
    headers: HeaderMap,
    UrlQuery(query): UrlQuery<StreamQuery>,
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
    let state = ChangeStream { api: api.clone(), watcher, ends_at, told: StreamNotice::Nothing };
    let frames = futures::stream::unfold(state, |mut streaming| async move {
        let frame = streaming.next().await?;
        Some((Ok::<_, Infallible>(frame), streaming))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Extension(EndsWithClient), Body::from_stream(frames)).into_response())
}

struct ChangeStream {
    api: Api,
    watcher: ChangeWatcher,
    /// When the token or the session ends.
    ends_at: Timestamp,
    told: StreamNotice,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamNotice {
    Nothing,
    Silence,
    Changes,
}

impl ChangeStream {
    async fn next(&mut self) -> Option<Bytes> {
        let env = &self.api.host.env;
        if self.told == StreamNotice::Nothing {
            // Sent first, so that the client knows immediately that it is connected. The client
            // waits two seconds before it reconnects.
            self.told = StreamNotice::Silence;
            return Some(Bytes::from_static(b"retry: 2000\n: connected\n\n"));
        }
        let left = self.ends_at.since(env.clock.now());
        if left <= Millis::ZERO {
            return None;
        }
        let told = async {
            if self.told == StreamNotice::Changes {
                env.runtime.sleep(BETWEEN).await;
            }
            self.watcher.next().await
        };
        tokio::select! {
            biased;
            () = self.api.stopping.cancelled() => None,
            changed = told => {
                self.told = StreamNotice::Changes;
                let ids = changed.ids.iter().map(ToString::to_string).collect();
                let data = ChangedIds { ids, missed: changed.missed };
                let json = serde_json::to_string(&data).ok()?;
                Some(format!("event: changed\ndata: {json}\n\n").into())
            }
            () = env.runtime.sleep(PING_AFTER.min(left)) => {
                self.told = StreamNotice::Silence;
                Some(Bytes::from_static(b": ping\n\n"))
            }
        }
    }
}
