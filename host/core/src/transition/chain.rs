//! The settlement chain: all consequences of one settled promise, whatever settled it. It settles
//! at most one other promise: the one that this promise replaces, which waits for nothing else. So
//! the chain's length is two plus the number of callbacks.

use super::{draft::DecisionDraft, succession::handed_to};
use crate::{
    effect::{Effect, Metric, SettleCause},
    id::{PromiseId, ScheduleId, Version},
    promise::{OutboxKey, OutboxMessage, OutboxRow, Promise, Settlement, Task, TaskState, Verdict},
    tags,
};

impl DecisionDraft<'_> {
    /// Settles a pending promise. `by` is the version of the claim that settled it, or `None`.
    pub(super) fn settle(&mut self, id: &PromiseId, settlement: Settlement, by: Option<Version>) {
        self.leave_line(id);
        self.leave_limit(id);
        let Some(promise) = self.promise(id) else { return };
        let verdict = settlement.verdict;
        // A promise past its deadline is settled by it before any other change.
        let cause = match by {
            Some(_) => SettleCause::Claim,
            None if promise.is_overdue(self.now) => SettleCause::Deadline,
            None => SettleCause::Request,
        };
        let settled = promise.settled(settlement);
        self.note_fact(&settled);
        self.tell_of_occurrence(&settled, verdict);
        self.put_promise(settled.clone());
        self.effects.push(Effect::Settled { id: id.clone() });
        if by.is_some() {
            self.charge_outcome(&settled);
        }
        // Must precede the resume of awaiters: an invocation whose newest generation has ended does
        // not resume, since it has ended as well.
        self.forward(&settled);
        let resumed = self.carry_out(id, by);
        self.count(Metric::Settled { verdict, cause, resumed });
    }

    /// Reports an occurrence of a schedule that ended without a result, since no client waits for
    /// it.
    pub(super) fn tell_of_occurrence(&mut self, promise: &Promise, verdict: Verdict) {
        let schedule = promise.spec.tags.get(tags::SCHEDULE);
        let Some(schedule) = schedule.filter(|_| promise.spec.made_by.is_none()) else { return };
        if verdict != Verdict::Resolved {
            self.effects.push(Effect::OccurrenceFailed {
                schedule: ScheduleId::new(schedule.as_str()),
                id: promise.id().clone(),
                verdict,
            });
        }
    }

    /// Executes all consequences of a settled promise. Returns the number of resumed tasks.
    pub(super) fn carry_out(&mut self, id: &PromiseId, by: Option<Version>) -> u32 {
        self.settle_stage(id, by);
        let resumed = self.resume_stage(id);
        resumed.iter().for_each(|awaiter| self.execute(awaiter));
        resumed.len() as u32
    }

    /// Stage within the composite: the task ends, its callbacks are removed, and listeners are owed
    /// a message.
    fn settle_stage(&mut self, id: &PromiseId, by: Option<Version>) {
        let mut made_loose_children = false;
        if let Some(task) = self.task(id).cloned() {
            made_loose_children = task.children;
            self.note_unread(&task);
            if task.state != TaskState::Fulfilled {
                if by.is_none() {
                    self.interrupt(&task);
                }
                let settlement = self.promise(id).and_then(Promise::settlement);
                let verdict = settlement.map(|settlement| settlement.verdict);
                let cancelled = by.is_some() && verdict == Some(Verdict::Canceled);
                let task = Task { cancel: task.cancel.at_end(cancelled), ..task };
                self.put_task(Task { state: TaskState::Fulfilled, fulfilled_by: by, ..task });
            }
            self.withdraw(id);
            for (awaited, _) in self.callbacks_by(id) {
                self.put_callback(awaited, id.clone(), None);
            }
        }
        for address in self.view.listeners_on(id).cloned().collect::<Vec<_>>() {
            let key = OutboxKey::Unblock(id.clone(), address.clone());
            self.put_outbox(key, OutboxRow::new(OutboxMessage::Unblock, self.now));
            self.remove_listener(id.clone(), address);
        }
        // The journal accounts for the promises its commands created: if the guest was notified of
        // the outcome of every command, none of them is pending.
        if made_loose_children || self.head(id).open() > 0 {
            let row = OutboxRow::new(OutboxMessage::CancelChildren { after: None }, self.now);
            self.put_outbox(OutboxKey::CancelChildren(id.clone()), row);
        }
    }

    /// Reports the signals and promises that an ended workflow never read, unless another
    /// generation reads them.
    fn note_unread(&mut self, task: &Task) {
        let Some(promise) = self.promise(&task.id) else { return };
        let is_workflow = promise.target().is_some_and(|target| target.starts_with("wasm://"));
        let handed_over = promise.settlement().is_some_and(|it| handed_to(it).is_some());
        let (signals, promises) = (task.unread_signals(), task.inbox.kept.clone());
        let is_first_of_several = task.successors > 0;
        if is_workflow
            && !handed_over
            && !is_first_of_several
            && (signals > 0 || !promises.is_empty())
        {
            self.effects.push(Effect::Unread { id: task.id.clone(), signals, promises });
        }
    }

    /// Stage across composites, which changes only tasks: a suspended awaiter resumes; any other
    /// keeps the consumed callback for later.
    fn resume_stage(&mut self, id: &PromiseId) -> Vec<PromiseId> {
        let mut resumed = Vec::new();
        for (awaiter, consumed) in self.callbacks_on(id) {
            if consumed {
                continue;
            }
            if self.view.is_unreadable(&awaiter) {
                // The awaiter handles the resume once its rows are readable.
                self.delta.callbacks.insert((id.clone(), awaiter), Some(true));
                continue;
            }
            match self.task(&awaiter).map(|task| &task.state) {
                None | Some(TaskState::Fulfilled) => self.put_callback(id.clone(), awaiter, None),
                Some(TaskState::Suspended) => {
                    self.put_callback(id.clone(), awaiter.clone(), Some(true));
                    self.pend(&awaiter);
                    resumed.push(awaiter);
                }
                Some(
                    TaskState::Pending { .. }
                    | TaskState::Acquired { .. }
                    | TaskState::Halted { .. },
                ) => {
                    self.put_callback(id.clone(), awaiter, Some(true));
                }
            }
        }
        resumed
    }
}
