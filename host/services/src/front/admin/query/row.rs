//! Rows of tables.

use std::collections::BTreeMap;

use super::value::RowValue;

/// A row of a table. Absent columns are null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct TableRow(BTreeMap<&'static str, RowValue>);

impl TableRow {
    /// The value of a column.
    pub(super) fn get(&self, column: &str) -> &RowValue {
        self.0.get(column).unwrap_or(&RowValue::Null)
    }

    /// Sets the value of a column.
    pub(super) fn set(&mut self, column: &'static str, value: impl Into<RowValue>) {
        self.0.insert(column, value.into());
    }

    /// Approximate size in bytes.
    pub(super) fn weight(&self) -> usize {
        self.0.values().map(RowValue::weight).sum()
    }
}

impl<const N: usize> From<[(&'static str, RowValue); N]> for TableRow {
    fn from(values: [(&'static str, RowValue); N]) -> Self {
        Self(values.into())
    }
}
