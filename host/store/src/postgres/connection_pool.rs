//! A pool of connections for short use, which follows the primary after a failover.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use segno_core::time::Millis;
use sqlx::{
    AssertSqlSafe, PgConnection, PgPool, Postgres, SqlSafeStr as _, SqlStr, Transaction,
    pool::PoolConnection, postgres::PgPoolOptions,
};

use super::{
    config::SessionSettings,
    held::PrimaryConnection,
    primary::{MAX_AGE, Primary},
};
use crate::sql::SqlFailure;

/// Maximum wait of a read for a connection: for a free one, or for an unavailable database.
const ACQUIRE_TIMEOUT: Millis = Millis(5_000);
/// Pause after a new connection reached a server that refuses writes.
const REST: Millis = Millis(200);
/// Time after which a write is not repeated any more when it loses races.
pub(super) const RACES_TIMEOUT: Millis = Millis(10_000);

/// A connection pool; see the module documentation.
pub(crate) struct ConnectionPool {
    options: PgPoolOptions,
    settings: SessionSettings,
    /// `None` for a pool that only reads a database, which may be a standby.
    primary: Option<Arc<Primary>>,
    /// The epoch and its pool.
    pool: Mutex<(u64, PgPool)>,
    /// Held while one of the waiting reads looks for the primary at the other servers.
    search: tokio::sync::Mutex<()>,
}

impl ConnectionPool {
    /// A lazy pool of connections to the primary.
    pub(super) fn to(
        primary: &Arc<Primary>,
        settings: SessionSettings,
        most: u32,
        max_age: Millis,
    ) -> Self {
        // `Primary::examine` already tests the connection.
        let options = options(most).max_lifetime(duration(max_age)).test_before_acquire(false);
        Self { primary: Some(primary.clone()), ..Self::of(options, settings, primary.server()) }
    }

    /// A lazy pool of connections to the server at `place` in the address.
    pub(super) fn anywhere(settings: SessionSettings, place: usize, most: u32) -> Self {
        Self::of(options(most), settings, place)
    }

    fn of(options: PgPoolOptions, settings: SessionSettings, place: usize) -> Self {
        let pool = options.clone().connect_lazy_with(settings.server(place).clone());
        let search = tokio::sync::Mutex::new(());
        Self { options, settings, primary: None, pool: Mutex::new((0, pool)), search }
    }

    /// Takes a connection to the primary, for a short use.
    ///
    /// # Errors
    /// Fails if no server answers in time, or if none of them accepts writes.
    pub(crate) async fn acquire(&self) -> Result<BorrowedConnection, SqlFailure> {
        match self.settings.is_lent() {
            true => Ok(BorrowedConnection::Lent(self.begin("BEGIN").await?)),
            false => Ok(BorrowedConnection::Own(self.take().await?)),
        }
    }

    /// Takes a connection and begins a transaction in a separate task, so that dropping this future
    /// does not interrupt it. The driver counts a transaction only after it has read the server's
    /// answer: dropped before that, the connection would return to the pool inside an open
    /// transaction, and later reads on it would see an old snapshot.
    #[expect(clippy::disallowed_methods, reason = "the task is short and only reads")]
    pub(crate) async fn begin(
        &self,
        begin: &'static str,
    ) -> Result<Transaction<'static, Postgres>, SqlFailure> {
        let connection = self.take().await?;
        let begin = self.settings.beginning(begin).map_or_else(
            || begin.into_sql_str(),
            |begin| -> SqlStr { AssertSqlSafe(begin).into_sql_str() },
        );
        let begun = tokio::spawn(Transaction::begin(connection, Some(begin))).await;
        Ok(begun.unwrap_or(Err(sqlx::Error::WorkerCrashed))?)
    }

    async fn take(&self) -> Result<PoolConnection<Postgres>, SqlFailure> {
        let Some(primary) = &self.primary else { return Ok(self.pool().1.acquire().await?) };
        let mut waited = Millis::ZERO;
        loop {
            let (epoch, pool) = self.pool();
            let Some(acquired) = self.acquire_from(&pool, primary, epoch).await else { continue };
            let refused = match acquired {
                Ok(mut connection) => match primary.examine(&mut connection).await {
                    Ok(examined) if examined == epoch => return Ok(connection),
                    examined => {
                        connection.close_on_drop();
                        examined.err()
                    }
                },
                // The pool was closed because the epoch changed.
                Err(sqlx::Error::PoolClosed) if primary.epoch() != epoch => None,
                Err(_) if self.is_elsewhere(primary, epoch).await => None,
                Err(error) => return Err(error.into()),
            };
            // An idle connection may lead to another server than a new one would.
            let Some(refused) =
                refused.filter(|_| primary.epoch() == epoch && pool.num_idle() == 0)
            else {
                continue;
            };
            if self.is_elsewhere(primary, epoch).await {
                continue;
            }
            if waited >= ACQUIRE_TIMEOUT {
                primary.is_away(&refused);
                return Err(refused);
            }
            primary.env().runtime.sleep(REST).await;
            waited = Millis(waited.0 + REST.0);
        }
    }

    /// Takes a connection of this epoch's pool. `None` if another server is the primary now: the pool
    /// would ask a server that does not answer again and again until [`ACQUIRE_TIMEOUT`].
    async fn acquire_from(
        &self,
        pool: &PgPool,
        primary: &Primary,
        epoch: u64,
    ) -> Option<Result<PoolConnection<Postgres>, sqlx::Error>> {
        let searching = async {
            loop {
                primary.env().runtime.sleep(REST).await;
                let Ok(_alone) = self.search.try_lock() else { continue };
                if self.is_elsewhere(primary, epoch).await {
                    return;
                }
            }
        };
        tokio::select! {
            acquired = pool.acquire() => Some(acquired),
            () = primary.left(epoch) => None,
            () = searching, if self.settings.servers().len() > 1 => None,
        }
    }

    /// True if another server of the address is the primary now.
    async fn is_elsewhere(&self, primary: &Primary, epoch: u64) -> bool {
        if self.settings.servers().len() == 1 {
            return false;
        }
        // It notes the place where it finds the primary.
        drop(PrimaryConnection::open(&self.settings, primary).await);
        primary.epoch() != epoch
    }

    /// Pauses after a lost race. Returns false if races were lost for too long.
    pub(super) async fn pause(&self, waited: &mut Millis) -> bool {
        let Some(primary) = &self.primary else { return false };
        if *waited >= RACES_TIMEOUT {
            return false;
        }
        primary.env().runtime.sleep(REST).await;
        *waited = Millis(waited.0 + REST.0);
        true
    }

    /// The current epoch and its pool.
    pub(super) fn pool(&self) -> (u64, PgPool) {
        let mut held = self.held();
        if let Some(primary) = &self.primary
            && held.0 != primary.epoch()
            && !held.1.is_closed()
        {
            let server = self.settings.server(primary.server()).clone();
            let new = self.options.clone().connect_lazy_with(server);
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

/// A connection for a short use, or a transaction on one: on a session that a pooler lends, every
/// statement needs one. It ends without a commit unless [`finish`](Self::finish) is called.
pub(crate) enum BorrowedConnection {
    Own(PoolConnection<Postgres>),
    Lent(Transaction<'static, Postgres>),
}

impl BorrowedConnection {
    /// Drops a connection that does not answer.
    pub(super) fn give_up(self) {
        if let Self::Own(mut connection) = self {
            connection.close_on_drop();
        }
    }

    /// Commits what was written.
    pub(super) async fn finish(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Lent(transaction) => transaction.commit().await,
        }
    }
}

impl Deref for BorrowedConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match self {
            Self::Own(connection) => connection,
            Self::Lent(transaction) => transaction,
        }
    }
}

impl DerefMut for BorrowedConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Own(connection) => connection,
            Self::Lent(transaction) => transaction,
        }
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
