//! Debug operations: the clock stops until a request moves it, and all rows are readable. A host
//! answers them only if it was started for debugging.

use segno_core::{
    id::PromiseId,
    promise::{OutboxKey, OutboxMessage, OutboxMessageKind, TaskState},
    time::Timestamp,
};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{
    envelope::{OperationResult, ResonateAnswer, ResonateRequest},
    handler::Resonate,
    protocol_error::ProtocolError,
    wire,
};

/// Maximum number of due rows in one transaction.
const PAGE: u32 = 1_000;

#[derive(Deserialize)]
struct DebugTickData {
    time: i64,
}

/// Answers a debug operation.
pub(super) async fn answer(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    request.may_all()?;
    let Some(clock) = &front.settings.debug else {
        return Err(ProtocolError::forbidden(
            "this host is not open for debugging (`segno serve --debug`)",
        ));
    };
    match request.kind.as_str() {
        "debug.start" => clock.stop(true),
        "debug.stop" => clock.stop(false),
        "debug.reset" => front.host.store.wipe().await?,
        "debug.snap" => return snap(front).await,
        "debug.tick" => return tick(front, request).await,
        kind => return Err(ProtocolError::bad(format!("Unknown operation: {kind}"))),
    }
    Ok(ResonateAnswer::ok(json!({})))
}

/// Executes everything that is due at an instant, as the host's own timers would.
async fn tick(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let DebugTickData { time } = request.read()?;
    if named_time(request)?.is_some_and(|named| named.0 != time) {
        return Err(ProtocolError::bad("`time` differs from `resonate:debug_time`"));
    }
    let now = instant("`data.time`", time)?;
    if let Some(clock) = &front.settings.debug {
        clock.set(Some(now));
    }
    let store = &front.host.store;
    loop {
        let mut due = store.work_queue().due(now, PAGE).await?.commands;
        for kind in OutboxMessageKind::ALL.into_iter().filter(|kind| kind.is_own()) {
            due.extend(store.work_queue().outbox_due(kind, now, PAGE).await?.commands);
        }
        if due.is_empty() {
            return Ok(ResonateAnswer::ok(json!([])));
        }
        store.execute(due).await?;
    }
}

/// Returns all rows, by id.
async fn snap(front: &Resonate) -> OperationResult {
    let dump = front.host.store.read().dump().await?;
    let pending = dump.promises.values().filter(|promise| promise.is_pending());
    let promise_timeouts: Vec<Json> = pending
        .map(|promise| json!({ "id": promise.id().as_str(), "timeout": promise.spec.timeout_at.0 }))
        .collect();
    let unconsumed = dump.callbacks.iter().filter(|(_, consumed)| !**consumed);
    let callbacks: Vec<Json> = unconsumed
        .map(|((awaited, awaiter), _)| {
            json!({ "awaiter": awaiter.as_str(), "awaited": awaited.as_str() })
        })
        .collect();
    let resumes = |id: &PromiseId| {
        dump.callbacks.iter().filter(|((_, by), consumed)| by == id && **consumed).count() as u32
    };
    let timers = dump.tasks.values().filter_map(|task| {
        let kind = match &task.state {
            TaskState::Pending { .. } => 0,
            TaskState::Acquired { .. } => 1,
            TaskState::Suspended | TaskState::Halted { .. } | TaskState::Fulfilled => return None,
        };
        Some(json!({ "id": task.id.as_str(), "type": kind, "timeout": task.due_at()?.0 }))
    });
    let messages = dump.outbox.iter().filter_map(|(key, row)| {
        let (address, message) = match (key, &row.message) {
            (OutboxKey::Execute(id), OutboxMessage::Execute { version }) => (
                dump.promises.get(id)?.target()?,
                json!({ "kind": "execute", "head": {}, "data": { "task": { "id": id.as_str(), "version": version.0 } } }),
            ),
            (OutboxKey::Unblock(id, address), _) => (
                address.as_str(),
                json!({ "kind": "unblock", "head": {}, "data": { "promise": wire::promise(dump.promises.get(id)?) } }),
            ),
            _ => return None,
        };
        Some(json!({ "address": address, "message": message }))
    });
    let listeners: Vec<Json> = (dump.listeners.iter())
        .map(|(id, address)| json!({ "id": id.as_str(), "address": address.as_str() }))
        .collect();
    Ok(ResonateAnswer::ok(json!({
        "promises": dump.promises.values().map(wire::promise).collect::<Vec<_>>(),
        "promiseTimeouts": promise_timeouts,
        "callbacks": callbacks,
        "listeners": listeners,
        "tasks": dump.tasks.values().map(|task| wire::task(task, resumes(&task.id))).collect::<Vec<_>>(),
        "taskTimeouts": timers.collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
    })))
}

/// Sets the time of one request until the guard is dropped, if debugging is allowed and the request
/// names a time.
///
/// # Errors
/// 400 if the time is invalid.
pub(super) async fn at<'a>(
    front: &'a Resonate,
    request: &ResonateRequest,
) -> Result<Option<RequestTimeGuard<'a>>, ProtocolError> {
    let Some(clock) = &front.settings.debug else { return Ok(None) };
    let named = named_time(request)?;
    let turn = front.debugging.lock().await;
    clock.set(named);
    Ok(Some(RequestTimeGuard { front, _turn: turn }))
}

fn named_time(request: &ResonateRequest) -> Result<Option<Timestamp>, ProtocolError> {
    const FIELD: &str = "`head.resonate:debug_time`";
    let Some(named) = &request.debug_time else { return Ok(None) };
    let number = serde_json::from_str(named.get())
        .map_err(|_| ProtocolError::bad(format!("{FIELD} is no whole number of milliseconds")))?;
    instant(FIELD, number).map(Some)
}

fn instant(field: &str, time: i64) -> Result<Timestamp, ProtocolError> {
    match (0..=Timestamp::NEVER.0).contains(&time) {
        true => Ok(Timestamp(time)),
        false => Err(ProtocolError::bad(format!(
            "{field} must be between 0 and {}, the end of the year 9999",
            Timestamp::NEVER
        ))),
    }
}

/// Guard of the time named by one request.
pub(super) struct RequestTimeGuard<'a> {
    front: &'a Resonate,
    _turn: tokio::sync::MutexGuard<'a, ()>,
}

impl Drop for RequestTimeGuard<'_> {
    fn drop(&mut self) {
        if let Some(clock) = &self.front.settings.debug {
            clock.set(None);
        }
    }
}

/// Returns the current time for reads, from the debug clock if there is one.
pub(super) fn now(front: &Resonate) -> Timestamp {
    use segno_env::Clock as _;
    match &front.settings.debug {
        Some(clock) => clock.now(),
        None => front.host.env.clock.now(),
    }
}
