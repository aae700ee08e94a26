//! Counts of execution trees.

use std::collections::BTreeMap;

use super::View;
use crate::{delta::Delta, footprint::Footprint, id::PromiseId, tree::TreeCount};

/// Rows by root.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeCounts(BTreeMap<PromiseId, TreeCount>);

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

impl View {
    /// Counts of the tree of this root.
    pub fn tree_count(&self, root: &PromiseId) -> Option<TreeCount> {
        self.lookups.tree_counts.0.get(root).copied()
    }

    /// Counts of all trees, by their roots.
    pub fn tree_counts(&self) -> impl Iterator<Item = (&PromiseId, TreeCount)> {
        self.lookups.tree_counts.0.iter().map(|(root, count)| (root, *count))
    }

    pub fn put_tree_count(&mut self, root: PromiseId, count: TreeCount) {
        self.lookups.tree_counts.0.insert(root, count);
    }

    /// Copies the wanted counts into another view.
    pub(crate) fn load_tree_counts(&self, wanted: &Footprint, to: &mut View) {
        for root in &wanted.tree_counts {
            let count = self.tree_count(root);
            count.into_iter().for_each(|count| to.put_tree_count(root.clone(), count));
        }
    }
}
