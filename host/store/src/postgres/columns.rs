//! Converts rows of cells to columns: one array per column, so that a statement takes any number of
//! rows.

use sqlx::{Arguments as _, postgres::PgArguments};

use super::fields::escape;
use crate::sql::{ColumnKind, SqlCell};

/// The SQL array type of a column.
fn array(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Int => "bigint[]",
        ColumnKind::Text => "text[]",
        ColumnKind::Blob => "bytea[]",
    }
}

/// The parameter list `$7::bigint[], $8::text[], …`, starting at parameter `first`.
pub(super) fn parameters(kinds: &[ColumnKind], first: usize) -> String {
    let each =
        |(place, kind): (usize, &ColumnKind)| format!("${}::{}", first + place, array(*kind));
    kinds.iter().enumerate().map(each).collect::<Vec<_>>().join(", ")
}

/// Binds the columns of `rows` as arguments.
pub(super) fn bind(
    arguments: &mut PgArguments,
    kinds: &[ColumnKind],
    rows: Vec<impl IntoIterator<Item = SqlCell>>,
) {
    let mut columns: Vec<Vec<SqlCell>> =
        kinds.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    for (kind, column) in kinds.iter().zip(columns) {
        let added = match kind {
            ColumnKind::Int => arguments.add(column.iter().map(SqlCell::int).collect::<Vec<_>>()),
            ColumnKind::Text => arguments.add(column.into_iter().map(text).collect::<Vec<_>>()),
            ColumnKind::Blob => arguments.add(column.into_iter().map(blob).collect::<Vec<_>>()),
        };
        added.expect("PostgreSQL holds every integer, escaped text and blob");
    }
}

fn text(cell: SqlCell) -> Option<String> {
    match cell {
        SqlCell::Text(value) => Some(escape(&value).into_owned()),
        SqlCell::Null | SqlCell::Int(_) | SqlCell::Blob(_) => None,
    }
}

fn blob(cell: SqlCell) -> Option<Vec<u8>> {
    match cell {
        SqlCell::Blob(value) => Some(value),
        SqlCell::Null | SqlCell::Int(_) | SqlCell::Text(_) => None,
    }
}
