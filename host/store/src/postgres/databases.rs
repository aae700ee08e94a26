//! The databases of a store, as its batches see them.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use segno_core::{
    shard::{DatabaseIndex, ShardMap},
    time::{Millis, Timestamp},
};
use segno_env::Env;
use sqlx::{Executor as _, Row as _};

use super::{
    availability::Availability, claims::RememberedClaims, config::PostgresConfig,
    database_settings::DatabaseSettings, failure::FailedStatement, held::PrimaryConnection,
    in_doubt, merged_export, open::OpenedDatabase, primary::Primary, shard_row,
    transaction::SessionTransaction,
};
use crate::{
    archive::{ArchiveError, ArchiveSink},
    current_shards::CurrentShards,
    merged::MergedDatabases,
};

/// Time limit for reading the map again.
const RENEWAL_TIMEOUT: Millis = Millis(3_000);

/// The settings and the state of one database in a host.
pub(super) struct StoreDatabase {
    pub(super) settings: Arc<DatabaseSettings>,
    pub(super) primary: Arc<Primary>,
    pub(super) claims: RememberedClaims,
    pub(super) availability: Availability,
    /// A connection that reads the map of the shards.
    pub(super) map_reader: tokio::sync::Mutex<Option<PrimaryConnection>>,
    /// The address without its password.
    pub(super) shown: String,
    /// Age of the oldest transaction that was left prepared at the last look, in milliseconds.
    pub(super) in_doubt: AtomicI64,
}

/// All databases of a store, in the order of its map.
pub(super) struct StoreDatabases {
    all: Vec<StoreDatabase>,
    pub(super) shards: CurrentShards,
    /// The number that all databases of the store have in common.
    pub(super) store: u64,
}

impl StoreDatabase {
    pub(super) fn new(settings: DatabaseSettings, primary: Primary, shown: String) -> Self {
        Self {
            settings: Arc::new(settings),
            primary: Arc::new(primary),
            claims: RememberedClaims::default(),
            availability: Availability::default(),
            map_reader: tokio::sync::Mutex::default(),
            shown,
            in_doubt: AtomicI64::new(0),
        }
    }

    /// A database that was away when the host started.
    pub(super) fn withheld(env: Env, shown: String) -> Self {
        Self::new(DatabaseSettings::default(), Primary::withheld(env), shown)
    }

    /// Records that a database that was away has been opened.
    pub(super) fn admit(&self, config: &PostgresConfig, opened: &OpenedDatabase) {
        self.settings.set(config, opened);
        self.primary.admit(config.pooled() == Some(true), opened.server);
    }

    pub(super) async fn connect(&self) -> Result<PrimaryConnection, FailedStatement> {
        let held = PrimaryConnection::open(&self.settings.writer, &self.primary).await;
        held.map_err(FailedStatement::of("connect"))
    }
}

impl StoreDatabases {
    pub(super) fn new(all: Vec<StoreDatabase>, shards: CurrentShards, store: u64) -> Self {
        Self { all, shards, store }
    }

    pub(super) fn at(&self, database: DatabaseIndex) -> &StoreDatabase {
        &self.all[database]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &StoreDatabase> {
        self.all.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The first database that has been opened.
    pub(super) fn first_opened(&self) -> DatabaseIndex {
        self.all.iter().position(|database| !database.primary.is_withheld()).unwrap_or(0)
    }

    /// True if the database has not been opened.
    pub(super) fn is_withheld(&self, database: DatabaseIndex) -> bool {
        self.all.get(database).is_some_and(|database| database.primary.is_withheld())
    }

    /// True if the store has one database.
    pub(super) fn is_single(&self) -> bool {
        self.all.len() == 1
    }

    pub(super) fn shards(&self) -> Arc<ShardMap> {
        self.shards.get()
    }

    /// Reads the map in a database again. Returns true if it answered.
    pub(super) async fn renew_from(&self, database: DatabaseIndex) -> bool {
        let of = self.at(database);
        let mut slot = of.map_reader.lock().await;
        if slot.as_ref().is_some_and(|held| !held.is_current(&of.primary)) {
            *slot = None;
        }
        let reading = async {
            let held = match &mut *slot {
                Some(open) => open,
                None => slot.insert(of.connect().await.ok()?),
            };
            let begun = SessionTransaction::begin(&mut held.connection, &of.settings.writer).await;
            let mut transaction = begun.ok()?;
            let row = transaction.fetch_optional(shard_row::MAP).await.ok()??;
            transaction.commit().await.ok()?;
            serde_json::from_str::<ShardMap>(row.try_get(0).ok()?).ok()
        };
        let read = of.primary.env().within(RENEWAL_TIMEOUT, reading).await.flatten();
        match read.filter(|map| map.check().is_ok()) {
            Some(map) => self.shards.advance(map),
            None => *slot = None,
        }
        slot.is_some()
    }
}

#[async_trait]
impl MergedDatabases for StoreDatabases {
    /// Where a shard arrives, its rows and the new map are seen at the same time. The map may say
    /// that another shard follows, to another database.
    async fn renew(&self) {
        let arrives = || Some(usize::from(self.shards().moving.as_ref()?.to));
        let mut asked = None;
        while let Some(to) = arrives().filter(|to| asked != Some(*to) && *to < self.len()) {
            self.renew_from(to).await;
            asked = Some(to);
        }
    }

    fn in_doubt(&self) -> Millis {
        let ages = self.all.iter().map(|database| database.in_doubt.load(Ordering::Relaxed));
        Millis(ages.max().unwrap_or(0))
    }

    async fn oldest_in_doubt(&self) -> Option<Millis> {
        in_doubt::oldest(self, self.at(0).primary.env()).await
    }

    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        merged_export::export(self, sink).await
    }
}

/// Instant from which row numbers of several databases count, 2025-01-01.
const EPOCH: Timestamp = Timestamp(1_735_689_600_000);
/// Bits of a row number for the database, and for the count within a second.
const DATABASE_BITS: u32 = 6;
const COUNT_BITS: u32 = 16;

/// Numbers the rows of a store of several databases: by the second of their creation, a count of
/// their database and the database. So they are unique over all databases, and a list in the order
/// of numbers is one in the order of time. They need 53 bits until the year 2093.
#[derive(Debug, Default)]
pub(super) struct RowNumbers {
    /// The last second, so that numbers grow although a clock is set back.
    second: AtomicI64,
}

impl RowNumbers {
    /// The number of a row of `database`, of which `count` is the next value of its sequence.
    pub(super) fn number(&self, now: Timestamp, database: DatabaseIndex, count: i64) -> i64 {
        let second = now.0.saturating_sub(EPOCH.0).max(0) / 1_000;
        let second = self.second.fetch_max(second, Ordering::Relaxed).max(second);
        let count = count & ((1 << COUNT_BITS) - 1);
        ((second << COUNT_BITS | count) << DATABASE_BITS) | database as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_over_databases_and_grow_with_time() {
        let numbers = RowNumbers::default();
        let at = |second: i64| Timestamp(EPOCH.0 + second * 1_000);
        let of = |second, database, count| numbers.number(at(second), database, count);
        let first = of(1, 63, 65_535);
        assert!(first < of(2, 0, 65_536), "the next second");
        assert_ne!(of(2, 0, 1), of(2, 1, 1));
        assert!(of(1, 0, 2) > of(2, 0, 1), "a clock that is set back");
        let year_2092 = Timestamp(3_865_000_000_000);
        assert!(numbers.number(year_2092, 63, i64::MAX) < 1 << 53);
        assert!(RowNumbers::default().number(Timestamp(5), 1, 7) > 0, "before the epoch");
    }
}
