//! The nodes of graph runs.

use std::collections::BTreeMap;

use super::View;
use crate::{delta::Delta, graph::NodeRow, id::PromiseId, value::Text};

/// Rows of nodes by their run. No decision reads one.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphNodes(BTreeMap<PromiseId, BTreeMap<Text, NodeRow>>);

impl GraphNodes {
    pub(super) fn write(&mut self, delta: &Delta) {
        for ((run, node), row) in &delta.graph_nodes {
            let nodes = self.0.entry(run.clone()).or_default();
            if nodes.get(node).is_none_or(|before| row.follows(before)) {
                nodes.insert(node.clone(), *row);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    pub(super) fn remove(&mut self, run: &PromiseId) {
        self.0.remove(run);
    }
}

impl View {
    /// The nodes of this run.
    pub fn nodes_of(&self, run: &PromiseId) -> impl Iterator<Item = (&Text, &NodeRow)> {
        self.lookups.graph_nodes.0.get(run).into_iter().flatten()
    }

    /// The nodes of all runs, by run.
    pub fn graph_nodes(&self) -> impl Iterator<Item = (&PromiseId, &Text, &NodeRow)> {
        self.lookups
            .graph_nodes
            .0
            .iter()
            .flat_map(|(run, nodes)| nodes.iter().map(move |(node, row)| (run, node, row)))
    }

    /// Puts a node of a run.
    pub fn put_graph_node(&mut self, run: PromiseId, node: Text, row: NodeRow) {
        self.lookups.graph_nodes.0.entry(run).or_default().insert(node, row);
    }
}
