//! SQLite's read connections: each statement sees everything committed before it began.

use std::{sync::Arc, time::Duration};

use segno_core::time::Millis;
use segno_env::Clock;
use sqlx::{
    Executor as _, Sqlite, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

use super::{connection::page_bytes, journal_buffer::ActiveJournals, open::DataDirectory};
use crate::{
    StoreError,
    sql::read::{self, failed},
};

/// Maximum number of read connections.
const READERS: u32 = 4;

/// Number of SQLite virtual-machine steps between two checks of the clock, about 0.1 ms.
const LOOK_AT_CLOCK: i32 = 10_000;

pub(super) type Reader = read::Reader<Sqlite>;

impl Reader {
    /// A reader whose connections are opened lazily.
    pub(super) fn of(directory: &DataDirectory, active_journals: Arc<ActiveJournals>) -> Self {
        Self { unmerged: Some(active_journals), ..Self::with(directory.reader_options()) }
    }

    /// A reader for API clients: every statement is interrupted after `limit`.
    pub(super) fn for_clients(
        directory: &DataDirectory,
        active_journals: Arc<ActiveJournals>,
        clock: &Arc<dyn Clock>,
        limit: Millis,
    ) -> Self {
        let of_new = (clock.clone(), limit);
        let of_idle = of_new.clone();
        // The time runs from taking the connection: it serves one or two statements, or a short
        // transaction.
        let pool = pool()
            .after_connect(move |connection, _| {
                let (clock, limit) = of_new.clone();
                Box::pin(async move { end_after(connection, clock, limit).await })
            })
            .before_acquire(move |connection, _| {
                let (clock, limit) = of_idle.clone();
                Box::pin(async move { end_after(connection, clock, limit).await.map(|()| true) })
            })
            .connect_lazy_with(directory.reader_options());
        Self { pool, unmerged: Some(active_journals) }
    }

    /// A reader of a database that another process may own.
    pub(super) fn with(options: SqliteConnectOptions) -> Self {
        Self { pool: pool().connect_lazy_with(options), unmerged: None }
    }

    /// Frees the page caches of idle connections if they total more than `kept` bytes. Returns
    /// their size.
    pub(super) async fn shrink(&self, kept: u64) -> Result<u64, StoreError> {
        let failed = failed::<Sqlite, _>("give pages back");
        // Take all idle connections together, so that none is missed.
        let mut idle = Vec::new();
        while let Some(connection) = self.pool.try_acquire() {
            idle.push(connection);
        }
        let mut held = 0;
        for connection in &mut idle {
            held += bytes_held(connection).await.map_err(&failed)?;
        }
        if held > kept {
            for connection in &mut idle {
                connection.execute("PRAGMA shrink_memory").await.map_err(&failed)?;
            }
        }
        Ok(held)
    }
}

fn pool() -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
}

/// Interrupts every statement of this connection that runs after `limit` from now.
async fn end_after(
    connection: &mut SqliteConnection,
    clock: Arc<dyn Clock>,
    limit: Millis,
) -> Result<(), sqlx::Error> {
    let length = Duration::from_millis(u64::try_from(limit.0).unwrap_or_default());
    let end = clock.elapsed().saturating_add(length);
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(LOOK_AT_CLOCK, move || clock.elapsed() < end);
    Ok(())
}

/// Bytes of a connection's page cache.
async fn bytes_held(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let mut handle = connection.lock_handle().await?;
    // SAFETY: the handle is locked, so the connection's worker thread does not use it.
    Ok(unsafe { page_bytes(handle.as_raw_handle().as_ptr()) })
}

#[cfg(test)]
mod tests {
    use segno_env::SystemClock;

    use super::*;
    use crate::{Read as _, sqlite::SqliteConfig};

    const ENDLESS: &str = "
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT count(*) FROM numbers";

    #[tokio::test]
    async fn what_a_client_asks_for_ends_in_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = SqliteConfig::new(dir.path());
        let directory = DataDirectory::open(&config).await.expect("it opens");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let reader = Reader::for_clients(&directory, Arc::default(), &clock, Millis(50));
        // The second iteration uses a pooled connection.
        for _ in 0..2 {
            let ended =
                reader.pool.fetch_one(ENDLESS).await.map_err(failed::<Sqlite, _>("count numbers"));
            let ended = ended.expect_err("it has no end");
            assert!(matches!(ended, StoreError::TooLong { .. }), "{ended:?}");
            assert!(ended.to_string().contains("narrow the filter"), "{ended}");
            assert!(reader.promises(&["a".into()]).await.expect("a read")[0].is_none());
        }
    }
}
