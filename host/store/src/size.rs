//! The disk usage of a store.

use std::collections::HashMap;

use serde::Serialize;

/// The disk usage of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SizeReport {
    /// Bytes of the database on disk, free pages included.
    pub bytes: u64,
    /// Bytes of free pages, which will be reused or returned to the file system.
    pub free_bytes: u64,
    /// Usage by table, largest first.
    pub parts: Vec<PartSize>,
    /// The largest trees. A tree is a root with everything made by its members.
    pub trees: Vec<TreeSize>,
    /// The largest modules.
    pub modules: Vec<ModuleSize>,
    /// The functions whose invocations use the most space.
    pub functions: Vec<FunctionSize>,
}

/// Disk usage of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartSize {
    /// The table's name.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
    /// Bytes on disk, indexes included.
    pub bytes: u64,
}

/// Size of a tree: the bytes of its content, without the database's overhead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TreeSize {
    /// Id of the root.
    pub id: String,
    /// Number of promises in the tree.
    pub promises: u64,
    /// Bytes of parameters, values, journals and logs.
    pub bytes: u64,
    /// True if the root has settled.
    pub settled: bool,
}

/// Size of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModuleSize {
    pub digest: String,
    /// Aliases that refer to it.
    pub aliases: Vec<String>,
    /// Bytes of the component.
    pub bytes: u64,
}

/// Size of a function's invocations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionSize {
    /// The function's address.
    pub target: String,
    /// Number of invocations.
    pub invocations: u64,
    /// Bytes of parameters, values, journals and logs.
    pub bytes: u64,
}

/// Accumulates the sizes of trees. Uses about 40 bytes of memory per promise.
#[derive(Debug, Default)]
pub(super) struct TreeSizes {
    roots: HashMap<i64, i64>,
    trees: HashMap<i64, TreeSize>,
}

impl TreeSizes {
    /// Adds a promise. Its maker must have been added before.
    pub(super) fn add(&mut self, n: i64, made_by: Option<i64>, settled: bool, bytes: u64) {
        let root = made_by.map_or(n, |maker| self.roots.get(&maker).copied().unwrap_or(maker));
        if made_by.is_some() {
            self.roots.insert(n, root);
        }
        let tree = self.trees.entry(root).or_default();
        tree.promises += 1;
        tree.bytes += bytes;
        tree.settled |= root == n && settled;
    }

    /// The largest trees, keyed by the number of the root; their ids are still empty.
    pub(super) fn largest(self, top: u32) -> Vec<(i64, TreeSize)> {
        let mut trees: Vec<_> = self.trees.into_iter().collect();
        trees.sort_by_key(|(root, tree)| (std::cmp::Reverse(tree.bytes), *root));
        trees.truncate(top as usize);
        trees
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_added_up_under_their_roots() {
        let mut forest = TreeSizes::default();
        for (n, made_by, bytes) in
            [(1, None, 1), (2, None, 100), (3, Some(1), 10), (4, Some(3), 20), (5, None, 5)]
        {
            forest.add(n, made_by, n == 1, bytes);
        }
        let largest = forest.largest(2);
        let seen: Vec<_> =
            largest.iter().map(|(n, tree)| (*n, tree.promises, tree.bytes, tree.settled)).collect();
        assert_eq!(seen, [(2, 1, 100, false), (1, 3, 31, true)]);
    }
}
