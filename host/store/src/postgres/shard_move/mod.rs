//! Moves a shard from one database of a store to another, while hosts work.
//!
//! 1. The move is announced in the map: hosts find out where the shard is before they read it. If
//!    several shards follow each other, the first announcement is for all of them.
//! 2. The shard is halted: from the next epoch on, nothing writes to it. Transactions that began
//!    before may still do so, and are waited for.
//! 3. One transaction over both databases copies the rows, compares them, removes them from the
//!    first database and writes the map in both. So the shard is always in exactly one of them.
//!
//! If the mover ends in between, hosts give up the move some seconds later.

mod copy;
mod error;
mod tables;

use std::{fmt, time::Duration};

use segno_core::{
    shard::{DatabaseIndex, ShardMap, ShardMove},
    time::Millis,
};
use segno_env::Clock as _;
use sqlx::{Executor as _, PgConnection, Postgres, Row as _, postgres::PgArguments, query::Query};

use self::copy::ShardCopy;
pub use self::error::ShardMoveError;
use super::{
    ShardedStore,
    batch::{BatchPart, CommitFailure, ConnectionSlot, commit_parts},
    failure::FailedStatement,
    shard_row::{self, PUT_MAP},
    transaction::SessionTransaction,
};
use crate::sql::SqlFailure;

/// Time for which a move is announced before the shard is halted: hosts read the map every second.
const ANNOUNCED: Millis = Millis(3_000);
/// Time after which hosts give up a move whose mover is gone.
const UNTIL: Millis = Millis(15_000);
/// Pause before it is looked again for older transactions.
const PAUSE: Millis = Millis(20);
/// Maximum number of such pauses.
const PAUSES: u32 = 1_500;

/// Transactions of this role that began before an instant, without those that are prepared.
const OLDER: &str = "
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
       AND xact_start < $1::timestamptz";

/// The transactions that are prepared. It is not known when they began.
const PREPARED: &str = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()";

/// Those of these transactions that are still prepared.
const STILL_PREPARED: &str = "SELECT count(*) FROM pg_prepared_xacts WHERE gid = ANY($1::text[])";

const NOW: &str = "SELECT clock_timestamp()::text";

/// A shard that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedShard {
    /// Number of promises.
    pub promises: u64,
    /// Number of rows, those of promises included.
    pub rows: u64,
    /// Time for which nothing could write to the shard.
    pub halted: Duration,
}

impl fmt::Display for MovedShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { promises, rows, halted } = self;
        write!(f, "{promises} promises, {rows} rows, halted for {} ms", halted.as_millis())
    }
}

impl ShardedStore {
    /// The map of the shards.
    pub fn shards(&self) -> ShardMap {
        (*self.databases.shards()).clone()
    }

    /// Moves a shard to another database.
    ///
    /// # Errors
    /// [`ShardMoveError`]; the shard is then where it was.
    pub async fn move_shard(
        &self,
        shard: u16,
        to: DatabaseIndex,
    ) -> Result<MovedShard, ShardMoveError> {
        let mut moved = None;
        self.move_shards(&[(shard, to)], |_, _, shard| moved = Some(shard)).await?;
        moved.ok_or_else(|| {
            ShardMoveError::Unknown(format!("shard {shard} is in database {} already", to + 1))
        })
    }

    /// Moves shards to other databases, one after the other; those that are there already are left
    /// out. `moved` is told of each that has arrived.
    ///
    /// # Errors
    /// [`ShardMoveError`]; the shard on its way and those behind it are then where they were.
    pub async fn move_shards(
        &self,
        moves: &[(u16, DatabaseIndex)],
        mut moved: impl FnMut(u16, DatabaseIndex, MovedShard),
    ) -> Result<(), ShardMoveError> {
        let map = self.newest_map().await?;
        let mut on_their_way = Vec::with_capacity(moves.len());
        for (shard, to) in moves {
            if self.from(&map, *shard, *to)? != *to {
                on_their_way.push((*shard, *to));
            }
        }
        let mut left = on_their_way.into_iter();
        let Some((shard, to)) = left.next() else { return Ok(()) };
        let moving = Some(self.announcement(shard, to));
        let mut map = self.put_map(ShardMap { moving, ..map }, 0).await?;
        self.env.runtime.sleep(ANNOUNCED).await;
        while let Some(moving) = map.moving.clone() {
            let (shard, to) = (moving.shard, usize::from(moving.to));
            let arrived;
            (map, arrived) = self.move_announced(map, moving, left.next()).await?;
            moved(shard, to, arrived);
        }
        Ok(())
    }

    /// The database in which a shard is that is to be moved.
    fn from(
        &self,
        map: &ShardMap,
        shard: u16,
        to: DatabaseIndex,
    ) -> Result<DatabaseIndex, ShardMoveError> {
        let (shards, count) = (map.places.len(), self.databases.len());
        let from = map.places.get(usize::from(shard)).copied().map(usize::from);
        let unknown = match from {
            Some(from) if to < count => return Ok(from),
            Some(_) => {
                format!("there is no database {}: they are numbered from 1 to {count}", to + 1)
            }
            None => {
                format!("there is no shard {shard}: they are numbered from 0 to {}", shards - 1)
            }
        };
        Err(ShardMoveError::Unknown(unknown))
    }

    fn announcement(&self, shard: u16, to: DatabaseIndex) -> ShardMove {
        let until = self.time.now() + Millis(UNTIL.0 + ANNOUNCED.0);
        ShardMove { shard, to: to as u16, is_halted: false, until }
    }

    /// Moves a shard that was announced. Returns the next map, which announces `next`.
    async fn move_announced(
        &self,
        announced: ShardMap,
        moving: ShardMove,
        next: Option<(u16, DatabaseIndex)>,
    ) -> Result<(ShardMap, MovedShard), ShardMoveError> {
        let began = self.env.clock.elapsed();
        let until = self.time.now() + UNTIL;
        let moving = ShardMove { is_halted: true, until, ..moving };
        let from = self.from(&announced, moving.shard, usize::from(moving.to))?;
        let map = ShardMap { moving: Some(moving.clone()), ..announced };
        let halted = self.put_map(map, 0).await?;
        let (map, promises, rows) = match self.copy(&halted, &moving, from, next).await {
            Ok(copied) => copied,
            Err(error) => {
                // The source has the outcome, also of a commit that was not answered.
                let map = ShardMap { moving: None, ..halted };
                if let Err(error) = self.put_map(map, from).await {
                    tracing::warn!(%error, "the halt of the shard is not taken back yet; hosts do it");
                }
                return Err(error);
            }
        };
        // Both databases of the move have the map already; hosts find it in any.
        for database in 0..self.databases.len() {
            if let Err(error) = self.put_map_into(database, &map).await {
                tracing::warn!(%error, "a database does not have the new map of the shards yet");
            }
        }
        self.databases.shards.advance(map.clone());
        let halted = self.env.clock.elapsed().saturating_sub(began);
        Ok((map, MovedShard { promises, rows, halted }))
    }

    /// The newest map, while no shard is moved.
    pub(super) async fn newest_map(&self) -> Result<ShardMap, ShardMoveError> {
        for database in 0..self.databases.len() {
            self.databases.renew_from(database).await;
        }
        let map = self.shards();
        match &map.moving {
            Some(moves) => Err(ShardMoveError::Busy(moves.shard)),
            None => Ok(map),
        }
    }

    /// Writes the next map to all databases, to `first` before the others: it decides between two
    /// maps of one epoch. A move that has committed has its map in both of its databases.
    ///
    /// # Errors
    /// [`ShardMoveError::GivenUp`] if `first` has another map of that epoch; nothing is written then.
    pub(super) async fn put_map(
        &self,
        map: ShardMap,
        first: DatabaseIndex,
    ) -> Result<ShardMap, ShardMoveError> {
        let map = ShardMap { epoch: map.epoch + 1, ..map };
        if !self.put_map_into(first, &map).await? {
            return Err(ShardMoveError::GivenUp);
        }
        for database in (0..self.databases.len()).filter(|database| *database != first) {
            self.put_map_into(database, &map).await?;
        }
        self.databases.shards.advance(map.clone());
        Ok(map)
    }

    /// Writes a map to a database, unless that has one of its epoch or later. Returns true if it
    /// was written.
    async fn put_map_into(
        &self,
        database: DatabaseIndex,
        map: &ShardMap,
    ) -> Result<bool, ShardMoveError> {
        let of = self.databases.at(database);
        let failed = |source: SqlFailure| self.failed(database, "write the map", source);
        let mut held = of.connect().await.map_err(|it| failed(it.source))?;
        let put = sqlx::query(PUT_MAP)
            .persistent(false)
            .bind((map.epoch - 1).cast_signed())
            .bind(map.epoch.cast_signed())
            .bind(shard_row::written(map));
        let written = async {
            let begun = SessionTransaction::begin(&mut held.connection, &of.settings.writer).await;
            let mut transaction = begun?;
            let written = transaction.execute(put).await?.rows_affected();
            transaction.commit().await?;
            Ok(written > 0)
        };
        written.await.map_err(|error: sqlx::Error| failed(error.into()))
    }

    fn failed(
        &self,
        database: DatabaseIndex,
        statement: &'static str,
        source: SqlFailure,
    ) -> ShardMoveError {
        let database = self.databases.at(database).shown.clone();
        ShardMoveError::Database { database, statement, source: source.into() }
    }

    /// Waits until the transactions have ended that may not know that the shard is halted.
    async fn wait_for_older(&self) -> Result<(), ShardMoveError> {
        for database in 0..self.databases.len() {
            let of = self.databases.at(database);
            let name = "wait for older transactions";
            let failed = |error: sqlx::Error| self.failed(database, name, error.into());
            let connected = of.connect().await;
            let mut held = connected.map_err(|it| self.failed(database, name, it.source))?;
            let now = held.connection.fetch_one(NOW).await.map_err(failed)?;
            let now: String = now.try_get(0).map_err(failed)?;
            let older = || sqlx::query(OLDER).persistent(false).bind(&now);
            let mut left = self.left(&mut held.connection, older).await.map_err(failed)?;
            // An older one may have been prepared just now.
            let prepared = held.connection.fetch_all(PREPARED).await.map_err(failed)?;
            let prepared: Result<Vec<String>, _> =
                prepared.iter().map(|row| row.try_get(0)).collect();
            let prepared = prepared.map_err(failed)?;
            let still = || sqlx::query(STILL_PREPARED).persistent(false).bind(&prepared);
            left += self.left(&mut held.connection, still).await.map_err(failed)?;
            if left > 0 {
                return Err(ShardMoveError::Older(left));
            }
        }
        Ok(())
    }

    /// Waits until a query counts nothing. Returns the last count.
    async fn left<'q>(
        &self,
        connection: &mut PgConnection,
        count: impl Fn() -> Query<'q, Postgres, PgArguments>,
    ) -> Result<i64, sqlx::Error> {
        let mut left = 1;
        for _ in 0..PAUSES {
            left = connection.fetch_one(count()).await?.try_get(0)?;
            if left == 0 {
                break;
            }
            self.env.runtime.sleep(PAUSE).await;
        }
        Ok(left)
    }

    /// Copies, compares, removes and writes the map in one transaction over both databases. Returns
    /// the new map, and the numbers of promises and rows.
    async fn copy(
        &self,
        halted: &ShardMap,
        moving: &ShardMove,
        from: DatabaseIndex,
        next: Option<(u16, DatabaseIndex)>,
    ) -> Result<(ShardMap, u64, u64), ShardMoveError> {
        let to = usize::from(moving.to);
        self.wait_for_older().await?;
        let mut slots: [ConnectionSlot; 2] = [None, None];
        let [source_slot, target_slot] = &mut slots;
        let begin = async |slot, database: DatabaseIndex| {
            let begun =
                BatchPart::begin(self.databases.at(database), slot, database, true, true, true);
            begun.await.map_err(|it| self.failed(database, it.statement, it.source))
        };
        let mut source = begin(source_slot, from).await?;
        let mut target = begin(target_slot, to).await?;
        let copied = ShardCopy {
            store: self,
            halted,
            shard: i32::from(moving.shard),
            source: &mut source.transaction,
            target: &mut target.transaction,
            from,
            to,
            next,
        };
        let copied_rows = match copied.run().await {
            Ok(counts) => counts,
            Err(error) => {
                // What is not rolled back here ends with its connection.
                let _ = source.rollback().await;
                let _ = target.rollback().await;
                return Err(error);
            }
        };
        (source.wrote, target.wrote) = (true, true);
        // The target decides: whoever sees the new map there finds the rows.
        let nonce = self.env.runtime.nonce();
        let committed = commit_parts(vec![target, source], self.databases.store, nonce).await;
        committed.map_err(|failure| match failure {
            CommitFailure::Failed(failure) | CommitFailure::Unknown(failure) => {
                let FailedStatement { statement, source } = failure.failed;
                self.failed(failure.database, statement, source)
            }
            CommitFailure::LockFirst(_)
            | CommitFailure::Overtaken
            | CommitFailure::NewMap(_)
            | CommitFailure::Halted
            | CommitFailure::NewLimits(_) => ShardMoveError::GivenUp,
        })?;
        Ok(copied_rows)
    }
}
