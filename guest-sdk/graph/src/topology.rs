//! The nodes and edges of a plan between dense indices; runs are executed over it. It has no
//! statuses.

use crate::{
    name::NodeName,
    relation::{CycleError, Relation},
};

/// A node as its position in the ascending order of names; 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

impl NodeIndex {
    /// The position as an index into a slice.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// An acyclic graph in compact form: 8 bytes per edge and 24 per node, in addition to the names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    names: Vec<NodeName>,
    successors: Adjacency,
    predecessors: Adjacency,
}

/// The neighbours of every node on one side, ascending per node, concatenated in one list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Adjacency {
    /// Offset of the first neighbour of node `n`, with one more entry for the end.
    starts: Vec<u32>,
    neighbours: Vec<NodeIndex>,
}

impl Topology {
    /// Creates the graph with these nodes, whose names ascend without repetition, and edges between
    /// them. Repeated edges count once.
    ///
    /// # Errors
    /// [`CycleError`] with one cycle of names.
    ///
    /// # Panics
    /// If the names do not ascend, or an edge leads to a missing node.
    pub fn new(
        names: Vec<NodeName>,
        mut edges: Vec<(NodeIndex, NodeIndex)>,
    ) -> Result<Self, CycleError> {
        assert!(names.is_sorted_by(|left, right| left < right), "the names ascend");
        edges.sort_unstable();
        edges.dedup();
        let successors = Adjacency::new(names.len(), &edges);
        for edge in &mut edges {
            *edge = (edge.1, edge.0);
        }
        edges.sort_unstable();
        let predecessors = Adjacency::new(names.len(), &edges);
        let topology = Self { names, successors, predecessors };
        match topology.cycle() {
            None => Ok(topology),
            Some(cycle) => {
                let name = |node: &NodeIndex| topology.name(*node).clone();
                Err(CycleError { cycle: cycle.iter().map(name).collect() })
            }
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.successors.neighbours.len()
    }

    /// All nodes, ascending.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeIndex> + use<> {
        (0..u32::try_from(self.len()).expect("indices have 32 bits")).map(NodeIndex)
    }

    /// The name of a node.
    pub fn name(&self, node: NodeIndex) -> &NodeName {
        &self.names[node.at()]
    }

    /// The node with this name. `None` if there is none.
    pub fn index_of(&self, name: &str) -> Option<NodeIndex> {
        let found = self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        Some(NodeIndex(u32::try_from(found).expect("indices have 32 bits")))
    }

    /// The nodes with an edge from this one, ascending.
    pub fn successors(&self, node: NodeIndex) -> &[NodeIndex] {
        self.successors.of(node)
    }

    /// The nodes with an edge to this one, ascending.
    pub fn predecessors(&self, node: NodeIndex) -> &[NodeIndex] {
        self.predecessors.of(node)
    }

    /// The nodes without predecessors, ascending.
    pub fn sources(&self) -> impl Iterator<Item = NodeIndex> {
        self.nodes().filter(|node| self.predecessors(*node).is_empty())
    }

    /// The nodes without successors, ascending.
    pub fn sinks(&self) -> impl Iterator<Item = NodeIndex> {
        self.nodes().filter(|node| self.successors(*node).is_empty())
    }

    /// The length of the longest path to each node; it exceeds the lengths of all predecessors.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.len()];
        for node in self.in_order() {
            for next in self.successors(node) {
                depths[next.at()] = depths[next.at()].max(depths[node.at()] + 1);
            }
        }
        depths
    }

    /// The nodes in topological order, without those on cycles and their descendants.
    fn in_order(&self) -> Vec<NodeIndex> {
        let mut missing: Vec<usize> =
            self.nodes().map(|node| self.predecessors(node).len()).collect();
        let mut order: Vec<NodeIndex> = self.sources().collect();
        let mut done = 0;
        while let Some(node) = order.get(done).copied() {
            done += 1;
            for next in self.successors(node) {
                missing[next.at()] -= 1;
                if missing[next.at()] == 0 {
                    order.push(*next);
                }
            }
        }
        order
    }

    /// One cycle in the order of its edges, from its smallest node back to that node.
    fn cycle(&self) -> Option<Vec<NodeIndex>> {
        let mut left = vec![true; self.len()];
        for node in self.in_order() {
            left[node.at()] = false;
        }
        // Every remaining node has a remaining predecessor, so walking back reaches a cycle.
        let mut node = self.nodes().find(|node| left[node.at()])?;
        let mut walked = Vec::new();
        let mut place = vec![None; self.len()];
        let begin = loop {
            if let Some(begin) = place[node.at()] {
                break begin;
            }
            place[node.at()] = Some(walked.len());
            walked.push(node);
            node = *self
                .predecessors(node)
                .iter()
                .find(|before| left[before.at()])
                .expect("a node that is left has a predecessor that is left");
        };
        let mut cycle = walked.split_off(begin);
        cycle.reverse();
        let smallest = (0..cycle.len()).min_by_key(|at| cycle[*at])?;
        cycle.rotate_left(smallest);
        cycle.push(cycle[0]);
        Some(cycle)
    }
}

impl Adjacency {
    /// Builds the lists from ascending edges.
    fn new(nodes: usize, edges: &[(NodeIndex, NodeIndex)]) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        for (from, to) in edges {
            assert!(to.at() < nodes, "an edge leads to a node");
            starts[from.at() + 1] += 1;
        }
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        Self { starts, neighbours: edges.iter().map(|(_, to)| *to).collect() }
    }

    fn of(&self, node: NodeIndex) -> &[NodeIndex] {
        let (begin, end) = (self.starts[node.at()], self.starts[node.at() + 1]);
        &self.neighbours[begin as usize..end as usize]
    }
}

impl From<&Relation> for Topology {
    fn from(relation: &Relation) -> Self {
        Self::of_edges(relation.nodes().cloned().collect(), relation.edges())
            .expect("a relation has no cycle")
    }
}

impl Topology {
    /// Like [`Topology::new`], with edges between names.
    pub(crate) fn of_edges<'a>(
        names: Vec<NodeName>,
        edges: impl Iterator<Item = (&'a NodeName, &'a NodeName)>,
    ) -> Result<Self, CycleError> {
        let index = |name: &NodeName| {
            let at = names.binary_search(name).expect("an edge leads to a node");
            NodeIndex(u32::try_from(at).expect("indices have 32 bits"))
        };
        let edges = edges.map(|(from, to)| (index(from), index(to))).collect();
        Self::new(names, edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph with nodes `a`, `b`, … and edges given as pairs of letters.
    fn topology(nodes: u8, edges: &str) -> Result<Topology, CycleError> {
        let letter = |at: u8| NodeName::new(&char::from(b'a' + at).to_string()).expect("a name");
        let index = |letter: u8| NodeIndex(u32::from(letter - b'a'));
        let edges = edges.split_whitespace().map(|edge| {
            let edge = edge.as_bytes();
            (index(edge[0]), index(edge[1]))
        });
        Topology::new((0..nodes).map(letter).collect(), edges.collect())
    }

    #[test]
    fn neighbours_ascend_on_both_sides_and_count_once() {
        let diamond = topology(4, "bd ac ab cd ab").expect("no cycle");
        let indices = |nodes: &[u32]| nodes.iter().copied().map(NodeIndex).collect::<Vec<_>>();
        assert_eq!(diamond.successors(NodeIndex(0)), indices(&[1, 2]));
        assert_eq!(diamond.predecessors(NodeIndex(3)), indices(&[1, 2]));
        assert_eq!(diamond.edges(), 4);
        assert_eq!(diamond.sources().collect::<Vec<_>>(), indices(&[0]));
        assert_eq!(diamond.sinks().collect::<Vec<_>>(), indices(&[3]));
        assert_eq!(diamond.depths(), [0, 1, 1, 2]);
        assert_eq!(diamond.index_of("c"), Some(NodeIndex(2)));
        assert_eq!(diamond.index_of("e"), None);
    }

    #[test]
    fn a_node_lies_as_deep_as_its_longest_path() {
        let shortcut = topology(4, "ab bc cd ad").expect("no cycle");
        assert_eq!(shortcut.depths(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_cycle_is_named_from_its_smallest_node_in_the_order_of_its_edges() {
        for (edges, cycle) in [
            ("ab ba", "a -> b -> a"),
            ("aa", "a -> a"),
            ("ab bc cd db", "b -> c -> d -> b"),
            ("dc cb bd da", "b -> d -> c -> b"),
            ("ab cd dc", "c -> d -> c"),
        ] {
            let error = topology(4, edges).expect_err(edges);
            assert_eq!(error.to_string(), format!("the graph has a cycle: {cycle}"), "{edges}");
        }
    }
}
