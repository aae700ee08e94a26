//! Tables whose rows belong to an invocation: they are loaded together and removed with it. The
//! first column is the invocation's number.

use std::collections::BTreeSet;

use segno_core::{delta::Delta, footprint::Footprint, id::PromiseId, view::View};

use super::SqlTable;
use crate::sql::{CellRow, RowFields, SqlFailure};

/// Resolves the number of an invocation.
pub(crate) type InvocationNumbers<'a> = dyn Fn(&PromiseId) -> i64 + 'a;

/// Description of an owned table.
pub(crate) struct OwnedTable {
    pub(crate) table: SqlTable,
    /// Name of the statements that load rows.
    pub(crate) load: &'static str,
    /// Name of the statements that write rows.
    pub(crate) put: &'static str,
    /// Name of the statements that remove rows.
    pub(crate) remove: &'static str,
    /// The invocations whose rows a footprint wants.
    pub(crate) wanted: fn(&Footprint) -> &BTreeSet<PromiseId>,
    /// Adds a row to the view. The row starts at the given column, with the invocation's id in
    /// place of its number.
    pub(crate) read: fn(&dyn RowFields, usize, &mut View) -> Result<(), SqlFailure>,
    /// The rows to write for a delta.
    pub(crate) written: fn(&Delta, &InvocationNumbers) -> Vec<CellRow>,
}

impl OwnedTable {
    /// Selects rows in the form that [`OwnedTable::read`] expects, starting at column 0.
    pub(crate) fn select(&self) -> String {
        let SqlTable { name, .. } = self.table;
        let (first, rest) = (self.table.first(), self.table.of_table(1));
        format!(
            "SELECT promises.id, {rest} FROM {name} JOIN promises ON promises.n = {name}.{first}"
        )
    }
}
