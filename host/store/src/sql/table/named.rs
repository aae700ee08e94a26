//! Tables whose rows are found by name: the first column is the name and the key.

use segno_core::{delta::Delta, footprint::Footprint, unreadable::Subject, view::View};

use super::SqlTable;
use crate::sql::{CellRow, RowFields, SqlFailure};

/// Description of a named table.
pub(crate) struct NamedTable {
    pub(crate) table: SqlTable,
    /// Name of the statements that load rows.
    pub(crate) load: &'static str,
    /// Name of the statements that write rows.
    pub(crate) put: &'static str,
    /// The names that a footprint wants.
    pub(crate) wanted: fn(&Footprint) -> Vec<&str>,
    /// Adds a name to a footprint.
    pub(crate) want: fn(&str, &mut Footprint),
    /// The subject to mark if the row with this name is unreadable.
    pub(crate) subject: fn(&str) -> Subject,
    /// Adds a row with all columns to the view.
    pub(crate) read: fn(&dyn RowFields, &mut View) -> Result<(), SqlFailure>,
    /// The rows to write for a delta.
    pub(crate) written: fn(&Delta) -> Vec<CellRow>,
    /// The names of the rows to delete for a delta.
    pub(crate) deleted: fn(&Delta) -> Vec<CellRow>,
}

/// For tables whose rows are never deleted.
pub(super) fn none(_: &Delta) -> Vec<CellRow> {
    Vec::new()
}
