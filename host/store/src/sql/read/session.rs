//! A connection used for reads, to either database.
//!
//! Both databases take parameters as `$1`, `$2`, …. A list is one parameter: JSON for SQLite, an
//! array for PostgreSQL. A statement that both databases understand is written once
//! ([`Select::common`]); otherwise there is one text per database ([`Select::differing`]).

use std::ops::{ControlFlow, DerefMut};

use segno_core::id::PromiseId;
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr, Transaction};

use crate::{
    StoreError, archive,
    sql::{RowFields, SqlFailure},
};

/// The kind of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseKind {
    Sqlite,
    Postgres,
}

/// A read statement, with a text for each database.
#[derive(Debug)]
pub(crate) struct Select {
    sqlite: &'static str,
    postgres: &'static str,
}

/// A statement built for one filter.
#[derive(Debug)]
pub(crate) struct BuiltStatement {
    pub(crate) text: String,
    parameters: Vec<Parameter<'static>>,
}

/// A parameter of a statement.
#[derive(Debug)]
pub(crate) enum Parameter<'a> {
    Int(i64),
    Text(&'a str),
    Owned(String),
    /// A text already in the form in which the database stores it.
    Stored(String),
    Blob(&'a [u8]),
    Texts(Vec<&'a str>),
    Numbers(&'a [i64]),
    /// Pairs of a text and a number; for SQLite only.
    Pairs(Vec<(&'a str, i64)>),
}

/// A connection to a database.
pub(crate) trait DatabaseSession: Send {
    /// A row of a result.
    type Row: RowFields + Send + Sync;
    /// The kind of the database.
    const KIND: DatabaseKind;

    /// Runs a statement and returns all rows.
    fn rows(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, SqlFailure>> + Send;

    /// Runs a statement and passes its rows to `take`, one at a time, until `take` breaks.
    fn each(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
        take: impl FnMut(Self::Row) -> Result<ControlFlow<()>, SqlFailure> + Send,
    ) -> impl Future<Output = Result<(), SqlFailure>> + Send;

    /// Disables the time limits of the current transaction.
    fn without_time_limit(&mut self) -> impl Future<Output = Result<(), SqlFailure>> + Send;

    /// Reads a column as an archive cell.
    fn cell(row: &Self::Row, column: usize) -> Result<archive::ArchiveCell, SqlFailure>;

    /// All rows of a statement.
    fn all(
        &mut self,
        select: &'static Select,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, SqlFailure>> + Send {
        self.rows(select.text(Self::KIND).into_sql_str(), parameters)
    }

    /// The first row of a statement.
    fn first(
        &mut self,
        select: &'static Select,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Option<Self::Row>, SqlFailure>> + Send {
        async move { Ok(self.all(select, parameters).await?.into_iter().next()) }
    }

    /// The row of a statement that always returns one.
    fn one(
        &mut self,
        select: &'static Select,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Self::Row, SqlFailure>> + Send {
        async move { self.first(select, parameters).await?.ok_or(SqlFailure::NoRow) }
    }

    /// All rows of a built statement.
    fn all_of(
        &mut self,
        built: BuiltStatement,
    ) -> impl Future<Output = Result<Vec<Self::Row>, SqlFailure>> + Send {
        async move { self.rows(AssertSqlSafe(built.text).into_sql_str(), &built.parameters).await }
    }

    /// Like [`DatabaseSession::each`], for a built statement.
    fn each_of(
        &mut self,
        built: BuiltStatement,
        take: impl FnMut(Self::Row) -> Result<ControlFlow<()>, SqlFailure> + Send,
    ) -> impl Future<Output = Result<(), SqlFailure>> + Send {
        async move { self.each(AssertSqlSafe(built.text).into_sql_str(), &built.parameters, take).await }
    }
}

/// A database that the common reads support.
pub(crate) trait SqlDialect: sqlx::Database<Connection: DatabaseSession> {
    /// The pool of read connections.
    type Pool: Send + Sync + 'static;

    /// A connection of the pool.
    type Borrowed: DerefMut<Target = Self::Connection> + Send;

    /// Takes a connection.
    fn acquire(
        pool: &Self::Pool,
    ) -> impl Future<Output = Result<Self::Borrowed, SqlFailure>> + Send;

    /// Begins a snapshot transaction. Dropping the future must not return a connection to the pool
    /// that sees an older snapshot than later reads expect.
    fn snapshot(
        pool: &Self::Pool,
    ) -> impl Future<Output = Result<Transaction<'static, Self>, SqlFailure>> + Send;

    /// Tracks the journals with records outside the table `journal`.
    type Unmerged: UnmergedJournals;

    /// Converts the failure of a read.
    fn failed(statement: &'static str, source: SqlFailure) -> StoreError;
}

/// Tracks the journals with records outside the table `journal`.
pub(crate) trait UnmergedJournals: Send + Sync + 'static {
    /// True if any of these journals may have such records.
    fn may_have<'a>(&self, ids: impl IntoIterator<Item = &'a PromiseId>) -> bool;
}

impl Select {
    /// A statement that both databases understand.
    pub(crate) const fn common(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }

    /// A statement whose text differs between the databases.
    pub(crate) const fn differing(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { sqlite, postgres }
    }

    /// The text for a database.
    pub(crate) const fn text(&self, kind: DatabaseKind) -> &'static str {
        match kind {
            DatabaseKind::Sqlite => self.sqlite,
            DatabaseKind::Postgres => self.postgres,
        }
    }
}

impl BuiltStatement {
    /// A statement that starts with `text`.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), parameters: Vec::new() }
    }

    /// Appends to the text.
    pub(crate) fn push(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.text.push_str(text.as_ref());
        self
    }

    /// Appends a parameter and its placeholder.
    pub(crate) fn bind(&mut self, parameter: impl Into<Parameter<'static>>) -> &mut Self {
        self.parameters.push(parameter.into());
        let place = self.parameters.len();
        self.push(format!("${place}"))
    }
}

impl From<i64> for Parameter<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Parameter<'_> {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<String> for Parameter<'_> {
    fn from(value: String) -> Self {
        Self::Owned(value)
    }
}

impl<'a> From<&'a str> for Parameter<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a PromiseId> for Parameter<'a> {
    fn from(value: &'a PromiseId) -> Self {
        Self::Text(value.as_str())
    }
}

impl<'a> Parameter<'a> {
    /// A list of ids.
    pub(crate) fn ids(ids: impl IntoIterator<Item = &'a PromiseId>) -> Self {
        Self::Texts(ids.into_iter().map(PromiseId::as_str).collect())
    }
}
