//! The most recent outputs of nodes, in memory. Others are read again when they are needed.

use std::collections::{BTreeMap, VecDeque};

use segno_graph::NodeIndex;
use serde_json::Value as Json;

/// Outputs, up to a number of bytes of their JSON text.
#[derive(Debug)]
pub(super) struct OutputCache {
    budget: usize,
    bytes: usize,
    kept: BTreeMap<NodeIndex, (Json, usize)>,
    order: VecDeque<NodeIndex>,
}

impl OutputCache {
    /// An empty cache, limited to `budget` bytes of text by [`OutputCache::trim`].
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, bytes: 0, kept: BTreeMap::new(), order: VecDeque::new() }
    }

    /// Keeps the output of a node. `size` is the length of its text in bytes.
    pub(super) fn put(&mut self, node: NodeIndex, output: Json, size: usize) {
        match self.kept.insert(node, (output, size)) {
            Some((_, before)) => self.bytes -= before,
            None => self.order.push_back(node),
        }
        self.bytes += size;
    }

    /// The output of a node. `None` if it is not in memory.
    pub(super) fn get(&self, node: NodeIndex) -> Option<&Json> {
        self.kept.get(&node).map(|(output, _)| output)
    }

    /// Drops the oldest outputs until the rest fits the budget.
    pub(super) fn trim(&mut self) {
        while self.bytes > self.budget
            && let Some(node) = self.order.pop_front()
        {
            if let Some((_, size)) = self.kept.remove(&node) {
                self.bytes -= size;
            }
        }
    }

    /// The total length of the texts in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_and_a_second_one_replaces_the_first() {
        let mut outputs = OutputCache::new(10);
        for (node, size) in [(0, 4), (1, 4), (0, 2), (2, 4)] {
            outputs.put(NodeIndex(node), Json::from(size), size);
        }
        outputs.trim();
        assert_eq!(outputs.bytes(), 10);
        outputs.put(NodeIndex(3), Json::Null, 1);
        outputs.trim();
        let here = |node| outputs.get(NodeIndex(node)).is_some();
        assert_eq!([0, 1, 2, 3].map(here), [false, true, true, true]);
        assert_eq!(outputs.bytes(), 9);
    }
}
