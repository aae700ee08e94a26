//! What writes: one task that gathers what is asked into batches, and a connection for each batch that runs.
//!
//! When something waits, a batch begins, as long as few run; a further one begins when it is worth a connection. So what
//! comes meanwhile gathers, and commits carry more.
//!
//! Commands that rest on remembered claims alone make batches of their own, of one statement each; all others read first.
//! Batches of one host that name the same promises run one after the other: at the database they would only hold up
//! a connection each. A caller that goes away does not take its commit with it.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use segno_core::{
    command::Command,
    config::Config,
    footprint,
    id::{Claim, PromiseId},
    reply::Reply,
    rests_on,
    time::Millis,
};
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    append::Appends,
    batch::{Asked, Batch, Committed, NotCommitted},
    claims::Claims,
    failure::{Cause, Failed},
    news::News,
    presence::Presence,
    time::Time,
};
use crate::{
    runtime::{Clock as _, Surroundings},
    store::{Commit, Hints, StoreError},
};

/// A batch takes no further submission once it has so many commands.
const BATCH: usize = 256;
/// So many batches run whatever there is for them. A further one begins when it can be a full one, or when what there is
/// for it has waited for so long: those that run may wait for somebody.
const AT_ONCE: usize = 2;
const LATE: Millis = Millis(5);
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
    pub(super) claims: Claims,
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
    asked: Vec<Asked>,
    answer: Answer,
    /// The claim that the one command in it rests on alone, if it does.
    claim: Option<Claim>,
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
        // Runs while something could begin that is not worth it.
        let mut patience = None;
        let mut late = false;
        loop {
            while closing.is_none() && self.pending.len() < LOOK {
                match self.queue.try_recv() {
                    Ok(request) => closing = self.take(request),
                    Err(_) => break,
                }
            }
            self.begin(late);
            let resting = self.idle.len() == self.lines && self.pending.is_empty();
            if closing.is_some() && resting {
                break;
            }
            late = false;
            if self.pending.is_empty() || self.idle.is_empty() {
                patience = None;
            } else if patience.is_none() {
                patience = Some(self.shared.surroundings.runtime.sleep(LATE));
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
                let alone =
                    commands.iter().any(|command| matches!(command, Command::HostStart { .. }));
                // A host that was held up keeps the claims that it still serves.
                let beats = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
                let first = commands.iter().all(beats);
                let claim = match commands.as_slice() {
                    [command] => rests_on(command).cloned(),
                    _ => None,
                };
                let ask = |command| Asked { named: footprint(&command), command };
                let asked: Vec<Asked> = commands.into_iter().map(ask).collect();
                let names = self.names(&asked);
                let submission = Submission { asked, answer, claim, names, alone };
                match first {
                    true => self.pending.push_front(submission),
                    false => self.pending.push_back(submission),
                }
            }
        }
        None
    }

    fn names(&self, asked: &[Asked]) -> Vec<u64> {
        let mut names = BTreeSet::new();
        for Asked { named, .. } in asked {
            names.extend(named.composites.iter().map(|id| self.hasher.hash_one(id)));
            names.extend(named.outbox.iter().map(|key| self.hasher.hash_one(key.promise())));
        }
        names.into_iter().collect()
    }

    /// Begins batches as long as there are connections for them.
    fn begin(&mut self, late: bool) {
        while let Some(line) = self.idle.pop() {
            let running = self.lines - self.idle.len() - 1;
            let begins = running < AT_ONCE || late || self.pending.len() >= BATCH;
            let batch = if begins { self.gather() } else { Vec::new() };
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
                let line = shared.serve(line, batch, waiting).await;
                // Nobody is left to hear it when the writer has ended.
                let _ = finished.send(Finished { line, names });
            };
            self.shared.surroundings.runtime.spawn("store batch", Box::pin(work));
        }
    }

    /// What waits and is in nobody's way, in order: a submission passes none that names a promise it names. Those that
    /// only append to remembered journals are not mixed with others.
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
                size += next.asked.len();
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
    /// Commits a batch: by appending where that is all there is to do, and what is left then as any other.
    async fn serve(&self, mut line: Line, batch: Vec<Submission>, waiting: usize) -> Line {
        let short = batch.iter().all(|each| each.claim.is_some());
        let left = if short { self.append(&mut line, batch, waiting).await } else { batch };
        if left.is_empty() { line } else { self.execute(line, left, waiting).await }
    }

    /// Appends what rests on remembered claims alone. Answers what has to be decided otherwise.
    async fn append(
        &self,
        line: &mut Line,
        batch: Vec<Submission>,
        waiting: usize,
    ) -> Vec<Submission> {
        let began = self.surroundings.clock.elapsed();
        let commands: Vec<&Command> =
            batch.iter().flat_map(|each| &each.asked).map(|asked| &asked.command).collect();
        let mut appends = Appends::decide(&self.claims, &commands, self.time.now(), &self.config);
        if appends.is_empty() {
            return batch;
        }
        let appending = async {
            let connection = match line {
                Some(open) => open,
                None => line.insert(self.connect().await?),
            };
            appends.commit(connection, &self.claims).await
        };
        let appended = match self.surroundings.within(LONGEST, appending).await {
            Some(Ok(appended)) => appended,
            // It may have happened, or not: whoever decides again sees.
            failed => {
                let lost =
                    |failed: &Failed| matches!(failed.cause(), Cause::Away | Cause::ReadOnly);
                if failed.is_none_or(|failed| failed.as_ref().is_err_and(lost)) {
                    *line = None;
                }
                self.claims.forget(appends.ids());
                return batch;
            }
        };
        let (mut committed, mut served, mut left) = (Committed::default(), Vec::new(), Vec::new());
        (committed.statements, committed.wrote) = (1, true);
        for (submission, appended) in batch.into_iter().zip(appended) {
            match appended {
                Some((reply, effects)) => {
                    committed.replies.push(vec![reply]);
                    committed.effects.extend(effects);
                    served.push(submission);
                }
                None => left.push(submission),
            }
        }
        if !served.is_empty() {
            self.presence.is_here(self.surroundings.clock.now());
            let took = self.surroundings.clock.elapsed().saturating_sub(began);
            self.hints.measured(&Commit { commands: served.len(), took, waiting });
            self.answer(served, committed);
        }
        left
    }

    /// Commits a batch, or each of its submissions alone where one of them spoils it for the others.
    async fn execute(&self, mut line: Line, batch: Vec<Submission>, waiting: usize) -> Line {
        let began = self.surroundings.clock.elapsed();
        let measured = |commands: usize| {
            let took = self.surroundings.clock.elapsed().saturating_sub(began);
            self.hints.measured(&Commit { commands, took, waiting });
        };
        let asked: Vec<&[Asked]> = batch.iter().map(|each| each.asked.as_slice()).collect();
        match self.commit(&mut line, &asked).await {
            Ok(committed) => {
                measured(batch.iter().map(|each| each.asked.len()).sum());
                self.answer(batch, committed);
            }
            // One of them is refused by the tables: the others must not suffer for it.
            Err(Fate::Refused(_)) if batch.len() > 1 => {
                for submission in batch {
                    match self.commit(&mut line, &[&submission.asked]).await {
                        Ok(committed) => {
                            measured(submission.asked.len());
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
            written.commands += batch.iter().map(|each| each.asked.len() as u64).sum::<u64>();
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
    async fn commit(&self, line: &mut Line, asked: &[&[Asked]]) -> Result<Committed, Fate> {
        let mut also = BTreeSet::new();
        let mut unknown = false;
        let mut races = 0;
        let mut waited = Millis::ZERO;
        loop {
            let failed = match self.attempt(line, asked, &also).await {
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
        asked: &[&[Asked]],
        also: &BTreeSet<PromiseId>,
    ) -> Result<Committed, NotCommitted> {
        let connection = match line {
            Some(open) => open,
            None => line.insert(self.connect().await?),
        };
        let batch = Batch::new(connection, &self.config, &self.time, &self.claims);
        let done = self.surroundings.within(LONGEST, batch.run(asked, also)).await;
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
