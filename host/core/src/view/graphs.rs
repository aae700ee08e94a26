use super::View;
use crate::{
    graph::{NodeEvent, NodeFact, NodeFactKey, NodeRow},
    id::PromiseId,
    value::Text,
};

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
