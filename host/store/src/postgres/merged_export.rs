//! Exports a store of several databases as one archive, which every store can import.
//!
//! While the snapshots of the databases are taken, no transaction over several of them commits. So
//! each is in the archive as a whole, or not at all.

use segno_core::time::Millis;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Postgres, Transaction};

use super::{
    archive_merge::ArchiveMerge, databases::StoreDatabases, held::PrimaryConnection,
    in_doubt::DatabaseSessions, session::SNAPSHOT, transaction::SessionTransaction,
};
use crate::{
    archive::{ArchiveError, ArchiveSink},
    sql::read::{READ_ALL, each_row, refused},
};

/// Keeps transactions over several databases from being decided.
const LOCK_DECISIONS: &str = "SET LOCAL lock_timeout = '10s'; LOCK TABLE decisions IN SHARE MODE";
/// Fixes the snapshot of a transaction.
const FIX: &str = "SELECT 1";

/// Pause before it is looked again for decided transactions that are still prepared.
const PAUSE: Millis = Millis(20);
/// Maximum number of such pauses. Other hosts finish within seconds what a dead one left.
const PAUSES: u32 = 1_000;

/// Passes every row of the store to `sink`.
pub(super) async fn export(
    databases: &StoreDatabases,
    sink: &mut dyn ArchiveSink,
) -> Result<(), ArchiveError> {
    let mut sessions = connect(databases).await?;
    let mut snapshots = snapshots(databases, &mut sessions).await?;
    let mut merge = ArchiveMerge::read(&mut snapshots).await?;
    let head = merge.head();
    sink.head(&head)?;
    for (place, table) in head.tables.iter().enumerate() {
        for (database, snapshot) in snapshots.iter_mut().enumerate() {
            let Some(mut rows) = merge.rows(database, place) else { continue };
            let table = rows.table().clone();
            let pass = |row| match rows.rewritten(row)? {
                Some(row) => sink.write_row(place, row),
                None => Ok(()),
            };
            each_row(&mut **snapshot, &table, pass).await?;
        }
        for row in merge.added_rows(table) {
            sink.write_row(place, row)?;
        }
    }
    Ok(())
}

/// Connects to every database.
async fn connect(databases: &StoreDatabases) -> Result<Vec<PrimaryConnection>, ArchiveError> {
    let mut sessions = Vec::with_capacity(databases.len());
    for database in databases.iter() {
        let connected = database.connect().await;
        sessions.push(connected.map_err(|failed| refused(READ_ALL)(failed.source))?);
    }
    Ok(sessions)
}

/// Begins a transaction in every database, all with the same transactions over several databases.
async fn snapshots<'a>(
    databases: &StoreDatabases,
    sessions: &'a mut [PrimaryConnection],
) -> Result<Vec<Transaction<'a, Postgres>>, ArchiveError> {
    let mut locking = connect(databases).await?;
    let mut locks = Vec::with_capacity(locking.len());
    for (held, database) in locking.iter_mut().zip(databases.iter()) {
        let begun =
            SessionTransaction::begin(&mut held.connection, &database.settings.writer).await;
        let mut lock = begun.map_err(refused(READ_ALL))?;
        lock.execute(LOCK_DECISIONS).await.map_err(refused("hold up transactions"))?;
        locks.push(lock);
    }
    wait_for_decided(databases).await?;
    let mut snapshots = Vec::with_capacity(sessions.len());
    for (held, database) in sessions.iter_mut().zip(databases.iter()) {
        let begin =
            database.settings.writer.beginning(SNAPSHOT).unwrap_or_else(|| SNAPSHOT.to_owned());
        let begun = held.connection.begin_with(AssertSqlSafe(begin)).await;
        let mut snapshot = begun.map_err(refused(READ_ALL))?;
        snapshot.execute(FIX).await.map_err(refused(READ_ALL))?;
        snapshots.push(snapshot);
    }
    for lock in locks {
        lock.rollback().await.map_err(refused(READ_ALL))?;
    }
    Ok(snapshots)
}

/// Waits until every decided transaction is to be seen in all of its databases.
async fn wait_for_decided(databases: &StoreDatabases) -> Result<(), ArchiveError> {
    let env = databases.at(0).primary.env();
    let mut looking = DatabaseSessions::new(databases, env);
    for _ in 0..PAUSES {
        if !looking.has_decided().await.ok_or_else(away)? {
            return Ok(());
        }
        env.runtime.sleep(PAUSE).await;
    }
    Err(ArchiveError::Place(
        "a transaction over several databases was not finished by any host: look at `segno shards status`, and try \
         again"
            .to_owned(),
    ))
}

fn away() -> ArchiveError {
    ArchiveError::Place("a database of the store does not answer: try again".to_owned())
}
