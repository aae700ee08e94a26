//! Counts of execution trees.

use super::View;
use crate::{footprint::Footprint, id::PromiseId, tree::TreeCount};

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
