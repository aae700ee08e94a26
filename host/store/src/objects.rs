//! Read queries on objects: filters and rows.

use segno_core::{
    id::{ObjectId, PromiseId},
    object::ObjectQueue,
    value::Text,
};

use crate::Page;

/// Filter for listing objects, in name order.
#[derive(Debug, Clone, Default)]
pub struct ObjectFilter {
    /// Only names with this prefix.
    pub prefix: Option<String>,
    /// Cursor: only names after this one.
    pub after: Option<ObjectId>,
    /// Maximum items in a page; 0 means 100.
    pub limit: u32,
}

/// An object that has state or a retained execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRow {
    pub object: ObjectId,
    /// The object's queue. `None` if it has no row.
    pub line: Option<ObjectQueue>,
    /// Number of entries in its state.
    pub names: u64,
    /// Total bytes of all values in its state.
    pub bytes: u64,
}

impl ObjectRow {
    /// The execution that holds the object, or held it last.
    pub fn holder(&self) -> Option<&PromiseId> {
        self.line.as_ref()?.holder.as_ref()
    }
}

/// The size of one entry of an object's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSize {
    pub name: Text,
    /// Bytes of the value.
    pub bytes: u64,
}

impl Page<ObjectRow, ObjectId> {
    /// Builds a page of the first `limit` rows; surplus rows mean that another page follows.
    pub(super) fn of_objects(mut rows: Vec<ObjectRow>, limit: usize) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(|row| row.object.clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next }
    }
}
