//! Rows, and the sieve that they go through: what a query asks for stays, and of that no more than is looked at.

use std::collections::BTreeMap;

use super::{condition::Condition, value::Value};
use crate::restate::error::AdminError;

/// The most rows that are looked at for one query.
pub const LOOKED_AT: usize = 10_000;
/// The most bytes of values that are read for one query.
const BYTES: usize = 32 << 20;

/// A row of a table: what is not in it is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row(BTreeMap<&'static str, Value>);

impl Row {
    /// The value of a column.
    pub fn get(&self, column: &str) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }

    /// Writes the value of a column.
    pub fn set(&mut self, column: &'static str, value: Value) {
        self.0.insert(column, value);
    }
}

impl<const N: usize> From<[(&'static str, Value); N]> for Row {
    fn from(values: [(&'static str, Value); N]) -> Self {
        Self(values.into())
    }
}

/// The rows that a query takes.
pub struct Sieve<'a> {
    table: &'static str,
    condition: Option<&'a Condition>,
    /// So many rows are enough, whatever comes after them.
    enough: Option<usize>,
    looked_at: usize,
    bytes: usize,
    rows: Vec<Row>,
}

impl<'a> Sieve<'a> {
    /// Without a row.
    pub fn new(
        table: &'static str,
        condition: Option<&'a Condition>,
        enough: Option<usize>,
    ) -> Self {
        Self { table, condition, enough, looked_at: 0, bytes: 0, rows: Vec::new() }
    }

    /// Whether no further rows are needed.
    pub fn is_full(&self) -> bool {
        self.enough.is_some_and(|enough| self.rows.len() >= enough)
    }

    /// Takes a row, if it is one of those that are asked for.
    pub fn offer(&mut self, row: Row) {
        let taken = self.condition.is_none_or(|condition| condition.holds(&row) == Some(true));
        if taken && !self.is_full() {
            self.rows.push(row);
        }
    }

    /// Counts rows that were looked at.
    ///
    /// # Errors
    /// There are more than are looked at for one query.
    pub fn looked_at(&mut self, rows: usize) -> Result<(), AdminError> {
        self.looked_at += rows;
        if self.looked_at <= LOOKED_AT {
            return Ok(());
        }
        let message = format!(
            "more than {LOOKED_AT} rows of `{}` would have to be looked at: narrow the query by an id, a service, a key or a status, or leave \
             ORDER BY, GROUP BY and COUNT out and use LIMIT",
            self.table
        );
        Err(AdminError::new(400, message))
    }

    /// Counts bytes of values that were read.
    ///
    /// # Errors
    /// There are more than are read for one query.
    pub fn weighs(&mut self, bytes: usize) -> Result<(), AdminError> {
        self.bytes += bytes;
        if self.bytes <= BYTES {
            return Ok(());
        }
        let message = format!(
            "the values in `{}` are larger than the {BYTES} bytes that one query reads: select other columns, or fewer rows",
            self.table
        );
        Err(AdminError::new(400, message))
    }

    /// What was taken.
    pub fn rows(self) -> Vec<Row> {
        self.rows
    }
}
