//! Records in their wire form, built from rows of the core.

use segno_core::{
    id::PromiseId,
    promise::{OutboxKey, OutboxMessage, Promise, Schedule, Task, TaskState, TaskStatus, Verdict},
    tags,
    time::Timestamp,
    value::{Tags, Value},
    view::View,
};
use serde_json::{Map, Value as Json, json};

pub(super) fn promise(promise: &Promise) -> Json {
    let spec = &promise.spec;
    let mut record = json!({
        "id": spec.id.as_str(),
        "state": state(promise),
        "param": value(&spec.param),
        "value": {},
        "tags": tags_of(&spec.tags),
        "timeoutAt": spec.timeout_at.0,
        "createdAt": spec.created_at.0,
    });
    if let Some(settlement) = promise.settlement() {
        record["settledAt"] = json!(settlement.settled_at.0);
        if let Some(given) = &settlement.value {
            record["value"] = value(given);
        }
    }
    record
}

pub(super) fn state(promise: &Promise) -> &'static str {
    match promise.settlement().map(|settlement| settlement.verdict) {
        None => "pending",
        Some(Verdict::Resolved) => "resolved",
        Some(Verdict::Rejected) => "rejected",
        Some(Verdict::Canceled) => "rejected_canceled",
        Some(Verdict::TimedOut) => "rejected_timedout",
    }
}

pub(super) fn task(state: &View, task: &Task) -> Json {
    let woken = state.callbacks().filter(|(_, by, consumed)| **by == task.id && *consumed).count();
    let fulfilled = task.status() == TaskStatus::Fulfilled;
    let mut record = json!({
        "id": task.id.as_str(),
        "state": status(task.status()),
        "version": task.version.0,
        "resumes": if fulfilled { 0 } else { woken },
    });
    if let TaskState::Acquired { lease } = &task.state {
        record["pid"] = json!(lease.holder.worker_pid().expect("no host takes part"));
        record["ttl"] = json!(lease.ttl.0);
    }
    record
}

pub(super) fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "pending",
        TaskStatus::Acquired => "acquired",
        TaskStatus::Suspended => "suspended",
        TaskStatus::Halted => "halted",
        TaskStatus::Fulfilled => "fulfilled",
    }
}

pub(super) fn schedule(schedule: &Schedule) -> Json {
    let template = &schedule.template;
    let mut record = json!({
        "id": schedule.id.as_str(),
        "cron": schedule.cron.as_str(),
        "promiseId": template.id.as_str(),
        "promiseTimeout": template.timeout.0,
        "promiseParam": value(&template.param),
        "promiseTags": tags_of(&template.tags),
        "createdAt": schedule.created_at.0,
        "nextRunAt": schedule.next_at.0,
    });
    if let Some(last_at) = schedule.last_at {
        record["lastRunAt"] = json!(last_at.0);
    }
    record
}

pub(super) fn snapshot(state: &View) -> Json {
    let promises = || state.promises();
    let pending = promises().filter(|promise| promise.is_pending());
    let timer = |task: &Task| {
        let kind = match task.status() {
            TaskStatus::Pending => 0,
            TaskStatus::Acquired => 1,
            TaskStatus::Suspended | TaskStatus::Halted | TaskStatus::Fulfilled => return None,
        };
        Some(json!({ "id": task.id.as_str(), "type": kind, "timeout": task.due_at()?.0 }))
    };
    let waiting = state.callbacks().filter(|(_, _, consumed)| !consumed);
    json!({
        "promises": promises().map(promise).collect::<Vec<_>>(),
        "promiseTimeouts": pending.map(|p| json!({ "id": p.id().as_str(), "timeout": p.spec.timeout_at.0 })).collect::<Vec<_>>(),
        "callbacks": waiting.map(|(on, by, _)| json!({ "awaited": on.as_str(), "awaiter": by.as_str() })).collect::<Vec<_>>(),
        "listeners": state.listeners().map(|(on, address)| json!({ "id": on.as_str(), "address": address.as_str() })).collect::<Vec<_>>(),
        "tasks": state.tasks().map(|row| task(state, row)).collect::<Vec<_>>(),
        "taskTimeouts": state.tasks().filter_map(timer).collect::<Vec<_>>(),
        "messages": state.outbox().filter_map(|(key, row)| message(state, key, &row.message)).collect::<Vec<_>>(),
    })
}

fn message(state: &View, key: &OutboxKey, message: &OutboxMessage) -> Option<Json> {
    let of = |id: &PromiseId| state.promise(id).expect("messages are about promises");
    Some(match (key, message) {
        (OutboxKey::Execute(id), OutboxMessage::Execute { version }) => json!({
            "address": of(id).target().expect("a task has a target"),
            "message": { "kind": "execute", "head": {}, "data": { "task": { "id": id.as_str(), "version": version.0 } } },
        }),
        (OutboxKey::Unblock(id, address), OutboxMessage::Unblock) => json!({
            "address": address.as_str(),
            "message": { "kind": "unblock", "head": {}, "data": { "promise": promise(of(id)) } },
        }),
        _ => return None,
    })
}

/// A stored value must equal the value that was sent.
fn value(value: &Value) -> Json {
    match value.data.as_slice() {
        [] => json!({}),
        kept => serde_json::from_slice(kept).expect("the model keeps values as JSON"),
    }
}

fn tags_of(tags: &Tags) -> Json {
    let tags = tags.iter().map(|(name, value)| (exchanged(name), json!(value)));
    Json::Object(tags.collect::<Map<_, _>>())
}

/// Maps the name of a tag between wire and engine: reserved tags have a prefix on the wire only,
/// and a client's name that collides on the other side is swapped.
pub(super) fn exchanged(name: &str) -> String {
    let bare = name.strip_prefix("resonate:").unwrap_or(name);
    match tags::RESERVED.contains(&bare) {
        false => name.to_owned(),
        true if bare == name => format!("resonate:{name}"),
        true => bare.to_owned(),
    }
}

/// Returns true if `at` has been reached by `now`.
pub(super) fn comes(at: Timestamp, now: Timestamp) -> bool {
    at <= now && at < Timestamp::NEVER
}
