//! Promises and tasks on the wire. A field without a value is omitted, never `null`.

use segno_core::{
    promise::{Promise, PromiseState, Task, TaskState, Verdict},
    value::Value,
};
use serde_json::{Value as Json, json};

use super::values::{sent, sent_tags};

/// Converts a promise to its wire form.
pub fn promise(promise: &Promise) -> Json {
    let spec = &promise.spec;
    let settlement = promise.settlement();
    let value = settlement.and_then(|settlement| settlement.value.as_ref());
    let mut record = json!({
        "id": spec.id.as_str(),
        "state": state(promise),
        "param": sent(&spec.param),
        "value": value.map_or_else(|| sent(&Value::default()), sent),
        "tags": sent_tags(&spec.tags),
        "timeoutAt": spec.timeout_at.0,
        "createdAt": spec.created_at.0,
    });
    if let Some(settlement) = settlement {
        record["settledAt"] = json!(settlement.settled_at.0);
    }
    record
}

/// Returns the protocol's name for a promise's state.
pub fn state(promise: &Promise) -> &'static str {
    match &promise.state {
        PromiseState::Pending => "pending",
        PromiseState::Settled(settlement) => match settlement.verdict {
            Verdict::Resolved => "resolved",
            Verdict::Rejected => "rejected",
            Verdict::Canceled => "rejected_canceled",
            Verdict::TimedOut => "rejected_timedout",
        },
    }
}

/// Converts a task to its wire form. `resumes` is the number of settlements that resumed it since
/// it was last acquired or suspended.
pub fn task(task: &Task, resumes: u32) -> Json {
    let resumes = if matches!(task.state, TaskState::Fulfilled) { 0 } else { resumes };
    let mut record = json!({
        "id": task.id.as_str(),
        "state": task.status().to_string(),
        "version": task.version.0,
        "resumes": resumes,
    });
    if let Some(lease) = task.lease() {
        let holder = &lease.holder;
        record["pid"] = json!(holder.worker_pid().unwrap_or(holder.node.as_str()));
        record["ttl"] = json!(lease.ttl.0);
    }
    record
}
