//! What is read of limits.

use segno_core::limit::{Limit, LimitName, Partition, PartitionId};

use crate::Page;

/// Which limits to list, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct LimitFilter {
    /// Only names after this one.
    pub after: Option<LimitName>,
    /// The largest number of items in the page; 0: 100.
    pub limit: u32,
}

/// Which keys of a limit to list, in their order.
#[derive(Debug, Clone)]
pub struct PartitionFilter {
    /// Of which limit.
    pub name: LimitName,
    /// Only keys after this one.
    pub after: Option<PartitionId>,
    /// The largest number of items in the page; 0: 100.
    pub limit: u32,
}

/// Which executions that a limit has admitted to list.
#[derive(Debug, Clone)]
pub struct AdmittedFilter {
    /// Of which limit.
    pub name: LimitName,
    /// Only of this key of it.
    pub key: Option<PartitionId>,
    /// The largest number of them.
    pub limit: u32,
}

/// A limit that has a row: an operator set it, or somebody came to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    /// Its name.
    pub name: LimitName,
    /// What it says, and counts.
    pub limit: Limit,
}

impl PartitionFilter {
    /// Where the page begins and ends, both not included: `@` stands before all keys, and `A`
    /// follows it.
    pub(super) fn bounds(&self) -> (String, String) {
        let first = || format!("{}?", self.name);
        let after = self.after.as_ref().map_or_else(first, ToString::to_string);
        (after, format!("{}A", self.name))
    }
}

impl AdmittedFilter {
    /// The first and the last partition.
    pub(super) fn bounds(&self) -> (String, String) {
        match &self.key {
            Some(key) => (key.to_string(), key.to_string()),
            None => PartitionFilter { name: self.name.clone(), after: None, limit: 0 }.bounds(),
        }
    }
}

impl Page<LimitRow, LimitName> {
    /// The first `limit` of these rows, and whether there are more.
    pub(super) fn of_limits(mut rows: Vec<LimitRow>, limit: usize) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(|row| row.name.clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next }
    }
}

impl Page<(PartitionId, Partition), PartitionId> {
    /// The first `limit` of these rows, and whether there are more.
    pub(super) fn of_partitions(mut rows: Vec<(PartitionId, Partition)>, limit: usize) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(|(id, _)| id.clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next }
    }
}
