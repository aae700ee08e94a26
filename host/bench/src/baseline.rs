//! Measures the machine without the host: bare appends, bare SQLite commits, and a raw log with
//! group commit.

use std::{fs::File, os::unix::fs::FileExt as _, path::Path, sync::mpsc, thread::JoinHandle};

use anyhow::Context as _;
use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::{sync::oneshot, task::JoinSet};

use super::measure::{MeasuredTime, Stopwatch};

/// Size of a preallocated file, in bytes. The file is filled with zeros once, so that appends
/// change no metadata.
const PREALLOCATED: usize = 16 << 20;

/// A file to which records are appended, each with a sync.
pub(crate) struct SyncedFile {
    file: File,
    at: u64,
}

impl SyncedFile {
    /// Creates a preallocated file in `dir`.
    pub(crate) fn new(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("appends");
        let file =
            File::create(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
        file.write_all_at(&vec![0; PREALLOCATED], 0)?;
        file.sync_all()?;
        Ok(Self { file, at: 0 })
    }

    /// Appends and syncs a record; returns the duration in microseconds.
    pub(crate) fn append(&mut self, record: &[u8]) -> anyhow::Result<f64> {
        let stopwatch = Stopwatch::start();
        self.write(record)?;
        Ok(stopwatch.wall_us())
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        if self.at as usize + bytes.len() > PREALLOCATED {
            self.at = 0;
        }
        self.file.write_all_at(bytes, self.at)?;
        self.file.sync_data()?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// A database with one table and the settings of the host's writer.
pub(crate) struct BaselineDatabase {
    connection: SqliteConnection,
}

impl BaselineDatabase {
    /// Creates a database in `dir`.
    pub(crate) async fn new(dir: &Path) -> anyhow::Result<Self> {
        let mut connection = SqliteConnectOptions::new()
            .filename(dir.join("commits.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("wal_autocheckpoint", "16000")
            .pragma("cache_size", "-65536")
            .pragma("temp_store", "memory")
            .disable_statement_logging()
            .connect()
            .await
            .context("cannot make a database")?;
        connection
            .execute("CREATE TABLE log (n INTEGER PRIMARY KEY, record BLOB NOT NULL) STRICT")
            .await?;
        Ok(Self { connection })
    }

    /// Commits one row; returns the duration in microseconds.
    pub(crate) async fn commit(&mut self, record: &[u8]) -> anyhow::Result<f64> {
        let stopwatch = Stopwatch::start();
        sqlx::query("INSERT INTO log (record) VALUES (?1)")
            .bind(record.to_vec())
            .execute(&mut self.connection)
            .await?;
        Ok(stopwatch.wall_us())
    }

    /// Closes the database.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        Ok(self.connection.close().await?)
    }
}

/// A record for the log's thread, and the channel that signals its sync.
type QueuedRecord = (Vec<u8>, oneshot::Sender<()>);

/// A log with group commit: a thread writes all queued records and syncs once.
pub(crate) struct GroupedLog {
    queue: mpsc::Sender<QueuedRecord>,
    thread: JoinHandle<anyhow::Result<()>>,
}

/// The sending end of the log's queue.
#[derive(Clone)]
pub(crate) struct LogWriter(mpsc::Sender<QueuedRecord>);

impl GroupedLog {
    /// Creates a log in `dir`.
    pub(crate) fn new(dir: &Path) -> anyhow::Result<Self> {
        let mut log = SyncedFile::new(dir)?;
        let (queue, entries) = mpsc::channel::<QueuedRecord>();
        let thread = std::thread::spawn(move || -> anyhow::Result<()> {
            while let Ok((mut group, waiter)) = entries.recv() {
                let mut waiters = vec![waiter];
                for (record, waiter) in entries.try_iter() {
                    group.extend_from_slice(&record);
                    waiters.push(waiter);
                }
                log.write(&group)?;
                for waiter in waiters {
                    // The waiting task may be gone.
                    let _ = waiter.send(());
                }
            }
            Ok(())
        });
        Ok(Self { queue, thread })
    }

    pub(crate) fn writer(&self) -> LogWriter {
        LogWriter(self.queue.clone())
    }

    /// Ends the log's thread; waits until all writers are dropped.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        drop(self.queue);
        self.thread.join().map_err(|_| anyhow::anyhow!("the log's thread panicked"))?
    }
}

impl LogWriter {
    /// Completes when a record of `bytes` bytes is synced.
    pub(crate) async fn append(&self, bytes: usize) -> anyhow::Result<()> {
        let (waiter, synced) = oneshot::channel();
        self.0.send((vec![1; bytes], waiter)).context("the log's thread ended")?;
        synced.await.context("the log's thread ended")
    }
}

/// Appends `each` records of `bytes` bytes from each of `writers` concurrent writers to one log.
pub(crate) async fn grouped_log(
    dir: &Path,
    writers: u32,
    each: u32,
    bytes: usize,
) -> anyhow::Result<MeasuredTime> {
    let log = GroupedLog::new(dir)?;
    let stopwatch = Stopwatch::start();
    let mut tasks = JoinSet::new();
    for _ in 0..writers {
        let writer = log.writer();
        tasks.spawn(async move {
            for _ in 0..each {
                writer.append(bytes).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.context("a writer of the log panicked")??;
    }
    let passed = stopwatch.passed();
    log.close()?;
    Ok(passed)
}
