//! Connections that are taken for a statement or two and given back: a pool that leaves with the
//! primary.

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
use crate::sql::Failure;

/// The longest wait of a read for a connection: for a free one, or for a database that is away.
const ACQUIRE_TIMEOUT: Millis = Millis(5_000);
/// The pause after a new connection led to a server that takes no writes.
const REST: Millis = Millis(200);

/// See the module.
pub(crate) struct ConnectionPool {
    options: PgPoolOptions,
    connection: PgConnectOptions,
    /// `None` for what only looks at a database, a standby included.
    primary: Option<Arc<Primary>>,
    /// The pool of an epoch.
    pool: Mutex<(u64, PgPool)>,
}

impl ConnectionPool {
    /// Connections to the primary; they are made when they are first needed.
    pub(super) fn to(
        primary: &Arc<Primary>,
        connection: PgConnectOptions,
        most: u32,
        max_age: Millis,
    ) -> Self {
        // An examination is also a test.
        let options = options(most).max_lifetime(duration(max_age)).test_before_acquire(false);
        Self { primary: Some(primary.clone()), ..Self::of(options, connection) }
    }

    /// Connections to whichever server the address leads to.
    pub(super) fn anywhere(connection: PgConnectOptions, most: u32) -> Self {
        Self::of(options(most), connection)
    }

    fn of(options: PgPoolOptions, connection: PgConnectOptions) -> Self {
        let pool = Mutex::new((0, options.clone().connect_lazy_with(connection.clone())));
        Self { options, connection, primary: None, pool }
    }

    /// A connection to the primary.
    ///
    /// # Errors
    /// No server answers in time, or none that takes writes.
    pub(crate) async fn acquire(&self) -> Result<PoolConnection<Postgres>, Failure> {
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
                // It was closed because everybody moved.
                Err(sqlx::Error::PoolClosed) if primary.epoch() != epoch => None,
                Err(error) => return Err(error.into()),
            };
            // Idle connections may lead elsewhere than a new one does.
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

    /// The pool of the present epoch, with the epoch.
    pub(super) fn pool(&self) -> (u64, PgPool) {
        let mut held = self.held();
        if let Some(primary) = &self.primary
            && held.0 != primary.epoch()
            && !held.1.is_closed()
        {
            let new = self.options.clone().connect_lazy_with(self.connection.clone());
            let (_, left) = std::mem::replace(&mut *held, (primary.epoch(), new));
            // Reads that are under way end where they began.
            let leaving = async move { left.close().await };
            primary.env().runtime.spawn("store leave", Box::pin(leaving));
        }
        held.clone()
    }

    /// Closes them, for good.
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
