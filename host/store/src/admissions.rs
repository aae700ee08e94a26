//! Read queries on concurrency limits: filters and rows.

use segno_core::limit::{Limit, LimitName, Partition, PartitionId};

use crate::Page;

/// Filter for listing limits, in name order.
#[derive(Debug, Clone, Default)]
pub struct LimitFilter {
    /// Cursor: only names after this one.
    pub after: Option<LimitName>,
    /// Maximum items in a page; 0 means 100.
    pub limit: u32,
}

/// Filter for listing the keys of a limit, in key order.
#[derive(Debug, Clone)]
pub struct PartitionFilter {
    pub name: LimitName,
    /// Cursor: only keys after this one.
    pub after: Option<PartitionId>,
    /// Maximum items in a page; 0 means 100.
    pub limit: u32,
}

/// Filter for listing the executions that a limit has admitted.
#[derive(Debug, Clone)]
pub struct AdmittedFilter {
    pub name: LimitName,
    /// Only executions admitted under this key of the limit. `None`: all keys.
    pub key: Option<PartitionId>,
    /// Maximum number of executions; 0 means 100.
    pub limit: u32,
}

/// A limit that has a row: an operator set it, or an execution has queued at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    pub name: LimitName,
    /// The limit's setting and counters.
    pub limit: Limit,
}

impl PartitionFilter {
    /// Exclusive bounds of the page in id order: `@` sorts before all keys, and `A` sorts after it.
    pub(super) fn bounds(&self) -> (String, String) {
        let first = || format!("{}?", self.name);
        let after = self.after.as_ref().map_or_else(first, ToString::to_string);
        (after, format!("{}A", self.name))
    }
}

impl AdmittedFilter {
    /// The first and last partition to read.
    pub(super) fn bounds(&self) -> (String, String) {
        match &self.key {
            Some(key) => (key.to_string(), key.to_string()),
            None => PartitionFilter { name: self.name.clone(), after: None, limit: 0 }.bounds(),
        }
    }
}

impl Page<LimitRow, LimitName> {
    /// Builds a page of the first `limit` rows; surplus rows mean that another page follows.
    pub(super) fn of_limits(mut rows: Vec<LimitRow>, limit: usize) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(|row| row.name.clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next }
    }
}

impl Page<(PartitionId, Partition), PartitionId> {
    /// Builds a page of the first `limit` rows; surplus rows mean that another page follows.
    pub(super) fn of_partitions(mut rows: Vec<(PartitionId, Partition)>, limit: usize) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(|(id, _)| id.clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next }
    }
}
