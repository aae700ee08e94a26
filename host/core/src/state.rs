//! The rows as ordered maps. The same type is the whole model (the memory store) and the part of a
//! database that was loaded for a command: a row that is absent is known to be absent.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use crate::{
    delta::{Append, Delta},
    id::{CommandIndex, Digest, NodeName, PromiseId, ResourceName, ScheduleId, Version},
    invocation::{JournalHead, Record},
    promise::{
        CancelState, OutboxKey, OutboxRow, Promise, Resource, ResourceLease, Schedule, Task,
    },
    saga::{Fact, FactKey},
    unreadable::Subject,
    value::Text,
};

/// Rows, by key.
#[derive(Clone, Debug, Default)]
pub struct State {
    first_version: Version,
    promises: BTreeMap<PromiseId, Promise>,
    tasks: BTreeMap<PromiseId, Task>,
    /// By awaited, then awaiter.
    callbacks: BTreeMap<PromiseId, BTreeMap<PromiseId, bool>>,
    /// The same by awaiter, then awaited.
    awaits: BTreeMap<PromiseId, BTreeSet<PromiseId>>,
    listeners: BTreeMap<PromiseId, BTreeSet<Text>>,
    outbox: BTreeMap<OutboxKey, OutboxRow>,
    heads: BTreeMap<PromiseId, JournalHead>,
    tails: BTreeMap<PromiseId, Vec<Record>>,
    /// Pending attached promises by the invocation that made them.
    children: BTreeMap<PromiseId, BTreeSet<PromiseId>>,
    aliases: BTreeMap<Text, Digest>,
    modules: BTreeSet<Digest>,
    hosts: BTreeMap<NodeName, u64>,
    signal_keys: BTreeMap<(PromiseId, Text), u32>,
    schedules: BTreeMap<ScheduleId, Schedule>,
    resources: BTreeMap<ResourceName, Resource>,
    resource_leases: BTreeMap<ResourceName, ResourceLease>,
    facts: BTreeMap<PromiseId, BTreeMap<FactKey, Fact>>,
    /// What each invocation made, in a state that holds everything.
    made: BTreeMap<PromiseId, BTreeSet<PromiseId>>,
    /// Trees, in a view that was loaded for removing them.
    trees: BTreeMap<PromiseId, Tree>,
    /// What has rows that are there and cannot be read, and why.
    unreadable: BTreeMap<Subject, Text>,
    keeps_journals: bool,
}

/// A promise and everything made by its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The promises, the top included.
    pub members: BTreeSet<PromiseId>,
    /// Whether these are all of them.
    pub whole: bool,
}

impl State {
    /// A view to load rows into. It keeps the records of a journal only where [`State::put_tail`]
    /// asked for them.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that keeps everything, whole journals included.
    pub fn whole() -> Self {
        Self { keeps_journals: true, ..Self::default() }
    }

    /// The version at which tasks are born: above that of every task that was removed.
    pub fn first_version(&self) -> Version {
        self.first_version
    }

    /// The promise with this id.
    pub fn promise(&self, id: &PromiseId) -> Option<&Promise> {
        self.promises.get(id)
    }

    /// The task of this promise.
    pub fn task(&self, id: &PromiseId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// The callbacks on this promise: awaiter, and whether it was woken already.
    pub fn callbacks_on(&self, awaited: &PromiseId) -> impl Iterator<Item = (&PromiseId, bool)> {
        self.callbacks
            .get(awaited)
            .into_iter()
            .flatten()
            .map(|(awaiter, consumed)| (awaiter, *consumed))
    }

    /// The callback of one awaiter on one promise: whether it is consumed.
    pub fn callback(&self, awaited: &PromiseId, awaiter: &PromiseId) -> Option<bool> {
        self.callbacks.get(awaited)?.get(awaiter).copied()
    }

    /// The promises this task has callbacks on.
    pub fn awaited_by(&self, awaiter: &PromiseId) -> impl Iterator<Item = &PromiseId> {
        self.awaits.get(awaiter).into_iter().flatten()
    }

    /// The addresses to be told when this promise settles.
    pub fn listeners_on(&self, awaited: &PromiseId) -> impl Iterator<Item = &Text> {
        self.listeners.get(awaited).into_iter().flatten()
    }

    /// A message owed.
    pub fn outbox_row(&self, key: &OutboxKey) -> Option<&OutboxRow> {
        self.outbox.get(key)
    }

    /// The end of this invocation's journal; that of an empty journal if it has none.
    pub fn head(&self, invocation: &PromiseId) -> JournalHead {
        self.heads.get(invocation).copied().unwrap_or_default()
    }

    /// The loaded records of this journal: the last ones, up to its head.
    pub fn tail(&self, invocation: &PromiseId) -> &[Record] {
        self.tails.get(invocation).map_or(&[], Vec::as_slice)
    }

    /// The pending attached promises of this invocation that follow `after`, by id.
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

    /// Whether this invocation was asked to stop: it may go on for as long as it takes to do so.
    /// What cannot be asked, since no worker produces it, never was.
    pub fn was_asked_to_stop(&self, id: &PromiseId) -> bool {
        self.task(id).is_some_and(|task| task.cancel != CancelState::None)
    }

    /// A promise and everything made by its members, at most `limit` of them.
    pub fn tree(&self, top: &PromiseId, limit: u32) -> Tree {
        if !self.keeps_journals {
            return self.trees.get(top).cloned().unwrap_or_default();
        }
        let mut tree = Tree { members: BTreeSet::new(), whole: true };
        let mut open = Vec::from_iter(self.promises.contains_key(top).then_some(top));
        while let Some(id) = open.pop() {
            if tree.members.len() == limit as usize {
                return Tree { whole: false, ..tree };
            }
            tree.members.insert(id.clone());
            open.extend(self.made_by(id));
        }
        tree
    }

    /// What an invocation made, in a state that holds everything.
    pub fn made_by(&self, maker: &PromiseId) -> impl Iterator<Item = &PromiseId> {
        self.made.get(maker).into_iter().flatten()
    }

    /// The keys of messages from this one on.
    pub fn outbox_from(&self, key: &OutboxKey) -> impl Iterator<Item = &OutboxKey> {
        self.outbox.range(key.clone()..).map(|(key, _)| key)
    }

    /// The module an alias stands for.
    pub fn alias(&self, name: &str) -> Option<Digest> {
        self.aliases.get(name).copied()
    }

    /// Whether a module was uploaded.
    pub fn has_module(&self, module: &Digest) -> bool {
        self.modules.contains(module)
    }

    /// How often a host has started.
    pub fn incarnation(&self, node: &NodeName) -> u64 {
        self.hosts.get(node).copied().unwrap_or_default()
    }

    /// Which signal of this invocation had this key.
    pub fn signal_key(&self, invocation: &PromiseId, key: &Text) -> Option<u32> {
        self.signal_keys.get(&(invocation.clone(), key.clone())).copied()
    }

    /// The schedule with this id.
    pub fn schedule(&self, id: &ScheduleId) -> Option<&Schedule> {
        self.schedules.get(id)
    }

    /// The resource with this name.
    pub fn resource(&self, name: &ResourceName) -> Option<&Resource> {
        self.resources.get(name)
    }

    /// The lease on the resource with this name.
    pub fn resource_lease(&self, name: &ResourceName) -> Option<&ResourceLease> {
        self.resource_leases.get(name)
    }

    /// The facts of this invocation's sagas.
    pub fn facts_of(&self, invocation: &PromiseId) -> impl Iterator<Item = (&FactKey, &Fact)> {
        self.facts.get(invocation).into_iter().flatten()
    }

    /// A fact of one of this invocation's sagas.
    pub fn fact(&self, invocation: &PromiseId, key: &FactKey) -> Option<&Fact> {
        self.facts.get(invocation)?.get(key)
    }

    /// Why the rows about this cannot be read, if they cannot.
    pub fn unreadable(&self, subject: &Subject) -> Option<&Text> {
        self.unreadable.get(subject)
    }

    /// Whether there is anything whose rows cannot be read.
    pub fn has_unreadable(&self) -> bool {
        !self.unreadable.is_empty()
    }

    /// Whether the rows of this promise, or of something else of its composite, cannot be read.
    pub fn is_unreadable(&self, id: &PromiseId) -> bool {
        self.has_unreadable() && self.unreadable.contains_key(&Subject::Promise(id.clone()))
    }

    /// The promises whose rows cannot be read.
    pub fn unreadable_promises(&self) -> impl Iterator<Item = &PromiseId> {
        self.unreadable.keys().filter_map(|subject| match subject {
            Subject::Promise(id) => Some(id),
            Subject::Schedule(_) | Subject::Message(_) | Subject::Resource(_) => None,
        })
    }

    /// All promises, by id.
    pub fn promises(&self) -> impl Iterator<Item = &Promise> {
        self.promises.values()
    }

    /// All tasks, by id.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// All callbacks: awaited, awaiter, consumed.
    pub fn callbacks(&self) -> impl Iterator<Item = (&PromiseId, &PromiseId, bool)> {
        self.callbacks.iter().flat_map(|(awaited, awaiters)| {
            awaiters.iter().map(move |(awaiter, consumed)| (awaited, awaiter, *consumed))
        })
    }

    /// All listeners: awaited, address.
    pub fn listeners(&self) -> impl Iterator<Item = (&PromiseId, &Text)> {
        self.listeners.iter().flat_map(|(awaited, addresses)| {
            addresses.iter().map(move |address| (awaited, address))
        })
    }

    /// All messages owed.
    pub fn outbox(&self) -> impl Iterator<Item = (&OutboxKey, &OutboxRow)> {
        self.outbox.iter()
    }

    /// All journals' ends.
    pub fn heads(&self) -> impl Iterator<Item = (&PromiseId, &JournalHead)> {
        self.heads.iter()
    }

    /// All aliases.
    pub fn aliases(&self) -> impl Iterator<Item = (&Text, &Digest)> {
        self.aliases.iter()
    }

    /// All hosts and how often they started.
    pub fn hosts(&self) -> impl Iterator<Item = (&NodeName, u64)> {
        self.hosts.iter().map(|(node, incarnation)| (node, *incarnation))
    }

    /// All keys of signals.
    pub fn signal_keys(&self) -> impl Iterator<Item = (&PromiseId, &Text, u32)> {
        self.signal_keys.iter().map(|((invocation, key), n)| (invocation, key, *n))
    }

    /// All schedules, by id.
    pub fn schedules(&self) -> impl Iterator<Item = &Schedule> {
        self.schedules.values()
    }

    /// All resources, by name.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }

    /// All leases on resources, by name.
    pub fn resource_leases(&self) -> impl Iterator<Item = &ResourceLease> {
        self.resource_leases.values()
    }

    /// All facts of sagas, by invocation.
    pub fn facts(&self) -> impl Iterator<Item = (&PromiseId, &FactKey, &Fact)> {
        self.facts.iter().flat_map(|(invocation, facts)| {
            facts.iter().map(move |(key, fact)| (invocation, key, fact))
        })
    }

    /// Says that tasks are born at this version, or a later one that is known already.
    pub fn raise_first_version(&mut self, version: Version) {
        self.first_version = self.first_version.max(version);
    }

    /// Says that a row about this is there and cannot be read.
    pub fn put_unreadable(&mut self, subject: Subject, why: Text) {
        self.unreadable.entry(subject).or_insert(why);
    }

    /// Puts a promise row.
    pub fn put_promise(&mut self, promise: Promise) {
        if let Some(maker) = promise.spec.made_by.as_ref().filter(|_| self.keeps_journals) {
            self.made.entry(maker.clone()).or_default().insert(promise.id().clone());
        }
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

    /// Puts a task row.
    pub fn put_task(&mut self, task: Task) {
        self.tasks.insert(task.id.clone(), task);
    }

    /// Puts a callback row.
    pub fn put_callback(&mut self, awaited: PromiseId, awaiter: PromiseId, consumed: bool) {
        self.awaits.entry(awaiter.clone()).or_default().insert(awaited.clone());
        self.callbacks.entry(awaited).or_default().insert(awaiter, consumed);
    }

    /// Deletes a callback row.
    pub fn remove_callback(&mut self, awaited: &PromiseId, awaiter: &PromiseId) {
        if let Some(awaiters) = self.callbacks.get_mut(awaited) {
            awaiters.remove(awaiter);
            if awaiters.is_empty() {
                self.callbacks.remove(awaited);
            }
        }
        if let Some(awaited_ones) = self.awaits.get_mut(awaiter) {
            awaited_ones.remove(awaited);
            if awaited_ones.is_empty() {
                self.awaits.remove(awaiter);
            }
        }
    }

    /// Puts a listener row.
    pub fn put_listener(&mut self, awaited: PromiseId, address: Text) {
        self.listeners.entry(awaited).or_default().insert(address);
    }

    /// Deletes a listener row.
    pub fn remove_listener(&mut self, awaited: &PromiseId, address: &Text) {
        if let Some(addresses) = self.listeners.get_mut(awaited) {
            addresses.remove(address);
            if addresses.is_empty() {
                self.listeners.remove(awaited);
            }
        }
    }

    /// Puts a message.
    pub fn put_outbox(&mut self, key: OutboxKey, row: OutboxRow) {
        self.readable(|| Subject::Message(key.clone()));
        self.outbox.insert(key, row);
    }

    /// Deletes a message.
    pub fn remove_outbox(&mut self, key: &OutboxKey) {
        self.readable(|| Subject::Message(key.clone()));
        self.outbox.remove(key);
    }

    /// Puts the end of a journal.
    pub fn put_head(&mut self, invocation: PromiseId, head: JournalHead) {
        self.heads.insert(invocation, head);
    }

    /// Puts the last records of a journal, up to its head.
    pub fn put_tail(&mut self, invocation: PromiseId, records: Vec<Record>) {
        self.tails.insert(invocation, records);
    }

    /// Puts more of the last records of a journal: those that follow the ones that were put before.
    pub fn extend_tail(&mut self, invocation: &PromiseId, records: Vec<Record>) {
        match self.tails.get_mut(invocation) {
            Some(tail) => tail.extend(records),
            None => self.put_tail(invocation.clone(), records),
        }
    }

    /// Puts the members of a tree, which are put besides.
    pub fn put_tree(&mut self, top: PromiseId, tree: Tree) {
        self.trees.insert(top, tree);
    }

    /// Forgets what belongs to no promise's composite, and so is not forgotten with one: trees,
    /// schedules, resources with their leases, and the facts of sagas.
    pub fn forget_lookups(&mut self) {
        self.trees.clear();
        self.schedules.clear();
        self.resources.clear();
        self.resource_leases.clear();
        self.facts.clear();
    }

    /// The part that is about no single promise: modules, aliases, hosts and the first version.
    pub fn globals(&self) -> Self {
        Self {
            first_version: self.first_version,
            aliases: self.aliases.clone(),
            modules: self.modules.clone(),
            hosts: self.hosts.clone(),
            keeps_journals: self.keeps_journals,
            ..Self::default()
        }
    }

    /// How many rows are here beside the [globals](Self::globals).
    pub fn rows(&self) -> usize {
        let Self { promises, tasks, callbacks, awaits: _, listeners, outbox, heads, tails, .. } =
            self;
        let Self { children: _, signal_keys, schedules, resources, resource_leases, facts, .. } =
            self;
        let of_promises = promises.len() + tasks.len() + heads.len() + tails.len() + outbox.len();
        let of_others =
            signal_keys.len() + schedules.len() + resources.len() + resource_leases.len();
        let callbacks: usize = callbacks.values().map(BTreeMap::len).sum();
        let listeners: usize = listeners.values().map(BTreeSet::len).sum();
        let facts: usize = facts.values().map(BTreeMap::len).sum();
        of_promises + of_others + callbacks + listeners + facts
    }

    /// Deletes a promise with all that belongs to it.
    pub fn remove(&mut self, id: &PromiseId) {
        let maker = self.promise(id).and_then(|promise| promise.spec.made_by.clone());
        if let Some(maker) = maker.filter(|_| self.keeps_journals)
            && let Some(made) = self.made.get_mut(&maker)
        {
            made.remove(id);
            if made.is_empty() {
                self.made.remove(&maker);
            }
        }
        let awaiters: Vec<PromiseId> = self.callbacks_on(id).map(|(by, _)| by.clone()).collect();
        awaiters.iter().for_each(|by| self.remove_callback(id, by));
        let awaited: Vec<PromiseId> = self.awaited_by(id).cloned().collect();
        awaited.iter().for_each(|on| self.remove_callback(on, id));
        self.facts.remove(id);
        self.evict(id);
    }

    /// Deletes a module.
    pub fn remove_module(&mut self, module: &Digest) {
        self.modules.remove(module);
    }

    /// Puts an alias.
    pub fn put_alias(&mut self, name: Text, module: Digest) {
        self.aliases.insert(name, module);
    }

    /// Says that a module was uploaded.
    pub fn put_module(&mut self, module: Digest) {
        self.modules.insert(module);
    }

    /// Puts a host's incarnation.
    pub fn put_host(&mut self, node: NodeName, incarnation: u64) {
        self.hosts.insert(node, incarnation);
    }

    /// Puts the key of a signal.
    pub fn put_signal_key(&mut self, invocation: PromiseId, key: Text, n: u32) {
        self.signal_keys.insert((invocation, key), n);
    }

    /// Puts a schedule.
    pub fn put_schedule(&mut self, schedule: Schedule) {
        self.readable(|| Subject::Schedule(schedule.id.clone()));
        self.schedules.insert(schedule.id.clone(), schedule);
    }

    /// Deletes a schedule.
    pub fn remove_schedule(&mut self, id: &ScheduleId) {
        self.readable(|| Subject::Schedule(id.clone()));
        self.schedules.remove(id);
    }

    /// Puts a resource.
    pub fn put_resource(&mut self, resource: Resource) {
        self.resources.insert(resource.name.clone(), resource);
    }

    /// Puts a lease on a resource.
    pub fn put_resource_lease(&mut self, lease: ResourceLease) {
        self.resource_leases.insert(lease.name.clone(), lease);
    }

    /// Puts a fact of a saga.
    pub fn put_fact(&mut self, invocation: PromiseId, key: FactKey, fact: Fact) {
        self.facts.entry(invocation).or_default().insert(key, fact);
    }

    /// Writes a decision's rows.
    pub fn apply(&mut self, delta: &Delta) {
        delta.removed.iter().for_each(|id| self.remove(id));
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
        delta.appends.iter().for_each(|append| self.append(append));
        self.aliases.extend(delta.aliases.iter().map(|(name, module)| (name.clone(), *module)));
        self.hosts
            .extend(delta.hosts.iter().map(|(node, incarnation)| (node.clone(), *incarnation)));
        self.signal_keys.extend(delta.signal_keys.iter().map(|(key, n)| (key.clone(), *n)));
        for (id, row) in &delta.schedules {
            match row {
                Some(schedule) => self.put_schedule(schedule.clone()),
                None => self.remove_schedule(id),
            }
        }
        delta.resources.values().for_each(|resource| self.put_resource(resource.clone()));
        delta.resource_leases.values().for_each(|lease| self.put_resource_lease(lease.clone()));
        for ((invocation, key), fact) in &delta.facts {
            self.put_fact(invocation.clone(), key.clone(), fact.clone());
        }
    }

    /// Forgets the composite of this promise: a view then has to load it again. A callback row is
    /// kept while the promise at its other end is loaded, so a store that gives up a transaction
    /// evicts every id its delta names.
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
        let keys: Vec<OutboxKey> = (self.outbox.range(unblocks))
            .take_while(|(key, _)| matches!(key, OutboxKey::Unblock(promise, _) if promise == id))
            .chain((self.outbox.range(events)).take_while(
                |(key, _)| matches!(key, OutboxKey::Event(promise, _) if promise == id),
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

    /// Whatever could not be read of this is not there any more.
    fn readable(&mut self, subject: impl FnOnce() -> Subject) {
        if self.has_unreadable() {
            self.unreadable.remove(&subject());
        }
    }

    fn append(&mut self, append: &Append) {
        self.heads.insert(append.invocation.clone(), append.after);
        let tail = match self.keeps_journals {
            true => self.tails.entry(append.invocation.clone()).or_default(),
            false => match self.tails.get_mut(&append.invocation) {
                Some(tail) => tail,
                None => return,
            },
        };
        tail.extend(append.records.iter().cloned());
    }
}
