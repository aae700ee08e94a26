//! A connection that is read from, whichever database it leads to.
//!
//! Both databases take parameters as `$1`, `$2`, …. A list is one parameter: JSON for SQLite, an
//! array for PostgreSQL. A statement that both databases understand is written once
//! ([`Select::common`]); where the databases differ, the two texts stand side by side
//! ([`Select::differing`]).

use std::ops::ControlFlow;

use segno_core::id::PromiseId;
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr, Transaction, pool::PoolConnection};

use crate::{
    StoreError, archive,
    sql::{Failure, Fields},
};

/// Which database is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// A statement that reads, as each database has it.
#[derive(Debug)]
pub(crate) struct Select {
    sqlite: &'static str,
    postgres: &'static str,
}

/// A statement that is put together for one filter.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) text: String,
    parameters: Vec<Parameter<'static>>,
}

/// A parameter of a statement.
#[derive(Debug)]
pub(crate) enum Parameter<'a> {
    Int(i64),
    Text(&'a str),
    Owned(String),
    /// A text as the database stores it.
    Stored(String),
    Blob(&'a [u8]),
    Texts(Vec<&'a str>),
    Numbers(&'a [i64]),
    /// Pairs of a text and a number; for SQLite only.
    Pairs(Vec<(&'a str, i64)>),
}

/// A connection to a database.
pub(crate) trait Session: Send {
    /// The rows that the database answers with.
    type Row: Fields + Send + Sync;
    /// The database.
    const KIND: Kind;

    /// Every row that a statement finds.
    fn rows(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, Failure>> + Send;

    /// Hands the rows that a statement finds to `take`, one at a time, until `take` breaks off.
    fn each(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
        take: impl FnMut(Self::Row) -> Result<ControlFlow<()>, Failure> + Send,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Lifts the limits of time from the transaction that has begun.
    fn without_time_limit(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// One column of a row, for an archive.
    fn cell(row: &Self::Row, column: usize) -> Result<archive::Cell, Failure>;

    /// The rows of a statement.
    fn all(
        &mut self,
        select: &'static Select,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, Failure>> + Send {
        self.rows(select.text(Self::KIND).into_sql_str(), parameters)
    }

    /// The first row of a statement.
    fn first(
        &mut self,
        select: &'static Select,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Option<Self::Row>, Failure>> + Send {
        async move { Ok(self.all(select, parameters).await?.into_iter().next()) }
    }

    /// The one row of a statement that always finds one.
    fn one(
        &mut self,
        select: &'static Select,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Self::Row, Failure>> + Send {
        async move { self.first(select, parameters).await?.ok_or(Failure::NoRow) }
    }

    /// The rows of a statement that was put together.
    fn all_of(
        &mut self,
        built: Built,
    ) -> impl Future<Output = Result<Vec<Self::Row>, Failure>> + Send {
        async move { self.rows(AssertSqlSafe(built.text).into_sql_str(), &built.parameters).await }
    }

    /// As [`Session::each`], for a statement that was put together.
    fn each_of(
        &mut self,
        built: Built,
        take: impl FnMut(Self::Row) -> Result<ControlFlow<()>, Failure> + Send,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async move { self.each(AssertSqlSafe(built.text).into_sql_str(), &built.parameters, take).await }
    }
}

/// A database whose reads are written here.
pub(crate) trait Dialect: sqlx::Database<Connection: Session> {
    /// The connections that read.
    type Pool: Send + Sync + 'static;

    /// A connection for a read.
    fn acquire(
        pool: &Self::Pool,
    ) -> impl Future<Output = Result<PoolConnection<Self>, Failure>> + Send;

    /// Begins a transaction that sees one instant. Whoever stops waiting for it leaves no connection
    /// behind that sees an older instant than the reads to come.
    fn snapshot(
        pool: &Self::Pool,
    ) -> impl Future<Output = Result<Transaction<'static, Self>, Failure>> + Send;

    /// Says which journals may have records that the table `journal` lacks.
    type Unmerged: Unmerged;

    /// The error of a read that failed.
    fn failed(statement: &'static str, source: Failure) -> StoreError;
}

/// The journals of which the table `journal` may lack records.
pub(crate) trait Unmerged: Send + Sync + 'static {
    /// Whether any of these may lack some.
    fn may_have<'a>(&self, ids: impl IntoIterator<Item = &'a PromiseId>) -> bool;
}

impl Select {
    /// A statement that both databases understand.
    pub(crate) const fn common(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }

    /// A statement that the databases spell differently.
    pub(crate) const fn differing(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { sqlite, postgres }
    }

    /// The text for a database.
    pub(crate) const fn text(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Sqlite => self.sqlite,
            Kind::Postgres => self.postgres,
        }
    }
}

impl Built {
    /// A statement that begins so.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), parameters: Vec::new() }
    }

    /// Adds to the text.
    pub(crate) fn push(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.text.push_str(text.as_ref());
        self
    }

    /// Adds a parameter.
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
