//! What writes: one task that gathers what is asked into batches, and a connection for each batch that runs.
//!
//! When a connection is free and something waits, a batch begins; while all are busy, what comes gathers for the next.
//! Batches of one host that name the same promises run one after the other: at the database they would only hold up
//! a connection each. A caller that goes away does not take its commit with it.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use segno_core::{
    command::Command, config::Config, footprint, id::PromiseId, reply::Reply, time::Millis,
};
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    batch::{Batch, Committed, NotCommitted},
    failure::{Cause, Failed},
    news::News,
    presence::Presence,
    time::Time,
};
use crate::{
    runtime::Surroundings,
    store::{Commit, Hints, StoreError},
};

/// A batch takes no further submission once it has so many commands.
const BATCH: usize = 256;
/// Submissions that may wait; whoever comes after waits to submit.
pub(super) const QUEUE: usize = 1024;
/// A batch looks so far for submissions that are in nobody's way.
const LOOK: usize = 2048;
/// How long one transaction may take before its connection is given up.
const LONGEST: Millis = Millis(30_000);
/// How long a connection may take to be made.
const CONNECT: Millis = Millis(3_000);
/// How long a submission waits for a database that is away before it is told so.
const PATIENCE: Millis = Millis(5_000);
/// Lost races in a row after which a submission is told so.
const RACES: u32 = 20;

type Answer = oneshot::Sender<Result<Vec<Reply>, StoreError>>;

/// What the writer is asked.
pub(super) enum Request {
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
    pub(super) config: Config,
    pub(super) surroundings: Surroundings,
    pub(super) time: Arc<Time>,
    pub(super) hints: Arc<dyn Hints>,
    pub(super) news: Arc<News>,
    pub(super) presence: Presence,
    pub(super) written: watch::Sender<Written>,
}

/// The task that gathers.
pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<Request>,
    pending: VecDeque<Submission>,
    /// Connections that no batch uses.
    idle: Vec<Line>,
    lines: usize,
    /// The promises that running batches name.
    busy: HashSet<u64>,
    finished: (mpsc::UnboundedSender<Finished>, mpsc::UnboundedReceiver<Finished>),
    hasher: RandomState,
}

/// Commands that are decided together or not at all, and who waits for it.
struct Submission {
    commands: Vec<Command>,
    answer: Answer,
    /// The promises that they name, hashed: two that look alike by accident only run one after the other.
    names: Vec<u64>,
    /// Whether nothing else may share its transaction: it reads rows that it does not lock.
    alone: bool,
}

/// A connection, when there is one.
type Line = Option<PgConnection>;

struct Finished {
    line: Line,
    names: Vec<u64>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, queue: mpsc::Receiver<Request>, lines: usize) -> Self {
        let lines = lines.max(1);
        Self {
            shared,
            queue,
            pending: VecDeque::new(),
            idle: (0..lines).map(|_| None).collect(),
            lines,
            busy: HashSet::new(),
            finished: mpsc::unbounded_channel(),
            hasher: RandomState::new(),
        }
    }

    /// Works until it is told to close, or until nobody can ask any more.
    pub(super) async fn run(mut self) {
        let mut closing = None;
        loop {
            while closing.is_none() && self.pending.len() < LOOK {
                match self.queue.try_recv() {
                    Ok(request) => closing = self.take(request),
                    Err(_) => break,
                }
            }
            self.begin();
            let resting = self.idle.len() == self.lines && self.pending.is_empty();
            if closing.is_some() && resting {
                break;
            }
            tokio::select! {
                biased;
                Some(finished) = self.finished.1.recv() => {
                    finished.names.iter().for_each(|name| {
                        self.busy.remove(name);
                    });
                    self.idle.push(finished.line);
                }
                request = self.queue.recv(), if closing.is_none() && self.pending.len() < LOOK => match request {
                    Some(request) => closing = self.take(request),
                    None => closing = Some(None),
                },
            }
        }
        self.queue.close();
        while let Some(late) = self.queue.recv().await {
            late.refuse();
        }
        for line in self.idle.into_iter().flatten() {
            // The database notices by itself where this does not reach it.
            let _ = self.shared.surroundings.within(Millis(1_000), line.close()).await;
        }
        if let Some(Some(answer)) = closing {
            let _ = answer.send(());
        }
    }

    /// Takes note of a request. Answers who waits for the end, if that was asked for.
    fn take(&mut self, request: Request) -> Option<Option<oneshot::Sender<()>>> {
        match request {
            Request::Close { answer } => return Some(Some(answer)),
            Request::Execute { commands, answer } => {
                let names = self.names(&commands);
                let alone =
                    commands.iter().any(|command| matches!(command, Command::HostStart { .. }));
                let submission = Submission { commands, answer, names, alone };
                // A host that was held up keeps the claims that it still serves.
                let beats = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
                match submission.commands.iter().all(beats) {
                    true => self.pending.push_front(submission),
                    false => self.pending.push_back(submission),
                }
            }
        }
        None
    }

    fn names(&self, commands: &[Command]) -> Vec<u64> {
        let mut names = BTreeSet::new();
        for command in commands {
            let wanted = footprint(command);
            names.extend(wanted.composites.iter().map(|id| self.hasher.hash_one(id)));
            names.extend(wanted.outbox.iter().map(|key| self.hasher.hash_one(key.promise())));
        }
        names.into_iter().collect()
    }

    /// Begins batches as long as there are connections for them.
    fn begin(&mut self) {
        while let Some(line) = self.idle.pop() {
            let batch = self.gather();
            if batch.is_empty() {
                self.idle.push(line);
                return;
            }
            let names: Vec<u64> =
                batch.iter().flat_map(|each| each.names.iter().copied()).collect();
            self.busy.extend(&names);
            let (shared, finished) = (self.shared.clone(), self.finished.0.clone());
            let waiting = self.pending.len() + self.queue.len();
            let work = async move {
                let line = shared.execute(line, batch, waiting).await;
                // Nobody is left to hear it when the writer has ended.
                let _ = finished.send(Finished { line, names });
            };
            self.shared.surroundings.runtime.spawn("store batch", Box::pin(work));
        }
    }

    /// What waits and is in nobody's way, in order: a submission passes none that names a promise it names.
    fn gather(&mut self) -> Vec<Submission> {
        let mut batch: Vec<Submission> = Vec::new();
        let mut size = 0;
        let mut passed: HashSet<u64> = HashSet::new();
        let mut waiting = VecDeque::with_capacity(self.pending.len());
        while let Some(next) = self.pending.pop_front() {
            let free = |name: &u64| !self.busy.contains(name) && !passed.contains(name);
            let fits = batch.is_empty() || (!next.alone && !batch[0].alone);
            if size < BATCH && fits && next.names.iter().all(free) {
                size += next.commands.len();
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

impl Request {
    /// Answers that the store is closed.
    fn refuse(self) {
        match self {
            Self::Execute { answer, .. } => drop(answer.send(Err(StoreError::Closed))),
            Self::Close { answer } => drop(answer.send(())),
        }
    }
}

impl Shared {
    /// Commits a batch, or each of its submissions alone where one of them spoils it for the others.
    async fn execute(&self, mut line: Line, batch: Vec<Submission>, waiting: usize) -> Line {
        let began = self.surroundings.clock.elapsed();
        let measured = |commands: usize| {
            let took = self.surroundings.clock.elapsed().saturating_sub(began);
            self.hints.measured(&Commit { commands, took, waiting });
        };
        let commands: Vec<&[Command]> = batch.iter().map(|each| each.commands.as_slice()).collect();
        match self.commit(&mut line, &commands).await {
            Ok(committed) => {
                measured(batch.iter().map(|each| each.commands.len()).sum());
                self.answer(batch, committed);
            }
            // One of them is refused by the tables: the others must not suffer for it.
            Err(Fate::Refused(_)) if batch.len() > 1 => {
                for submission in batch {
                    match self.commit(&mut line, &[&submission.commands]).await {
                        Ok(committed) => {
                            measured(submission.commands.len());
                            self.answer(vec![submission], committed);
                        }
                        Err(fate) => drop(submission.answer.send(Err(fate.into()))),
                    }
                }
            }
            Err(fate) => {
                for (submission, fate) in batch.into_iter().zip(fate.shares()) {
                    let _ = submission.answer.send(Err(fate.into()));
                }
            }
        }
        line
    }

    fn answer(&self, batch: Vec<Submission>, committed: Committed) {
        self.written.send_modify(|written| {
            written.commits += u64::from(committed.wrote);
            written.commands += batch.iter().map(|each| each.commands.len() as u64).sum::<u64>();
            written.statements += committed.statements as u64;
        });
        for (submission, replies) in batch.into_iter().zip(committed.replies) {
            // Nobody may be waiting any more; the commit stands.
            let _ = submission.answer.send(Ok(replies));
        }
        self.hints.committed(&committed.effects);
        self.news.gather(&committed.effects);
    }

    /// Decides and commits, again and again where another transaction was in the way or the database was away. Commands
    /// absorb their own repetition, so it does not matter whether an earlier attempt happened.
    async fn commit(&self, line: &mut Line, commands: &[&[Command]]) -> Result<Committed, Fate> {
        let mut also = BTreeSet::new();
        let mut unknown = false;
        let mut races = 0;
        let mut waited = Millis::ZERO;
        loop {
            let failed = match self.attempt(line, commands, &also).await {
                Ok(committed) => {
                    self.presence.is_here(self.surroundings.clock.now());
                    return Ok(committed);
                }
                Err(NotCommitted::Held(ids)) => {
                    also.extend(ids);
                    None
                }
                Err(NotCommitted::Overtaken) => None,
                Err(NotCommitted::Unknown(failed)) => {
                    unknown = true;
                    Some(failed)
                }
                Err(NotCommitted::Failed(failed)) => match failed.cause() {
                    Cause::Race => None,
                    Cause::Refused => return Err(Fate::Refused(failed)),
                    Cause::Away | Cause::ReadOnly => Some(failed),
                },
            };
            self.written.send_modify(|written| written.repeats += 1);
            let wait = match failed {
                None => {
                    races += 1;
                    if races > RACES {
                        return Err(Fate::Conflict);
                    }
                    self.jitter(Millis(1 << races.min(6)))
                }
                Some(failed) => {
                    *line = None;
                    self.presence.is_away(self.surroundings.clock.now(), &failed);
                    if waited >= PATIENCE {
                        let reason = failed.source.to_string();
                        return Err(if unknown {
                            Fate::Unknown(reason)
                        } else {
                            Fate::Away(reason)
                        });
                    }
                    self.jitter(Millis((50 + waited.0).min(1_000)))
                }
            };
            self.surroundings.runtime.sleep(wait).await;
            waited = Millis(waited.0 + wait.0);
        }
    }

    async fn attempt(
        &self,
        line: &mut Line,
        commands: &[&[Command]],
        also: &BTreeSet<PromiseId>,
    ) -> Result<Committed, NotCommitted> {
        let connection = match line {
            Some(open) => open,
            None => line.insert(self.connect().await?),
        };
        let batch = Batch::new(connection, &self.config, &self.time);
        let done = self.surroundings.within(LONGEST, batch.run(commands, also)).await;
        // The transaction may be anywhere, its commit included.
        let late = || Failed {
            statement: "a transaction",
            source: sqlx::Error::Protocol("the database did not answer in time".to_owned()),
        };
        done.unwrap_or_else(|| Err(NotCommitted::Unknown(late())))
    }

    async fn connect(&self) -> Result<PgConnection, Failed> {
        let connecting = PgConnection::connect_with(&self.options);
        let connected = self.surroundings.within(CONNECT, connecting).await;
        connected.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map_err(Failed::of("connect"))
    }

    /// Something between half of `wait` and all of it, so that those who were in each other's way part.
    fn jitter(&self, wait: Millis) -> Millis {
        let drawn = self.surroundings.runtime.nonce() % 1_000;
        Millis(wait.0 / 2 + (wait.0 * drawn.cast_signed()) / 2_000)
    }
}

/// Why a batch has no replies.
enum Fate {
    Conflict,
    Unknown(String),
    Away(String),
    Refused(Failed),
}

impl Fate {
    /// The same for everybody. Only who was alone is refused.
    fn shares(self) -> impl Iterator<Item = Self> {
        let mut own = Some(self);
        let copy = match &own {
            Some(Self::Unknown(reason)) => Some(Self::Unknown(reason.clone())),
            Some(Self::Away(reason)) => Some(Self::Away(reason.clone())),
            _ => None,
        };
        std::iter::repeat_with(move || {
            own.take().unwrap_or_else(|| match &copy {
                Some(Self::Unknown(reason)) => Self::Unknown(reason.clone()),
                Some(Self::Away(reason)) => Self::Away(reason.clone()),
                _ => Self::Conflict,
            })
        })
    }
}

impl From<Fate> for StoreError {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Conflict => Self::Conflict,
            Fate::Unknown(reason) => Self::UnknownOutcome(anyhow::anyhow!(reason)),
            Fate::Away(reason) => Self::Away { reason },
            Fate::Refused(failed) => failed.explain(),
        }
    }
}
