//! The SQLite dialect of the common reads.

use std::{ops::ControlFlow, sync::Arc};

use futures::TryStreamExt as _;
use segno_core::id::PromiseId;
use sqlx::{
    Pool, Row as _, SqlStr, Sqlite, SqliteConnection, Transaction, TypeInfo as _, ValueRef as _,
    pool::PoolConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};

use super::{failure, journal_buffer::ActiveJournals};
use crate::{
    StoreError,
    archive::ArchiveCell,
    limits,
    sql::{
        SqlFailure,
        read::{DatabaseKind, DatabaseSession, Parameter, SqlDialect, UnmergedJournals},
    },
};

impl SqlDialect for Sqlite {
    type Pool = Pool<Self>;
    type Borrowed = PoolConnection<Self>;

    async fn acquire(pool: &Pool<Self>) -> Result<PoolConnection<Self>, SqlFailure> {
        Ok(pool.acquire().await?)
    }

    /// sqlx rolls back a dropped transaction by itself.
    async fn snapshot(pool: &Pool<Self>) -> Result<Transaction<'static, Self>, SqlFailure> {
        Ok(pool.begin_with("BEGIN").await?)
    }

    /// `None` if another process writes: then any journal may have unmerged records.
    type Unmerged = Option<Arc<ActiveJournals>>;

    fn failed(statement: &'static str, source: SqlFailure) -> StoreError {
        match source {
            SqlFailure::Driver(sqlx::Error::PoolClosed) => StoreError::Closed,
            // Only client connections have a time limit.
            source if failure::primary_code(&source) == Some(failure::INTERRUPTED) => {
                StoreError::TooLong { statement, seconds: limits::CLIENT_READ.0 / 1_000 }
            }
            source => StoreError::Database { statement, source: source.into() },
        }
    }
}

impl UnmergedJournals for Option<Arc<ActiveJournals>> {
    fn may_have<'a>(&self, ids: impl IntoIterator<Item = &'a PromiseId>) -> bool {
        self.as_ref().is_none_or(|active| active.may_have(ids))
    }
}

impl DatabaseSession for SqliteConnection {
    type Row = SqliteRow;
    const KIND: DatabaseKind = DatabaseKind::Sqlite;

    async fn rows(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<SqliteRow>, SqlFailure> {
        Ok(query(text, parameters).fetch_all(self).await?)
    }

    async fn each(
        &mut self,
        text: SqlStr,
        parameters: &[Parameter<'_>],
        mut take: impl FnMut(SqliteRow) -> Result<ControlFlow<()>, SqlFailure> + Send,
    ) -> Result<(), SqlFailure> {
        let mut rows = query(text, parameters).fetch(self);
        while let Some(row) = rows.try_next().await? {
            if take(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Does nothing: a time limit belongs to the client's connection.
    async fn without_time_limit(&mut self) -> Result<(), SqlFailure> {
        Ok(())
    }

    fn cell(row: &SqliteRow, column: usize) -> Result<ArchiveCell, SqlFailure> {
        let raw = row.try_get_raw(column)?;
        if raw.is_null() {
            return Ok(ArchiveCell::Null);
        }
        let kind = raw.type_info().name().to_owned();
        Ok(match kind.as_str() {
            "INTEGER" => ArchiveCell::Int(row.try_get_unchecked(column)?),
            "TEXT" => ArchiveCell::Text(row.try_get_unchecked(column)?),
            _ => ArchiveCell::Blob(row.try_get_unchecked::<Vec<u8>, _>(column)?.into()),
        })
    }
}

/// A list is a single JSON parameter.
fn query(text: SqlStr, parameters: &[Parameter<'_>]) -> Query<'static, Sqlite, SqliteArguments> {
    let json = |list: Result<String, serde_json::Error>| {
        list.expect("lists of texts and numbers are JSON")
    };
    let mut query = sqlx::query(text);
    for parameter in parameters {
        query = match parameter {
            Parameter::Int(value) => query.bind(*value),
            Parameter::Text(value) => query.bind((*value).to_owned()),
            Parameter::Owned(value) | Parameter::Stored(value) => query.bind(value.clone()),
            Parameter::Blob(value) => query.bind(value.to_vec()),
            Parameter::Texts(list) => query.bind(json(serde_json::to_string(list))),
            Parameter::Numbers(list) => query.bind(json(serde_json::to_string(list))),
            Parameter::Pairs(list) => query.bind(json(serde_json::to_string(list))),
        };
    }
    query
}
