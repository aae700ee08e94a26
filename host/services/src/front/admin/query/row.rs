//! Rows of tables.

use std::collections::BTreeMap;

use super::value::Value;

/// A row of a table. Absent columns are null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Row(BTreeMap<&'static str, Value>);

impl Row {
    /// The value of a column.
    pub fn get(&self, column: &str) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }

    /// Sets the value of a column.
    pub fn set(&mut self, column: &'static str, value: Value) {
        self.0.insert(column, value);
    }

    /// Approximate size in bytes.
    pub fn weight(&self) -> usize {
        self.0.values().map(Value::weight).sum()
    }
}

impl<const N: usize> From<[(&'static str, Value); N]> for Row {
    fn from(values: [(&'static str, Value); N]) -> Self {
        Self(values.into())
    }
}
