//! What writes: one task that gathers what is asked into batches, and a connection for each batch
//! that runs.
//!
//! When something waits, a batch begins, as long as few run; a further one begins when it is worth
//! a connection. So what comes meanwhile gathers, and commits carry more.
//!
//! Commands that rest on remembered claims alone make batches of their own, of one statement each;
//! all others read first. Batches of one host that name the same promises run one after the other:
//! at the database they would only hold up a connection each. A caller that goes away does not take
//! its commit with it.

mod batch_error;
mod serve;
mod submission;

use std::{
    collections::{HashSet, VecDeque},
    hash::RandomState,
    sync::Arc,
};

use segno_core::{command::Command, config::Config, time::Millis};
use segno_env::Env;
use sqlx::{Connection as _, postgres::PgConnectOptions};
use tokio::sync::{mpsc, oneshot, watch};

use self::submission::{Answer, Submission};
use super::{
    availability::Availability, claims::RememberedClaims, held::HeldConnection,
    notify::Notifications, primary::Primary, time::Time,
};
use crate::{Hints, StoreError, writing::Writing};

/// A batch takes no further submission once it has this many commands.
const BATCH: usize = 256;
/// The number of batches that run however few submissions there are. A further batch begins when it
/// can be a full one, or when its submissions have waited for `LATE`: the running ones may wait for
/// locks.
const AT_ONCE: usize = 2;
const LATE: Millis = Millis(5);
/// Submissions that may wait; further callers wait to submit.
pub(super) const QUEUE: usize = 1024;
/// The number of waiting submissions that a batch examines.
const LOOK: usize = 2048;
/// What the writer is asked.
pub(super) enum WriterRequest {
    /// To decide and commit these, in order.
    Execute { commands: Vec<Command>, answer: Answer },
    /// To end, after what was asked before.
    Close { answer: oneshot::Sender<()> },
}

/// What was written since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Commits.
    pub commits: u64,
    /// Commands in them.
    pub commands: u64,
    /// Statements they took, `BEGIN` and `COMMIT` included.
    pub statements: u64,
    /// Batches that had to be decided again.
    pub repeats: u64,
}

/// What all batches share.
pub(super) struct Shared {
    pub(super) options: PgConnectOptions,
    pub(super) primary: Arc<Primary>,
    pub(super) config: Config,
    pub(super) env: Env,
    pub(super) time: Arc<Time>,
    pub(super) hints: Arc<dyn Hints>,
    pub(super) notifications: Arc<Notifications>,
    pub(super) availability: Availability,
    pub(super) writing: Writing,
    pub(super) claims: RememberedClaims,
    pub(super) written: watch::Sender<Written>,
}

/// The task that gathers.
pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<WriterRequest>,
    pending: VecDeque<Submission>,
    /// Connections that no batch uses.
    idle: Vec<ConnectionSlot>,
    slots: usize,
    /// The promises that running batches name.
    busy: HashSet<u64>,
    finished: (mpsc::UnboundedSender<Finished>, mpsc::UnboundedReceiver<Finished>),
    hasher: RandomState,
}

/// A place for one connection; none while it is closed.
type ConnectionSlot = Option<HeldConnection>;

struct Finished {
    slot: ConnectionSlot,
    names: Vec<u64>,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        queue: mpsc::Receiver<WriterRequest>,
        slots: usize,
    ) -> Self {
        let slots = slots.max(1);
        Self {
            shared,
            queue,
            pending: VecDeque::new(),
            idle: (0..slots).map(|_| None).collect(),
            slots,
            busy: HashSet::new(),
            finished: mpsc::unbounded_channel(),
            hasher: RandomState::new(),
        }
    }

    /// Runs until it is told to close, or until every sender is gone.
    pub(super) async fn run(mut self) {
        let mut closing = None;
        // Runs while something could begin that is not worth it.
        let mut patience = None;
        let mut late = false;
        let mut epoch = self.shared.primary.epoch();
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
                    self.idle.push(finished.slot);
                }
                request = self.queue.recv(), if closing.is_none() && self.pending.len() < LOOK => match request {
                    Some(request) => closing = self.take(request),
                    None => closing = Some(None),
                },
                () = self.shared.primary.left(epoch) => {
                    epoch = self.shared.primary.epoch();
                    self.idle.iter_mut().for_each(|slot| drop(slot.take()));
                    // The numbers of transactions that are remembered are the former server's.
                    self.shared.claims.forget_all();
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
        for slot in self.idle.into_iter().flatten() {
            // The database notices by itself where this does not reach it.
            let _ = self.shared.env.within(Millis(1_000), slot.connection.close()).await;
        }
        if let Some(Some(answer)) = closing {
            let _ = answer.send(());
        }
    }

    /// Takes note of a request. Answers who waits for the end, if that was asked for.
    fn take(&mut self, request: WriterRequest) -> Option<Option<oneshot::Sender<()>>> {
        match request {
            WriterRequest::Close { answer } => return Some(Some(answer)),
            WriterRequest::Execute { commands, answer } => {
                // A host that was held up keeps the claims that it still serves.
                let beats = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
                let first = commands.iter().all(beats);
                let submission = Submission::new(commands, answer, &self.hasher);
                match first {
                    true => self.pending.push_front(submission),
                    false => self.pending.push_back(submission),
                }
            }
        }
        None
    }

    /// Begins batches as long as there are connections for them.
    fn begin(&mut self, late: bool) {
        while let Some(slot) = self.idle.pop() {
            let running = self.slots - self.idle.len() - 1;
            let begins = running < AT_ONCE || late || self.pending.len() >= BATCH;
            let batch = if begins { self.gather() } else { Vec::new() };
            if batch.is_empty() {
                self.idle.push(slot);
                return;
            }
            let names: Vec<u64> =
                batch.iter().flat_map(|each| each.names.iter().copied()).collect();
            self.busy.extend(&names);
            let (shared, finished) = (self.shared.clone(), self.finished.0.clone());
            let waiting = self.pending.len() + self.queue.len();
            let work = async move {
                let slot = shared.serve(slot, batch, waiting).await;
                // The receiver is gone when the writer has ended.
                let _ = finished.send(Finished { slot, names });
            };
            self.shared.env.runtime.spawn("store batch", Box::pin(work));
        }
    }

    /// The waiting submissions that conflict with no running batch, in order: a submission passes
    /// none that names a promise it names. Those that only append to remembered journals are not
    /// mixed with others.
    fn gather(&mut self) -> Vec<Submission> {
        let mut batch: Vec<Submission> = Vec::new();
        let (mut size, mut all_short) = (0, false);
        let mut passed: HashSet<u64> = HashSet::new();
        let mut waiting = VecDeque::with_capacity(self.pending.len());
        while let Some(next) = self.pending.pop_front() {
            let free = |name: &u64| !self.busy.contains(name) && !passed.contains(name);
            let short = next.claim.as_ref().is_some_and(|claim| self.shared.claims.knows(claim));
            let fits = batch.is_empty() || (!next.alone && !batch[0].alone && short == all_short);
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
