//! The rows that a decision writes. Rows are whole and keyed, so a later decision in the same
//! transaction replaces them. A delta is written completely or not at all.

mod split;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    budget::Budget,
    graph::{NodeFact, NodeFactKey, NodeRow},
    id::{Digest, HostName, ObjectId, PromiseId, ResourceName, ScheduleId, StreamId, Version},
    invocation::{JournalHead, LogLine, Record},
    limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
    object::{ObjectQueue, StateKey, StateWrite},
    promise::{OutboxKey, OutboxRow, Promise, Resource, ResourceLease, Schedule, Task},
    saga::{Fact, FactKey},
    stream::{DurableStream, StreamChunk},
    tree::TreeCount,
    value::{Payload, Text},
};

pub use self::split::DatabaseDelta;

/// Rows to write. In maps to an `Option`, `None` deletes the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Promises to remove, with all rows that belong to them: task, callbacks, journal, logs,
    /// signal keys. They are removed before the rest is written, so that an id can be created again
    /// in the same transaction.
    pub removed: BTreeSet<PromiseId>,
    /// New initial version of tasks, if it rises.
    pub first_version: Option<Version>,
    /// Promises that were created or settled.
    pub promises: BTreeMap<PromiseId, Promise>,
    pub tasks: BTreeMap<PromiseId, Task>,
    /// Callbacks by (awaited, awaiter): true if consumed, `None` deletes the row.
    pub callbacks: BTreeMap<(PromiseId, PromiseId), Option<bool>>,
    /// Listeners by (awaited, address): true if present, false deletes the row.
    pub listeners: BTreeMap<(PromiseId, Text), bool>,
    /// Messages in the outbox.
    pub outbox: BTreeMap<OutboxKey, Option<OutboxRow>>,
    /// Records to append, in order.
    pub appends: Vec<JournalAppend>,
    /// Journals to remove, with their log lines. Nothing is appended to them afterwards.
    pub dropped_journals: BTreeSet<PromiseId>,
    /// Log lines of guests, by invocation, in order.
    pub logs: Vec<(PromiseId, LogLine)>,
    /// Aliases and the modules they refer to from now on.
    pub aliases: BTreeMap<Text, Digest>,
    /// Aliases to remove after `aliases` is written, with the modules that they referred to. An
    /// alias that another transaction has moved in between stays.
    pub dropped_aliases: BTreeMap<Text, Digest>,
    /// Hosts and their incarnations.
    pub hosts: BTreeMap<HostName, u64>,
    /// Signal keys by (invocation, key): the number of the signal.
    pub signal_keys: BTreeMap<(PromiseId, Text), u32>,
    pub schedules: BTreeMap<ScheduleId, Option<Schedule>>,
    pub resources: BTreeMap<ResourceName, Resource>,
    pub resource_leases: BTreeMap<ResourceName, ResourceLease>,
    /// Facts of sagas, by invocation; only new ones.
    pub facts: BTreeMap<(PromiseId, FactKey), Fact>,
    /// Nodes of graph runs, by run and name. A stored row that is further along stays.
    pub graph_nodes: BTreeMap<(PromiseId, Text), NodeRow>,
    /// Facts about nodes of graph runs. A stored fact stays.
    pub graph_facts: BTreeMap<NodeFactKey, NodeFact>,
    /// Counts of trees, by their roots.
    pub tree_counts: BTreeMap<PromiseId, Option<TreeCount>>,
    /// Budgets, by account. `None`: removed.
    pub budgets: BTreeMap<PromiseId, Option<Budget>>,
    /// Queues of objects.
    pub lines: BTreeMap<ObjectId, Option<ObjectQueue>>,
    /// Objects whose whole state is cleared before the rest of their state is written.
    pub cleared: BTreeSet<ObjectId>,
    /// Entries of the state of objects.
    pub state: BTreeMap<StateKey, Option<Payload>>,
    pub limits: BTreeMap<LimitName, Option<Limit>>,
    /// Partitions (keys) of limits.
    pub partitions: BTreeMap<PartitionId, Option<Partition>>,
    /// Places of executions behind limits.
    pub places: BTreeMap<PromiseId, LimitPosition>,
    pub streams: BTreeMap<StreamId, Option<DurableStream>>,
    /// Streams whose data is removed before the rest of their data is written.
    pub cleared_streams: BTreeSet<StreamId>,
    /// Data of streams, in order.
    pub stream_chunks: Vec<StreamChunk>,
}

/// Records that one command appends to one journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalAppend {
    pub invocation: PromiseId,
    /// Head of the journal before the append. A store may use it for optimistic locking.
    pub before: JournalHead,
    /// Head of the journal after the append.
    pub after: JournalHead,
    pub records: Vec<Record>,
}

impl Delta {
    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty()
            && self.first_version.is_none()
            && self.promises.is_empty()
            && self.tasks.is_empty()
            && self.callbacks.is_empty()
            && self.listeners.is_empty()
            && self.outbox.is_empty()
            && self.appends.is_empty()
            && self.dropped_journals.is_empty()
            && self.logs.is_empty()
            && self.aliases.is_empty()
            && self.dropped_aliases.is_empty()
            && self.hosts.is_empty()
            && self.signal_keys.is_empty()
            && self.schedules.is_empty()
            && self.resources.is_empty()
            && self.resource_leases.is_empty()
            && self.facts.is_empty()
            && self.graph_nodes.is_empty()
            && self.graph_facts.is_empty()
            && self.tree_counts.is_empty()
            && self.budgets.is_empty()
            && self.lines.is_empty()
            && self.cleared.is_empty()
            && self.state.is_empty()
            && self.limits.is_empty()
            && self.partitions.is_empty()
            && self.places.is_empty()
            && self.streams.is_empty()
            && self.cleared_streams.is_empty()
            && self.stream_chunks.is_empty()
    }

    /// True if there are rows, other than promises, that other transactions may create
    /// concurrently: those with names.
    pub fn has_named(&self) -> bool {
        !(self.aliases.is_empty()
            && self.dropped_aliases.is_empty()
            && self.hosts.is_empty()
            && self.schedules.is_empty()
            && self.resources.is_empty()
            && self.resource_leases.is_empty()
            && self.tree_counts.values().all(Option::is_none)
            && self.budgets.values().all(Option::is_none)
            && self.lines.values().all(Option::is_none)
            && self.limits.values().all(Option::is_none)
            && self.partitions.values().all(Option::is_none)
            && self.streams.values().all(Option::is_none))
    }

    /// The rows that a decision writes when it removes promises, except the initial task version
    /// and the removals themselves.
    pub fn beside_removal(&self) -> Self {
        Self {
            tree_counts: self.tree_counts.clone(),
            budgets: self.budgets.clone(),
            lines: self.lines.clone(),
            cleared: self.cleared.clone(),
            ..Self::default()
        }
    }

    /// True if the delta only appends to journals and writes the log lines of these appends.
    pub fn only_appends(&self) -> bool {
        let Self {
            removed,
            first_version,
            promises,
            tasks,
            callbacks,
            listeners,
            outbox,
            appends,
            dropped_journals,
            logs: _,
            aliases,
            dropped_aliases,
            hosts,
            signal_keys,
            schedules,
            resources,
            resource_leases,
            facts,
            graph_nodes,
            graph_facts,
            tree_counts,
            budgets,
            lines,
            cleared,
            state,
            limits,
            partitions,
            places,
            streams,
            cleared_streams,
            stream_chunks,
        } = self;
        !appends.is_empty()
            && dropped_journals.is_empty()
            && removed.is_empty()
            && first_version.is_none()
            && promises.is_empty()
            && tasks.is_empty()
            && callbacks.is_empty()
            && listeners.is_empty()
            && outbox.is_empty()
            && aliases.is_empty()
            && dropped_aliases.is_empty()
            && hosts.is_empty()
            && signal_keys.is_empty()
            && schedules.is_empty()
            && resources.is_empty()
            && resource_leases.is_empty()
            && facts.is_empty()
            && graph_nodes.is_empty()
            && graph_facts.is_empty()
            && tree_counts.is_empty()
            && budgets.is_empty()
            && lines.is_empty()
            && cleared.is_empty()
            && state.is_empty()
            && limits.is_empty()
            && partitions.is_empty()
            && places.is_empty()
            && streams.is_empty()
            && cleared_streams.is_empty()
            && stream_chunks.is_empty()
    }

    /// Adds the rows of a later decision in the same transaction. They replace rows with the same
    /// key.
    pub fn merge(&mut self, later: Self) {
        if !later.removed.is_empty() {
            self.forget(&later.removed);
            self.removed.extend(later.removed);
        }
        self.first_version = self.first_version.max(later.first_version);
        self.promises.extend(later.promises);
        self.tasks.extend(later.tasks);
        self.callbacks.extend(later.callbacks);
        self.listeners.extend(later.listeners);
        self.outbox.extend(later.outbox);
        self.appends.retain(|append| !later.dropped_journals.contains(&append.invocation));
        self.logs.retain(|(id, _)| !later.dropped_journals.contains(id));
        self.dropped_journals.extend(later.dropped_journals);
        self.appends.extend(later.appends);
        self.logs.extend(later.logs);
        self.dropped_aliases.retain(|alias, _| !later.aliases.contains_key(alias));
        self.aliases.extend(later.aliases);
        self.dropped_aliases.extend(later.dropped_aliases);
        self.hosts.extend(later.hosts);
        self.signal_keys.extend(later.signal_keys);
        self.schedules.extend(later.schedules);
        self.resources.extend(later.resources);
        self.resource_leases.extend(later.resource_leases);
        self.facts.extend(later.facts);
        self.tree_counts.extend(later.tree_counts);
        self.budgets.extend(later.budgets);
        self.lines.extend(later.lines);
        later.cleared.into_iter().for_each(|object| self.clear_state(object));
        self.state.extend(later.state);
        self.limits.extend(later.limits);
        self.partitions.extend(later.partitions);
        self.places.extend(later.places);
        for id in later.cleared_streams {
            self.clear_stream(id);
        }
        self.streams.extend(later.streams);
        later.stream_chunks.into_iter().for_each(|chunk| self.put_stream_chunk(chunk));
        for (node, row) in later.graph_nodes {
            self.put_graph_node(node, row);
        }
        for (key, fact) in later.graph_facts {
            self.graph_facts.entry(key).or_insert(fact);
        }
    }

    /// Writes a node of a graph run, unless the pending row is further along.
    pub fn put_graph_node(&mut self, node: (PromiseId, Text), row: NodeRow) {
        if self.graph_nodes.get(&node).is_none_or(|before| row.follows(before)) {
            self.graph_nodes.insert(node, row);
        }
    }

    pub fn write_state(&mut self, object: &ObjectId, write: &StateWrite) {
        if write.clears {
            self.clear_state(object.clone());
        }
        for (name, value) in &write.entries {
            self.state.insert((object.clone(), name.clone()), value.clone());
        }
    }

    /// Removes all data of a stream.
    pub fn clear_stream(&mut self, id: StreamId) {
        self.stream_chunks.retain(|chunk| chunk.stream != id);
        self.cleared_streams.insert(id);
    }

    /// Adds data to the end of a stream. Data that follows pending data of the same journal length
    /// becomes a part of its chunk, up to a size.
    pub fn put_stream_chunk(&mut self, chunk: StreamChunk) {
        let last = self.stream_chunks.iter_mut().rev().find(|last| last.stream == chunk.stream);
        match last.filter(|last| last.may_grow_by(&chunk)) {
            Some(last) => last.grow(&chunk),
            None => self.stream_chunks.push(chunk),
        }
    }

    fn clear_state(&mut self, object: ObjectId) {
        self.state.retain(|(of, _), _| *of != object);
        self.cleared.insert(object);
    }

    /// Drops pending rows of promises that are removed.
    fn forget(&mut self, gone: &BTreeSet<PromiseId>) {
        self.promises.retain(|id, _| !gone.contains(id));
        self.tasks.retain(|id, _| !gone.contains(id));
        self.callbacks.retain(|(on, by), _| !gone.contains(on) && !gone.contains(by));
        self.listeners.retain(|(id, _), _| !gone.contains(id));
        self.outbox.retain(|key, _| !gone.contains(key.promise()));
        self.appends.retain(|append| !gone.contains(&append.invocation));
        self.dropped_journals.retain(|id| !gone.contains(id));
        self.logs.retain(|(id, _)| !gone.contains(id));
        self.signal_keys.retain(|(id, _), _| !gone.contains(id));
        self.facts.retain(|(id, _), _| !gone.contains(id));
        self.graph_nodes.retain(|(id, _), _| !gone.contains(id));
        self.graph_facts.retain(|(id, ..), _| !gone.contains(id));
        self.tree_counts.retain(|id, _| !gone.contains(id));
        self.budgets.retain(|id, _| !gone.contains(id));
        self.places.retain(|id, _| !gone.contains(id));
        let is_gone = |id: &StreamId| id.owner().is_some_and(|owner| gone.contains(&owner));
        self.streams.retain(|id, _| !is_gone(id));
        self.cleared_streams.retain(|id| !is_gone(id));
        self.stream_chunks.retain(|chunk| !is_gone(&chunk.stream));
    }
}
