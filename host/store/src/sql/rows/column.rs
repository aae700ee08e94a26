//! Decodes single columns, and reports unexpected values.

use std::fmt;

use segno_core::{
    id::PromiseId,
    time::Timestamp,
    value::{Bytes, Tags, Text, Value},
};

use crate::sql::{RowFields, SqlCell, SqlFailure};

/// A row that this program cannot have written.
#[derive(Debug)]
pub(in crate::sql) struct Damaged(String);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Damaged {}

impl From<Damaged> for SqlFailure {
    fn from(damaged: Damaged) -> Self {
        Self::Unreadable(damaged.to_string())
    }
}

/// The id in column `column`.
pub(crate) fn id(row: &impl RowFields, column: usize) -> Result<PromiseId, SqlFailure> {
    Ok(PromiseId::new(needed(row.text(column)?, &"promises", "id")?))
}

pub(crate) fn text(row: &impl RowFields, column: usize) -> Result<Text, SqlFailure> {
    Ok(Text::from(&*needed(row.text(column)?, &"a table", "text")?))
}

/// The number in `column`; `name` is for the error.
pub(crate) fn number(
    row: &impl RowFields,
    column: usize,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<i64, SqlFailure> {
    needed(row.int(column)?, owner, name)
}

/// The number in `column`, converted to a narrower type that fits every valid value; `name` is for
/// the error.
pub(crate) fn small<T: TryFrom<i64>>(
    row: &impl RowFields,
    column: usize,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<T, SqlFailure> {
    needed(T::try_from(number(row, column, owner, name)?).ok(), owner, name)
}

/// An error for a row with an invalid `column`.
pub(in crate::sql) fn damaged(owner: &dyn fmt::Display, column: &str) -> Damaged {
    Damaged(format!("the row of `{owner}` is damaged: its {column} is not what it should be"))
}

/// A value: its headers in column `headers`, and its data.
pub(in crate::sql) fn value(
    row: &impl RowFields,
    headers: usize,
    data: &[u8],
    id: &dyn fmt::Display,
) -> Result<Value, SqlFailure> {
    let headers = match row.text(headers)? {
        None => Tags::new(),
        Some(json) => tags(&json, id)?,
    };
    Ok(Value { headers, data: Bytes::from(data) })
}

/// The headers of a value; `NULL` if it has none.
pub(in crate::sql) fn headers(value: &Value) -> SqlCell {
    if value.headers.is_empty() { SqlCell::Null } else { json(&value.headers).into() }
}

/// Tags in their stored form.
pub(in crate::sql) fn json(tags: &Tags) -> String {
    serde_json::to_string(tags).expect("a map of texts is JSON")
}

/// Parses stored tags.
pub(in crate::sql) fn tags(json: &str, id: &dyn fmt::Display) -> Result<Tags, Damaged> {
    serde_json::from_str(json).map_err(|_| damaged(id, "tags"))
}

/// An optional instant.
pub(in crate::sql) fn at(
    row: &impl RowFields,
    column: usize,
) -> Result<Option<Timestamp>, SqlFailure> {
    Ok(row.int(column)?.map(Timestamp))
}

/// Unwraps a required column; `name` is for the error.
pub(in crate::sql) fn needed<T>(
    value: Option<T>,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<T, SqlFailure> {
    value.ok_or_else(|| damaged(owner, name).into())
}
