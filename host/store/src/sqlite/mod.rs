//! The embedded store: one SQLite database in a data directory that one process owns.
//!
//! A single writer ([`writer`]) on its own thread caches the hot part of the state and commits in
//! groups. Readers use separate connections and see the committed state. The tables are defined in
//! `host/store/migrations/sqlite`.

mod config;
mod failure;
mod log_check;
mod open;

mod connection;

mod batch;
mod checkpoint;
mod components;
mod in_use;
mod journal_buffer;
mod large_values;
mod load;
mod rest;
mod vacuum;
mod write;
mod writer;
mod writer_cache;

mod archive;
mod reader;
mod session;
mod tables;

#[cfg(test)]
mod plans;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Weak},
    thread,
};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    config::Config,
    id::{Digest, PromiseId},
    reply::Reply,
    time::{Millis, Timestamp},
};
use tokio::sync::{mpsc, oneshot, watch};

pub use archive::{SqliteImport, schema};
pub use config::SqliteConfig;
pub use open::{SqliteOpenError, user_of};
pub use rest::MemoryUse;
pub use writer::WriteTotals;

use segno_env::Env;

use self::{
    journal_buffer::ActiveJournals,
    open::DataDirectory,
    reader::Reader,
    writer::{OpenDatabase, QUEUE, Writer, WriterRequest},
};
use super::{
    CallTree, Hints, ModuleRow, Modules, NewModule, Read, Scan, Store, StoreError, WorkQueue,
    limits, writing::WriteHealth,
};

/// Number of promises in the writer's cache, so that a commit about them reads nothing.
const CACHED_PROMISES: usize = 100_000;

/// Number of times that a closing store checks, at intervals of 5 ms, for the end of a checkpoint.
/// This makes a minute, which the flush of a busy disk may take.
const CHECKPOINT_LOOKS: u32 = 12_000;

pub struct SqliteStore {
    reader: Reader,
    /// The same store over the clients' connections; `None` in that store itself.
    for_clients: Option<Arc<Self>>,
    queue: mpsc::Sender<WriterRequest>,
    written: watch::Receiver<WriteTotals>,
    writing: Arc<WriteHealth>,
    /// The directory while it is in use: held by the writer, and by a running checkpoint.
    directory: Weak<DataDirectory>,
    env: Env,
}

/// Read-only access to a data directory, which a running host may own.
pub struct SqliteReader {
    reader: Reader,
}

impl SqliteReader {
    /// Opens the database in a directory for reading.
    ///
    /// # Errors
    /// [`SqliteOpenError`], with the reason why it cannot be read.
    pub async fn at(directory: &Path) -> Result<Self, SqliteOpenError> {
        Ok(Self { reader: Reader::with(open::look(directory).await?) })
    }

    /// Reads of the whole store.
    pub fn scan(&self) -> &dyn Scan {
        &self.reader
    }

    /// Closes the connections.
    pub async fn close(self) {
        self.reader.pool.close().await;
    }
}

impl SqliteStore {
    /// Opens a data directory. This process owns it exclusively until the store is closed.
    ///
    /// # Errors
    /// [`SqliteOpenError`], with the reason why the directory cannot be used; nothing was changed then.
    pub async fn open(
        config: SqliteConfig,
        engine: Config,
        env: Env,
        hints: Arc<dyn Hints>,
    ) -> Result<Arc<Self>, SqliteOpenError> {
        Self::open_holding(CACHED_PROMISES, config, engine, env, hints).await
    }

    /// Like [`SqliteStore::open`], with a custom size of the writer's cache.
    pub(super) async fn open_holding(
        cached_promises: usize,
        config: SqliteConfig,
        engine: Config,
        env: Env,
        hints: Arc<dyn Hints>,
    ) -> Result<Arc<Self>, SqliteOpenError> {
        let directory = Arc::new(DataDirectory::open(&config).await?);
        let active_journals = Arc::new(ActiveJournals::default());
        let reader = Reader::of(&directory, active_journals.clone());
        let (clock, limit) = (&env.clock, limits::CLIENT_READ);
        let for_clients = Reader::for_clients(&directory, active_journals.clone(), clock, limit);
        let (queue, requests) = mpsc::channel(QUEUE);
        let (counted, written) = watch::channel(WriteTotals::default());
        let checkpoint = checkpoint::run(Arc::downgrade(&directory), env.clone(), written.clone());
        let held = Arc::downgrade(&directory);
        let writing = Arc::new(WriteHealth::new(env.clock.clone()));
        let writer = Writer {
            place: OpenDatabase::of(directory, cached_promises, active_journals),
            clock: env.clock.clone(),
            config: engine,
            hints,
            queue: requests,
            written: counted,
            writing: writing.clone(),
            lacks_room: false,
            stopped: false,
        };
        let refuse = |source| SqliteOpenError::Directory { directory: config.dir.clone(), source };
        let thread = thread::Builder::new().name("store writer".to_owned());
        thread.spawn(move || writer.run()).map_err(refuse)?;
        env.runtime.spawn("store checkpoint", Box::pin(checkpoint));
        let of = |reader, for_clients| Self {
            reader,
            for_clients,
            queue: queue.clone(),
            written: written.clone(),
            writing: writing.clone(),
            directory: held.clone(),
            env: env.clone(),
        };
        let store = Arc::new(of(reader, Some(Arc::new(of(for_clients, None)))));
        let rest = rest::run(Arc::downgrade(&store), env.clone());
        env.runtime.spawn("store rest", Box::pin(rest));
        Ok(store)
    }

    /// Totals of the writes since the store was opened.
    pub fn written(&self) -> WriteTotals {
        *self.written.borrow()
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> WriterRequest,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.queue.send(request(answer)).await.map_err(|_| StoreError::Closed)?;
        // The writer's thread panicked, before or after it committed.
        answered.await.map_err(|_| StoreError::UnknownOutcome(anyhow::anyhow!("the writer ended")))
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.execute_kept(commands.into()).await
    }

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.ask(|answer| WriterRequest::Execute { commands, answer }).await?
    }

    fn read(&self) -> &dyn Read {
        &self.reader
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        &self.reader
    }

    fn scan(&self) -> &dyn Scan {
        &self.reader
    }

    fn call_tree(&self) -> &dyn CallTree {
        &self.reader
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        self.for_clients.clone().map(|store| store as Arc<dyn Store>)
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        let small = async { self.ask(|answer| WriterRequest::TryWriting { answer }).await? };
        self.writing.check(small).await
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        self.ask(|answer| WriterRequest::Vacuum { answer }).await?
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.ask(|answer| WriterRequest::Wipe { answer }).await?
    }

    async fn close(&self) {
        if let Some(clients) = &self.for_clients {
            clients.reader.pool.close().await;
        }
        self.reader.pool.close().await;
        // If the writer has ended already, nothing is left to close.
        let _ = self.ask(|answer| WriterRequest::Close { answer }).await;
        // A running checkpoint ends soon; it keeps the directory until then.
        for _ in 0..CHECKPOINT_LOOKS {
            if self.directory.strong_count() == 0 {
                return;
            }
            self.env.runtime.sleep(Millis(5)).await;
        }
    }
}

#[async_trait]
impl Modules for SqliteStore {
    async fn put(&self, module: NewModule) -> Result<(), StoreError> {
        self.ask(|answer| WriterRequest::PutModule { module: Box::new(module), answer }).await?
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.reader.component(digest).await
    }

    async fn named(&self, alias: &str) -> Result<Option<Digest>, StoreError> {
        self.reader.module_named(alias).await
    }

    async fn list(&self) -> Result<Vec<ModuleRow>, StoreError> {
        self.reader.modules().await
    }

    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        self.reader.in_use().await
    }

    async fn unfinished(&self, digest: Digest, limit: u32) -> Result<Vec<PromiseId>, StoreError> {
        self.reader.unfinished(digest, limit).await
    }

    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError> {
        self.ask(|answer| WriterRequest::RemoveComponent { digest, before, answer }).await?
    }
}
