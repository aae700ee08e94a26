//! The meaning of an expression of the algebra: nodes and edges in both directions, without cycles.

use std::collections::{BTreeMap, BTreeSet};

use crate::{graph::GraphExpression, name::NodeName, topology::Topology};

/// An acyclic graph over names, used by the definitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    nodes: BTreeSet<NodeName>,
    successors: BTreeMap<NodeName, BTreeSet<NodeName>>,
    predecessors: BTreeMap<NodeName, BTreeSet<NodeName>>,
}

/// The graph has a cycle, so none of its nodes could start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the graph has a cycle: {}", arrows(.cycle))]
pub struct CycleError {
    /// One cycle in the order of its edges; it begins and ends with the same node.
    pub cycle: Vec<NodeName>,
}

fn arrows(cycle: &[NodeName]) -> String {
    cycle.iter().map(NodeName::as_str).collect::<Vec<_>>().join(" -> ")
}

static NONE: BTreeSet<NodeName> = BTreeSet::new();

impl Relation {
    /// Evaluates an expression.
    ///
    /// # Errors
    /// [`CycleError`], also for an edge from a node to itself.
    pub fn from_graph(graph: &GraphExpression<NodeName>) -> Result<Self, CycleError> {
        type Meaning = (BTreeSet<NodeName>, Vec<(NodeName, NodeName)>);
        let overlay = |left: Meaning, right: Meaning| {
            // Merges the smaller into the larger: a chain of overlays then costs no more than a
            // balanced tree.
            let (mut nodes, few) = larger_first(left.0, right.0, BTreeSet::len);
            nodes.extend(few);
            let (mut edges, few) = larger_first(left.1, right.1, Vec::len);
            edges.extend(few);
            (nodes, edges)
        };
        let connect = |left: Meaning, right: Meaning| {
            let mut between = Vec::with_capacity(left.0.len() * right.0.len());
            for from in &left.0 {
                between.extend(right.0.iter().map(|to| (from.clone(), to.clone())));
            }
            let (nodes, mut edges) = overlay(left, right);
            edges.extend(between);
            (nodes, edges)
        };
        let (nodes, edges) = graph.fold(
            Meaning::default,
            |vertex| (BTreeSet::from([vertex.clone()]), Vec::new()),
            overlay,
            connect,
        );
        Self::from_edges(nodes, edges)
    }

    /// The graph of these nodes and edges; the ends of an edge become nodes, listed or not.
    ///
    /// # Errors
    /// [`CycleError`].
    pub fn from_edges(
        nodes: impl IntoIterator<Item = NodeName>,
        edges: impl IntoIterator<Item = (NodeName, NodeName)>,
    ) -> Result<Self, CycleError> {
        let mut relation = Self { nodes: nodes.into_iter().collect(), ..Self::default() };
        for (from, to) in edges {
            relation.nodes.extend([from.clone(), to.clone()]);
            relation.successors.entry(from.clone()).or_default().insert(to.clone());
            relation.predecessors.entry(to).or_default().insert(from);
        }
        Topology::of_edges(relation.nodes.iter().cloned().collect(), relation.edges())?;
        Ok(relation)
    }

    /// The nodes, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.nodes.iter()
    }

    /// Returns true if the graph has this node.
    pub fn contains(&self, node: &NodeName) -> bool {
        self.nodes.contains(node)
    }

    /// The edges, ascending.
    pub fn edges(&self) -> impl Iterator<Item = (&NodeName, &NodeName)> {
        self.successors.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)))
    }

    /// The nodes with an edge from this one.
    pub fn successors(&self, node: &NodeName) -> &BTreeSet<NodeName> {
        self.successors.get(node).unwrap_or(&NONE)
    }

    /// The nodes with an edge to this one.
    pub fn predecessors(&self, node: &NodeName) -> &BTreeSet<NodeName> {
        self.predecessors.get(node).unwrap_or(&NONE)
    }

    /// All descendants of these nodes: the nodes on a path of one edge or more from them.
    pub fn descendants<'a>(
        &'a self,
        of: impl IntoIterator<Item = &'a NodeName>,
    ) -> BTreeSet<&'a NodeName> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&NodeName> = of.into_iter().collect();
        while let Some(node) = open.pop() {
            open.extend(self.successors(node).iter().filter(|next| found.insert(*next)));
        }
        found
    }
}

impl From<&Topology> for Relation {
    fn from(topology: &Topology) -> Self {
        let name = |node| topology.name(node).clone();
        let edges = topology.nodes().flat_map(|from| {
            topology.successors(from).iter().map(move |to| (name(from), name(*to)))
        });
        Self::from_edges(topology.nodes().map(name), edges).expect("a topology has no cycle")
    }
}

fn larger_first<T>(left: T, right: T, len: impl Fn(&T) -> usize) -> (T, T) {
    if len(&left) < len(&right) { (right, left) } else { (left, right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> NodeName {
        NodeName::new(text).expect("a name")
    }

    fn edges(graph: GraphExpression<&str>) -> Result<String, CycleError> {
        let named = graph.fold(
            || GraphExpression::Empty,
            |vertex| GraphExpression::Vertex(name(vertex)),
            |left, right| left + right,
            |left, right| left * right,
        );
        let relation = Relation::from_graph(&named)?;
        let edges: Vec<String> = relation.edges().map(|(from, to)| format!("{from}{to}")).collect();
        let nodes: Vec<&str> = relation.nodes().map(NodeName::as_str).collect();
        Ok(format!("{}: {}", nodes.concat(), edges.join(" ")))
    }

    #[test]
    fn an_expression_means_its_nodes_and_edges() {
        let v = GraphExpression::Vertex;
        for (graph, meaning) in [
            (GraphExpression::Empty, ": "),
            (v("a") + v("b"), "ab: "),
            (v("a") * v("b"), "ab: ab"),
            (v("a") * (v("b") + v("c")) * v("d"), "abcd: ab ac ad bd cd"),
            (GraphExpression::path(["a", "b", "c"]), "abc: ab bc"),
            (GraphExpression::clique(["a", "b", "c"]), "abc: ab ac bc"),
            (GraphExpression::star("a", ["b", "c"]), "abc: ab ac"),
            (GraphExpression::edge("a", "b") + GraphExpression::edge("a", "b"), "ab: ab"),
        ] {
            assert_eq!(edges(graph.clone()).as_deref(), Ok(meaning), "{graph:?}");
        }
    }

    #[test]
    fn a_cycle_is_refused_and_named() {
        let graph = GraphExpression::edge("b", "a") + GraphExpression::edge("a", "b");
        let error = edges(graph).expect_err("a cycle");
        assert_eq!(error.to_string(), "the graph has a cycle: a -> b -> a");
        let error = edges(GraphExpression::edge("a", "a")).expect_err("a cycle");
        assert_eq!(error.to_string(), "the graph has a cycle: a -> a");
    }

    #[test]
    fn a_path_of_a_million_nodes_becomes_a_relation() {
        let path = GraphExpression::path((0..1_000_000).map(|at| name(&format!("n{at:06}"))));
        let relation = Relation::from_graph(&path).expect("no cycle");
        assert_eq!(relation.edges().count(), 999_999);
    }

    #[test]
    fn descendants_are_behind_and_never_the_node_itself() {
        let path = Relation::from_graph(&GraphExpression::path(["a", "b", "c"].map(name)))
            .expect("no cycle");
        let b = name("b");
        let found: Vec<&str> = path.descendants([&b]).into_iter().map(NodeName::as_str).collect();
        assert_eq!(found, ["c"]);
    }

    #[test]
    fn a_relation_and_its_topology_say_the_same() {
        let relation = Relation::from_graph(&GraphExpression::clique(["c", "a", "b"].map(name)));
        let relation = relation.expect("no cycle");
        assert_eq!(Relation::from(&Topology::from(&relation)), relation);
    }
}
