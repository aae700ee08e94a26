//! The one task that writes. It drains a queue, decides what it drained as one transaction, commits, and answers.
//!
//! When the queue is empty it commits at once; while it commits, the queue gathers the next batch. A caller that goes
//! away does not take its commit with it.

use std::sync::Arc;

use segno_core::{command::Command, config::Config, id::Digest, reply::Reply, time::Timestamp};
use sqlx::{Connection as _, Executor as _, Row as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    batch::{Batch, Committed, NotCommitted},
    failure, load,
    open::DataDirectory,
    statement::Failed,
};
use crate::{
    runtime::Clock,
    store::{Commit, Hints, StoreError, sql::Cache},
};

/// A batch takes no further submission once it has so many commands.
const BATCH: usize = 512;
/// Submissions that may wait; whoever comes after waits to submit.
pub(super) const QUEUE: usize = 1024;

const PUT_MODULE: &str = "
    INSERT INTO modules (digest, created_at, description, component) VALUES (?1, ?2, ?3, ?4) RETURNING n";

const REMOVE_MODULE: &str = "
    DELETE FROM modules
     WHERE digest = ?1 AND created_at <= ?2
       AND NOT EXISTS (SELECT 1 FROM aliases WHERE module = modules.n)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE module = modules.n)
    RETURNING n";

const FREE_PAGES: &str =
    "SELECT auto_vacuum, freelist_count FROM pragma_auto_vacuum, pragma_freelist_count";
const GIVE_BACK: &str = "PRAGMA incremental_vacuum(256)";
/// What `auto_vacuum` says where pages may be given back.
const INCREMENTAL: i64 = 2;
/// Free pages that stay: the next commits use them.
const KEPT_FREE: i64 = 64;

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writer is asked.
pub(super) enum Request {
    /// To decide and commit these, in order.
    Execute { commands: Vec<Command>, answer: Answer<Vec<Reply>> },
    /// To keep a component.
    PutComponent { component: NewComponent, answer: Answer<()> },
    /// To remove a module that nobody refers to, uploaded before that instant.
    RemoveComponent { digest: Digest, before: Timestamp, answer: Answer<bool> },
    /// To give a piece of the free room back to the system.
    GiveBackRoom { answer: Answer<bool> },
    /// To end, after what was asked before.
    Close { answer: oneshot::Sender<()> },
}

impl Request {
    /// Answers that the store is closed.
    fn refuse(self) {
        match self {
            Self::Execute { answer, .. } => drop(answer.send(Err(StoreError::Closed))),
            Self::PutComponent { answer, .. } => drop(answer.send(Err(StoreError::Closed))),
            Self::RemoveComponent { answer, .. } | Self::GiveBackRoom { answer } => {
                drop(answer.send(Err(StoreError::Closed)));
            }
            Self::Close { answer } => drop(answer.send(())),
        }
    }
}

/// A component to keep.
pub(super) struct NewComponent {
    pub(super) digest: Digest,
    pub(super) bytes: Arc<[u8]>,
    pub(super) description: String,
    pub(super) now: Timestamp,
}

/// What the writer did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Commits.
    pub commits: u64,
    /// Commands in them.
    pub commands: u64,
    /// Statements they took, `BEGIN` and `COMMIT` included.
    pub statements: u64,
    /// How often rows had to be read for them.
    pub loads: u64,
}

/// The writer's belongings.
pub(super) struct Writer {
    pub(super) directory: Arc<DataDirectory>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) config: Config,
    pub(super) cached_promises: usize,
    pub(super) hints: Arc<dyn Hints>,
    pub(super) queue: mpsc::Receiver<Request>,
    pub(super) written: watch::Sender<Written>,
    pub(super) connection: Option<SqliteConnection>,
    /// None: to be built anew.
    pub(super) cache: Option<Cache>,
    /// Whether the disk failed, so that nothing is written any more.
    pub(super) stopped: bool,
}

/// Commands that are decided together or not at all, and who waits for it.
pub(super) struct Submission {
    pub(super) commands: Vec<Command>,
    answer: Answer<Vec<Reply>>,
}

impl Writer {
    /// Works until it is told to close, or until nobody can ask any more.
    pub(super) async fn run(mut self) {
        let mut next = None;
        loop {
            let request = match next.take() {
                Some(request) => request,
                None => match self.queue.recv().await {
                    Some(request) => request,
                    None => break,
                },
            };
            match request {
                Request::Execute { commands, answer } => {
                    let first = Submission { commands, answer };
                    next = self.batch(first).await;
                }
                Request::PutComponent { component, answer } => {
                    let kept = self.put_component(component).await;
                    let _ = answer.send(kept);
                }
                Request::RemoveComponent { digest, before, answer } => {
                    let removed = self.remove_component(digest, before).await;
                    let _ = answer.send(removed);
                }
                Request::GiveBackRoom { answer } => {
                    let more = self.give_back_room().await;
                    let _ = answer.send(more);
                }
                Request::Close { answer } => {
                    self.queue.close();
                    while let Some(late) = self.queue.recv().await {
                        late.refuse();
                    }
                    self.shut().await;
                    // The data directory is given back with the last of these.
                    drop(self);
                    let _ = answer.send(());
                    return;
                }
            }
        }
        self.shut().await;
    }

    /// Executes `first` and what waits behind it. Answers the request that ended the batch, if one did.
    async fn batch(&mut self, first: Submission) -> Option<Request> {
        let mut size = first.commands.len();
        let mut submissions = vec![first];
        let mut next = None;
        while size < BATCH {
            match self.queue.try_recv() {
                Ok(Request::Execute { commands, answer }) => {
                    size += commands.len();
                    submissions.push(Submission { commands, answer });
                }
                Ok(other) => {
                    next = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        submissions.sort_by_key(|submission| urgency(&submission.commands));
        self.execute(submissions).await;
        next
    }

    async fn execute(&mut self, submissions: Vec<Submission>) {
        match self.commit(&submissions).await {
            Ok(committed) => self.answer(submissions, committed),
            // One of them is refused by the tables: the others must not suffer for it.
            Err(NotCommitted::Refused(failed))
                if submissions.len() > 1
                    && failure::primary_code(&failed.source) == Some(failure::CONSTRAINT) =>
            {
                for submission in submissions {
                    self.execute_alone(submission).await;
                }
            }
            Err(failed) => self.refuse(submissions, failed),
        }
    }

    async fn execute_alone(&mut self, submission: Submission) {
        match self.commit(std::slice::from_ref(&submission)).await {
            Ok(committed) => self.answer(vec![submission], committed),
            Err(failed) => self.refuse(vec![submission], failed),
        }
    }

    fn answer(&self, submissions: Vec<Submission>, committed: Committed) {
        for (submission, replies) in submissions.into_iter().zip(committed.replies) {
            // Nobody may be waiting any more; the commit stands.
            let _ = submission.answer.send(Ok(replies));
        }
        self.hints.committed(&committed.effects);
    }

    fn refuse(&mut self, submissions: Vec<Submission>, failed: NotCommitted) {
        let mut explain: Box<dyn FnMut() -> StoreError> = match failed {
            NotCommitted::Unknown(Failed { source, .. }) => {
                let source = source.to_string();
                Box::new(move || StoreError::UnknownOutcome(anyhow::anyhow!(source.clone())))
            }
            NotCommitted::Stopped => {
                Box::new(|| StoreError::Unavailable { reason: failure::DISK_FAILED.to_owned() })
            }
            NotCommitted::Refused(failed) => {
                let mut first = Some(failure::explain(failed));
                let text = first.as_ref().map(ToString::to_string).unwrap_or_default();
                Box::new(move || {
                    first.take().unwrap_or_else(|| StoreError::Unavailable { reason: text.clone() })
                })
            }
        };
        for submission in submissions {
            let _ = submission.answer.send(Err(explain()));
        }
    }

    /// Decides and commits, once more if nobody knows what became of the first time.
    async fn commit(&mut self, submissions: &[Submission]) -> Result<Committed, NotCommitted> {
        match self.try_commit(submissions).await {
            // Commands absorb their own repetition, so it does not matter whether they happened.
            Err(NotCommitted::Unknown(_)) if !self.stopped => self.try_commit(submissions).await,
            other => other,
        }
    }

    async fn try_commit(&mut self, submissions: &[Submission]) -> Result<Committed, NotCommitted> {
        if self.stopped {
            return Err(NotCommitted::Stopped);
        }
        let (connection, cache) =
            ready(&self.directory, self.cached_promises, &mut self.connection, &mut self.cache)
                .await
                .map_err(NotCommitted::Refused)?;
        let now = self.clock.now();
        let (began, waiting) = (self.clock.elapsed(), self.queue.len());
        let done = Batch::new(connection, cache, &self.config, now).run(submissions).await;
        match &done {
            Ok(committed) => {
                cache.end_batch();
                let commands: usize = submissions.iter().map(|each| each.commands.len()).sum();
                let took = self.clock.elapsed().saturating_sub(began);
                self.hints.measured(&Commit { commands, took, waiting });
                self.written.send_modify(|written| {
                    written.commits += u64::from(committed.statements > 0);
                    written.commands += commands as u64;
                    written.statements += committed.statements as u64;
                    written.loads += committed.loads as u64;
                });
            }
            Err(NotCommitted::Stopped) => {}
            Err(NotCommitted::Refused(failed) | NotCommitted::Unknown(failed)) => {
                tracing::warn!(statement = failed.statement, error = %failed.source, "a batch was not committed");
                self.cache = None;
                // Where SQLite did not answer, what the connection is in the middle of is not known.
                if failure::primary_code(&failed.source).is_none()
                    || matches!(done, Err(NotCommitted::Unknown(_)))
                {
                    self.connection = None;
                }
                if failure::is_final(&failed.source) {
                    self.stopped = true;
                }
            }
        }
        done
    }

    async fn put_component(&mut self, component: NewComponent) -> Result<(), StoreError> {
        let (connection, cache) =
            ready(&self.directory, self.cached_promises, &mut self.connection, &mut self.cache)
                .await
                .map_err(failure::explain)?;
        let NewComponent { digest, bytes, description, now } = component;
        if cache.modules.contains_key(&digest) {
            return Ok(());
        }
        let query = sqlx::query_scalar(PUT_MODULE)
            .bind(digest.0.to_vec())
            .bind(now.0)
            .bind(description)
            .bind(bytes.to_vec());
        let number = query
            .fetch_one(connection)
            .await
            .map_err(|source| failure::explain(Failed { statement: "keep a component", source }))?;
        cache.modules.insert(digest, number);
        cache.state.put_module(digest);
        Ok(())
    }

    async fn remove_component(
        &mut self,
        digest: Digest,
        before: Timestamp,
    ) -> Result<bool, StoreError> {
        let (connection, cache) =
            ready(&self.directory, self.cached_promises, &mut self.connection, &mut self.cache)
                .await
                .map_err(failure::explain)?;
        let query =
            sqlx::query_scalar::<_, i64>(REMOVE_MODULE).bind(digest.0.to_vec()).bind(before.0);
        let removed = query.fetch_optional(connection).await.map_err(|source| {
            failure::explain(Failed { statement: "remove a component", source })
        })?;
        if removed.is_some() {
            cache.modules.remove(&digest);
            cache.state.remove_module(&digest);
        }
        Ok(removed.is_some())
    }

    async fn give_back_room(&mut self) -> Result<bool, StoreError> {
        let (connection, _) =
            ready(&self.directory, self.cached_promises, &mut self.connection, &mut self.cache)
                .await
                .map_err(failure::explain)?;
        let given = give_back(connection).await;
        given.map_err(|source| failure::explain(Failed { statement: "give room back", source }))
    }

    async fn shut(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            // Readers may be in its way; the next start carries the log over then.
            let _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await;
            let _ = connection.close().await;
        }
    }
}

/// Moves a piece of the free pages out of the file. Whether there are more; never, if the database was made without
/// the setting that allows it.
async fn give_back(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let free = |row: sqlx::sqlite::SqliteRow| {
        let (mode, pages): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok::<_, sqlx::Error>(if mode == INCREMENTAL { pages } else { 0 })
    };
    if free(connection.fetch_one(FREE_PAGES).await?)? <= KEPT_FREE {
        return Ok(false);
    }
    connection.execute(GIVE_BACK).await?;
    Ok(free(connection.fetch_one(FREE_PAGES).await?)? > KEPT_FREE)
}

/// The connection and the cache, made anew if the last batch lost them.
async fn ready<'a>(
    directory: &DataDirectory,
    cached_promises: usize,
    connection: &'a mut Option<SqliteConnection>,
    cache: &'a mut Option<Cache>,
) -> Result<(&'a mut SqliteConnection, &'a mut Cache), Failed> {
    let connection = match connection {
        Some(open) => open,
        None => {
            let opened = directory.connect().await;
            connection
                .insert(opened.map_err(|source| Failed { statement: "open the database", source })?)
        }
    };
    let cache = match cache {
        Some(held) => held,
        None => {
            let mut begun = load::begin(connection).await?;
            begun.limit = cached_promises;
            cache.insert(begun)
        }
    };
    Ok((connection, cache))
}

/// Heartbeats go first and expired leases last, so that a host that was held up does not lose claims it still serves.
fn urgency(commands: &[Command]) -> u8 {
    if commands.iter().all(|command| matches!(command, Command::TaskHeartbeat { .. })) {
        return 0;
    }
    match commands.iter().any(|command| matches!(command, Command::LeaseDue { .. })) {
        true => 2,
        false => 1,
    }
}
