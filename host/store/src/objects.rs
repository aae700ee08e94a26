//! What is read of objects.

use segno_core::{
    id::{ObjectId, PromiseId},
    object::Line,
    value::Text,
};

use crate::Page;

/// Which objects to list, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct ObjectFilter {
    /// Only names that begin so.
    pub prefix: Option<String>,
    /// Only names after this one.
    pub after: Option<ObjectId>,
    /// The largest number of items in the page; 0: 100.
    pub limit: u32,
}

/// An object that has state, or an execution that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRow {
    /// Its name.
    pub object: ObjectId,
    /// Its line, if it ever had one that is kept.
    pub line: Option<Line>,
    /// How many names its state has.
    pub names: u64,
    /// Bytes of all values of its state.
    pub bytes: u64,
}

impl ObjectRow {
    /// Whose turn it is, or was last.
    pub fn holder(&self) -> Option<&PromiseId> {
        self.line.as_ref()?.holder.as_ref()
    }
}

/// A part of an object's state without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSize {
    /// Its name.
    pub name: Text,
    /// Bytes of its value.
    pub bytes: u64,
}

impl Page<ObjectRow, ObjectId> {
    /// The first `limit` of these rows, and whether there are more.
    pub(super) fn of_objects(mut rows: Vec<ObjectRow>, limit: usize) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(|row| row.object.clone()).filter(|_| more);
        Self { items: rows, unreadable: Vec::new(), next }
    }
}
