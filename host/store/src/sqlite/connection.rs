//! The writer's connection, used only by the writer's thread.
//!
//! The writer uses `rusqlite` instead of `sqlx`: in `rusqlite`, a statement is a function call; in
//! `sqlx`, it is a message to another thread and back. So each statement writes one row, and stays
//! prepared.

use std::{path::Path, time::Duration};

use rusqlite::{
    OpenFlags, Row, ToSql,
    config::DbConfig,
    ffi,
    types::{Null, ToSqlOutput},
};

use crate::sql::{SqlCell, SqlFailure};

/// Capacity for prepared statements; there are fewer statements than that.
const PREPARED: usize = 128;

/// Maximum wait for a lock held by another connection.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

const TRUNCATE_LOG: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

#[derive(Debug)]
pub(super) struct NamedStatement {
    /// Description of the statement, for errors.
    pub(super) name: &'static str,
    /// The SQL text, with one parameter per cell of the row.
    pub(super) text: &'static str,
}

/// A statement that failed.
#[derive(Debug)]
pub(super) struct FailedStatement {
    /// Name of the statement.
    pub(super) statement: &'static str,
    /// SQLite's error.
    pub(super) source: SqlFailure,
}

/// The writer's connection; see the module documentation.
#[derive(Debug)]
pub(super) struct Connection {
    open: rusqlite::Connection,
    /// Number of write statements executed.
    run: u64,
}

impl Connection {
    /// Opens an existing database and sets the pragmas.
    pub(super) fn open(file: &Path, pragmas: &[(&str, &str)]) -> Result<Self, FailedStatement> {
        let failed = |source| failed("open the database", source);
        // One thread at a time uses it, so SQLite needs no mutexes.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = rusqlite::Connection::open_with_flags(file, flags).map_err(failed)?;
        open.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false).map_err(failed)?;
        open.set_prepared_statement_cache_capacity(PREPARED);
        for (name, value) in pragmas {
            open.pragma_update(None, name, value).map_err(failed)?;
        }
        // The first read creates the log if there is none.
        open.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
        Ok(Self { open, run: 0 })
    }

    /// Executes a statement without parameters; the text also serves as its name.
    pub(super) fn say(&mut self, text: &'static str) -> Result<(), FailedStatement> {
        self.run += 1;
        let said = self.open.prepare_cached(text).and_then(|mut prepared| prepared.raw_execute());
        said.map(drop).map_err(|source| failed(text, source))
    }

    /// Executes a statement for each row; stops at the first failure.
    pub(super) fn each(
        &mut self,
        statement: &NamedStatement,
        rows: &[impl AsRef<[SqlCell]>],
    ) -> Result<(), FailedStatement> {
        self.each_of(statement.name, statement.text, rows)
    }

    /// Like [`Connection::each`], for a statement built at run time.
    pub(super) fn each_of(
        &mut self,
        name: &'static str,
        text: &str,
        rows: &[impl AsRef<[SqlCell]>],
    ) -> Result<(), FailedStatement> {
        if rows.is_empty() {
            return Ok(());
        }
        self.run += rows.len() as u64;
        let run = || {
            let mut prepared = self.open.prepare_cached(text)?;
            rows.iter().try_for_each(|row| {
                prepared.execute(rusqlite::params_from_iter(row.as_ref())).map(drop)
            })
        };
        run().map_err(|source| failed(name, source))
    }

    /// Runs a query and passes each row to `take`. An error from `take` ends it.
    pub(super) fn read(
        &mut self,
        name: &'static str,
        text: &str,
        parameters: impl rusqlite::Params,
        mut take: impl FnMut(&Row<'_>) -> Result<(), SqlFailure>,
    ) -> Result<(), FailedStatement> {
        let refused = |source| failed(name, source);
        let mut prepared = self.open.prepare_cached(text).map_err(refused)?;
        let mut rows = prepared.query(parameters).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            take(row).map_err(|source| FailedStatement { statement: name, source })?;
        }
        Ok(())
    }

    /// Number of write statements executed so far.
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    /// Bytes of the connection's page cache.
    pub(super) fn page_bytes(&self) -> u64 {
        // SAFETY: the handle belongs to an open connection, and no other thread uses it.
        unsafe { page_bytes(self.open.handle()) }
    }

    /// Frees the connection's page cache.
    pub(super) fn shrink(&mut self) -> Result<(), FailedStatement> {
        self.say("PRAGMA shrink_memory")
    }

    /// Truncates the write-ahead log, unless a reader still needs it. Does not wait for locks.
    pub(super) fn truncate_log(&mut self) -> Result<(), FailedStatement> {
        let refused = |source| failed("set how long locks are waited for", source);
        self.open.busy_timeout(Duration::ZERO).map_err(refused)?;
        let truncated = self.read("truncate the log", TRUNCATE_LOG, [], |_| Ok(()));
        self.open.busy_timeout(LOCK_TIMEOUT).map_err(refused)?;
        truncated
    }

    /// Checkpoints and truncates the write-ahead log, and closes. If readers prevent it, the next
    /// start does it.
    pub(super) fn close(mut self) {
        let _ = self.read("carry over", TRUNCATE_LOG, [], |_| Ok(()));
        let _ = self.open.close();
    }
}

/// Bytes of a connection's page cache.
///
/// # Safety
/// `handle` must belong to an open connection that no other thread uses during the call.
pub(super) unsafe fn page_bytes(handle: *mut ffi::sqlite3) -> u64 {
    let (mut now, mut most) = (0, 0);
    // SAFETY: guaranteed by the caller; both out-pointers are valid.
    let answer = unsafe {
        ffi::sqlite3_db_status(handle, ffi::SQLITE_DBSTATUS_CACHE_USED, &mut now, &mut most, 0)
    };
    debug_assert_eq!(answer, ffi::SQLITE_OK);
    u64::try_from(now).unwrap_or_default()
}

fn failed(statement: &'static str, source: rusqlite::Error) -> FailedStatement {
    FailedStatement { statement, source: source.into() }
}

impl ToSql for SqlCell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Ok(ToSqlOutput::from(Null)),
            Self::Int(value) => Ok(ToSqlOutput::from(*value)),
            Self::Text(value) => Ok(ToSqlOutput::from(&**value)),
            Self::Blob(value) => Ok(ToSqlOutput::from(value.as_slice())),
        }
    }
}
