//! A pool of connections for short use, which follows the primary after a failover.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use segno_core::time::Millis;
use sqlx::{
    PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::primary::{MAX_AGE, Primary};
use crate::sql::SqlFailure;

/// Maximum wait of a read for a connection: for a free one, or for an unavailable database.
const ACQUIRE_TIMEOUT: Millis = Millis(5_000);
/// Pause after a new connection reached a server that refuses writes.
const REST: Millis = Millis(200);

/// A connection pool; see the module documentation.
pub(crate) struct ConnectionPool {
    options: PgPoolOptions,
    connection: PgConnectOptions,
    /// `None` for a pool that only reads a database, which may be a standby.
    primary: Option<Arc<Primary>>,
    /// The epoch and its pool.
    pool: Mutex<(u64, PgPool)>,
}

impl ConnectionPool {
    /// A lazy pool of connections to the primary.
    pub(super) fn to(
        primary: &Arc<Primary>,
        connection: PgConnectOptions,
        most: u32,
        max_age: Millis,
    ) -> Self {
        // `Primary::examine` already tests the connection.
        let options = options(most).max_lifetime(duration(max_age)).test_before_acquire(false);
        Self { primary: Some(primary.clone()), ..Self::of(options, connection) }
    }

    /// A lazy pool of connections to the server that the address resolves to.
    pub(super) fn anywhere(connection: PgConnectOptions, most: u32) -> Self {
        Self::of(options(most), connection)
    }

    fn of(options: PgPoolOptions, connection: PgConnectOptions) -> Self {
        let pool = Mutex::new((0, options.clone().connect_lazy_with(connection.clone())));
        Self { options, connection, primary: None, pool }
    }

    /// Takes a connection to the primary.
    ///
    /// # Errors
    /// Fails if no server answers in time, or if none of them accepts writes.
    pub(crate) async fn acquire(&self) -> Result<PoolConnection<Postgres>, SqlFailure> {
        let Some(primary) = &self.primary else { return Ok(self.pool().1.acquire().await?) };
        let mut waited = Millis::ZERO;
        loop {
            let (epoch, pool) = self.pool();
            let refused = match pool.acquire().await {
                Ok(mut connection) => match primary.examine(&mut connection).await {
                    Ok(examined) if examined == epoch => return Ok(connection),
                    examined => {
                        connection.close_on_drop();
                        examined.err()
                    }
                },
                // The pool was closed because the epoch changed.
                Err(sqlx::Error::PoolClosed) if primary.epoch() != epoch => None,
                Err(error) => return Err(error.into()),
            };
            // An idle connection may lead to another server than a new one would.
            let Some(refused) =
                refused.filter(|_| primary.epoch() == epoch && pool.num_idle() == 0)
            else {
                continue;
            };
            if waited >= ACQUIRE_TIMEOUT {
                primary.is_away(&refused);
                return Err(refused);
            }
            primary.env().runtime.sleep(REST).await;
            waited = Millis(waited.0 + REST.0);
        }
    }

    /// The current epoch and its pool.
    pub(super) fn pool(&self) -> (u64, PgPool) {
        let mut held = self.held();
        if let Some(primary) = &self.primary
            && held.0 != primary.epoch()
            && !held.1.is_closed()
        {
            let new = self.options.clone().connect_lazy_with(self.connection.clone());
            let (_, left) = std::mem::replace(&mut *held, (primary.epoch(), new));
            // Running reads finish on their old connections.
            let leaving = async move { left.close().await };
            primary.env().runtime.spawn("store leave", Box::pin(leaving));
        }
        held.clone()
    }

    /// Closes the pool permanently.
    pub(super) async fn close(&self) {
        let pool = self.held().1.clone();
        pool.close().await;
    }

    fn held(&self) -> MutexGuard<'_, (u64, PgPool)> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionPool").field("pool", &self.held().1).finish_non_exhaustive()
    }
}

fn options(most: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(duration(ACQUIRE_TIMEOUT))
        .idle_timeout(Duration::from_secs(60))
        .max_lifetime(duration(MAX_AGE))
}

fn duration(length: Millis) -> Duration {
    Duration::from_millis(length.0.unsigned_abs())
}
