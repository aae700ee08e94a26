//! Statements that are built from parts: each part writes rows of one table, given as arrays.

use std::{borrow::Cow, collections::BTreeSet};

use sqlx::{AssertSqlSafe, Executor as _, PgConnection, postgres::PgArguments};

use super::{columns, failure::FailedStatement, statement::query_with};
use crate::sql::{ColumnKind, SqlCell};

/// One part of the statement: `before UNNEST($…) after`.
pub(super) struct StatementPart {
    pub(super) columns: &'static [ColumnKind],
    pub(super) before: Cow<'static, str>,
    pub(super) after: Cow<'static, str>,
}

impl StatementPart {
    /// The table that the part writes: `INSERT INTO table`, `DELETE FROM table` or `UPDATE table`.
    fn table(&self) -> &str {
        let mut words = self.before.split_whitespace();
        let table = if words.next() == Some("UPDATE") { words.next() } else { words.nth(1) };
        table.unwrap_or_default()
    }
}

/// A statement under construction.
#[derive(Default)]
pub(super) struct StatementBuilder {
    parts: Vec<String>,
    /// The tables that the parts write.
    tables: BTreeSet<String>,
    arguments: PgArguments,
    columns: usize,
}

/// Statements under construction, none of which writes a table twice.
#[derive(Default)]
pub(super) struct StatementList(pub(super) Vec<StatementBuilder>);

impl StatementList {
    /// Adds a part for `rows` to the first statement that does not write its table yet.
    pub(super) fn push<R: AsRef<[SqlCell]> + IntoIterator<Item = SqlCell>>(
        &mut self,
        part: &StatementPart,
        rows: Vec<R>,
    ) {
        if rows.is_empty() {
            return;
        }
        let free = self.0.iter_mut().find(|statement| !statement.tables.contains(part.table()));
        match free {
            Some(statement) => statement.push(part, rows),
            None => {
                let mut statement = StatementBuilder::default();
                statement.push(part, rows);
                self.0.push(statement);
            }
        }
    }
}

impl StatementBuilder {
    /// Adds a part for `rows`, unless it is empty.
    pub(super) fn push<R: AsRef<[SqlCell]> + IntoIterator<Item = SqlCell>>(
        &mut self,
        part: &StatementPart,
        rows: Vec<R>,
    ) {
        let Some(first) = rows.first() else { return };
        assert_eq!(part.columns.len(), first.as_ref().len(), "a part takes its rows' columns");
        let given = columns::parameters(part.columns, self.columns + 1);
        self.tables.insert(part.table().to_owned());
        self.parts.push(format!("{} UNNEST({given}) {}", part.before, part.after));
        self.columns += part.columns.len();
        columns::bind(&mut self.arguments, part.columns, rows);
    }

    /// True if no part has rows.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) async fn run(
        self,
        connection: &mut PgConnection,
        name: &'static str,
    ) -> Result<u64, FailedStatement> {
        let query = query_with(connection, AssertSqlSafe(text(&self.parts)), self.arguments);
        Ok(connection.execute(query).await.map_err(FailedStatement::of(name))?.rows_affected())
    }
}

/// Joins all parts into one statement: the last part is the main query, the others its CTEs.
fn text(parts: &[String]) -> String {
    let Some((last, others)) = parts.split_last() else { return String::new() };
    if others.is_empty() {
        return last.clone();
    }
    let list = others.iter().enumerate().map(|(n, part)| format!("part_{n} AS ({part})"));
    format!("WITH {} {last}", list.collect::<Vec<_>>().join(",\n"))
}
