//! Tables whose rows belong to an invocation, are loaded with all others of it, and go with it: the
//! first column is the invocation's number.

use std::collections::BTreeSet;

use segno_core::{delta::Delta, footprint::Footprint, id::PromiseId, view::View};

use super::Table;
use crate::sql::{CellRow, Failure, Fields};

/// The number of an invocation.
pub(crate) type NumberOf<'a> = dyn Fn(&PromiseId) -> i64 + 'a;

/// Such a table.
pub(crate) struct Owned {
    /// The table.
    pub(crate) table: Table,
    /// The name of the statements that load its rows.
    pub(crate) load: &'static str,
    /// The name of the statements that write its rows.
    pub(crate) put: &'static str,
    /// The name of the statements that remove its rows.
    pub(crate) remove: &'static str,
    /// The invocations whose rows are asked for.
    pub(crate) wanted: fn(&Footprint) -> &BTreeSet<PromiseId>,
    /// Puts a row: from this column on the invocation's id in place of its number, and the rest.
    pub(crate) read: fn(&dyn Fields, usize, &mut View) -> Result<(), Failure>,
    /// The rows that are written; the function knows the numbers of invocations.
    pub(crate) written: fn(&Delta, &NumberOf) -> Vec<CellRow>,
}

impl Owned {
    /// The rows of invocations, each as [`Owned::read`] reads it from its first column on.
    pub(crate) fn select(&self) -> String {
        let Table { name, .. } = self.table;
        let (first, rest) = (self.table.first(), self.table.of_table(1));
        format!(
            "SELECT promises.id, {rest} FROM {name} JOIN promises ON promises.n = {name}.{first}"
        )
    }
}
