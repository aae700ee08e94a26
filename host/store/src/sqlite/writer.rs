//! The writer thread. It drains a queue, decides the drained requests as one transaction, commits,
//! and answers.
//!
//! With an empty queue, a request is committed immediately; during the commit, the queue gathers
//! the next batch. A caller that goes away does not cancel its commit.

use std::sync::Arc;

use segno_core::{
    command::Command, config::Config, id::Digest, reply::Reply, time::Timestamp, view::View,
};
use segno_env::{Clock, collect_heap};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    batch::{CommitFailure, CommittedBatch, WriteBatch},
    components,
    connection::{Connection, FailedStatement},
    failure::{self, FailureCause},
    journal_buffer::{self, ActiveJournals},
    open::DataDirectory,
    rest::MemoryUse,
    vacuum,
    writer_cache::WriterCache,
};
use crate::{
    CommitMetrics, Hints, NewModule, StoreError, hints::CommitChanges, sql, writing::WriteHealth,
};

/// Maximum commands of a batch: once reached, it takes no further submission.
const BATCH: usize = 512;
/// Maximum number of queued submissions; further callers wait to submit.
pub(super) const QUEUE: usize = 1024;

type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// A request to the writer.
pub(super) enum WriterRequest {
    /// Decide and commit these commands, in order.
    Execute { commands: Arc<[Command]>, answer: ReplySender<Vec<Reply>> },
    /// Store a component.
    PutModule { module: Box<NewModule>, answer: ReplySender<()> },
    /// Remove a module that nothing refers to and that was uploaded before this instant.
    RemoveComponent { digest: Digest, before: Timestamp, answer: ReplySender<bool> },
    /// Return some free space to the file system.
    Vacuum { answer: ReplySender<bool> },
    /// Commit a small write that changes nothing.
    TryWriting { answer: ReplySender<()> },
    /// Release the resources of each kind that exceeds `kept` bytes; they can be loaded again.
    Rest { kept: u64, answer: ReplySender<MemoryUse> },
    /// Delete everything except modules, aliases and hosts.
    Wipe { answer: ReplySender<()> },
    /// End after all earlier requests.
    Close { answer: oneshot::Sender<()> },
}

impl WriterRequest {
    /// Answers that the store is closed.
    fn refuse(self) {
        match self {
            Self::Execute { answer, .. } => drop(answer.send(Err(StoreError::Closed))),
            Self::PutModule { answer, .. }
            | Self::Wipe { answer }
            | Self::TryWriting { answer } => {
                drop(answer.send(Err(StoreError::Closed)));
            }
            Self::Rest { answer, .. } => drop(answer.send(Err(StoreError::Closed))),
            Self::RemoveComponent { answer, .. } | Self::Vacuum { answer } => {
                drop(answer.send(Err(StoreError::Closed)));
            }
            Self::Close { answer } => drop(answer.send(())),
        }
    }
}

/// Totals of the writes since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteTotals {
    pub commits: u64,
    /// Commands in these commits.
    pub commands: u64,
    /// Statements executed, one for each row written, `BEGIN` and `COMMIT` included.
    pub statements: u64,
    /// Number of times that rows had to be read for these commits.
    pub loads: u64,
}

/// State of the writer thread.
pub(super) struct Writer {
    pub(super) place: OpenDatabase,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) config: Config,
    pub(super) hints: Arc<dyn Hints>,
    pub(super) queue: mpsc::Receiver<WriterRequest>,
    pub(super) written: watch::Sender<WriteTotals>,
    pub(super) writing: Arc<WriteHealth>,
    /// True if a write was refused, possibly for lack of space.
    pub(super) lacks_room: bool,
    /// True if the disk failed; nothing is written any more.
    pub(super) stopped: bool,
}

/// The location of the database, with its connection and cache.
pub(super) struct OpenDatabase {
    pub(super) cached_promises: usize,
    pub(super) active_journals: Arc<ActiveJournals>,
    connection: Option<Connection>,
    /// `None` if the cache must be read again.
    writer_cache: Option<WriterCache>,
    /// Released after the connection has closed.
    pub(super) directory: Arc<DataDirectory>,
}

/// Commands that are decided together or not at all, and the channel for their replies.
pub(super) struct Submission {
    pub(super) commands: Arc<[Command]>,
    answer: ReplySender<Vec<Reply>>,
}

impl Writer {
    /// Runs until a close request, or until every sender is dropped.
    pub(super) fn run(mut self) {
        // Before the first request: the host does other things in the meantime. The first request
        // that needs it tries again, and has the error.
        if let Err(error) = self.place.ready() {
            tracing::debug!(?error, "the writer's connection could not be opened");
        }
        let mut next = None;
        loop {
            let request = match next.take() {
                Some(request) => request,
                None => match self.queue.blocking_recv() {
                    Some(request) => request,
                    None => break,
                },
            };
            match request {
                WriterRequest::Execute { commands, answer } => {
                    let first = Submission { commands, answer };
                    next = self.batch(first);
                }
                WriterRequest::PutModule { module, answer } => {
                    let kept = self.put_module(*module);
                    let _ = answer.send(kept);
                }
                WriterRequest::RemoveComponent { digest, before, answer } => {
                    let removed = self.remove_component(digest, before);
                    let _ = answer.send(removed);
                }
                WriterRequest::Vacuum { answer } => {
                    let more = self.vacuum();
                    let _ = answer.send(more);
                }
                WriterRequest::TryWriting { answer } => {
                    let written = self.try_writing();
                    let _ = answer.send(written);
                }
                WriterRequest::Rest { kept, answer } => {
                    let rested = self.rest(kept);
                    collect_heap();
                    let _ = answer.send(rested);
                }
                WriterRequest::Wipe { answer } => {
                    let wiped = self.wipe();
                    let _ = answer.send(wiped);
                }
                WriterRequest::Close { answer } => {
                    self.queue.close();
                    while let Some(late) = self.queue.blocking_recv() {
                        late.refuse();
                    }
                    self.shut();
                    // This drops the last reference to the data directory.
                    drop(self);
                    let _ = answer.send(());
                    return;
                }
            }
        }
        self.shut();
    }

    /// Executes `first` and the submissions queued after it. Returns the request that ended the
    /// batch, if any.
    fn batch(&mut self, first: Submission) -> Option<WriterRequest> {
        let mut size = first.commands.len();
        let mut submissions = vec![first];
        let mut next = None;
        while size < BATCH {
            match self.queue.try_recv() {
                Ok(WriterRequest::Execute { commands, answer }) => {
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
        self.execute(submissions);
        next
    }

    /// Commits these submissions together. If one of them is refused, it must not fail the others:
    /// halves the batch until it is alone.
    fn execute(&mut self, mut submissions: Vec<Submission>) {
        match self.commit(&submissions) {
            Ok(committed) => self.answer(submissions, committed),
            Err(CommitFailure::Refused(failed))
                if submissions.len() > 1
                    && failure::fault(&failed.source) == FailureCause::Submission =>
            {
                let others = submissions.split_off(submissions.len() / 2);
                self.execute(submissions);
                self.execute(others);
            }
            Err(failed) => self.refuse(submissions, failed),
        }
    }

    fn answer(&self, submissions: Vec<Submission>, committed: CommittedBatch) {
        for (submission, replies) in submissions.into_iter().zip(committed.replies) {
            // The caller may be gone; the commit is valid regardless.
            let _ = submission.answer.send(Ok(replies));
        }
        let cached = self.place.writer_cache.as_ref().map(|cache| &cache.rows.view);
        self.hints.committed(&committed.effects, cached.unwrap_or(&View::default()));
        committed.changes.tell(&*self.hints);
    }

    fn refuse(&mut self, submissions: Vec<Submission>, failed: CommitFailure) {
        let mut explain: Box<dyn FnMut() -> StoreError> = match failed {
            CommitFailure::Unknown(FailedStatement { source, .. }) => {
                let source = source.to_string();
                Box::new(move || StoreError::UnknownOutcome(anyhow::anyhow!(source.clone())))
            }
            CommitFailure::Stopped => {
                Box::new(|| StoreError::Unavailable { reason: failure::DISK_FAILED.to_owned() })
            }
            CommitFailure::Refused(failed) => {
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

    /// Decides and commits; repeats this once if the outcome is unknown.
    fn commit(&mut self, submissions: &[Submission]) -> Result<CommittedBatch, CommitFailure> {
        match self.try_commit(submissions) {
            // Commands are idempotent, so it does not matter if they were committed.
            Err(CommitFailure::Unknown(_)) if !self.stopped => self.try_commit(submissions),
            other => other,
        }
    }

    fn try_commit(&mut self, submissions: &[Submission]) -> Result<CommittedBatch, CommitFailure> {
        if self.stopped {
            return Err(CommitFailure::Stopped);
        }
        let now = self.clock.now();
        let (began, waiting) = (self.clock.elapsed(), self.queue.len());
        let (connection, writer_cache) = self.place.ready().map_err(CommitFailure::Refused)?;
        let changes = CommitChanges::watched_by(&*self.hints);
        let done =
            WriteBatch::new(connection, writer_cache, &self.config, now, changes).run(submissions);
        match &done {
            Ok(committed) => {
                writer_cache.committed();
                if committed.statements > 0 {
                    self.writing.committed();
                }
                let commands: usize = submissions.iter().map(|each| each.commands.len()).sum();
                let took = self.clock.elapsed().saturating_sub(began);
                self.hints.measured(&CommitMetrics { commands, took, waiting });
                self.written.send_modify(|written| {
                    written.commits += u64::from(committed.statements > 0);
                    written.commands += commands as u64;
                    written.statements += committed.statements;
                    written.loads += committed.loads as u64;
                });
            }
            Err(CommitFailure::Stopped) => self.writing.failed(&"the database has to be looked at"),
            Err(CommitFailure::Refused(failed) | CommitFailure::Unknown(failed)) => {
                let FailedStatement { statement, source } = failed;
                let fault = failure::fault(source);
                tracing::debug!(statement, error = %source, "a batch was not committed");
                self.place.writer_cache = None;
                match fault {
                    FailureCause::Medium => {
                        self.writing.failed(source);
                        self.lacks_room = true;
                    }
                    FailureCause::Moment => {
                        tracing::warn!(statement, error = %source, "a batch was not committed");
                    }
                    // The caller reports the error of a single submission.
                    FailureCause::Submission => {}
                }
                // Without a result code from SQLite, the state of the connection is unknown.
                if (failure::primary_code(source).is_none() && fault != FailureCause::Submission)
                    || matches!(done, Err(CommitFailure::Unknown(_)))
                {
                    self.place.connection = None;
                }
                if failure::is_final(source) {
                    self.stopped = true;
                }
            }
        }
        done
    }

    fn put_module(&mut self, module: NewModule) -> Result<(), StoreError> {
        let (connection, writer_cache) = self.ready().map_err(failure::explain)?;
        components::put(connection, &mut writer_cache.rows, module).map_err(failure::explain)
    }

    fn remove_component(&mut self, digest: Digest, before: Timestamp) -> Result<bool, StoreError> {
        let (connection, writer_cache) = self.ready().map_err(failure::explain)?;
        components::remove(connection, &mut writer_cache.rows, digest, before)
            .map_err(failure::explain)
    }

    fn vacuum(&mut self) -> Result<bool, StoreError> {
        let (connection, _) = self.ready().map_err(failure::explain)?;
        vacuum::step(connection).map_err(failure::explain)
    }

    /// Commits a page with unchanged content. If nothing else writes, this detects that writes
    /// succeed again.
    fn try_writing(&mut self) -> Result<(), StoreError> {
        if self.stopped {
            let reason = failure::DISK_FAILED.to_owned();
            return Err(StoreError::Unavailable { reason });
        }
        if self.lacks_room {
            // Rewriting a page may succeed on a disk that has no space for more.
            self.place.directory.try_room().map_err(|error| {
                let reason = format!("{} ({error})", failure::NO_SPACE);
                StoreError::Unavailable { reason }
            })?;
        }
        let (connection, _) = self.ready().map_err(failure::explain)?;
        let tried = connection
            .say("BEGIN IMMEDIATE")
            .and_then(|()| connection.say("PRAGMA user_version = 0"))
            .and_then(|()| connection.say("COMMIT"));
        let Err(failed) = tried else {
            self.lacks_room = false;
            return Ok(());
        };
        // The state of the connection is unknown; the next request opens a new one.
        self.place.connection = None;
        self.stopped = failure::is_final(&failed.source);
        Err(failure::explain(failed))
    }

    /// Releases the memory of each kind that exceeds `kept` bytes. The next commit loads again what
    /// it needs.
    fn rest(&mut self, kept: u64) -> Result<MemoryUse, StoreError> {
        let OpenDatabase { directory, connection, writer_cache, .. } = &mut self.place;
        let (Some(connection), Some(writer_cache), false) =
            (connection, writer_cache, self.stopped)
        else {
            return Ok(MemoryUse::default());
        };
        let held = MemoryUse {
            row_bytes: writer_cache.rows.bytes() as u64,
            writer_bytes: connection.page_bytes(),
            log_bytes: directory.log_bytes(),
            ..MemoryUse::default()
        };
        if held.row_bytes > kept {
            writer_cache.forget();
        }
        if held.writer_bytes > kept {
            connection.shrink().map_err(failure::explain)?;
        }
        if held.log_bytes > kept {
            connection.truncate_log().map_err(failure::explain)?;
        }
        Ok(held)
    }

    fn wipe(&mut self) -> Result<(), StoreError> {
        let (connection, writer_cache) = self.ready().map_err(failure::explain)?;
        let next_number = writer_cache.rows.next_number;
        let wiped = connection
            .say("BEGIN IMMEDIATE")
            .and_then(|()| connection.say(journal_buffer::EMPTY))
            .and_then(|()| {
                sql::wipe().try_for_each(|statement| {
                    connection.each_of("forget everything", &statement, &[[]])
                })
            })
            .and_then(|()| connection.say("COMMIT"));
        if wiped.is_err() {
            let _ = connection.say("ROLLBACK");
        }
        self.place.writer_cache = None;
        // Numbers are never reused: a client may be in the middle of a listing.
        let (_, WriterCache { rows: cache, .. }) = self.ready().map_err(failure::explain)?;
        cache.next_number = cache.next_number.max(next_number);
        wiped.map_err(failure::explain)
    }

    fn shut(&mut self) {
        if let Some(connection) = self.place.connection.take() {
            connection.close();
        }
    }

    /// The connection and the cache, created again if the last batch lost them.
    fn ready(&mut self) -> Result<(&mut Connection, &mut WriterCache), FailedStatement> {
        self.place.ready()
    }
}

impl OpenDatabase {
    /// A place whose connection is opened by [`OpenDatabase::ready`].
    pub(super) fn of(
        directory: Arc<DataDirectory>,
        cached_promises: usize,
        active_journals: Arc<ActiveJournals>,
    ) -> Self {
        Self { directory, cached_promises, active_journals, connection: None, writer_cache: None }
    }

    /// Like [`Writer::ready`]; a separate function, so that the writer's other fields stay
    /// borrowable.
    fn ready(&mut self) -> Result<(&mut Connection, &mut WriterCache), FailedStatement> {
        let Self { directory, cached_promises, active_journals, connection, writer_cache } = self;
        let connection = match connection {
            Some(open) => open,
            None => connection.insert(directory.writer()?),
        };
        let writer_cache = match writer_cache {
            Some(held) => held,
            None => writer_cache.insert(WriterCache::read(
                connection,
                *cached_promises,
                active_journals.clone(),
            )?),
        };
        Ok((connection, writer_cache))
    }
}

/// Order of commands in a batch: heartbeats first and expired leases last, so that a delayed host
/// does not lose claims it still serves.
fn urgency(commands: &[Command]) -> u8 {
    if commands.iter().all(|command| matches!(command, Command::TaskHeartbeat { .. })) {
        return 0;
    }
    match commands.iter().any(|command| matches!(command, Command::LeaseDue { .. })) {
        true => 2,
        false => 1,
    }
}
