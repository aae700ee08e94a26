//! Return of tasks to pending, their offers, and halts.

use serde_json::json;

use super::{create::settled_at, draft::DecisionDraft};
use crate::{
    address::is_internal,
    config::VersionRule,
    effect::{Effect, Metric, RequeueCause},
    id::{PromiseId, Version},
    promise::{
        HaltReason, Note, OutboxKey, OutboxMessage, OutboxRow, Settlement, Task, TaskState,
        Verdict, backoff,
    },
    tags,
    time::{Millis, Timestamp},
    value::{Bytes, Text, Value},
};

/// Failure code of an execution that begins at most once, and for which it is unknown whether it
/// took effect.
pub(super) const UNKNOWN: u32 = 520;

/// Kind of the note about lost claims.
pub(super) const LOST: &str = "lost";

impl DecisionDraft<'_> {
    /// Makes a task pending from now on. [`DecisionDraft::execute`] then offers it.
    pub(super) fn pend(&mut self, id: &PromiseId) {
        if let Some(task) = self.task(id).cloned() {
            self.pend_until(task, None);
        }
    }

    /// Makes a task pending from now on. With `wait_until`, it is not offered before that instant.
    pub(super) fn pend_until(&mut self, task: Task, wait_until: Option<Timestamp>) {
        let version = self.version_after_handing_back(&task);
        let task = self.without_attempt(task);
        let (retry_at, offered) = match wait_until {
            Some(instant) => (instant, false),
            None => self.offer(&task.id, self.now),
        };
        self.put_task(Task {
            version,
            state: TaskState::Pending { since: self.now, retry_at, offered },
            ..task
        });
    }

    /// For a task offered now and pending since `since`: the time of the next offer, and true if it
    /// can be acquired. A timer is never executed, and neither is a promise past its deadline.
    pub(super) fn offer(&self, id: &PromiseId, since: Timestamp) -> (Timestamp, bool) {
        let again = self.now + self.until_next_offer(id, since);
        match self.promise(id) {
            Some(promise) if promise.is_timer() => (promise.spec.timeout_at, false),
            Some(promise) => (again, promise.spec.timeout_at > self.now),
            None => (again, false),
        }
    }

    /// Wait until the next offer. The offer to external workers is a message that may be lost, so
    /// it is repeated at a fixed interval. Hosts poll for the row itself, so repeating their offer
    /// only repeats a hint; the interval grows, to avoid rewriting a long queue again and again.
    fn until_next_offer(&self, id: &PromiseId, since: Timestamp) -> Millis {
        let least = self.config.retry_interval.0.max(1);
        let hosted = self.promise(id).and_then(|promise| promise.target()).is_some_and(is_internal);
        let waited = self.now.since(since).0;
        match hosted {
            true => {
                Millis(waited.saturating_mul(3).clamp(least, self.config.offer_cap.0.max(least)))
            }
            false => Millis(least),
        }
    }

    /// Offers a pending task that can be acquired: hosts find the row, and external workers get a
    /// message.
    pub(super) fn execute(&mut self, id: &PromiseId) {
        let Some(task) = self.task(id) else { return };
        let version = task.version;
        let TaskState::Pending { offered: true, .. } = task.state else { return };
        let Some(promise) = self.promise(id) else { return };
        let Some(target) = promise.target() else { return };
        if is_internal(target) {
            let (target, module) = (Text::from(target), Text::from(promise.module_name()));
            self.effects.push(Effect::Ready { id: id.clone(), version, target, module });
        } else {
            let row = OutboxRow::new(OutboxMessage::Execute { version }, self.now);
            self.put_outbox(OutboxKey::Execute(id.clone()), row);
        }
    }

    /// Handles a lost claim, whose holder crashed or stalled. The first time, the task is offered
    /// immediately; later it waits for a back-off, and finally it is halted, so that an execution
    /// which crashes its hosts or workers does not crash all of them. An attempt that had not begun
    /// does not count.
    pub(super) fn lost(&mut self, task: Task, cause: RequeueCause) {
        let id = task.id.clone();
        let attempt = task.attempt.saturating_add(u32::from(task.has_begun()));
        let losses = task.losses.saturating_add(1);
        let unheard = task.last_heartbeat.unwrap_or(task.progress.at);
        self.interrupt(&task);
        self.count(Metric::Requeued(cause, self.now.since(unheard)));
        if self.ends_unknown(&id, "its claim was lost") {
            return;
        }
        let mut task = Task { attempt, losses, ..task };
        if losses > 1 {
            let why = match self.is_outside(&id) {
                true => "its workers die or do not answer",
                false => "it may be killing the hosts that run it",
            };
            let message = format!("its last {losses} claims were lost: {why}");
            task.note = Some(engine_note(LOST, message));
        }
        if losses >= self.config.lost_limit {
            let version = self.version_after_handing_back(&task);
            self.stop(Task { version, ..task }, HaltReason::Lost, None);
        } else if losses == 1 {
            self.pend_until(task, None);
            self.execute(&id);
        } else {
            let wait = backoff(self.config.backoff, losses, &id, task.version);
            self.pend_until(task, Some(self.now + wait));
        }
    }

    /// Settles an execution that begins at most once and has begun, since it is unknown whether it
    /// took effect. Returns false for any other task.
    pub(super) fn ends_unknown(&mut self, id: &PromiseId, reason: &str) -> bool {
        let Some(promise) = self.promise(id) else { return false };
        let Some(once) = promise.spec.tags.get(tags::ONCE) else { return false };
        let message = format!(
            "`{id}` begins at most once, and {reason} after it had begun: it may or may not have acted"
        );
        let (verdict, value) = match once.as_str() {
            "output" => (Verdict::Resolved, json!({ "unknown": message })),
            _ => {
                let failure = json!({ "__type": "error", "code": UNKNOWN, "message": message });
                (Verdict::Rejected, failure)
            }
        };
        let value = Some(Value::of(value.to_string().into_bytes()));
        let settled_at = settled_at(promise, self.now);
        self.settle(id, Settlement { verdict, value, settled_at }, None);
        true
    }

    /// Offers a task again after its claim was released unused: immediately for hosts. An external
    /// worker that keeps releasing a task without progress waits longer each time.
    pub(super) fn given_back(&mut self, task: Task) {
        let id = task.id.clone();
        if !self.is_outside(&id) {
            self.pend_until(task, None);
            return self.execute(&id);
        }
        let attempt = task.attempt.saturating_add(1);
        let wait = (attempt > 1)
            .then(|| self.now + backoff(self.config.backoff, attempt - 1, &id, task.version));
        self.pend_until(Task { attempt, ..task }, wait);
        if wait.is_none() {
            self.execute(&id);
        }
    }

    /// True if external workers execute the task.
    pub(super) fn is_outside(&self, id: &PromiseId) -> bool {
        let target = self.promise(id).and_then(|promise| promise.target());
        target.is_some_and(|target| !is_internal(target))
    }

    /// Halts a task until an operator continues it.
    pub(super) fn stop(&mut self, task: Task, reason: HaltReason, note: Option<Note>) {
        self.withdraw(&task.id);
        if reason != HaltReason::Requested {
            self.count(Metric::Quarantined);
        }
        let task = self.without_attempt(task);
        let note = note.or(task.note);
        self.put_task(Task { state: TaskState::Halted { reason }, note, ..task });
    }

    /// Applies the version rule: a lost or released claim is stale from that moment.
    fn version_after_handing_back(&self, task: &Task) -> Version {
        match (&task.state, self.config.version_rule) {
            (TaskState::Acquired { .. }, VersionRule::EveryHandover) => task.version.next(),
            _ => task.version,
        }
    }
}

/// A note by the engine itself.
pub(super) fn engine_note(kind: &str, message: String) -> Note {
    Note { kind: Text::from(kind), message: Text::from(message), details: Bytes::default() }
}
