//! Cancelling, which sends a stop request, and killing, which does not.

use super::{
    draft::DecisionDraft,
    promises::{may_settle, record},
};
use crate::{
    address::hears_cancel,
    effect::Effect,
    id::PromiseId,
    promise::{CancelState, Promise, Task, TaskState, Verdict},
    reply::{Refusal, Reply},
    tags,
    value::{Tags, Value},
};

pub(super) fn cancel(
    draft: &mut DecisionDraft<'_>,
    invocation: &PromiseId,
) -> Result<Reply, Refusal> {
    draft.touch(invocation);
    let is_pending = draft.existing(invocation)?.is_pending();
    may_settle(invocation)?;
    draft.ask_to_stop(invocation);
    record(draft, invocation, is_pending)
}

pub(super) fn kill(
    draft: &mut DecisionDraft<'_>,
    invocation: &PromiseId,
) -> Result<Reply, Refusal> {
    draft.touch(invocation);
    draft.existing(invocation)?;
    let newest = draft.newest(invocation);
    draft.touch(&newest);
    // The invocation settles with its newest generation.
    let changed = draft.settle_with(&newest, Verdict::Canceled, &killed())?;
    if changed {
        draft.stop_births(invocation);
    }
    record(draft, invocation, changed)
}

/// Value of a killed promise.
fn killed() -> Value {
    let headers = Tags::from([(tags::KILLED_HEADER.to_owned(), "true".to_owned())]);
    Value { headers, ..Value::default() }
}

impl DecisionDraft<'_> {
    /// Kills an execution created by a killed one.
    pub(super) fn kill_too(&mut self, id: &PromiseId) {
        let id = &self.newest(id);
        if self.is_pending(id) {
            let settled = self.settle_with(id, Verdict::Canceled, &killed());
            debug_assert_eq!(settled, Ok(true), "the promise was just seen pending");
        }
    }

    /// Kills a callee of a killed execution, which would otherwise outlive its caller.
    pub(super) fn kill_callee(&mut self, id: &PromiseId) {
        self.touch(id);
        let newest = self.newest(id);
        self.touch(&newest);
        if self.is_pending(&newest) {
            self.kill_too(id);
            self.stop_births(id);
        }
    }

    /// Asks an execution to stop. One that cannot be notified is settled as cancelled immediately.
    pub(super) fn ask_to_stop(&mut self, id: &PromiseId) {
        let id = &self.newest(id);
        let Some(promise) = self.promise(id).filter(|promise| promise.is_pending()) else { return };
        // An execution that waits for its turn, or behind a limit, has nothing to compensate and
        // would only be notified when it begins.
        let waits = self.waits_for_turn(id).is_some() || self.waits_behind_limit(id);
        let can_be_told = can_be_told(promise) && !waits;
        let Some(task) = self.task(id).filter(|_| can_be_told).cloned() else {
            let settled = self.settle_with(id, Verdict::Canceled, &Value::default());
            debug_assert_eq!(settled, Ok(true), "the promise was just seen pending");
            return;
        };
        if task.cancel != CancelState::None {
            return;
        }
        let task = Task { cancel: CancelState::Requested, ..task };
        match &task.state {
            // A waiting task, or one that is not offered yet, is offered now so that it can be
            // notified.
            TaskState::Suspended | TaskState::Pending { offered: false, .. } => {
                self.pend_until(task, None);
                self.execute(id);
            }
            TaskState::Acquired { .. } => {
                self.effects.push(Effect::CancelRequested { id: id.clone() });
                self.put_task(task);
            }
            TaskState::Pending { offered: true, .. }
            | TaskState::Halted { .. }
            | TaskState::Fulfilled => self.put_task(task),
        }
    }
}

fn can_be_told(promise: &Promise) -> bool {
    !promise.is_timer() && promise.target().is_some_and(hears_cancel)
}
