//! The writer: one task that gathers requests into batches, and a connection for each running
//! batch.
//!
//! While few batches run, a waiting request starts a batch; further batches start only when they
//! are worth a connection. Requests that arrive meanwhile are gathered, so that commits carry more.
//!
//! Commands that depend on remembered claims alone form separate batches of one statement each; all
//! others read first. Batches of one host that name the same promises run one after the other: in
//! the database they would only block a connection each. A caller that goes away does not cancel
//! its commit.

mod batch_error;
mod serve;
mod submission;

use std::{
    collections::{HashSet, VecDeque},
    hash::RandomState,
    sync::Arc,
};

use segno_core::{command::Command, config::Config, shard::DatabaseIndex, time::Millis};
use segno_env::Env;
use sqlx::Connection as _;
use tokio::sync::{mpsc, oneshot, watch};

pub(super) use self::serve::HALTED_SHARD;
use self::submission::{ReplySender, Submission};
use super::{
    batch::ConnectionSlot,
    databases::{RowNumbers, StoreDatabase, StoreDatabases},
    notify::Notifications,
    time::DatabaseTime,
};
use crate::{Hints, StoreError, writing::WriteHealth};

/// Maximum commands of a batch: once reached, it takes no further submission.
const BATCH: usize = 256;
/// Number of batches that run regardless of the load. A further batch starts when it can be a full
/// one, or when its submissions have waited for `LATE`: the running batches may be waiting for
/// locks.
const AT_ONCE: usize = 2;
const LATE: Millis = Millis(5);
/// Maximum number of queued submissions; further callers wait to submit.
pub(super) const QUEUE: usize = 1024;
/// Maximum number of waiting submissions examined for a batch.
const LOOK: usize = 2048;
/// A request to the writer.
pub(super) enum WriterRequest {
    /// Decide and commit these commands, in order.
    Execute {
        commands: Vec<Command>,
        answer: ReplySender,
        /// True if they concern the rows of this database alone, also the tasks that a worker holds.
        is_local: bool,
    },
    /// End after all earlier requests.
    Close { answer: oneshot::Sender<()> },
}

/// Totals of the writes since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteTotals {
    pub commits: u64,
    /// Commands in these commits.
    pub commands: u64,
    /// Statements executed, `BEGIN` and `COMMIT` included.
    pub statements: u64,
    /// Batches that had to be decided again.
    pub repeats: u64,
}

/// State shared by all batches.
pub(super) struct WriterState {
    pub(super) databases: Arc<StoreDatabases>,
    /// The database whose commands this writer commits.
    pub(super) home: DatabaseIndex,
    pub(super) numbers: Arc<RowNumbers>,
    pub(super) config: Config,
    pub(super) env: Env,
    pub(super) time: Arc<DatabaseTime>,
    pub(super) hints: Arc<dyn Hints>,
    pub(super) notifications: Arc<Notifications>,
    pub(super) writing: WriteHealth,
    pub(super) written: watch::Sender<WriteTotals>,
}

impl WriterState {
    /// The database whose commands this writer commits.
    pub(super) fn own(&self) -> &StoreDatabase {
        self.databases.at(self.home)
    }
}

/// The task that gathers requests into batches.
pub(super) struct Writer {
    shared: Arc<WriterState>,
    queue: mpsc::Receiver<WriterRequest>,
    pending: VecDeque<Submission>,
    /// The connections that no batch uses: for each batch, one to each database.
    idle: Vec<Vec<ConnectionSlot>>,
    slots: usize,
    /// Hashes of the promises that running batches name.
    busy: HashSet<u64>,
    finished: (mpsc::UnboundedSender<FinishedBatch>, mpsc::UnboundedReceiver<FinishedBatch>),
    hasher: RandomState,
}

struct FinishedBatch {
    connections: Vec<ConnectionSlot>,
    names: Vec<u64>,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<WriterState>,
        queue: mpsc::Receiver<WriterRequest>,
        slots: usize,
    ) -> Self {
        let slots = slots.max(1);
        let closed = || shared.databases.iter().map(|_| None).collect();
        let idle = std::iter::repeat_with(closed).take(slots).collect();
        Self {
            shared,
            queue,
            pending: VecDeque::new(),
            idle,
            slots,
            busy: HashSet::new(),
            finished: mpsc::unbounded_channel(),
            hasher: RandomState::new(),
        }
    }

    /// Runs until a close request, or until every sender is dropped.
    pub(super) async fn run(mut self) {
        let mut closing = None;
        // Pending while a batch could start but is not yet worth a connection.
        let mut patience = None;
        let mut late = false;
        let primary = self.shared.own().primary.clone();
        let mut epoch = primary.epoch();
        loop {
            while closing.is_none() && self.pending.len() < LOOK {
                match self.queue.try_recv() {
                    Ok(request) => closing = self.take(request),
                    Err(_) => break,
                }
            }
            self.begin(late);
            let resting = self.idle.len() == self.slots && self.pending.is_empty();
            if closing.is_some() && resting {
                break;
            }
            late = false;
            if self.pending.is_empty() || self.idle.is_empty() {
                patience = None;
            } else if patience.is_none() {
                patience = Some(self.shared.env.runtime.sleep(LATE));
            }
            tokio::select! {
                biased;
                Some(finished) = self.finished.1.recv() => {
                    finished.names.iter().for_each(|name| {
                        self.busy.remove(name);
                    });
                    self.idle.push(finished.connections);
                }
                request = self.queue.recv(), if closing.is_none() && self.pending.len() < LOOK => match request {
                    Some(request) => closing = self.take(request),
                    None => closing = Some(None),
                },
                () = primary.left(epoch) => {
                    epoch = primary.epoch();
                    let home = self.shared.home;
                    self.idle.iter_mut().for_each(|slots| drop(slots[home].take()));
                    // The cache holds rows of the former server.
                    self.shared.own().claims.forget_all();
                }
                () = async { patience.as_mut().expect("it runs").await }, if patience.is_some() => {
                    patience = None;
                    late = true;
                }
            }
        }
        self.queue.close();
        while let Some(late) = self.queue.recv().await {
            late.refuse();
        }
        for slot in self.idle.into_iter().flatten().flatten() {
            // If this does not reach the database, it detects the closed connection itself.
            let _ = self.shared.env.within(Millis(1_000), slot.connection.close()).await;
        }
        if let Some(Some(answer)) = closing {
            let _ = answer.send(());
        }
    }

    /// Queues a request. For a close request, returns the channel to answer when the writer has
    /// ended.
    fn take(&mut self, request: WriterRequest) -> Option<Option<oneshot::Sender<()>>> {
        match request {
            WriterRequest::Close { answer } => return Some(Some(answer)),
            WriterRequest::Execute { commands, answer, is_local } => {
                // Heartbeats go first, so that a host that was delayed keeps the claims it still
                // serves.
                let beats = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
                let first = commands.iter().all(beats);
                let shards = self.shared.databases.shards();
                let submission = Submission::new(commands, answer, is_local, &self.hasher, &shards);
                match first {
                    true => self.pending.push_front(submission),
                    false => self.pending.push_back(submission),
                }
            }
        }
        None
    }

    /// Starts batches while connections are idle.
    fn begin(&mut self, late: bool) {
        while let Some(connections) = self.idle.pop() {
            let running = self.slots - self.idle.len() - 1;
            let begins = running < AT_ONCE || late || self.pending.len() >= BATCH;
            let batch = if begins { self.gather() } else { Vec::new() };
            if batch.is_empty() {
                self.idle.push(connections);
                return;
            }
            let names: Vec<u64> =
                batch.iter().flat_map(|each| each.names.iter().copied()).collect();
            self.busy.extend(&names);
            let (shared, finished) = (self.shared.clone(), self.finished.0.clone());
            let waiting = self.pending.len() + self.queue.len();
            let work = async move {
                let connections = shared.serve(connections, batch, waiting).await;
                // The receiver is gone if the writer has ended.
                let _ = finished.send(FinishedBatch { connections, names });
            };
            self.shared.env.runtime.spawn("store batch", Box::pin(work));
        }
    }

    /// Takes the waiting submissions that conflict with no running batch, in order: a submission
    /// never overtakes one that names the same promise. Submissions that only append to remembered
    /// journals are not mixed with others.
    fn gather(&mut self) -> Vec<Submission> {
        let mut batch: Vec<Submission> = Vec::new();
        let (mut size, mut all_short) = (0, false);
        let mut passed: HashSet<u64> = HashSet::new();
        let mut waiting = VecDeque::with_capacity(self.pending.len());
        while let Some(next) = self.pending.pop_front() {
            let free = |name: &u64| !self.busy.contains(name) && !passed.contains(name);
            let short =
                next.claim.as_ref().is_some_and(|claim| self.shared.own().claims.knows(claim));
            let fits = batch.first().is_none_or(|first| {
                !next.alone
                    && !first.alone
                    && short == all_short
                    && next.databases == first.databases
            });
            if size < BATCH && fits && next.names.iter().all(free) {
                size += next.commands.len();
                all_short = short;
                batch.push(next);
            } else {
                passed.extend(&next.names);
                waiting.push_back(next);
            }
            if size >= BATCH {
                break;
            }
        }
        waiting.append(&mut self.pending);
        self.pending = waiting;
        batch
    }
}

impl WriterRequest {
    /// Answers that the store is closed.
    fn refuse(self) {
        match self {
            Self::Execute { answer, .. } => drop(answer.send(Err(StoreError::Closed))),
            Self::Close { answer } => drop(answer.send(())),
        }
    }
}
