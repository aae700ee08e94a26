//! Rows by key: the part of a store that was loaded for a command. An absent row is known not to
//! exist.

mod budgets;
mod facts;
mod globals;
mod graphs;
mod journals;
mod limits;
mod lookups;
mod objects;
mod outbox;
mod promises;
mod resources;
mod schedules;
mod signals;
mod streams;
mod tree_counts;
mod unreadable;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use self::lookups::AuxiliaryRows;
pub use self::{limits::NextPartitions, lookups::TreeMembers};
use crate::{
    delta::Delta,
    id::{Digest, HostName, PromiseId, Version},
    invocation::{JournalHead, Record},
    limit::{Limit, LimitName},
    object::ModuleFacts,
    promise::{OutboxKey, OutboxRow, Promise, Task},
    unreadable::Subject,
    value::Text,
};

#[derive(Clone, Debug, Default)]
pub struct View {
    first_version: Version,
    promises: BTreeMap<PromiseId, Promise>,
    tasks: BTreeMap<PromiseId, Task>,
    /// By awaited promise, then awaiter; true if consumed.
    callbacks: BTreeMap<PromiseId, BTreeMap<PromiseId, bool>>,
    /// The same callbacks by awaiter, then awaited promise.
    awaits: BTreeMap<PromiseId, BTreeSet<PromiseId>>,
    listeners: BTreeMap<PromiseId, BTreeSet<Text>>,
    outbox: BTreeMap<OutboxKey, OutboxRow>,
    heads: BTreeMap<PromiseId, JournalHead>,
    tails: BTreeMap<PromiseId, Vec<Record>>,
    /// Pending attached promises, by the invocation that created them.
    children: BTreeMap<PromiseId, BTreeSet<PromiseId>>,
    aliases: BTreeMap<Text, Digest>,
    modules: BTreeMap<Digest, ModuleFacts>,
    hosts: BTreeMap<HostName, u64>,
    limits: BTreeMap<LimitName, Limit>,
    signal_keys: BTreeMap<(PromiseId, Text), u32>,
    lookups: AuxiliaryRows,
    /// Subjects with unreadable rows, and the defects.
    unreadable: BTreeMap<Subject, Text>,
}

impl View {
    /// An empty view to load rows into. It keeps records only of journals for which
    /// [`View::put_tail`] was called.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes the rows of a decision.
    pub fn apply(&mut self, delta: &Delta) {
        delta.removed.iter().for_each(|id| self.remove(id));
        self.write(delta);
    }

    /// Writes the rows of a decision whose removals are already done.
    pub(crate) fn write(&mut self, delta: &Delta) {
        delta.first_version.into_iter().for_each(|version| self.raise_first_version(version));
        for promise in delta.promises.values() {
            self.put_promise(promise.clone());
        }
        for task in delta.tasks.values() {
            self.put_task(task.clone());
        }
        for ((awaited, awaiter), row) in &delta.callbacks {
            match row {
                Some(consumed) => self.put_callback(awaited.clone(), awaiter.clone(), *consumed),
                None => self.remove_callback(awaited, awaiter),
            }
        }
        for ((awaited, address), present) in &delta.listeners {
            match present {
                true => self.put_listener(awaited.clone(), address.clone()),
                false => self.remove_listener(awaited, address),
            }
        }
        for (key, row) in &delta.outbox {
            match row {
                Some(row) => self.put_outbox(key.clone(), row.clone()),
                None => self.remove_outbox(key),
            }
        }
        delta.dropped_journals.iter().for_each(|id| self.drop_journal(id));
        delta.appends.iter().for_each(|append| self.append(append));
        self.aliases.extend(delta.aliases.iter().map(|(name, module)| (name.clone(), *module)));
        self.aliases.retain(|name, _| !delta.dropped_aliases.contains_key(name));
        self.hosts
            .extend(delta.hosts.iter().map(|(node, incarnation)| (node.clone(), *incarnation)));
        self.signal_keys.extend(delta.signal_keys.iter().map(|(key, n)| (key.clone(), *n)));
        self.write_schedules(delta);
        self.lookups.resources.write(delta);
        self.lookups.facts.write(delta);
        self.lookups.graph_nodes.write(delta);
        self.lookups.objects.write(delta);
        self.lookups.tree_counts.write(delta);
        self.lookups.budgets.write(delta);
        self.lookups.streams.write(delta);
        self.write_limits(delta);
    }

    /// The rows that belong to no single promise: modules, aliases, hosts, limits and the initial
    /// task version.
    pub fn globals(&self) -> Self {
        Self {
            first_version: self.first_version,
            aliases: self.aliases.clone(),
            modules: self.modules.clone(),
            hosts: self.hosts.clone(),
            limits: self.limits.clone(),
            ..Self::default()
        }
    }

    /// Number of rows, without the [globals](Self::globals).
    pub fn rows(&self) -> usize {
        let Self { promises, tasks, callbacks, listeners, outbox, heads, tails, .. } = self;
        let Self { signal_keys, lookups, .. } = self;
        let AuxiliaryRows { schedules, resources, facts, graph_nodes, objects, places, .. } =
            lookups;
        let of_promises = promises.len() + tasks.len() + heads.len() + tails.len() + outbox.len();
        let callbacks: usize = callbacks.values().map(BTreeMap::len).sum();
        let listeners: usize = listeners.values().map(BTreeSet::len).sum();
        let looked_up = schedules.len() + resources.len() + facts.len() + graph_nodes.len();
        let of_keys =
            objects.len() + places.len() + lookups.tree_counts.len() + lookups.streams.len();
        let of_keys = of_keys + lookups.budgets.len();
        of_promises + callbacks + listeners + signal_keys.len() + looked_up + of_keys
    }

    /// Drops the rows outside the composites of promises: trees, schedules, resources with their
    /// leases, facts of sagas, nodes of graph runs, objects, streams, and partitions of limits with
    /// their places.
    pub fn forget_lookups(&mut self) {
        self.lookups = AuxiliaryRows::default();
    }
}
