//! Continue as new: a generation of a workflow ends, and the next one takes over the incoming data
//! that it did not read.
//!
//! The first generation has the id of the invocation; the `n`-th is `{invocation}/g/{n}`. The
//! promise of the invocation stays pending until the newest generation ends, and then gets its
//! outcome, so awaiters need not know about generations.
//!
//! ```text
//! order        pending, suspended: waits for order/g/3     successors: 2
//! order/g/2    settled: it handed over to order/g/3        continues: order
//! order/g/3    runs                                        continues: order
//! ```

use std::sync::Arc;

use super::{
    append::progressed,
    create::{PromiseCreator, settled_at},
    draft::DecisionDraft,
};
use crate::{
    address::Address,
    id::{Claim, PromiseId, fits_under},
    invocation::{LogLine, Record},
    promise::{
        CancelState, OutboxKey, OutboxMessage, OutboxRow, Promise, PromiseSpec, PromiseState,
        Settlement, Task, TaskState, Verdict,
    },
    reply::{Refusal, Reply},
    tags, update,
    value::{Tags, Text, Value},
};

/// Parameters of the next generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextGeneration<'a> {
    pub(super) param: &'a Value,
    pub(super) same_module: bool,
    pub(super) unread: &'a [u32],
}

/// Executes [`Command::TaskHandOver`](crate::command::Command::TaskHandOver).
pub(super) fn hand_over(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    records: &[Record],
    logs: &[LogLine],
    next: &NextGeneration<'_>,
) -> Result<Reply, Refusal> {
    draft.touch(&claim.id);
    if let Some(to) = draft.handed_over_by(claim) {
        return Ok(Reply::HandedOver { to });
    }
    let mut task = draft.claimed(claim)?;
    let mark = draft.mark();
    let batch = draft.append(&claim.id, records, logs)?;
    progressed(&mut task, batch, records);
    let handed = draft.succeed(task, next);
    if handed.is_err() {
        draft.go_back(mark);
    }
    handed
}

impl DecisionDraft<'_> {
    /// The first generation of the invocation that `id` belongs to.
    pub(super) fn first_generation(&self, id: &PromiseId) -> PromiseId {
        let continued = self.promise(id).and_then(|promise| tags::continues(&promise.spec.tags));
        let continued = continued.filter(|_| self.task(id).is_some());
        continued.map_or_else(|| id.clone(), PromiseId::from)
    }

    /// The newest generation of the invocation that `id` belongs to. The id of an invocation refers
    /// to it.
    pub(super) fn newest(&self, id: &PromiseId) -> PromiseId {
        let first = self.first_generation(id);
        self.task(&first).and_then(Task::newest).unwrap_or(first)
    }

    /// The generation that this same claim handed over to, in a command whose reply was lost.
    fn handed_over_by(&self, claim: &Claim) -> Option<PromiseId> {
        let (task, promise) = (self.task(&claim.id)?, self.promise(&claim.id)?);
        match promise.settlement() {
            Some(settlement) => {
                let to = handed_to(settlement).filter(|_| task.fulfilled_by == Some(claim.version));
                to.map(PromiseId::from)
            }
            // The first generation is suspended once it has handed over.
            None => task.newest().filter(|_| task.state == TaskState::Suspended),
        }
    }

    fn succeed(&mut self, task: Task, next: &NextGeneration<'_>) -> Result<Reply, Refusal> {
        let id = task.id.clone();
        let first = self.first_generation(&id);
        let counted = self.existing_task(&first)?.successors.saturating_add(1);
        let to = first.generation(counted.saturating_add(1));
        let is_first = first == id;
        if is_first && counted > 1 {
            // A worker acquired the first generation again: it has nothing to do.
            let newest = self.newest(&id);
            self.put_task(task);
            self.wait_for_newest(&first, None, &newest);
            return Ok(Reply::HandedOver { to: newest });
        }
        self.lives(&id)?;
        self.put_task(task.clone());
        self.make_generation(&task, &first, &to, next)?;
        if task.cancel == CancelState::Requested {
            // The stop request moves to the next generation: this one did not miss it.
            self.put_task(Task { cancel: CancelState::None, ..task.clone() });
        }
        self.hand_on(&task, &to, next.unread)?;
        let root = self.existing_task(&first)?.clone();
        self.put_task(Task { successors: counted, children: true, ..root });
        let made_children = task.children || self.head(&id).open() > 0;
        if is_first {
            self.wait_for_newest(&first, None, &to);
            if made_children {
                let row = OutboxRow::new(OutboxMessage::CancelChildren { after: None }, self.now);
                self.put_outbox(OutboxKey::CancelChildren(id), row);
            }
        } else {
            self.wait_for_newest(&first, Some(&id), &to);
            let headers = Tags::from([(tags::CONTINUED_HEADER.to_owned(), to.to_string())]);
            let value = Some(Value { headers, ..Value::default() });
            let settled_at = settled_at(self.existing(&id)?, self.now);
            let settlement = Settlement { verdict: Verdict::Resolved, value, settled_at };
            self.settle(&id, settlement, Some(task.version));
        }
        Ok(Reply::HandedOver { to })
    }

    /// Makes the first generation wait for the newest one instead of the previous one.
    fn wait_for_newest(
        &mut self,
        first: &PromiseId,
        before: Option<&PromiseId>,
        newest: &PromiseId,
    ) {
        if let Some(before) = before.filter(|before| self.callback(before, first).is_some()) {
            self.put_callback(before.clone(), first.clone(), None);
        }
        self.forget_consumed(first);
        let Some(task) = self.task(first).cloned() else { return };
        match &task.state {
            TaskState::Acquired { .. } => {
                self.await_promise(newest, first);
                self.put_task(Task { state: TaskState::Suspended, losses: 0, ..task });
            }
            TaskState::Suspended => self.await_promise(newest, first),
            // An operator halted or continued it: its next holder sees that it has handed over.
            TaskState::Pending { .. } | TaskState::Halted { .. } | TaskState::Fulfilled => {}
        }
    }

    /// Creates the next generation with its task. It is not behind a limit, since the invocation
    /// counts there until its promise settles.
    fn make_generation(
        &mut self,
        task: &Task,
        first: &PromiseId,
        to: &PromiseId,
        next: &NextGeneration<'_>,
    ) -> Result<(), Refusal> {
        fits_under(first, to)?;
        if self.promise(to).is_some() {
            return Err(Refusal::IdTaken { id: to.clone() });
        }
        let origin = self.existing(first)?.spec.clone();
        let address = tags::target(&origin.tags).map(Address::parse).transpose();
        let address = address.map_err(|refused| Refusal::Unprocessable(refused.to_string()))?;
        let Some(address) = address.filter(|_| task.module.is_some()) else {
            return Err(Refusal::Unprocessable(format!(
                "`{first}` is not the workflow of a module: only such a one continues as new"
            )));
        };
        if matches!(address, Address::Wasm { key: Some(_), .. }) {
            return Err(Refusal::Unprocessable(format!(
                "`{first}` is a function of an object, which does not continue as new: what lasts is the object's state"
            )));
        }
        let newer =
            || self.module_of(&address, None, PromiseCreator::Invocation(task)).ok().flatten();
        let module = if next.same_module { task.module } else { newer().or(task.module) };
        let mut own = origin.tags.clone();
        for tag in [tags::LIMIT, tags::PRIORITY, tags::DELAY, tags::FORK, tags::SCHEDULE] {
            own.remove(tag);
        }
        for tag in [tags::SAGA, tags::SEQ, tags::COMPENSATE, tags::UNKNOWN] {
            own.remove(tag);
        }
        let mut own = self.minted_tags(&own, first, to, Some(&address));
        own.insert(tags::CONTINUES.to_owned(), first.to_string());
        let spec = PromiseSpec {
            id: to.clone(),
            param: next.param.clone(),
            tags: own,
            made_by: Some(first.clone()),
            timeout_at: origin.timeout_at,
            created_at: self.now,
        };
        self.put_promise(Promise { spec: Arc::new(spec), state: PromiseState::Pending });
        self.make_task(to, module, None);
        if task.cancel == CancelState::Requested
            && let Some(made) = self.task(to).cloned()
        {
            // The stop request was not delivered: the next generation takes it over.
            self.put_task(Task { cancel: CancelState::Requested, ..made });
        }
        Ok(())
    }

    /// Hands over unread data: signals in order, then promises that were settled early.
    fn hand_on(&mut self, task: &Task, to: &PromiseId, unread: &[u32]) -> Result<(), Refusal> {
        for n in unread_signals(task, unread) {
            let settlement = self.promise(&task.id.signal(n)).and_then(Promise::settlement);
            let Some(mut value) = settlement.and_then(|it| it.value.clone()) else { continue };
            let name = value.headers.remove(tags::SIGNAL_HEADER).unwrap_or_default();
            let next = self.existing_task(to)?.clone();
            if name.starts_with(update::SIGNAL) {
                let moved = self.hand_on_answer(&task.id.answer(n), &next)?;
                value =
                    moved.and_then(|answer| update::readdressed(&value, &answer)).unwrap_or(value);
            }
            let next = self.existing_task(to)?.clone();
            self.send(&next, &Text::from(name), &value)?;
        }
        for name in &task.inbox.kept {
            let settlement = self.promise(&task.id.named(name)).and_then(Promise::settlement);
            let Some(Settlement { verdict, value, .. }) = settlement.cloned() else { continue };
            if verdict.is_for_clients() {
                self.settle_early(&to.named(name), verdict, &value.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Creates the promise by which the next generation answers an update. The promise that the
    /// sender waits for settles with it. `None`: the sender already has the answer.
    fn hand_on_answer(
        &mut self,
        before: &PromiseId,
        next: &Task,
    ) -> Result<Option<PromiseId>, Refusal> {
        if !self.is_pending(before) {
            return Ok(None);
        }
        let continued = self.promise(before).and_then(|it| tags::continues(&it.spec.tags));
        let asked = continued.unwrap_or(before.as_str()).to_owned();
        let answer = next.id.answer(next.signals);
        self.make_own(next, &answer)?;
        let mut spec = PromiseSpec::clone(&self.existing(&answer)?.spec);
        spec.tags.insert(tags::CONTINUES.to_owned(), asked.clone());
        self.put_promise(Promise { spec: Arc::new(spec), state: PromiseState::Pending });
        let task = self.existing_task(&next.id)?.clone();
        self.put_task(Task { children: true, ..task });
        if asked != before.as_str() {
            let headers = Tags::from([(tags::CONTINUED_HEADER.to_owned(), answer.to_string())]);
            let value = Some(Value { headers, ..Value::default() });
            let settled_at = settled_at(self.existing(before)?, self.now);
            self.settle(before, Settlement { verdict: Verdict::Canceled, value, settled_at }, None);
        }
        Ok(Some(answer))
    }

    /// True if a pending child stays pending although its generation handed over: the next
    /// generation, and the answers that it took over.
    pub(super) fn outlives_generation(&self, parent: &PromiseId, child: &PromiseId) -> bool {
        let (Some(task), Some(promise)) = (self.task(parent), self.promise(parent)) else {
            return false;
        };
        let handed_over = match promise.settlement() {
            None => task.successors > 0,
            Some(settlement) => handed_to(settlement).is_some(),
        };
        if !handed_over {
            return false;
        }
        let is_next = promise.is_pending()
            && self.promise(child).is_some_and(|it| {
                tags::continues(&it.spec.tags) == Some(parent.as_str()) && it.target().is_some()
            });
        let heard = task.inbox.heard.unwrap_or(task.signals);
        is_next || (heard..task.signals).any(|n| parent.answer(n) == *child)
    }

    /// Settles the promise that this one replaces.
    pub(super) fn forward(&mut self, settled: &Promise) {
        let Some(settlement) = settled.settlement().filter(|it| handed_to(it).is_none()) else {
            return;
        };
        let continued = tags::continues(&settled.spec.tags).map(PromiseId::from);
        let Some(continued) = continued.filter(|id| self.is_pending(id)) else { return };
        self.settle(&continued, settlement.clone(), None);
    }
}

/// Successor of a generation, or of an answer, that ended by handing over. `None` if it did not
/// hand over.
pub fn handed_to(settlement: &Settlement) -> Option<&str> {
    let value = settlement.value.as_ref()?;
    value.headers.get(tags::CONTINUED_HEADER).map(String::as_str)
}

/// Numbers of the unread signals: those that the workflow reported as unread, and those that were
/// not delivered.
pub(crate) fn unread_signals(task: &Task, unread: &[u32]) -> Vec<u32> {
    let heard = task.inbox.heard.unwrap_or(task.signals);
    let mut told: Vec<u32> = unread.iter().copied().filter(|n| *n < heard).collect();
    told.sort_unstable();
    told.dedup();
    told.extend(heard..task.signals);
    told
}
