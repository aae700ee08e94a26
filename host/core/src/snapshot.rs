//! A whole store as flat, ordered rows. Dumps of stores are compared in this form, and invariants
//! are checked over it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    budget::Budget,
    graph::{NodeFact, NodeFactKey, NodeRow},
    id::{Digest, HostName, ObjectId, PromiseId, ResourceName, ScheduleId, StreamId, Version},
    invocation::{JournalHead, Record},
    limit::{Limit, LimitName, LimitPosition, Partition, PartitionId},
    object::{ObjectQueue, StateKey},
    promise::{OutboxKey, OutboxRow, Promise, Resource, ResourceLease, Schedule, Task},
    saga::{Fact, FactKey},
    stream::{DurableStream, StreamChunk},
    tree::TreeCount,
    value::{Payload, Text},
    view::View,
};

/// Rows of a whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Initial version of new tasks.
    #[serde(default)]
    pub first_version: Version,
    pub promises: BTreeMap<PromiseId, Promise>,
    pub tasks: BTreeMap<PromiseId, Task>,
    /// Callbacks by (awaited, awaiter): true if consumed.
    #[serde(with = "rows")]
    pub callbacks: BTreeMap<(PromiseId, PromiseId), bool>,
    /// Listeners as (awaited, address).
    pub listeners: BTreeSet<(PromiseId, Text)>,
    /// Messages in the outbox.
    #[serde(with = "rows")]
    pub outbox: BTreeMap<OutboxKey, OutboxRow>,
    pub journals: BTreeMap<PromiseId, Journal>,
    /// Aliases and the modules they refer to.
    pub aliases: BTreeMap<Text, Digest>,
    /// Hosts and their incarnations.
    pub hosts: BTreeMap<HostName, u64>,
    /// Signal keys by (invocation, key): the number of the signal.
    #[serde(with = "rows")]
    pub signal_keys: BTreeMap<(PromiseId, Text), u32>,
    pub schedules: BTreeMap<ScheduleId, Schedule>,
    pub resources: BTreeMap<ResourceName, Resource>,
    pub resource_leases: BTreeMap<ResourceName, ResourceLease>,
    /// Facts of sagas, by invocation.
    #[serde(with = "rows")]
    pub facts: BTreeMap<(PromiseId, FactKey), Fact>,
    /// Nodes of graph runs, by run and name.
    #[serde(default, with = "rows")]
    pub graph_nodes: BTreeMap<(PromiseId, Text), NodeRow>,
    /// Facts about nodes of graph runs.
    #[serde(default, with = "rows")]
    pub graph_facts: BTreeMap<NodeFactKey, NodeFact>,
    /// Counts of trees, by their roots.
    #[serde(default)]
    pub tree_counts: BTreeMap<PromiseId, TreeCount>,
    /// Budgets, by account.
    #[serde(default)]
    pub budgets: BTreeMap<PromiseId, Budget>,
    /// Queues of objects.
    #[serde(default)]
    pub lines: BTreeMap<ObjectId, ObjectQueue>,
    /// State of objects, by object and name.
    #[serde(default, with = "rows")]
    pub state: BTreeMap<StateKey, Payload>,
    #[serde(default)]
    pub limits: BTreeMap<LimitName, Limit>,
    /// Partitions (keys) of limits.
    #[serde(default)]
    pub partitions: BTreeMap<PartitionId, Partition>,
    /// Places of executions behind limits.
    #[serde(default)]
    pub places: BTreeMap<PromiseId, LimitPosition>,
    #[serde(default)]
    pub streams: BTreeMap<StreamId, DurableStream>,
    /// Data of streams, by position.
    #[serde(default, with = "rows")]
    pub stream_chunks: BTreeMap<(StreamId, u64), StreamChunk>,
}

/// A journal with its head. Records are included as far as the view holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    pub head: JournalHead,
    pub records: Vec<Record>,
}

impl Snapshot {
    /// The rows of a view that holds a whole store (`View::whole`).
    pub fn of(state: &View) -> Self {
        let promises = state.promises().map(|p| (p.id().clone(), p.clone())).collect();
        let tasks = state.tasks().map(|task| (task.id.clone(), task.clone())).collect();
        let journal = |(id, head): (&PromiseId, &JournalHead)| {
            (id.clone(), Journal { head: *head, records: state.tail(id).to_vec() })
        };
        Self {
            first_version: state.first_version(),
            promises,
            tasks,
            callbacks: state
                .callbacks()
                .map(|(on, by, consumed)| ((on.clone(), by.clone()), consumed))
                .collect(),
            listeners: state
                .listeners()
                .map(|(on, address)| (on.clone(), address.clone()))
                .collect(),
            outbox: state.outbox().map(|(key, row)| (key.clone(), row.clone())).collect(),
            journals: state.heads().map(journal).collect(),
            aliases: state.aliases().map(|(name, module)| (name.clone(), *module)).collect(),
            hosts: state.hosts().map(|(node, incarnation)| (node.clone(), incarnation)).collect(),
            signal_keys: state
                .signal_keys()
                .map(|(id, key, n)| ((id.clone(), key.clone()), n))
                .collect(),
            schedules: state
                .schedules()
                .map(|schedule| (schedule.id.clone(), schedule.clone()))
                .collect(),
            resources: state.resources().map(|row| (row.name.clone(), row.clone())).collect(),
            resource_leases: state
                .resource_leases()
                .map(|lease| (lease.name.clone(), lease.clone()))
                .collect(),
            facts: state
                .facts()
                .map(|(invocation, key, fact)| ((invocation.clone(), key.clone()), fact.clone()))
                .collect(),
            graph_nodes: state
                .graph_nodes()
                .map(|(run, node, row)| ((run.clone(), node.clone()), *row))
                .collect(),
            graph_facts: state.graph_facts().map(|(key, fact)| (key, *fact)).collect(),
            tree_counts: state.tree_counts().map(|(root, count)| (root.clone(), count)).collect(),
            budgets: state.budgets().map(|(id, row)| (id.clone(), row.clone())).collect(),
            lines: state.lines().map(|(object, line)| (object.clone(), line.clone())).collect(),
            state: state.states().map(|(key, value)| (key.clone(), value.clone())).collect(),
            limits: state.limits().map(|(name, limit)| (name.clone(), limit.clone())).collect(),
            partitions: state.partitions().map(|(id, row)| (id.clone(), row.clone())).collect(),
            places: state.places().map(|(id, place)| (id.clone(), place.clone())).collect(),
            streams: state.streams().map(|row| (row.id.clone(), row.clone())).collect(),
            stream_chunks: state
                .all_stream_chunks()
                .map(|chunk| ((chunk.stream.clone(), chunk.position), chunk.clone()))
                .collect(),
        }
    }
}

/// Serde helper for maps whose keys are not text: a list of pairs.
mod rows {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Vec::<(K, V)>::deserialize(deserializer).map(|rows| rows.into_iter().collect())
    }
}
