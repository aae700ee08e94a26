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
    database_settings::LateSettings,
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
    settings: LateSettings,
    /// The place of the server in the address, for a pool without `primary`.
    server: usize,
    /// `None` for a pool that only reads a database, which may be a standby.
    primary: Option<Arc<Primary>>,
    /// The epoch and its pool. `None` until it is used.
    pool: Mutex<Option<(u64, PgPool)>>,
    /// Held while one of the waiting reads looks for the primary at the other servers.
    search: tokio::sync::Mutex<()>,
}

impl ConnectionPool {
    /// A lazy pool of connections to the primary.
    pub(super) fn to(
        primary: &Arc<Primary>,
        settings: LateSettings,
        most: u32,
        max_age: Millis,
    ) -> Self {
        // `Primary::examine` already tests the connection.
        let options = options(most).max_lifetime(duration(max_age)).test_before_acquire(false);
        Self { primary: Some(primary.clone()), ..Self::of(options, settings, 0) }
    }

    /// A lazy pool of connections to the server at `place` in the address.
    pub(super) fn anywhere(settings: SessionSettings, place: usize, most: u32) -> Self {
        Self::of(options(most), settings.into(), place)
    }

    fn of(options: PgPoolOptions, settings: LateSettings, server: usize) -> Self {
        let (pool, search) = Default::default();
        Self { options, settings, server, primary: None, pool, search }
    }

    /// Takes a connection to the primary, for a short use.
    ///
    /// # Errors
    /// Fails if no server answers in time, or if none of them accepts writes.
    pub(crate) async fn acquire(&self) -> Result<BorrowedConnection, SqlFailure> {
        self.check_admitted()?;
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
        self.check_admitted()?;
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
        let (epoch, server) = match &self.primary {
            Some(primary) => (primary.epoch(), primary.server()),
            None => (0, self.server),
        };
        let is_current =
            held.as_ref().is_some_and(|(made_in, pool)| *made_in == epoch || pool.is_closed());
        if !is_current {
            let server = self.settings.server(server).clone();
            let left = held.replace((epoch, self.options.clone().connect_lazy_with(server)));
            if let (Some((_, left)), Some(primary)) = (left, &self.primary) {
                // Running reads finish on their old connections.
                let leaving = async move { left.close().await };
                primary.env().runtime.spawn("store leave", Box::pin(leaving));
            }
        }
        held.clone().expect("it was made")
    }

    /// Closes the pool permanently.
    pub(super) async fn close(&self) {
        if self.settings.get().is_some() {
            self.pool().1.close().await;
        }
    }

    fn check_admitted(&self) -> Result<(), SqlFailure> {
        self.primary.as_ref().map_or(Ok(()), |primary| primary.check_admitted())
    }

    fn held(&self) -> MutexGuard<'_, Option<(u64, PgPool)>> {
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
        f.debug_struct("ConnectionPool").field("pool", &*self.held()).finish_non_exhaustive()
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
