//! A whole store in memory: what the memory store keeps, and what other stores are compared with.

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
    view::{Tree, View},
};

/// All rows, whole journals included, and which promise made which.
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
    /// A store that holds these rows and no others.
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
    /// What a command would do. The members of a tree are no rows, so a decision that reads one is
    /// made on a copy that is told them: it costs as much as there are rows.
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

    /// Writes a decision's rows.
    pub fn apply(&mut self, delta: &Delta) {
        for id in &delta.removed {
            self.forget_maker(id);
            self.rows.remove(id);
        }
        for append in &delta.appends {
            // A view keeps only the records that were asked for; here they are all kept.
            self.rows.extend_tail(&append.invocation, Vec::new());
        }
        self.rows.write(delta);
        for promise in delta.promises.values() {
            if let Some(maker) = &promise.spec.made_by {
                self.made.entry(maker.clone()).or_default().insert(promise.id().clone());
            }
        }
    }

    /// Says that a module was uploaded, and what is known of it: no command does.
    pub fn put_module(&mut self, module: Digest, facts: ModuleFacts) {
        self.rows.put_module_facts(module, facts);
    }

    /// Says that a module was removed.
    pub fn remove_module(&mut self, module: &Digest) {
        self.rows.remove_module(module);
    }

    /// The rows, for tests that damage them.
    #[cfg(test)]
    pub(crate) fn rows_mut(&mut self) -> &mut View {
        &mut self.rows
    }

    /// What an invocation made, by id.
    pub fn made_by(&self, maker: &PromiseId) -> impl Iterator<Item = &PromiseId> {
        self.made.get(maker).into_iter().flatten()
    }

    /// A promise and everything made by its members, at most `limit` of them.
    pub fn tree(&self, top: &PromiseId, limit: u32) -> Tree {
        let mut tree = Tree { members: BTreeSet::new(), whole: true };
        let mut open = Vec::from_iter(self.promise(top).map(|_| top));
        while let Some(id) = open.pop() {
            if tree.members.len() == limit as usize {
                return Tree { whole: false, ..tree };
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
