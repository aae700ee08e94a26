//! The answer to a query.

use rusqlite::types::Value;
use serde_json::{Map, Value as Json};

/// Rows of values, with named columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryResult {
    /// Columns of the table.
    pub columns: Vec<ResultColumn>,
    /// The rows, each with a value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResultColumn {
    /// Name of the column.
    pub name: String,
    /// True if its integers are booleans.
    pub is_bool: bool,
}

impl QueryResult {
    /// Returns the rows as JSON objects. Omits nulls, and writes bytes as hexadecimal digits.
    pub(super) fn json(&self) -> Vec<Json> {
        self.rows.iter().map(|row| self.object(row)).collect()
    }

    fn object(&self, row: &[Value]) -> Json {
        let values = self.columns.iter().zip(row);
        let values = values.filter_map(|(column, value)| {
            let value = match value {
                Value::Null => return None,
                Value::Integer(number) if column.is_bool => (*number != 0).into(),
                Value::Integer(number) => (*number).into(),
                Value::Real(number) => (*number).into(),
                Value::Text(text) => text.as_str().into(),
                Value::Blob(bytes) => hexadecimal(bytes).into(),
            };
            Some((column.name.clone(), value))
        });
        Json::Object(values.collect::<Map<_, _>>())
    }
}

/// Writes bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
