//! Tables whose rows are found by names of their own: the first column is the name, and the key.

use segno_core::{delta::Delta, footprint::Footprint, unreadable::Subject, view::View};

use super::Table;
use crate::sql::{CellRow, Failure, Fields};

/// Such a table.
pub(crate) struct Named {
    /// The table.
    pub(crate) table: Table,
    /// The name of the statements that load its rows.
    pub(crate) load: &'static str,
    /// The name of the statements that write its rows.
    pub(crate) put: &'static str,
    /// The names that are asked for.
    pub(crate) wanted: fn(&Footprint) -> Vec<&str>,
    /// Asks for one more.
    pub(crate) want: fn(&str, &mut Footprint),
    /// What a row with this name is about.
    pub(crate) subject: fn(&str) -> Subject,
    /// Puts a row of all columns.
    pub(crate) read: fn(&dyn Fields, &mut View) -> Result<(), Failure>,
    /// The rows that are written.
    pub(crate) written: fn(&Delta) -> Vec<CellRow>,
    /// The names of the rows that are deleted.
    pub(crate) deleted: fn(&Delta) -> Vec<CellRow>,
}

/// For tables whose rows stay.
pub(super) fn none(_: &Delta) -> Vec<CellRow> {
    Vec::new()
}
