//! Draft of a decision: pending writes of a command, laid over the view. Later steps of a command
//! read what earlier ones wrote.

use super::decision::Decision;
use crate::{
    config::Config,
    delta::Delta,
    effect::{Effect, Metric},
    id::{Claim, PromiseId},
    invocation::JournalHead,
    promise::{OutboxKey, OutboxRow, Promise, Task, TaskState},
    reply::{Conflict, Refusal, Reply},
    time::Timestamp,
    unreadable::Subject,
    value::Text,
    view::View,
};

/// A decision in progress.
pub(super) struct DecisionDraft<'a> {
    pub(super) view: &'a View,
    pub(super) now: Timestamp,
    pub(super) config: &'a Config,
    pub(super) delta: Delta,
    pub(super) effects: Vec<Effect>,
    earliest: Option<Timestamp>,
}

/// A savepoint in a decision.
pub(super) struct DraftMark {
    delta: Delta,
    effects: usize,
    earliest: Option<Timestamp>,
}

impl<'a> DecisionDraft<'a> {
    pub(super) fn new(view: &'a View, now: Timestamp, config: &'a Config) -> Self {
        Self { view, now, config, delta: Delta::default(), effects: Vec::new(), earliest: None }
    }

    /// Creates a savepoint.
    pub(super) fn mark(&self) -> DraftMark {
        DraftMark {
            delta: self.delta.clone(),
            effects: self.effects.len(),
            earliest: self.earliest,
        }
    }

    /// Rolls back to a savepoint.
    pub(super) fn go_back(&mut self, mark: DraftMark) {
        self.delta = mark.delta;
        self.effects.truncate(mark.effects);
        self.earliest = mark.earliest;
    }

    pub(super) fn finish(mut self, reply: Reply) -> Decision {
        self.effects.extend(self.earliest.map(|earliest| Effect::TimerChanged { earliest }));
        Decision { reply, delta: self.delta, effects: self.effects }
    }

    pub(super) fn promise(&self, id: &PromiseId) -> Option<&Promise> {
        self.delta.promises.get(id).or_else(|| self.view.promise(id))
    }

    pub(super) fn task(&self, id: &PromiseId) -> Option<&Task> {
        self.delta.tasks.get(id).or_else(|| self.view.task(id))
    }

    pub(super) fn existing(&self, id: &PromiseId) -> Result<&Promise, Refusal> {
        self.promise(id).ok_or_else(|| Refusal::NotFound(id.clone()))
    }

    pub(super) fn existing_task(&self, id: &PromiseId) -> Result<&Task, Refusal> {
        self.task(id).ok_or_else(|| Refusal::NotFound(id.clone()))
    }

    pub(super) fn is_pending(&self, id: &PromiseId) -> bool {
        self.promise(id).is_some_and(Promise::is_pending)
    }

    pub(super) fn head(&self, invocation: &PromiseId) -> JournalHead {
        let appended =
            self.delta.appends.iter().rev().find(|append| append.invocation == *invocation);
        appended.map_or_else(|| self.view.head(invocation), |append| append.after)
    }

    pub(super) fn outbox_row(&self, key: &OutboxKey) -> Option<&OutboxRow> {
        match self.delta.outbox.get(key) {
            Some(row) => row.as_ref(),
            None => self.view.outbox_row(key),
        }
    }

    /// The callbacks on a promise: each awaiter, and true if the callback is consumed.
    pub(super) fn callbacks_on(&self, awaited: &PromiseId) -> Vec<(PromiseId, bool)> {
        let mut callbacks: Vec<(PromiseId, bool)> = self
            .view
            .callbacks_on(awaited)
            .map(|(awaiter, consumed)| (awaiter.clone(), consumed))
            .collect();
        if self.delta.callbacks.is_empty() {
            return callbacks;
        }
        callbacks.retain(|(awaiter, _)| {
            !self.delta.callbacks.contains_key(&(awaited.clone(), awaiter.clone()))
        });
        let drafted = self.delta.callbacks.range((awaited.clone(), PromiseId::new(""))..);
        for ((_, awaiter), row) in drafted.take_while(|((of, _), _)| of == awaited) {
            callbacks.extend(row.map(|consumed| (awaiter.clone(), consumed)));
        }
        callbacks.sort();
        callbacks
    }

    /// The callbacks of a task: each awaited promise, and true if the callback is consumed.
    pub(super) fn callbacks_by(&self, awaiter: &PromiseId) -> Vec<(PromiseId, bool)> {
        let mut callbacks: Vec<(PromiseId, bool)> = self
            .view
            .awaited_by(awaiter)
            .filter(|awaited| !self.has_drafted_callback(awaited, awaiter))
            .filter_map(|awaited| Some((awaited.clone(), self.view.callback(awaited, awaiter)?)))
            .collect();
        for ((awaited, by), row) in &self.delta.callbacks {
            if by == awaiter {
                callbacks.extend(row.map(|consumed| (awaited.clone(), consumed)));
            }
        }
        callbacks.sort();
        callbacks
    }

    pub(super) fn callback(&self, awaited: &PromiseId, awaiter: &PromiseId) -> Option<bool> {
        match self.delta.callbacks.get(&(awaited.clone(), awaiter.clone())) {
            Some(row) => *row,
            None => self.view.callback(awaited, awaiter),
        }
    }

    fn has_drafted_callback(&self, awaited: &PromiseId, awaiter: &PromiseId) -> bool {
        !self.delta.callbacks.is_empty()
            && self.delta.callbacks.contains_key(&(awaited.clone(), awaiter.clone()))
    }

    pub(super) fn put_promise(&mut self, promise: Promise) {
        if promise.is_pending() {
            self.due(promise.spec.timeout_at);
        }
        self.delta.promises.insert(promise.id().clone(), promise);
    }

    pub(super) fn put_task(&mut self, task: Task) {
        if let Some(due_at) = task.due_at() {
            self.due(due_at);
        }
        self.delta.tasks.insert(task.id.clone(), task);
    }

    pub(super) fn put_callback(
        &mut self,
        awaited: PromiseId,
        awaiter: PromiseId,
        row: Option<bool>,
    ) {
        self.delta.callbacks.insert((awaited, awaiter), row);
    }

    /// True if the promise has a listener.
    pub(super) fn has_listener(&self, awaited: &PromiseId) -> bool {
        self.view.listeners_on(awaited).any(|address| {
            self.delta.listeners.get(&(awaited.clone(), address.clone())) != Some(&false)
        })
    }

    pub(super) fn remove_listener(&mut self, awaited: PromiseId, address: Text) {
        self.delta.listeners.insert((awaited, address), false);
    }

    /// Writes a message, and adds a hint for it.
    pub(super) fn put_outbox(&mut self, key: OutboxKey, row: OutboxRow) {
        self.due(row.next_at);
        self.effects.push(Effect::Outbox(key.clone()));
        self.delta.outbox.insert(key, Some(row));
    }

    /// Deletes a message, if it exists.
    pub(super) fn remove_outbox(&mut self, key: OutboxKey) {
        let unreadable = || self.view.unreadable(&Subject::Message(key.clone())).is_some();
        if self.outbox_row(&key).is_some() || (self.view.has_unreadable() && unreadable()) {
            self.delta.outbox.insert(key, None);
        }
    }

    /// Deletes the message that offers a task, if it exists.
    pub(super) fn withdraw(&mut self, id: &PromiseId) {
        self.remove_outbox(OutboxKey::Execute(id.clone()));
    }

    /// Registers an instant at which a row is due.
    pub(super) fn due(&mut self, at: Timestamp) {
        if at < Timestamp::NEVER {
            self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
        }
    }

    pub(super) fn count(&mut self, metric: Metric) {
        self.effects.push(Effect::Count(metric));
    }

    /// Notifies the local execution of the task that its claim has ended.
    pub(super) fn interrupt(&mut self, task: &Task) {
        match &task.state {
            TaskState::Acquired { .. } => {
                self.effects
                    .push(Effect::Interrupt(Claim { id: task.id.clone(), version: task.version }));
            }
            TaskState::Pending { .. }
            | TaskState::Suspended
            | TaskState::Halted { .. }
            | TaskState::Fulfilled => {}
        }
    }

    /// Settles a promise whose deadline has passed: a timeout always wins.
    pub(super) fn touch(&mut self, id: &PromiseId) {
        let overdue = self.promise(id).filter(|promise| promise.is_overdue(self.now));
        if let Some(settlement) = overdue.map(Promise::deadline_settlement) {
            self.settle(id, settlement, None);
        }
    }

    /// The task, if the claim is the current one.
    pub(super) fn claimed(&mut self, claim: &Claim) -> Result<Task, Refusal> {
        let task = self.existing_task(&claim.id)?;
        let conflict = match &task.state {
            TaskState::Fulfilled => Conflict::PromiseSettled(claim.id.clone()),
            _ if task.version != claim.version => {
                let conflict = Conflict::StaleVersion {
                    id: claim.id.clone(),
                    offered: claim.version,
                    current: task.version,
                };
                self.count(Metric::FencingRejected);
                conflict
            }
            TaskState::Acquired { .. } => return Ok(task.clone()),
            TaskState::Pending { .. } | TaskState::Suspended | TaskState::Halted { .. } => {
                wrong_state(task)
            }
        };
        Err(Refusal::Conflict(conflict))
    }
}

/// The conflict that reports the status of a task.
pub(super) fn wrong_state(task: &Task) -> Conflict {
    Conflict::WrongState { id: task.id.clone(), status: task.status() }
}
