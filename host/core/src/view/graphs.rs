
use std::collections::BTreeMap;

use super::View;
use crate::{
    delta::Delta,
    graph::{NodeEvent, NodeFact, NodeFactKey, NodeRow, NodeState},
    id::PromiseId,
    value::Text,
};

/// Node rows and histories, by run. No decision reads them.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphNodes {
    rows: BTreeMap<PromiseId, BTreeMap<Text, NodeRow>>,
    facts: BTreeMap<PromiseId, BTreeMap<(Text, u32, NodeState), NodeFact>>,
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

impl View {
    pub fn nodes_of(&self, run: &PromiseId) -> impl Iterator<Item = (&Text, &NodeRow)> {
        self.lookups.graph_nodes.rows.get(run).into_iter().flatten()
    }

    pub fn graph_nodes(&self) -> impl Iterator<Item = (&PromiseId, &Text, &NodeRow)> {
        self.lookups
            .graph_nodes
            .rows
            .iter()
            .flat_map(|(run, nodes)| nodes.iter().map(move |(node, row)| (run, node, row)))
    }

    pub fn put_graph_node(&mut self, run: PromiseId, node: Text, row: NodeRow) {
        self.lookups.graph_nodes.rows.entry(run).or_default().insert(node, row);
    }

    /// The history of this run, by node, attempt and state.
    pub fn history_of(&self, run: &PromiseId) -> impl Iterator<Item = NodeEvent> {
        let facts = self.lookups.graph_nodes.facts.get(run).into_iter().flatten();
        facts.map(|((node, attempt, state), fact)| NodeEvent {
            node: node.clone(),
            row: NodeRow { state: *state, attempt: *attempt },
            fact: *fact,
        })
    }

    pub fn graph_facts(&self) -> impl Iterator<Item = (NodeFactKey, &NodeFact)> {
        let facts = self.lookups.graph_nodes.facts.iter();
        facts.flat_map(|(run, facts)| {
            facts.iter().map(|((node, attempt, state), fact)| {
                ((run.clone(), node.clone(), *attempt, *state), fact)
            })
        })
    }

    pub fn put_graph_fact(&mut self, key: NodeFactKey, fact: NodeFact) {
        let (run, node, attempt, state) = key;
        let facts = self.lookups.graph_nodes.facts.entry(run).or_default();
        facts.insert((node, attempt, state), fact);
    }
}
