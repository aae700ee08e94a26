//! Parts of outputs that are too large to keep: the parts that one node reads.

use std::collections::BTreeMap;

use segno_graph::NodeIndex;
use serde_json::Value as Json;

/// Parts of outputs, by node and JSON pointer.
#[derive(Debug, Default)]
pub struct OutputParts {
    known: BTreeMap<NodeIndex, BTreeMap<String, Option<Json>>>,
    bytes: u64,
}

impl OutputParts {
    /// Extracts these parts from the output of a node whose text has `size` bytes.
    pub fn take(&mut self, node: NodeIndex, output: &Json, size: u64, pointers: &[&str]) {
        for at in pointers {
            let part = output.pointer(at).cloned();
            self.bytes += match (&part, at.is_empty()) {
                (Some(_), true) => size,
                (Some(part), false) => part.to_string().len() as u64,
                (None, _) => 0,
            };
            self.known.entry(node).or_default().insert((*at).to_owned(), part);
        }
    }

    /// A part that was extracted. `Some(None)` if the output has no such part.
    pub fn get(&self, node: NodeIndex, at: &str) -> Option<&Option<Json>> {
        self.known.get(&node)?.get(at)
    }

    /// The total length of their texts, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
