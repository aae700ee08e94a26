//! Detection and repair of damage. Commands alone cannot cause damage, except for a child that
//! outlives the message to cancel it. Damage is repaired where other facts determine the correct
//! state; otherwise the task is halted for an operator: safety over progress.

use super::{draft::DecisionDraft, requeue::engine_note};
use crate::{
    effect::{Metric, RequeueCause},
    id::PromiseId,
    promise::{HaltReason, OutboxKey, OutboxMessage, OutboxRow, Promise, Task, TaskState},
    reply::{DamageKind, Refusal, Reply},
    saga::{FactKey, FactKind},
    time::Millis,
};

pub(super) fn reconcile(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    let mut orphans = Vec::new();
    match draft.promise(id).map(Promise::is_pending) {
        None => draft.mend_without_promise(id, &mut orphans),
        Some(true) => draft.mend_pending(id, &mut orphans),
        Some(false) => draft.mend_settled(id, &mut orphans),
    }
    Ok(Reply::Reconciled { orphans })
}

impl DecisionDraft<'_> {
    fn mend_without_promise(&mut self, id: &PromiseId, orphans: &mut Vec<DamageKind>) {
        let open = self
            .task(id)
            .filter(|task| !matches!(task.state, TaskState::Halted { .. } | TaskState::Fulfilled));
        if let Some(task) = open.cloned() {
            orphans.push(DamageKind::TaskWithoutPromise);
            self.quarantine(task, "it has no promise");
        }
    }

    fn mend_pending(&mut self, id: &PromiseId, orphans: &mut Vec<DamageKind>) {
        let Some(task) = self.task(id).cloned() else {
            if self.promise(id).is_some_and(|promise| promise.target().is_some()) {
                orphans.push(DamageKind::TaskMissing);
                // The module it began with is unknown, so running it would be a guess.
                let state = TaskState::Suspended;
                let task = Task::born(id.clone(), self.view.first_version(), state, None);
                self.quarantine(task, "its task was missing");
            }
            return;
        };
        let halted = matches!(task.state, TaskState::Halted { .. });
        if !halted && self.is_journal_damaged(id) {
            orphans.push(DamageKind::JournalDamaged);
            return self.quarantine(task, "the end of its journal contradicts itself");
        }
        if !halted && self.do_facts_contradict(id) {
            orphans.push(DamageKind::FactsContradict);
            return self.quarantine(task, "a step of one of its sagas is both undone and not");
        }
        if task.state != TaskState::Suspended {
            return;
        }
        let callbacks = self.callbacks_by(id);
        let woken =
            callbacks.iter().any(|(awaited, consumed)| *consumed || !self.is_pending(awaited));
        if (callbacks.is_empty() && !self.waits_behind_limit(id)) || woken {
            orphans.push(if woken {
                DamageKind::WokenButSuspended
            } else {
                DamageKind::SuspendedOnNothing
            });
            self.count(Metric::Requeued(RequeueCause::Reconcile, Millis::ZERO));
            self.pend_until(task, None);
            self.execute(id);
        }
    }

    fn mend_settled(&mut self, id: &PromiseId, orphans: &mut Vec<DamageKind>) {
        let open_task = self.task(id).is_some_and(|task| task.state != TaskState::Fulfilled);
        let waiting = self.callbacks_on(id).iter().any(|(_, consumed)| !consumed);
        let unfinished = open_task
            || waiting
            || self.has_listener(id)
            || (self.task(id).is_some() && !self.callbacks_by(id).is_empty());
        if unfinished {
            orphans.push(DamageKind::ChainUnfinished);
            self.carry_out(id, None);
        }
        // A child with a stop request may take its time, or be halted until an operator intervenes.
        let runs = self.view.children(id, None).any(|child| {
            !self.view.was_asked_to_stop(child) && !self.outlives_generation(id, child)
        });
        let key = OutboxKey::CancelChildren(id.clone());
        if runs && self.outbox_row(&key).is_none() {
            orphans.push(DamageKind::ChildRuns);
            self.put_outbox(
                key,
                OutboxRow::new(OutboxMessage::CancelChildren { after: None }, self.now),
            );
        }
    }

    /// True if no valid journal has these counts, or if the last record is missing.
    fn is_journal_damaged(&self, id: &PromiseId) -> bool {
        let head = self.head(id);
        let after_start = head.len.saturating_sub(1);
        let contradicts = head.notified > head.commands || head.commands > after_start;
        let last = self.view.tail(id).last().map(|record| record.seq);
        contradicts || last != head.len.checked_sub(1)
    }

    fn do_facts_contradict(&self, id: &PromiseId) -> bool {
        self.view.facts_of(id).any(|(key, _)| {
            let failed = FactKey { kind: FactKind::Failed, ..key.clone() };
            key.kind == FactKind::Completed && self.view.fact(id, &failed).is_some()
        })
    }

    fn quarantine(&mut self, task: Task, why: &str) {
        self.interrupt(&task);
        self.stop(task, HaltReason::Damaged, Some(engine_note("damaged", why.to_owned())));
    }
}
