//! Promises with their tasks, and the promises that an invocation created.

use std::ops::Bound;

use super::{TreeMembers, View};
use crate::{
    id::{CommandIndex, PromiseId},
    limit::LimitName,
    promise::{CancelState, OutboxKey, Promise, Task},
    unreadable::Subject,
    value::Text,
};

impl View {
    pub fn promise(&self, id: &PromiseId) -> Option<&Promise> {
        self.promises.get(id)
    }

    pub fn task(&self, id: &PromiseId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// The pending attached promises of this invocation after `after`, by id.
    pub fn children(
        &self,
        parent: &PromiseId,
        after: Option<&PromiseId>,
    ) -> impl Iterator<Item = &PromiseId> {
        let from = after.map_or(Bound::Unbounded, |id| Bound::Excluded(id.clone()));
        self.children
            .get(parent)
            .into_iter()
            .flat_map(move |ids| ids.range((from.clone(), Bound::Unbounded)))
    }

    /// True if this invocation has or had a stop request. It may take any time to stop. A promise
    /// without a task is never asked.
    pub fn was_asked_to_stop(&self, id: &PromiseId) -> bool {
        self.task(id).is_some_and(|task| task.cancel != CancelState::None)
    }

    /// A promise and everything created by its members, as far as loaded ([`View::put_tree`]).
    pub fn tree(&self, top: &PromiseId) -> TreeMembers {
        self.lookups.trees.get(top).cloned().unwrap_or_default()
    }

    pub fn promises(&self) -> impl Iterator<Item = &Promise> {
        self.promises.values()
    }

    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    pub fn put_promise(&mut self, promise: Promise) {
        if let Some(parent) = promise.attached_to() {
            if promise.is_pending() {
                self.children.entry(parent.clone()).or_default().insert(promise.id().clone());
            } else if let Some(siblings) = self.children.get_mut(parent) {
                siblings.remove(promise.id());
                if siblings.is_empty() {
                    self.children.remove(parent);
                }
            }
        }
        self.promises.insert(promise.id().clone(), promise);
    }

    pub fn put_task(&mut self, task: Task) {
        self.tasks.insert(task.id.clone(), task);
    }

    /// Sets the members of a tree. Their rows are put separately.
    pub fn put_tree(&mut self, top: PromiseId, tree: TreeMembers) {
        self.lookups.trees.insert(top, tree);
    }

    /// Deletes a promise with all rows that belong to it.
    pub fn remove(&mut self, id: &PromiseId) {
        self.lookups.streams.remove(id);
        let awaiters: Vec<PromiseId> = self.callbacks_on(id).map(|(by, _)| by.clone()).collect();
        awaiters.iter().for_each(|by| self.remove_callback(id, by));
        let awaited: Vec<PromiseId> = self.awaited_by(id).cloned().collect();
        awaited.iter().for_each(|on| self.remove_callback(on, id));
        self.lookups.facts.remove(id);
        self.lookups.graph_nodes.remove(id);
        self.lookups.places.remove(id);
        self.evict(id);
    }

    /// Drops the composite of this promise, so that the view must load it again. A callback row is
    /// kept while the promise at its other end is loaded, so a store that rolls back a transaction
    /// evicts every id that its delta names.
    pub fn evict(&mut self, id: &PromiseId) {
        if let Some(parent) = self.promises.remove(id).as_ref().and_then(Promise::attached_to)
            && let Some(siblings) = self.children.get_mut(parent)
        {
            siblings.remove(id);
            if siblings.is_empty() {
                self.children.remove(parent);
            }
        }
        self.readable(|| Subject::Promise(id.clone()));
        self.tasks.remove(id);
        self.heads.remove(id);
        self.tails.remove(id);
        self.children.remove(id);
        self.listeners.remove(id);
        let awaiters: Vec<PromiseId> = self
            .callbacks_on(id)
            .map(|(awaiter, _)| awaiter.clone())
            .filter(|awaiter| !self.promises.contains_key(awaiter))
            .collect();
        for awaiter in awaiters {
            self.remove_callback(id, &awaiter);
        }
        let awaited: Vec<PromiseId> = self
            .awaited_by(id)
            .filter(|awaited| !self.promises.contains_key(awaited))
            .cloned()
            .collect();
        for awaited in awaited {
            self.remove_callback(&awaited, id);
        }
        self.outbox.remove(&OutboxKey::Execute(id.clone()));
        self.outbox.remove(&OutboxKey::CancelChildren(id.clone()));
        let unblocks = OutboxKey::Unblock(id.clone(), Text::default())..;
        let events = OutboxKey::Event(id.clone(), CommandIndex(0))..;
        let leaves = OutboxKey::LeaveLimit(id.clone(), LimitName::from(""))..;
        let keys: Vec<OutboxKey> = (self.outbox.range(unblocks))
            .take_while(|(key, _)| matches!(key, OutboxKey::Unblock(promise, _) if promise == id))
            .chain((self.outbox.range(events)).take_while(
                |(key, _)| matches!(key, OutboxKey::Event(promise, _) if promise == id),
            ))
            .chain((self.outbox.range(leaves)).take_while(
                |(key, _)| matches!(key, OutboxKey::LeaveLimit(promise, _) if promise == id),
            ))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.outbox.remove(&key);
        }
        let keys = (id.clone(), Text::default())..;
        let keys: Vec<_> = self
            .signal_keys
            .range(keys)
            .take_while(|((owner, _), _)| owner == id)
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.signal_keys.remove(&key);
        }
    }
}
