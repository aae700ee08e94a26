//! One column of a row: what it says, or that it does not say what it should.

use std::fmt;

use segno_core::{
    id::PromiseId,
    time::Timestamp,
    value::{Bytes, Tags, Text, Value},
};

use crate::sql::{Cell, Failure, Fields};

/// A row that cannot be what we wrote.
#[derive(Debug)]
pub(in crate::sql) struct Damaged(String);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Damaged {}

impl From<Damaged> for Failure {
    fn from(damaged: Damaged) -> Self {
        Self::Unreadable(damaged.to_string())
    }
}

/// The id in column `column`.
pub(crate) fn id(row: &impl Fields, column: usize) -> Result<PromiseId, Failure> {
    Ok(PromiseId::new(needed(row.text(column)?, &"promises", "id")?))
}

/// The text in column `column`.
pub(crate) fn text(row: &impl Fields, column: usize) -> Result<Text, Failure> {
    Ok(Text::from(&*needed(row.text(column)?, &"a table", "text")?))
}

/// The number in column `column`, called `name`.
pub(crate) fn number(
    row: &impl Fields,
    column: usize,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<i64, Failure> {
    needed(row.int(column)?, owner, name)
}

/// The number in column `column`, called `name`, where a smaller type holds all that are written.
pub(crate) fn small<T: TryFrom<i64>>(
    row: &impl Fields,
    column: usize,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<T, Failure> {
    needed(T::try_from(number(row, column, owner, name)?).ok(), owner, name)
}

/// A row that does not say what `column` should.
pub(in crate::sql) fn damaged(owner: &dyn fmt::Display, column: &str) -> Damaged {
    Damaged(format!("the row of `{owner}` is damaged: its {column} is not what it should be"))
}

/// A value: its headers in this column, and its data.
pub(in crate::sql) fn value(
    row: &impl Fields,
    headers: usize,
    data: &[u8],
    id: &dyn fmt::Display,
) -> Result<Value, Failure> {
    let headers = match row.text(headers)? {
        None => Tags::new(),
        Some(json) => tags(&json, id)?,
    };
    Ok(Value { headers, data: Bytes::from(data) })
}

/// The headers of a value; NULL for none.
pub(in crate::sql) fn headers(value: &Value) -> Cell {
    if value.headers.is_empty() { Cell::Null } else { json(&value.headers).into() }
}

/// Tags as they are stored.
pub(in crate::sql) fn json(tags: &Tags) -> String {
    serde_json::to_string(tags).expect("a map of texts is JSON")
}

/// Tags as they were stored.
pub(in crate::sql) fn tags(json: &str, id: &dyn fmt::Display) -> Result<Tags, Damaged> {
    serde_json::from_str(json).map_err(|_| damaged(id, "tags"))
}

/// An instant that may be missing.
pub(in crate::sql) fn at(row: &impl Fields, column: usize) -> Result<Option<Timestamp>, Failure> {
    Ok(row.int(column)?.map(Timestamp))
}

/// What has to be there, called `name`.
pub(in crate::sql) fn needed<T>(
    value: Option<T>,
    owner: &dyn fmt::Display,
    name: &str,
) -> Result<T, Failure> {
    value.ok_or_else(|| damaged(owner, name).into())
}
