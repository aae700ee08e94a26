//! Rows outside the composites of promises, by their own keys.

use std::collections::{BTreeMap, BTreeSet};

use super::{budgets::BudgetRows, streams::StreamRows};
use crate::{
    delta::Delta,
    graph::{NodeFact, NodeRow, NodeState},
    id::{ObjectId, PromiseId, ResourceName, ScheduleId},
    limit::{LimitPosition, Partition, PartitionId},
    object::{ObjectQueue, StateKey},
    promise::{Resource, ResourceLease, Schedule},
    saga::{Fact, FactKey},
    tree::TreeCount,
    value::{Payload, Text},
};

/// Rows outside the composites of promises. Removing a promise removes only its saga facts, graph
/// nodes, limit position and streams.
#[derive(Clone, Debug, Default)]
pub(super) struct AuxiliaryRows {
    pub(super) schedules: Schedules,
    pub(super) resources: Resources,
    pub(super) facts: Facts,
    pub(super) graph_nodes: GraphNodes,
    pub(super) objects: ObjectRows,
    pub(super) places: LimitRows,
    pub(super) tree_counts: TreeCounts,
    pub(super) budgets: BudgetRows,
    pub(super) streams: StreamRows,
    /// Trees by top. Only filled in views that were loaded to remove trees.
    pub(super) trees: BTreeMap<PromiseId, TreeMembers>,
}

/// A promise and everything created by its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeMembers {
    /// The promises, including the top.
    pub members: BTreeSet<PromiseId>,
    /// True if `members` is complete.
    pub whole: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Schedules(pub(super) BTreeMap<ScheduleId, Schedule>);

impl Schedules {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    pub(super) values: BTreeMap<ResourceName, Resource>,
    pub(super) leases: BTreeMap<ResourceName, ResourceLease>,
}

impl Resources {
    pub(super) fn write(&mut self, delta: &Delta) {
        let owned = |(name, row): (&ResourceName, &Resource)| (name.clone(), row.clone());
        self.values.extend(delta.resources.iter().map(owned));
        let owned = |(name, row): (&ResourceName, &ResourceLease)| (name.clone(), row.clone());
        self.leases.extend(delta.resource_leases.iter().map(owned));
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() + self.leases.len()
    }
}

/// Facts by the invocation of their saga.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts(pub(super) BTreeMap<PromiseId, BTreeMap<FactKey, Fact>>);

impl Facts {
    pub(super) fn write(&mut self, delta: &Delta) {
        for ((invocation, key), fact) in &delta.facts {
            self.0.entry(invocation.clone()).or_default().insert(key.clone(), fact.clone());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    pub(super) fn remove(&mut self, invocation: &PromiseId) {
        self.0.remove(invocation);
    }
}

/// Node rows and histories, by run. No decision reads them.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphNodes {
    pub(super) rows: BTreeMap<PromiseId, BTreeMap<Text, NodeRow>>,
    pub(super) facts: BTreeMap<PromiseId, BTreeMap<(Text, u32, NodeState), NodeFact>>,
}

impl GraphNodes {
    pub(super) fn write(&mut self, delta: &Delta) {
        for ((run, node), row) in &delta.graph_nodes {
            let nodes = self.rows.entry(run.clone()).or_default();
            if nodes.get(node).is_none_or(|before| row.follows(before)) {
                nodes.insert(node.clone(), *row);
            }
        }
        for ((run, node, attempt, state), fact) in &delta.graph_facts {
            let facts = self.facts.entry(run.clone()).or_default();
            facts.entry((node.clone(), *attempt, *state)).or_insert(*fact);
        }
    }

    pub(super) fn len(&self) -> usize {
        let rows: usize = self.rows.values().map(BTreeMap::len).sum();
        rows + self.facts.values().map(BTreeMap::len).sum::<usize>()
    }

    pub(super) fn remove(&mut self, run: &PromiseId) {
        self.rows.remove(run);
        self.facts.remove(run);
    }
}

/// Rows by object. No decision reads the state.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectRows {
    pub(super) lines: BTreeMap<ObjectId, ObjectQueue>,
    pub(super) state: BTreeMap<StateKey, Payload>,
}

impl ObjectRows {
    pub(super) fn write(&mut self, delta: &Delta) {
        for (object, line) in &delta.lines {
            match line {
                Some(line) => drop(self.lines.insert(object.clone(), line.clone())),
                None => drop(self.lines.remove(object)),
            }
        }
        if !delta.cleared.is_empty() {
            self.state.retain(|(object, _), _| !delta.cleared.contains(object));
        }
        for (key, value) in &delta.state {
            match value {
                Some(value) => drop(self.state.insert(key.clone(), value.clone())),
                None => drop(self.state.remove(key)),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len() + self.state.len()
    }
}

/// Rows of limits that are loaded per decision, unlike the limits themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitRows {
    pub(super) partitions: BTreeMap<PartitionId, Partition>,
    pub(super) places: BTreeMap<PromiseId, LimitPosition>,
}

impl LimitRows {
    pub(super) fn write(&mut self, delta: &Delta) {
        for (id, partition) in &delta.partitions {
            match partition {
                Some(partition) => drop(self.partitions.insert(id.clone(), partition.clone())),
                None => drop(self.partitions.remove(id)),
            }
        }
        self.places.extend(delta.places.iter().map(|(id, place)| (id.clone(), place.clone())));
    }

    pub(super) fn remove(&mut self, id: &PromiseId) {
        self.places.remove(id);
    }

    pub(super) fn len(&self) -> usize {
        self.partitions.len() + self.places.len()
    }
}

/// Rows by root.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeCounts(pub(super) BTreeMap<PromiseId, TreeCount>);

impl TreeCounts {
    pub(super) fn write(&mut self, delta: &Delta) {
        for (root, count) in &delta.tree_counts {
            match count {
                Some(count) => drop(self.0.insert(root.clone(), *count)),
                None => drop(self.0.remove(root)),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
