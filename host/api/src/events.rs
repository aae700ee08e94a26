//! Published events: reading unacknowledged ones, and acknowledging them.
//!
//! Reading removes nothing. An event stays until it is acknowledged, regardless of how often and by
//! which clients it is read. A cursor is a bookmark, not a guarantee: with several hosts, an event
//! may be committed before a position that was already read. A client that must not miss any event
//! reads from the beginning and acknowledges.

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::CommandIndex,
    time::{Millis, Timestamp},
};
use segno_engine::{
    events::{CloudEvent, EventId, fits},
    resend::FOR_CLIENTS,
};
use segno_store::{EventPosition, EventRow};

use super::{
    Api, ApiError,
    body::{JsonBody, UrlQuery},
    model::{AcknowledgeEvents, Acknowledged, EventPage, EventQuery},
    refusals::Refusals,
};

/// Default number of events in a page.
const DEFAULT_LIMIT: u32 = 100;
/// Maximum number of events in a page, and of ids in an acknowledgement.
const LIMIT: u32 = 1_000;
/// Maximum number of events examined for one page, which bounds the cost of a rare topic.
const LOOKED_AT: usize = 10_000;
/// Maximum wait, in milliseconds.
const LONGEST_WAIT_MS: u64 = 300_000;
/// Interval at which a waiting request reads the store for events that other hosts published.
const LOOK_AGAIN: Millis = Millis(1_000);

/// Reads unacknowledged events, oldest first. With `wait_ms`, an empty answer is sent only after
/// this time.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", params(EventQuery),
    responses((status = 200, body = EventPage), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<EventQuery>,
) -> Result<Json<EventPage>, ApiError> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=LIMIT).contains(&limit) {
        let reason = format!("is {limit}; it is 1 to {LIMIT}");
        return Err(ApiError::BadField { field: "limit", reason });
    }
    let after = query.cursor.as_deref().map(place).transpose()?;
    let topic = query.topic.as_deref().unwrap_or("*");
    let wait = Millis(i64::try_from(query.wait_ms.unwrap_or(0).min(LONGEST_WAIT_MS)).unwrap_or(0));
    let env = &api.host.env;
    let until = env.clock.now() + wait;
    loop {
        // Subscribe before reading, so that an event published in between wakes the request.
        let mut published = api.host.notifier.published();
        let page = read(&api, after, topic, limit as usize).await?;
        let left = until.since(env.clock.now());
        if !page.events.is_empty() || left <= Millis::ZERO || api.stopping.is_cancelled() {
            return Ok(Json(page));
        }
        tokio::select! {
            biased;
            _ = published.changed() => {}
            () = api.stopping.cancelled() => {}
            () = env.runtime.sleep(left.min(LOOK_AGAIN)) => {}
        }
    }
}

/// Acknowledges events: they are not read or delivered again.
#[utoipa::path(
    post, path = "/v1/events/ack", tag = "events", request_body = AcknowledgeEvents,
    responses((status = 200, body = Acknowledged), Refusals),
)]
pub(crate) async fn acknowledge(
    State(api): State<Api>,
    JsonBody(request, _room): JsonBody<AcknowledgeEvents>,
) -> Result<Json<Acknowledged>, ApiError> {
    if request.ids.len() > LIMIT as usize {
        let reason = format!("holds {} ids; at most {LIMIT} go together", request.ids.len());
        return Err(ApiError::BadField { field: "ids", reason });
    }
    let command = |text: &String| match text.parse::<EventId>() {
        Ok(id) => Ok(Command::OutboxAck { key: id.key() }),
        Err(reason) => {
            let reason = format!("holds `{}`, which is no event: {reason}", text.escape_debug());
            Err(ApiError::BadField { field: "ids", reason })
        }
    };
    let commands = request.ids.iter().map(command).collect::<Result<Vec<_>, _>>()?;
    if !commands.is_empty() {
        api.host.send(commands, FOR_CLIENTS).await?;
    }
    api.host.metrics.delivery.acknowledged(request.ids.len());
    Ok(Json(Acknowledged { acknowledged: request.ids.len() }))
}

/// Reads a page of events after this position, with the cursor of the next page.
async fn read(
    api: &Api,
    mut after: Option<EventPosition>,
    topic: &str,
    limit: usize,
) -> Result<EventPage, ApiError> {
    let mut events = Vec::new();
    let (mut looked_at, mut last) = (0, None);
    while events.len() < limit && looked_at < LOOKED_AT {
        let rows = api.look().await?;
        let rows = rows.read().events(after, LIMIT.min((limit as u32).max(64))).await?;
        let Some(end) = rows.last() else { break };
        after = Some(end.place);
        for row in rows {
            if events.len() == limit {
                break;
            }
            looked_at += 1;
            last = Some(row.place);
            if fits(topic, &row.topic) {
                events.push(shown(&row));
            }
        }
    }
    Ok(EventPage { events, next: last.map(cursor) })
}

fn shown(row: &EventRow) -> CloudEvent {
    let id = EventId { source: row.source.clone(), index: row.place.index };
    CloudEvent::new(&id, &row.topic, &row.payload, row.place.at)
}

fn cursor(place: EventPosition) -> String {
    format!("{}-{}-{}", place.at.0, place.number, place.index.0)
}

fn place(cursor: &str) -> Result<EventPosition, ApiError> {
    let mut parts = cursor.split('-');
    let mut part = || parts.next()?.parse::<i64>().ok();
    let read = (part(), part(), part());
    match read {
        (Some(at), Some(number), Some(index)) if parts.next().is_none() => {
            let index = u32::try_from(index).ok();
            index.map(|index| EventPosition {
                at: Timestamp(at),
                number,
                index: CommandIndex(index),
            })
        }
        _ => None,
    }
    .ok_or_else(|| {
        let reason = format!("is `{}`; pass the `next` of a page", cursor.escape_debug());
        ApiError::BadField { field: "cursor", reason }
    })
}
