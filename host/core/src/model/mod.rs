//! A whole store in memory. The memory store is built on it, and other stores are compared with it.

mod load;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
};

use crate::{
    command::Command,
    config::Config,
    delta::Delta,
    footprint::footprint,
    id::{Digest, PromiseId},
    object::ModuleFacts,
    time::Timestamp,
    transition::{Decision, transition},
    view::{TreeMembers, View},
};

/// All rows, including whole journals, and the promises that each invocation created.
#[derive(Clone, Debug, Default)]
pub struct Model {
    rows: View,
    made: BTreeMap<PromiseId, BTreeSet<PromiseId>>,
}

impl Deref for Model {
    type Target = View;

    fn deref(&self) -> &View {
        &self.rows
    }
}

impl From<View> for Model {
    /// A store with exactly these rows.
    fn from(rows: View) -> Self {
        let mut made: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for promise in rows.promises() {
            if let Some(maker) = &promise.spec.made_by {
                made.entry(maker.clone()).or_default().insert(promise.id().clone());
            }
        }
        Self { rows, made }
    }
}

impl Model {
    /// The decision on a command. Tree members are not rows, so a decision that reads a tree is
    /// made on a copy of all rows that also has the members: its cost grows with the size of the
    /// store.
    pub fn decide(&self, command: &Command, now: Timestamp, config: &Config) -> Decision {
        let trees = footprint(command).trees;
        if trees.is_empty() {
            return transition(&self.rows, command, now, config);
        }
        let mut rows = self.rows.clone();
        for (top, limit) in trees {
            let tree = self.tree(&top, limit);
            rows.put_tree(top, tree);
        }
        transition(&rows, command, now, config)
    }

    /// Writes the rows of a decision.
    pub fn apply(&mut self, delta: &Delta) {
        for id in &delta.removed {
            self.forget_maker(id);
            self.rows.remove(id);
        }
        for append in &delta.appends {
            // A view keeps only requested records; the model keeps all of them.
            self.rows.extend_tail(&append.invocation, Vec::new());
        }
        self.rows.write(delta);
        for promise in delta.promises.values() {
            if let Some(maker) = &promise.spec.made_by {
                self.made.entry(maker.clone()).or_default().insert(promise.id().clone());
            }
        }
    }

    /// Registers an uploaded module and its facts. No command does this.
    pub fn put_module(&mut self, module: Digest, facts: ModuleFacts) {
        self.rows.put_module_facts(module, facts);
    }

    /// Removes a module.
    pub fn remove_module(&mut self, module: &Digest) {
        self.rows.remove_module(module);
    }

    /// Direct access for tests that damage rows.
    #[cfg(test)]
    pub(crate) fn rows_mut(&mut self) -> &mut View {
        &mut self.rows
    }

    /// The promises that an invocation created, by id.
    pub fn made_by(&self, maker: &PromiseId) -> impl Iterator<Item = &PromiseId> {
        self.made.get(maker).into_iter().flatten()
    }

    /// A promise and everything created by its members, up to `limit` promises.
    pub fn tree(&self, top: &PromiseId, limit: u32) -> TreeMembers {
        let mut tree = TreeMembers { members: BTreeSet::new(), whole: true };
        let mut open = Vec::from_iter(self.promise(top).map(|_| top));
        while let Some(id) = open.pop() {
            if tree.members.len() == limit as usize {
                return TreeMembers { whole: false, ..tree };
            }
            tree.members.insert(id.clone());
            open.extend(self.made_by(id));
        }
        tree
    }

    fn forget_maker(&mut self, id: &PromiseId) {
        let Some(maker) = self.promise(id).and_then(|promise| promise.spec.made_by.clone()) else {
            return;
        };
        if let Some(made) = self.made.get_mut(&maker) {
            made.remove(id);
            if made.is_empty() {
                self.made.remove(&maker);
            }
        }
    }
}
