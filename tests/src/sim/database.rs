//! The one store that all hosts share, with a judge that judges every command as a separate step.
//! The store decides atomically, or as PostgreSQL does, by statements that see the rows committed
//! at their start (`statements`).

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use segno_core::{
    command::Command,
    config::Config,
    effect::Effect,
    reply::{Refusal, Reply},
    snapshot::Snapshot,
    time::Millis,
    view::View,
};
use segno_env::{Clock, Env, Runtime as _};
use segno_sim::{SimClock, SimRuntime};
use segno_store::{Hints, MemoryStore, Store};

use super::{
    dice::Dice, event_log::EventLog, judge::Judge, locks::Locks, metrics::Step, statements::Decided,
};

/// Maximum duration of a statement, in milliseconds.
const STATEMENT: i64 = 2;

/// The simulated database.
pub(super) struct Database {
    pub memory: Arc<MemoryStore>,
    /// Clock of the store.
    pub clock: Arc<SimClock>,
    /// Judge of all steps. `None` in a run that is only compared with others.
    judge: Option<Mutex<Judge>>,
    sink: Arc<Sink>,
    pub(super) log: Arc<EventLog>,
    pub(super) config: Config,
    pub(super) runtime: Arc<SimRuntime>,
    pub(super) locks: Locks,
    transactions: AtomicU64,
    /// Random durations of statements. `None` if the store decides atomically.
    dice: Option<Mutex<Dice>>,
}

#[derive(Default)]
struct Sink(Mutex<Vec<Effect>>);

impl Hints for Sink {
    fn committed(&self, effects: &[Effect], _state: &View) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(effects);
    }
}

impl Sink {
    fn take(&self) -> Vec<Effect> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Database {
    /// Creates an empty store. With a seed in `statements` it decides by statements.
    pub(super) fn new(
        config: Config,
        clock: Arc<SimClock>,
        log: Arc<EventLog>,
        judged: bool,
        statements: Option<u64>,
    ) -> Self {
        let sink = Arc::new(Sink::default());
        let runtime = Arc::new(SimRuntime::default());
        let env = Env { clock: clock.clone(), runtime: runtime.clone() };
        let memory = MemoryStore::new(config.clone(), env, sink.clone());
        let judge = judged.then(|| Mutex::new(Judge::new(config.clone())));
        Self {
            memory,
            clock,
            judge,
            sink,
            log,
            config,
            runtime,
            locks: Locks::default(),
            transactions: AtomicU64::new(0),
            dice: statements.map(|seed| Mutex::new(Dice::new(seed, "statements"))),
        }
    }

    /// Commits these commands together, without another commit in between. Returns the replies and
    /// the effects.
    pub(super) async fn execute(
        &self,
        who: &str,
        commands: &[Command],
    ) -> (Vec<Reply>, Vec<Effect>) {
        if self.dice.is_some() {
            return self.transact(commands, |decided| self.write(who, commands, decided)).await;
        }
        let (mut replies, mut effects) = (Vec::new(), Vec::new());
        for command in commands {
            let before = if self.judge.is_some() { Some(self.dump().await) } else { None };
            let answered = self.memory.execute(vec![command.clone()]).await;
            let mut answered = answered.expect("memory does not fail");
            let reply = answered.pop().expect("one reply for one command");
            let of_this = self.sink.take();
            if let Some(before) = before {
                let after = self.dump().await;
                let now = self.clock.now();
                let step = Step { before: &before, command, reply: &reply, after: &after, now };
                self.look_on(who, &step, &of_this);
            }
            effects.extend(of_this);
            replies.push(reply);
        }
        (replies, effects)
    }

    /// Writes the decisions of a transaction atomically.
    fn write(
        &self,
        who: &str,
        commands: &[Command],
        decided: Vec<Decided>,
    ) -> (Vec<Reply>, Vec<Effect>) {
        let (mut replies, mut effects) = (Vec::new(), Vec::new());
        for (command, Decided { decision, now }) in commands.iter().zip(decided) {
            let rows = || Snapshot::of(&self.memory.rows());
            let before = self.judge.as_ref().map(|_| rows());
            self.memory.write(&decision.delta, decision.effects);
            let of_this = self.sink.take();
            let reply = decision.reply;
            if let Some(before) = before {
                let step = Step { before: &before, command, reply: &reply, after: &rows(), now };
                self.look_on(who, &step, &of_this);
            }
            effects.extend(of_this);
            replies.push(reply);
        }
        (replies, effects)
    }

    fn look_on(&self, who: &str, step: &Step<'_>, effects: &[Effect]) {
        self.log.note(line(who, step));
        for wrong in self.judge().into_iter().flat_map(|mut judge| judge.step(step, effects)) {
            self.log.finding(format_args!("{wrong} (asked by {who}: {:?})", step.command));
        }
    }

    /// Takes the number of the next transaction.
    pub(super) fn next_transaction(&self) -> u64 {
        self.transactions.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the duration of a statement.
    pub(super) async fn pause(&self) {
        self.runtime.sleep(Millis(self.draw(0, STATEMENT))).await;
    }

    /// A random duration, in milliseconds. `from` if the store decides atomically.
    pub(super) fn draw(&self, from: i64, to: i64) -> i64 {
        let dice =
            self.dice.as_ref().map(|dice| dice.lock().unwrap_or_else(PoisonError::into_inner));
        dice.map_or(from, |mut dice| dice.between(from, to))
    }

    /// Drops pending hints.
    pub(super) fn forget_effects(&self) {
        self.sink.take();
    }

    pub(super) async fn dump(&self) -> Snapshot {
        self.memory.read().dump().await.expect("memory answers")
    }

    /// The judge. `None` if the run is not judged.
    pub(super) fn judge(&self) -> Option<MutexGuard<'_, Judge>> {
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

/// Description of a command's object, for readers of the log.
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
        | Command::Signal { invocation, .. }
        | Command::Update { invocation, .. } => invocation.to_string(),
        Command::PromiseGet { id }
        | Command::TaskGet { id }
        | Command::PromiseSettle { id, .. }
        | Command::RegisterListener { awaited: id, .. }
        | Command::TaskHalt { id }
        | Command::TaskContinue { id }
        | Command::TaskMigrate { id, .. }
        | Command::JournalRemove { id }
        | Command::PromiseDue { id }
        | Command::LeaseDue { id }
        | Command::RetryDue { id }
        | Command::HostRelease { id, .. }
        | Command::Reconcile { id } => id.to_string(),
        Command::InvocationFork(fork) => format!("{} <- {}", fork.new.id, fork.of),
        _ => String::new(),
    }
}
