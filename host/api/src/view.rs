//! Conversion of stored rows to the API's types.

use std::collections::BTreeMap;

use segno_core::{
    address,
    id::{Holder, PromiseId},
    promise::{CancelState, Note as StoredNote, Promise, Task, TaskState, Verdict},
    tags,
    time::Timestamp,
    transition::{handed_to, turn_in},
    value::{Tags, Value},
};
use segno_engine::values;
use segno_store::{InvocationRow, PromiseRow, UnreadableEntity};

use super::{
    fork,
    model::{
        CancelProgress, FailureView, InvocationOutcome, InvocationState, InvocationSummary, Lease,
        Note, Progress, PromiseState, PromiseView, Unread, UnreadableRow, Wait, WaitKind,
    },
    values::{failure_of, json_of},
};

/// Maximum length of a failure's message in a listing, in characters.
const LISTED_MESSAGE_CHARS: usize = 500;

/// Returns a deadline; `None` if the promise has none.
pub(crate) fn deadline(at: Timestamp) -> Option<i64> {
    (at < Timestamp::NEVER).then_some(at.0)
}

/// Returns the state of an invocation.
pub(crate) fn state(promise: &Promise, task: &Task) -> InvocationState {
    match promise.settlement().map(|settlement| settlement.verdict) {
        Some(Verdict::Resolved) => InvocationState::Resolved,
        Some(Verdict::Rejected) => InvocationState::Rejected,
        Some(Verdict::Canceled) => InvocationState::Cancelled,
        Some(Verdict::TimedOut) => InvocationState::TimedOut,
        None => match task.state {
            // A pending promise with a finished task is corrupt; the reconciler offers it again.
            TaskState::Pending { .. } | TaskState::Fulfilled => InvocationState::Pending,
            TaskState::Acquired { .. } => InvocationState::Acquired,
            TaskState::Suspended => InvocationState::Suspended,
            TaskState::Halted { .. } => InvocationState::Halted,
        },
    }
}

/// Returns the state of a promise.
pub(crate) fn promise_state(promise: &Promise) -> PromiseState {
    match promise.settlement().map(|settlement| settlement.verdict) {
        None => PromiseState::Pending,
        Some(Verdict::Resolved) => PromiseState::Resolved,
        Some(Verdict::Rejected) => PromiseState::Rejected,
        Some(Verdict::Canceled) => PromiseState::Cancelled,
        Some(Verdict::TimedOut) => PromiseState::TimedOut,
    }
}

/// Returns the function that produces the value: a module's by its address, a worker's by the name
/// in the parameter.
pub(crate) fn function(promise: &Promise) -> Option<String> {
    function_of(promise.target()?, &promise.spec.param)
}

/// Returns the function that a call of `target` with this parameter runs.
pub(crate) fn function_of(target: &str, param: &Value) -> Option<String> {
    match address::is_internal(target) {
        true => target.rsplit(['/', ':']).next().map(str::to_owned),
        false => values::function(param),
    }
}

/// Returns the holder of a task: a worker by its chosen name, a host by its node name.
pub(crate) fn holder(holder: &Holder) -> String {
    holder.worker_pid().unwrap_or(holder.node.as_str()).to_owned()
}

/// Returns true if `id` is the id of a signal to `invocation`.
pub(crate) fn is_signal(invocation: &PromiseId, id: &PromiseId) -> bool {
    id.as_str().strip_prefix(invocation.as_str()).is_some_and(|rest| rest.starts_with("/s/"))
}

/// Returns the value of a resolved promise.
pub(crate) fn output(promise: &Promise) -> Option<serde_json::Value> {
    let settlement = promise.settlement()?;
    let resolved = settlement.verdict == Verdict::Resolved;
    resolved.then(|| {
        settlement.value.as_ref().map_or(serde_json::Value::Null, |value| json_of(&value.data))
    })
}

/// Returns the failure of a promise that settled without resolving.
pub fn failure(promise: &Promise) -> Option<FailureView> {
    let settlement = promise.settlement()?;
    let value = settlement.value.as_ref();
    let plain =
        |code, message: &str| FailureView { code, message: message.to_owned(), details: None };
    match settlement.verdict {
        Verdict::Resolved => None,
        Verdict::Rejected => Some(failure_of(value)),
        Verdict::Canceled => Some(match value {
            Some(value) if !value.data.is_empty() => failure_of(Some(value)),
            Some(value) if is_killed(value) => plain(499, "killed"),
            _ => plain(499, "cancelled"),
        }),
        Verdict::TimedOut => Some(plain(408, "timed out")),
    }
}

/// Returns the failure, shortened for a listing.
fn short_failure(promise: &Promise) -> Option<FailureView> {
    let FailureView { code, message, .. } = failure(promise)?;
    let message = message.chars().take(LISTED_MESSAGE_CHARS).collect();
    Some(FailureView { code, message, details: None })
}

fn is_killed(value: &Value) -> bool {
    value.headers.contains_key(tags::KILLED_HEADER)
}

/// Returns the last error of a pending task, without details. For a settled one, returns the note
/// about its removed journal, if any.
pub(crate) fn short_note(promise: &Promise, task: &Task) -> Option<Note> {
    current_note(promise, task).map(|note| Note { details: None, ..note })
}

fn current_note(promise: &Promise, task: &Task) -> Option<Note> {
    let current = match promise.is_pending() {
        true => task.note.as_ref(),
        false => task.journal_removed(),
    };
    current.map(note)
}

/// Returns the id of the calling invocation. An invocation started by a schedule is its own parent,
/// and a generation has the first one as its parent; neither has a caller.
pub fn caller(promise: &Promise) -> Option<String> {
    let tags = &promise.spec.tags;
    let is_called = |parent: &&String| {
        **parent != promise.id().as_str() && tags::continues(tags) != Some(parent.as_str())
    };
    tags.get(tags::PARENT).filter(is_called).cloned()
}

/// Returns when a pending task is offered next.
pub fn retry_at(task: &Task) -> Option<i64> {
    match task.state {
        TaskState::Pending { retry_at, .. } => Some(retry_at.0),
        _ => None,
    }
}

/// Converts a note.
pub(crate) fn note(note: &StoredNote) -> Note {
    Note {
        kind: note.kind.to_string(),
        message: note.message.to_string(),
        details: (!note.details.is_empty()).then(|| json_of(&note.details)),
    }
}

/// Returns the progress of an activity that has not ended. Bytes that are not JSON are stored after
/// a zero byte.
pub(crate) fn progress(promise: &Promise, task: &Task) -> Option<Progress> {
    let payload = task.progress.payload.as_ref().filter(|_| promise.is_pending())?;
    let value = match payload.as_slice() {
        [0, bytes @ ..] => json_of(bytes),
        text => json_of(text),
    };
    Some(Progress { value, at_ms: task.progress.at.0 })
}

/// Returns the lease on a task.
pub(crate) fn lease(task: &Task) -> Option<Lease> {
    task.lease().map(|lease| Lease {
        node: lease.holder.node.to_string(),
        incarnation: lease.holder.incarnation,
        until_at_ms: lease.until.0,
    })
}

/// Converts the progress of a cancellation.
pub(crate) fn cancel(state: CancelState) -> CancelProgress {
    match state {
        CancelState::None => CancelProgress::None,
        CancelState::Requested => CancelProgress::Requested,
        CancelState::Delivered => CancelProgress::Delivered,
        CancelState::Missed => CancelProgress::Missed,
    }
}

/// Returns the users' labels among the tags.
pub fn labels(tags: &Tags) -> BTreeMap<String, String> {
    tags.iter()
        .filter_map(|(name, value)| {
            Some((name.strip_prefix(tags::LABEL_PREFIX)?.to_owned(), value.clone()))
        })
        .collect()
}

/// Returns the unread messages of an invocation; `None` if there are none, or if another generation
/// will read them.
pub(crate) fn unread(promise: &Promise, task: &Task) -> Option<Unread> {
    let handed_over = promise.settlement().is_some_and(|it| handed_to(it).is_some());
    let is_workflow = task.module.is_some() && task.inbox.heard.is_some();
    let signals = if is_workflow { task.unread_signals() } else { 0 };
    let promises: Vec<String> = task.inbox.kept.iter().map(ToString::to_string).collect();
    let is_read = signals == 0 && promises.is_empty();
    (!handed_over && task.successors == 0 && !is_read).then_some(Unread { signals, promises })
}

/// Returns the number of unread signals and unread promises that were settled early.
pub(crate) fn unread_count(promise: &Promise, task: &Task) -> u32 {
    unread(promise, task).map_or(0, |Unread { signals, promises }| {
        signals.saturating_add(u32::try_from(promises.len()).unwrap_or(u32::MAX))
    })
}

/// Returns the outcome of an invocation, for clients that wait for it.
pub(crate) fn outcome(promise: &Promise, task: &Task) -> InvocationOutcome {
    InvocationOutcome {
        id: promise.id().to_string(),
        target: promise.target().unwrap_or_default().to_owned(),
        state: state(promise, task),
        killed: promise.was_killed(),
        attempt: task.attempt,
        note: current_note(promise, task),
        created_at_ms: promise.spec.created_at.0,
        settled_at_ms: promise.settlement().map(|settlement| settlement.settled_at.0),
        output: output(promise),
        failure: failure(promise),
    }
}

/// Converts an invocation to an item of a listing.
pub(crate) fn summary(row: &InvocationRow) -> InvocationSummary {
    let spec = &row.promise.spec;
    InvocationSummary {
        id: spec.id.to_string(),
        target: row.promise.target().unwrap_or_default().to_owned(),
        function: function(&row.promise),
        state: state(&row.promise, &row.task),
        killed: row.promise.was_killed(),
        attempt: row.task.attempt,
        note: short_note(&row.promise, &row.task),
        failure: short_failure(&row.promise),
        parent: caller(&row.promise),
        schedule: spec.tags.get(tags::SCHEDULE).cloned(),
        forked_from: fork::origin(&spec.tags),
        labels: labels(&spec.tags),
        stuck: None,
        unread: unread_count(&row.promise, &row.task),
        journal_len: row.journal_len,
        created_at_ms: spec.created_at.0,
        settled_at_ms: row.promise.settlement().map(|settlement| settlement.settled_at.0),
    }
}

/// Describes a promise that the invocation `waiter` waits for.
pub(crate) fn wait(waiter: &Promise, awaited: &PromiseRow) -> Wait {
    let (awaited, task) = (&awaited.promise, awaited.task.as_ref());
    let kind = match awaited.target() {
        _ if awaited.is_timer() => WaitKind::Timer,
        Some(_) if is_turn(waiter, awaited) => WaitKind::Turn,
        Some(_) => WaitKind::Call,
        None if is_signal(waiter.id(), awaited.id()) => WaitKind::Signal,
        None => WaitKind::Promise,
    };
    Wait {
        id: awaited.id().to_string(),
        kind,
        target: awaited.target().map(str::to_owned),
        until_at_ms: deadline(awaited.spec.timeout_at),
        state: task.map(|task| state(awaited, task)),
        attempt: task.map_or(0, |task| task.attempt),
        retry_at_ms: task.and_then(retry_at),
        note: task.and_then(|task| short_note(awaited, task)),
    }
}

/// Returns true if an invocation waits for its turn behind another one.
fn is_turn(waiter: &Promise, awaited: &Promise) -> bool {
    let is_call = awaited.spec.made_by.as_ref() == Some(waiter.id());
    !is_call && turn_in(waiter).is_some_and(|object| turn_in(awaited) == Some(object))
}

/// Converts a promise.
pub(crate) fn promise(
    row: &PromiseRow,
    awaited_by: &[PromiseId],
    changed: Option<bool>,
) -> PromiseView {
    let promise = &row.promise;
    let spec = &promise.spec;
    PromiseView {
        id: spec.id.to_string(),
        state: promise_state(promise),
        param: (!spec.param.data.is_empty()).then(|| json_of(&spec.param.data)),
        value: output(promise),
        failure: failure(promise),
        tags: spec.tags.clone(),
        made_by: spec.made_by.as_ref().map(ToString::to_string),
        awaited_by: awaited_by.iter().map(ToString::to_string).collect(),
        created_at_ms: spec.created_at.0,
        timeout_at_ms: deadline(spec.timeout_at),
        settled_at_ms: promise.settlement().map(|settlement| settlement.settled_at.0),
        changed,
        kept_for: None,
    }
}

/// Converts the unreadable rows of a page, which have the kind `kind`.
pub(crate) fn unreadable(kind: &str, rows: Vec<UnreadableEntity>) -> Vec<UnreadableRow> {
    let shown = |row: UnreadableEntity| {
        let UnreadableEntity { id, reason, .. } = row;
        UnreadableRow { kind: kind.to_owned(), id, reason }
    };
    rows.into_iter().map(shown).collect()
}
