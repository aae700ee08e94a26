//! The PostgreSQL dialect of the common reads.

use std::ops::ControlFlow;

use futures::TryStreamExt as _;
use segno_core::id::PromiseId;
use sqlx::{
    Executor as _, PgConnection, Postgres, Row as _, SqlStr, Transaction, TypeInfo as _,
    ValueRef as _,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::{
    connection_pool::{BorrowedConnection, ConnectionPool},
    failure::{self, FailedStatement},
    fields::escape,
    statement,
};
use crate::{
    StoreError,
    archive::ArchiveCell,
    limits,
    sql::{
        RowFields as _, SqlFailure,
        read::{DatabaseKind, DatabaseSession, Parameter, SqlDialect, UnmergedJournals},
    },
};

/// Begins a transaction with a fixed snapshot.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Disables the time limits for an export or import.
pub(super) const NO_TIME_LIMIT: &str =
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

/// All records are in the table `journal`.
#[derive(Debug)]
pub(crate) struct NoUnmergedJournals;

impl SqlDialect for Postgres {
    type Unmerged = NoUnmergedJournals;
    type Pool = ConnectionPool;
    type Borrowed = BorrowedConnection;

    async fn acquire(connections: &ConnectionPool) -> Result<BorrowedConnection, SqlFailure> {
        connections.acquire().await
    }

    async fn snapshot(
        connections: &ConnectionPool,
    ) -> Result<Transaction<'static, Self>, SqlFailure> {
        connections.begin(SNAPSHOT).await
    }

    fn failed(statement: &'static str, source: SqlFailure) -> StoreError {
        match source {
            SqlFailure::Driver(sqlx::Error::PoolClosed) => StoreError::Closed,
            source if failure::code(&source).is_some_and(|code| code == failure::TOO_LONG) => {
                StoreError::TooLong { statement, seconds: limits::CLIENT_READ.0 / 1_000 }
            }
            source => FailedStatement { statement, source }.explain(),
        }
    }
}

impl UnmergedJournals for NoUnmergedJournals {
    fn may_have<'a>(&self, _ids: impl IntoIterator<Item = &'a PromiseId>) -> bool {
        false
    }
}

impl DatabaseSession for PgConnection {
    type Row = PgRow;
    const KIND: DatabaseKind = DatabaseKind::Postgres;

    async fn rows(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<PgRow>, SqlFailure> {
        Ok(query(self, text, parameters).fetch_all(self).await?)
    }

    async fn each(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
        mut take: impl FnMut(PgRow) -> Result<ControlFlow<()>, SqlFailure> + Send,
    ) -> Result<(), SqlFailure> {
        let mut rows = query(self, text, parameters).fetch(self);
        while let Some(row) = rows.try_next().await? {
            if take(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn without_time_limit(&mut self) -> Result<(), SqlFailure> {
        self.execute(NO_TIME_LIMIT).await?;
        Ok(())
    }

    fn cell(row: &PgRow, column: usize) -> Result<ArchiveCell, SqlFailure> {
        let raw = row.try_get_raw(column)?;
        if raw.is_null() {
            return Ok(ArchiveCell::Null);
        }
        let kind = raw.type_info().name().to_owned();
        Ok(match kind.as_str() {
            "TEXT" => row
                .text(column)?
                .map_or(ArchiveCell::Null, |text| ArchiveCell::Text(text.into_owned())),
            "BYTEA" => row
                .blob(column)?
                .map_or(ArchiveCell::Null, |bytes| ArchiveCell::Blob(bytes.to_vec().into())),
            _ => row.int(column)?.map_or(ArchiveCell::Null, ArchiveCell::Int),
        })
    }
}

/// A list is a single array parameter.
fn query(
    connection: &PgConnection,
    text: SqlStr,
    parameters: &[Parameter<'_>],
) -> Query<'static, Postgres, PgArguments> {
    let stored = |text: &str| escape(text).into_owned();
    let mut query = statement::query(connection, text);
    for parameter in parameters {
        query = match parameter {
            Parameter::Int(value) => query.bind(*value),
            Parameter::Text(value) => query.bind(stored(value)),
            Parameter::Owned(value) => query.bind(stored(value)),
            Parameter::Stored(value) => query.bind(value.clone()),
            Parameter::Blob(value) => query.bind(value.to_vec()),
            Parameter::Texts(list) => {
                query.bind(list.iter().map(|text| stored(text)).collect::<Vec<_>>())
            }
            Parameter::Numbers(list) => query.bind(list.to_vec()),
            Parameter::Pairs(_) => unreachable!("only statements of SQLite take pairs"),
        };
    }
    query
}
