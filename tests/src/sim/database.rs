//! The one store that all hosts share, with the judge beside it: every command is judged as a step of its own.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use segno::{
    runtime::{Clock, Surroundings},
    store::{Hints, MemoryStore, Store},
};
use segno_core::{
    command::Command,
    config::Config,
    effect::Effect,
    reply::{Refusal, Reply},
    snapshot::Snapshot,
};

use super::{book::Book, judge::Judge, metrics::Step};
use crate::world::{SimClock, SimRuntime};

/// See the module.
pub struct Database {
    /// The rows.
    pub memory: Arc<MemoryStore>,
    /// Its own clock.
    pub clock: Arc<SimClock>,
    /// Who looks on; none in a run that others are compared with.
    judge: Option<Mutex<Judge>>,
    sink: Arc<Sink>,
    book: Arc<Book>,
    commits: AtomicU64,
}

#[derive(Default)]
struct Sink(Mutex<Vec<Effect>>);

impl Hints for Sink {
    fn committed(&self, effects: &[Effect]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(effects);
    }
}

impl Sink {
    fn take(&self) -> Vec<Effect> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Database {
    /// An empty store.
    pub fn new(config: Config, clock: Arc<SimClock>, book: Arc<Book>, judged: bool) -> Self {
        let sink = Arc::new(Sink::default());
        let runtime = Arc::new(SimRuntime::default());
        let surroundings = Surroundings { clock: clock.clone(), runtime };
        let memory = MemoryStore::new(config.clone(), surroundings, sink.clone());
        let judge = judged.then(|| Mutex::new(Judge::new(config)));
        Self { memory, clock, judge, sink, book, commits: AtomicU64::new(0) }
    }

    /// The number of the next commit.
    pub fn next_commit(&self) -> u64 {
        self.commits.fetch_add(1, Ordering::Relaxed)
    }

    /// Commits so far.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Commits these together: nothing comes between them. Answers the replies and the hints.
    pub async fn execute(&self, who: &str, commands: &[Command]) -> (Vec<Reply>, Vec<Effect>) {
        let (mut replies, mut effects) = (Vec::new(), Vec::new());
        for command in commands {
            let before = if self.judge.is_some() { Some(self.dump().await) } else { None };
            let answered = self.memory.execute(vec![command.clone()]).await;
            let mut answered = answered.expect("memory does not fail");
            let reply = answered.pop().expect("one reply for one command");
            let of_this = self.sink.take();
            if let Some(before) = before {
                let after = self.dump().await;
                let step = Step {
                    before: &before,
                    command,
                    reply: &reply,
                    after: &after,
                    now: self.clock.now(),
                };
                self.book.note(line(who, &step));
                for wrong in
                    self.judge().into_iter().flat_map(|mut judge| judge.step(&step, &of_this))
                {
                    self.book.wrong(format_args!("{wrong} (asked by {who}: {command:?})"));
                }
            }
            effects.extend(of_this);
            replies.push(reply);
        }
        (replies, effects)
    }

    /// Drops what was only a hint.
    pub fn forget_effects(&self) {
        self.sink.take();
    }

    /// All rows.
    pub async fn dump(&self) -> Snapshot {
        self.memory.dump().await.expect("memory answers")
    }

    /// Who looks on.
    pub fn judge(&self) -> Option<MutexGuard<'_, Judge>> {
        Some(self.judge.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn line(who: &str, step: &Step<'_>) -> String {
    let reply = match step.reply {
        Reply::Refused(refusal) => refused(refusal),
        Reply::Promise { changed: false, .. } => "as it was",
        Reply::Suspended => "suspended",
        Reply::Ready { .. } => "ready",
        Reply::Message(None) => "nothing",
        _ => "done",
    };
    let changed = if step.before == step.after { "" } else { " *" };
    format!("{who:<8} {} {} -> {reply}{changed}", step.command.name(), subject(step.command))
}

fn refused(refusal: &Refusal) -> &'static str {
    refusal.kind()
}

/// Whom a command is about, as far as a reader wants to know.
fn subject(command: &Command) -> String {
    match command {
        Command::TaskFence { claim, records, actions, .. } => {
            format!(
                "{}@{} +{} records, {} acts",
                claim.id,
                claim.version.0,
                records.len(),
                actions.len()
            )
        }
        Command::TaskAcquire { claim, .. } | Command::TaskRelease { claim, .. } => {
            format!("{}@{}", claim.id, claim.version.0)
        }
        Command::TaskSuspend { claim, records, .. }
        | Command::TaskFulfill { claim, records, .. } => {
            format!("{}@{} +{} records", claim.id, claim.version.0, records.len())
        }
        Command::TaskHeartbeat { holder, items } => {
            format!("{}.{} {} claims", holder.node, holder.incarnation, items.len())
        }
        Command::PromiseCreate(new)
        | Command::TaskCreate { new, .. }
        | Command::TaskBegin { new, .. } => new.id.to_string(),
        Command::WorkerHeartbeat { holder } | Command::WorkerGone { holder, .. } => {
            holder.node.to_string()
        }
        Command::HostStart { node } => node.to_string(),
        Command::OutboxDue { key }
        | Command::OutboxAck { key }
        | Command::OutboxDefer { key, .. } => format!("{key:?}"),
        Command::RegisterCallback { awaited, awaiter } => format!("{awaited} <- {awaiter}"),
        Command::Cancel { invocation }
        | Command::Kill { invocation }
        | Command::Signal { invocation, .. } => invocation.to_string(),
        Command::PromiseGet { id }
        | Command::TaskGet { id }
        | Command::PromiseSettle { id, .. }
        | Command::RegisterListener { awaited: id, .. }
        | Command::TaskHalt { id }
        | Command::TaskContinue { id }
        | Command::PromiseDue { id }
        | Command::LeaseDue { id }
        | Command::RetryDue { id }
        | Command::HostRelease { id, .. }
        | Command::Reconcile { id } => id.to_string(),
        _ => String::new(),
    }
}
