//! Callbacks between promises of different databases.
//!
//! Both databases hold such a callback. It is added under the lock of the awaited promise, and
//! changed under the lock of the awaiter's task, which lies in another database than the awaited
//! promise. So it is read again when a batch holds its locks in all databases.
//!
//! A transaction over several databases is to be seen in one of them before it is in the next, where
//! it is prepared. A batch that joins both waits for the locks of rows that exist. A row that the
//! transaction inserts cannot be locked, so rows that were not found are looked up again when all
//! locks are held, and nothing that was prepared before is left.

use std::collections::BTreeSet;

use segno_core::{footprint::Footprint, id::PromiseId};
use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{LoadFailure, LockedRows, lock::escaped};
use crate::{
    postgres::{failure::FailedStatement, statement::query},
    sql::{self, Cache, RowFields as _, SqlFailure},
};

pub(super) const CROSSINGS: &str = "
    SELECT NULL, awaited, NULL, awaiter, NULL, consumed FROM crossings WHERE awaited = ANY($1::text[])
     UNION ALL
    SELECT NULL, awaited, NULL, awaiter, NULL, consumed FROM crossings WHERE awaiter = ANY($1::text[])";

/// The transactions over several databases that are prepared in this one.
const PREPARED: &str = "
    SELECT gid FROM pg_prepared_xacts
     WHERE database = current_database() AND starts_with(gid, 'segno:')";

/// Those of these transactions that are still prepared, after a pause.
const STILL_PREPARED: &str = "
    SELECT gid FROM (SELECT pg_sleep(0.002)) AS pause, pg_prepared_xacts WHERE gid = ANY($1::text[])";

/// Maximum number of pauses.
const PAUSES: u32 = 500;

/// Adds a callback: the ids of the awaited promise and of its awaiter in columns 1 and 3, the flag
/// in column 5.
pub(super) fn put(cache: &mut Cache, row: &PgRow) -> Result<(PromiseId, PromiseId), SqlFailure> {
    let (awaited, awaiter, consumed) = callback(row)?;
    cache.view.put_callback(awaited.clone(), awaiter.clone(), consumed);
    Ok((awaited, awaiter))
}

fn callback(row: &PgRow) -> Result<(PromiseId, PromiseId, bool), SqlFailure> {
    Ok((sql::id(row, 1)?, sql::id(row, 3)?, row.int(5)?.unwrap_or_default() != 0))
}

impl LockedRows {
    /// Reads the callbacks between databases again, when all locks are held.
    ///
    /// # Errors
    /// [`LoadFailure::LockFirst`] if another transaction has changed one in the meantime.
    pub(in crate::postgres) async fn check_crossings(
        &mut self,
        connection: &mut PgConnection,
        cache: &Cache,
        is_elsewhere: impl Fn(&PromiseId) -> bool,
    ) -> Result<(), LoadFailure> {
        if self.crossing.is_empty() {
            return Ok(());
        }
        let name = "read callbacks between databases again";
        self.statements += 1;
        let query = query(connection, CROSSINGS).bind(escaped(&self.crossing));
        let rows = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        let found: Result<BTreeSet<_>, _> = rows.iter().map(callback).collect();
        let found = found.map_err(FailedStatement::of(name))?;
        let view = &cache.view;
        let mut known = BTreeSet::new();
        for id in &self.crossing {
            let on = view.callbacks_on(id).filter(|(by, _)| is_elsewhere(by));
            known.extend(on.map(|(by, consumed)| (id.clone(), by.clone(), consumed)));
            for on in view.awaited_by(id).filter(|on| is_elsewhere(on)) {
                let consumed = view.callbacks_on(on).find(|(by, _)| *by == id);
                let consumed = consumed.is_some_and(|(_, consumed)| consumed);
                known.insert((on.clone(), id.clone(), consumed));
            }
        }
        match found == known {
            true => Ok(()),
            false => Err(LoadFailure::LockFirst(Box::default())),
        }
    }

    /// True if the decision may rest on rows that do not exist. They cannot be locked.
    pub(in crate::postgres) fn misses_rows(&self) -> bool {
        let mut names = self.asked_names.iter().zip(&self.named);
        names.any(|(asked, locked)| !asked.is_subset(locked))
            || self.promises.values().any(Option::is_none)
    }

    /// Reads everything that is not locked again, as of an instant at which all transactions are to
    /// be seen here that are to be seen in another database.
    ///
    /// # Errors
    /// [`LoadFailure::LockFirst`] if a row exists that was not found before.
    pub(in crate::postgres) async fn read_again(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
    ) -> Result<(), LoadFailure> {
        self.wait_for_prepared(connection).await?;
        self.load(connection, cache, Footprint::default()).await
    }

    /// Waits until what is prepared in this database is committed or rolled back. A limit guards
    /// the places of executions in other databases: who holds its lock sees them after this.
    ///
    /// # Errors
    /// [`LoadFailure::LockFirst`] if that takes too long.
    pub(super) async fn wait_for_prepared(
        &mut self,
        connection: &mut PgConnection,
    ) -> Result<(), LoadFailure> {
        if !self.crosses {
            return Ok(());
        }
        let failed = FailedStatement::of("wait for prepared transactions");
        let names = |rows: Vec<PgRow>| -> Result<Vec<String>, sqlx::Error> {
            rows.iter().map(|row| row.try_get(0)).collect()
        };
        self.statements += 1;
        let first = query(connection, PREPARED);
        let mut prepared =
            names(connection.fetch_all(first).await.map_err(&failed)?).map_err(&failed)?;
        for _ in 0..PAUSES {
            if prepared.is_empty() {
                return Ok(());
            }
            self.statements += 1;
            let again = query(connection, STILL_PREPARED).bind(prepared);
            prepared =
                names(connection.fetch_all(again).await.map_err(&failed)?).map_err(&failed)?;
        }
        Err(LoadFailure::LockFirst(Box::default()))
    }
}
