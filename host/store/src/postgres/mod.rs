//! The shared store: a PostgreSQL database used by any number of equal hosts.
//!
//! There is no leader. The rows that a decision reads are locked and loaded in the transaction that
//! writes ([`batch`], [`load`], [`mod@write`]). One exception: a host remembers enough about the tasks
//! it holds to append to their journals, and the appending statement verifies that ([`claims`],
//! [`append`]). Hosts notify each other of commits ([`notify`]), but correctness does not
//! depend on the notifications. The tables are defined in `host/store/migrations/postgres`.

mod address;
mod config;
mod failure;
mod open;
mod time;

mod columns;
mod fields;

mod connection_pool;
mod held;
mod pooler;
mod primary;
mod statement;
mod statement_builder;
mod transaction;

mod append;
mod availability;
mod batch;
mod claims;
mod copied_rows;
mod database_settings;
mod databases;
mod in_doubt;
mod known_limits;
mod large_values;
mod load;
mod write;
mod writer;

mod archive;
mod archive_merge;
mod examination;
mod incarnation_watch;
mod insertion;
mod merged_export;
mod notify;
mod reader;
mod session;
mod shard_move;
mod shard_row;
mod sharded;
mod sharded_import;
mod tables;

#[cfg(test)]
mod plans;

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    config::Config,
    id::Digest,
    promise::OutboxMessageKind,
    reply::Reply,
    shard::DatabaseIndex,
    time::{Millis, Timestamp},
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub use address::PostgresAddressError;
pub use archive::PostgresImport;
pub use config::PostgresConfig;
pub use examination::{ServerFinding, ServerVerdict, examine_server};
pub(crate) use fields::escape;
pub use load::{LoadStep, PLAN};
pub use open::PostgresOpenError;
#[cfg(test)]
pub(super) use open::{ClockSkew, check_version};
pub use shard_move::{MovedShard, ShardMoveError};
pub use sharded::ShardedStore;
pub use sharded_import::ShardedImport;
pub use time::DatabaseTime;
pub use writer::WriteTotals;

use segno_env::Env;

use self::{
    connection_pool::ConnectionPool,
    database_settings::{DatabaseSettings, LateSettings},
    databases::{RowNumbers, StoreDatabase, StoreDatabases},
    notify::Notifier,
    open::OpenedDatabase,
    primary::{MAX_AGE, Primary},
    reader::Reader,
    writer::{QUEUE, Writer, WriterRequest, WriterState},
};
use crate::current_shards::CurrentShards;

use super::{
    CallTree, DueWork, Hints, Modules, ReadyTask, Scan, Store, StoreError, WorkQueue,
    sql::read::ExpiredLeases, writing::WriteHealth,
};

/// Time limit of a read of due work; the database aborts its statement earlier.
const READ_TIMEOUT: Millis = Millis(25_000);

/// A store in a database shared with other hosts.
pub struct PostgresStore {
    shared: Arc<WriterState>,
    reader: Reader,
    /// The same store over the clients' connections; `None` in that store itself.
    for_clients: Option<Arc<Self>>,
    queue: mpsc::Sender<WriterRequest>,
    written: watch::Receiver<WriteTotals>,
    /// Time after a database outage during which leases do not expire: enough for every host to
    /// send a heartbeat.
    grace: Millis,
    /// Hash state for this host's order of visiting ready tasks; `None` if the order is not spread.
    order: Option<RandomState>,
    closed: CancellationToken,
}

/// The values that all parts of a store share; a part serves one database.
struct SharedParts {
    databases: Arc<StoreDatabases>,
    numbers: Arc<RowNumbers>,
    time: Arc<DatabaseTime>,
    engine: Config,
    env: Env,
    hints: Arc<dyn Hints>,
    closed: CancellationToken,
}

/// The settings and the state of a database that was opened.
fn database(config: &PostgresConfig, opened: &OpenedDatabase, env: &Env) -> StoreDatabase {
    let is_lent = config.pooled() == Some(true);
    let primary = Primary::new(env.clone(), is_lent, opened.server);
    StoreDatabase::new(DatabaseSettings::of(config, opened), primary, config.shown().to_owned())
}

/// Read-only access to a database.
pub struct PostgresReader {
    reader: Reader,
}

impl PostgresReader {
    /// Reads of the whole store.
    pub fn scan(&self) -> &dyn Scan {
        &self.reader
    }

    /// Closes the connections.
    pub async fn close(self) {
        self.reader.pool.close().await;
    }
}

impl PostgresStore {
    /// Opens a database and migrates it to the current format.
    ///
    /// # Errors
    /// [`PostgresOpenError`], with the reason why the database cannot be used; nothing was changed then.
    pub async fn open(
        mut config: PostgresConfig,
        engine: Config,
        env: Env,
        hints: Arc<dyn Hints>,
    ) -> Result<Arc<Self>, PostgresOpenError> {
        let opened = open::open(&mut config, &env).await?;
        let time = Arc::new(DatabaseTime::new(env.clock.clone(), config.server_time));
        time.of_server(Some(opened.now), time.asking());
        let opened = [(config, opened)];
        let shards = shard_row::agree(&opened, &[], 0).await?;
        let databases = opened.iter().map(|(config, opened)| database(config, opened, &env));
        let shards = CurrentShards::new(shards.map);
        let shared = SharedParts {
            databases: Arc::new(StoreDatabases::new(databases.collect(), shards, 0)),
            numbers: Arc::default(),
            time,
            engine,
            env,
            hints,
            closed: CancellationToken::new(),
        };
        let [(config, _)] = opened;
        Ok(Self::start(&config, 0, &shared))
    }

    /// Starts the part of a store that serves one of its databases.
    fn start(config: &PostgresConfig, home: DatabaseIndex, shared: &SharedParts) -> Arc<Self> {
        let SharedParts { databases, numbers, time, engine, env, hints, closed } = shared;
        let grace = Millis(engine.ttl.0.0 / 2 + 1_000);
        let (queue, requests) = mpsc::channel(QUEUE);
        let (counted, written) = watch::channel(WriteTotals::default());
        let StoreDatabase { primary, settings, .. } = databases.at(home);
        let notifier = Notifier::new(
            settings.clone(),
            config.notify,
            engine,
            primary.clone(),
            hints.clone(),
            closed.clone(),
        );
        notifier.start();
        let shared = Arc::new(WriterState {
            notifications: notifier.notifications(),
            databases: databases.clone(),
            home,
            numbers: numbers.clone(),
            config: engine.clone(),
            env: env.clone(),
            time: time.clone(),
            hints: hints.clone(),
            writing: WriteHealth::new(env.clock.clone()),
            written: counted,
        });
        let order = config.spread.then(RandomState::new);
        let reader = |settings: &LateSettings| {
            let pool = ConnectionPool::to(primary, settings.clone(), config.readers, MAX_AGE);
            Reader::over(pool)
        };
        let (reader, for_clients) = (reader(&settings.reader), reader(&settings.clients));
        let writer = Writer::new(shared.clone(), requests, config.writers);
        shared.env.runtime.spawn("store writer", Box::pin(writer.run()));
        let of = |reader, for_clients| Self {
            shared: shared.clone(),
            reader,
            for_clients,
            queue: queue.clone(),
            written: written.clone(),
            grace,
            order: order.clone(),
            closed: closed.clone(),
        };
        Arc::new(of(reader, Some(Arc::new(of(for_clients, None)))))
    }

    /// Opens a database for reading, without an incarnation of a host.
    ///
    /// # Errors
    /// [`PostgresOpenError`], with the reason why the database cannot be used.
    pub async fn look(
        config: &PostgresConfig,
        env: &Env,
    ) -> Result<PostgresReader, PostgresOpenError> {
        let mut config = config.clone();
        let opened = open::open(&mut config, env).await?;
        let opened = [(config, opened)];
        shard_row::agree(&opened, &[], 0).await?;
        let [(config, opened)] = opened;
        let connections = ConnectionPool::anywhere(config.connection("look"), opened.server, 2);
        Ok(PostgresReader { reader: Reader::over(connections) })
    }

    /// The database's clock, for everything that the host schedules.
    pub fn time(&self) -> Arc<DatabaseTime> {
        self.shared.time.clone()
    }

    /// Totals of the writes since the store was opened.
    pub fn written(&self) -> WriteTotals {
        *self.written.borrow()
    }

    /// Runs a read that the host repeats indefinitely, with a time limit: a server that vanished
    /// with its machine must not block the host until the network times out.
    async fn in_time<T>(
        &self,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let away = || StoreError::Away { reason: "no answer to a read in time".to_owned() };
        self.shared.env.within(READ_TIMEOUT, read).await.unwrap_or_else(|| Err(away()))
    }

    /// Like [`Store::execute`], for commands that concern the rows of this database alone.
    async fn execute_locally(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.ask(|answer| WriterRequest::Execute { commands, answer, is_local: true }).await?
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> WriterRequest,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.queue.send(request(answer)).await.map_err(|_| StoreError::Closed)?;
        // The writer was stopped with the runtime, before or after it committed.
        answered.await.map_err(|_| StoreError::UnknownOutcome(anyhow::anyhow!("the writer ended")))
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.ask(|answer| WriterRequest::Execute { commands, answer, is_local: false }).await?
    }

    fn read(&self) -> &dyn crate::Read {
        &self.reader
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        self
    }

    fn scan(&self) -> &dyn Scan {
        &self.reader
    }

    fn call_tree(&self) -> &dyn CallTree {
        &self.reader
    }

    fn modules(&self) -> &dyn Modules {
        &self.reader
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        self.for_clients.clone().map(|store| store as Arc<dyn Store>)
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        // A recent commit proves nothing about the server that answers reads now.
        self.shared.own().primary.check()?;
        self.shared.writing.check(self.reader.try_writing()).await
    }

    /// Always returns false: PostgreSQL vacuums by itself.
    async fn vacuum(&self) -> Result<bool, StoreError> {
        let nonce = self.shared.env.runtime.nonce();
        self.reader.sweep(Digest::of(&nonce.to_le_bytes())).await.map(|()| false)
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.reader.wipe().await
    }

    async fn close(&self) {
        // If the writer has ended already, nothing is left to close.
        let _ = self.ask(|answer| WriterRequest::Close { answer }).await;
        self.closed.cancel();
        if let Some(clients) = &self.for_clients {
            clients.reader.pool.close().await;
        }
        self.reader.pool.close().await;
    }
}

#[async_trait]
impl WorkQueue for PostgresStore {
    async fn due(&self, now: Timestamp, limit: u32) -> Result<DueWork, StoreError> {
        let machine = self.shared.env.clock.now();
        let availability = &self.shared.own().availability;
        let leases = match availability.is_just_back(machine, self.grace) {
            true => ExpiredLeases::Rest,
            false => ExpiredLeases::End,
        };
        let due = self.in_time(self.reader.due_with(now, limit, leases)).await;
        match &due {
            Ok(_) => availability.is_here(machine),
            Err(error @ (StoreError::Away { .. } | StoreError::TooLong { .. })) => {
                availability.is_away(machine, error)
            }
            Err(_) => {}
        }
        due
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ReadyTask>, StoreError> {
        let mut page = self.in_time(self.reader.ready(now, after, limit)).await?;
        if let (Some(order), Some((_, others))) = (&self.order, page.split_last_mut()) {
            // The last row is kept in place: its cursor starts the next page.
            others.sort_by_key(|ready| order.hash_one(ready.cursor));
        }
        Ok(page)
    }

    async fn outbox_due(
        &self,
        kind: OutboxMessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<DueWork, StoreError> {
        self.in_time(self.reader.outbox_due(kind, now, limit)).await
    }
}
