//! What takes the room in a store.

use std::collections::HashMap;

use serde::Serialize;

/// What takes the room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SizeReport {
    /// Bytes the database takes on disk, free pages included.
    pub bytes: u64,
    /// Bytes of pages that are free and will be used again, or given back.
    pub free_bytes: u64,
    /// By kind, the largest first.
    pub parts: Vec<PartSize>,
    /// The largest trees: a root with everything made by its members.
    pub trees: Vec<TreeSize>,
    /// The largest modules.
    pub modules: Vec<ModuleSize>,
    /// The functions whose invocations take most.
    pub functions: Vec<FunctionSize>,
}

/// A kind of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartSize {
    /// Which: the table.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Bytes on disk, indexes included.
    pub bytes: u64,
}

/// A tree. Its bytes are those of its content, without what the database adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TreeSize {
    /// Its root.
    pub id: String,
    /// Promises in it.
    pub promises: u64,
    /// Bytes of parameters, values, journals and logs.
    pub bytes: u64,
    /// Whether its root has settled.
    pub settled: bool,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModuleSize {
    /// Its digest.
    pub digest: String,
    /// The names that stand for it.
    pub aliases: Vec<String>,
    /// Bytes of its component.
    pub bytes: u64,
}

/// The invocations of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionSize {
    /// Its address.
    pub target: String,
    /// How many.
    pub invocations: u64,
    /// Bytes of parameters, values, journals and logs.
    pub bytes: u64,
}

/// Trees that are being added up. Takes about 40 bytes of memory a promise.
#[derive(Debug, Default)]
pub(super) struct Forest {
    roots: HashMap<i64, i64>,
    trees: HashMap<i64, TreeSize>,
}

impl Forest {
    /// Adds a promise; its maker was added before.
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

    /// The largest trees, by the numbers of their roots; they have no names yet.
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
        let mut forest = Forest::default();
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
