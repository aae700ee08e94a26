//! One scenario from beginning to end.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64, atomic::Ordering},
};

use segno::{
    runtime::{Clock, Runtime},
    store::Store,
    worker::{WarmBudget, WorkerSettings},
};
use segno_core::{
    command::Command,
    config::Config,
    id::{Digest, PromiseId},
    promise::{HaltReason, Promise, TaskState, TaskStatus},
    snapshot::Snapshot,
    time::{Millis, Timestamp},
};
use tokio::sync::mpsc;

use super::{
    book::Book,
    bus::{Bus, Weather},
    database::Database,
    effects::{self, Effects},
    fault::Fault,
    host::{Control, Node, Parts},
    judge,
    link::Network,
    outside::{Heard, Outside},
    scenario::{CALM, Scenario},
    verdict,
};
use crate::world::{Ledger, SimClock, SimRuntime};

/// How long after the faults everything may take.
const PATIENCE: i64 = 60_000;
/// How often the world is looked at.
const TICK: i64 = 100;

/// What became of a run.
pub struct Report {
    /// All that was wrong; empty: it passed.
    pub wrong: Vec<String>,
    /// What happened, line by line.
    pub log: String,
    /// How often each kind of fault happened.
    pub struck: BTreeMap<&'static str, u64>,
    /// Commits of hosts.
    pub commits: u64,
    /// How long it took, in virtual milliseconds.
    pub lasted: i64,
    /// The longest that a lost claim stayed lost while a host was well.
    pub longest_overdue: i64,
}

/// What is left at the end of a run.
pub struct End {
    /// All rows.
    pub rows: Snapshot,
    /// What steps did outside.
    pub effects: BTreeMap<String, u32>,
    /// What clients know.
    pub heard: Heard,
}

/// Runs a scenario, judges every step, and compares its end with that of a run without faults.
pub fn run(scenario: &Scenario) -> Report {
    let (mut report, end) = world(scenario, true);
    if !report.wrong.is_empty() {
        return report;
    }
    let (reference, expected) = world(&scenario.without_faults(), false);
    report.wrong.extend(reference.wrong.iter().map(|wrong| format!("without faults: {wrong}")));
    if report.wrong.is_empty() {
        report.wrong.extend(verdict::refines(scenario, &end, &expected));
    }
    report
}

/// The settings of every simulated engine: short, so that much happens in little time.
fn config(scenario: &Scenario) -> Config {
    Config {
        retry_interval: Millis(1_000),
        ttl: (Millis(3_000), Millis(3_000), Millis(3_000)),
        stall_limit: Some(Millis(4_000)),
        backoff: (Millis(50), 2, Millis(1_000)),
        lost_limit: 1_000,
        version_rule: scenario.rule,
        ..Config::default()
    }
}

fn world(scenario: &Scenario, judged: bool) -> (Report, End) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built");
    runtime.block_on(async { Stage::set(scenario, judged).await.play(scenario).await })
}

/// Everything of one world.
struct Stage {
    network: Arc<Network>,
    nodes: Vec<Arc<Node>>,
    outside: Arc<Outside>,
    effects: Arc<Effects>,
    config: Config,
    panics: Arc<Mutex<Vec<String>>>,
    /// How far the store's clock has jumped.
    ahead: Arc<AtomicU64>,
}

impl Stage {
    async fn set(scenario: &Scenario, judged: bool) -> Self {
        let seed = scenario.seed;
        let clock = Arc::new(SimClock::default());
        let store_clock = Arc::new(SimClock::default());
        let book = Arc::new(Book::new(clock.clone()));
        let panics = Arc::new(Mutex::new(Vec::new()));
        let runtime = Arc::new(SimRuntime::watched(0, panics.clone()));
        let weather = Arc::new(Weather::default());
        let config = config(scenario);
        let database = Arc::new(Database::new(config.clone(), store_clock, book.clone(), judged));
        let (sender, messages) = mpsc::unbounded_channel();
        let bus = Arc::new(Bus::new(seed, weather.clone(), book.clone(), runtime.clone(), sender));
        let strikes = scenario.faults.iter().filter_map(|(_, fault)| match fault {
            Fault::Commit { number, how } => Some((*number, *how)),
            _ => None,
        });
        let strikes = Mutex::new(strikes.collect());
        let network = Arc::new(Network {
            database,
            bus,
            weather,
            book: book.clone(),
            runtime,
            strikes,
            seed,
        });
        deploy(&network).await;
        let effects = Arc::new(Effects::new(seed, book));
        let outside = Outside::start(network.clone(), effects.clone(), messages);
        let warm = if scenario.warm { 16 } else { 0 };
        let parts = Arc::new(Parts {
            network: network.clone(),
            config: config.clone(),
            worker: WorkerSettings {
                room: 64,
                scan_period: Millis(1_000),
                warm: WarmBudget { instances: warm, bytes: 1 << 30 },
            },
            guests: effects::functions(&effects),
            outbound: Arc::new(Ledger::default()),
            clock,
            lives: AtomicU64::new(0),
            panics: panics.clone(),
        });
        let nodes = (0..scenario.hosts)
            .map(|number| Node::start(&format!("h{number}"), parts.clone()))
            .collect();
        Self { network, nodes, outside, effects, config, panics, ahead: Arc::default() }
    }

    async fn play(self, scenario: &Scenario) -> (Report, End) {
        for (at, op) in &scenario.ops {
            self.outside.plan(*at, op.clone());
        }
        for (at, fault) in &scenario.faults {
            self.plan(*at, fault.clone());
        }
        let end = self.until_quiet(scenario.faults.is_empty()).await;
        let wrong = verdict::end(&end);
        wrong.into_iter().for_each(|wrong| self.network.book.wrong(wrong));
        if !self.network.book.is_wrong() {
            self.everything_again().await;
        }
        let lasted = self.network.book.at();
        for node in &self.nodes {
            node.control(Control::End);
        }
        self.sleep(1).await;
        self.network.runtime.crash();
        for panic in self.panics.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.network.book.wrong(panic);
        }
        let (wrong, log, struck) = self.network.book.close();
        let commits = self.network.database.commits();
        let longest_overdue =
            self.network.database.judge().map_or(0, |judge| judge.longest_overdue);
        (Report { wrong, log, struck, commits, lasted, longest_overdue }, end)
    }

    /// Looks on until everything is done that can be.
    async fn until_quiet(&self, calm: bool) -> End {
        let book = &self.network.book;
        let mut calm_since = 0;
        let mut healed = calm;
        let bound = self.config.scan_period.0 + 2 * TICK;
        loop {
            self.sleep(TICK).await;
            let at = book.at();
            if !healed && at >= CALM {
                self.heal();
                healed = true;
            }
            let rows = self.network.database.dump().await;
            let ahead = i64::try_from(self.ahead.load(Ordering::Relaxed)).unwrap_or(0);
            let well = self.network.weather.is_clear()
                && self.nodes.iter().any(|node| node.is_well(ahead));
            if !well {
                calm_since = at;
            }
            let now = self.network.database.clock.now();
            let looked = self
                .network
                .database
                .judge()
                .map(|mut judge| judge.look(&rows, now, at, calm_since, bound));
            looked.into_iter().flatten().for_each(|wrong| book.wrong(wrong));
            let open = unfinished(&rows);
            let done = healed && self.outside.is_idle() && open.is_empty();
            // A request to halt may have come twice, and after the one to continue.
            if !done && healed && at > CALM + 4_000 {
                self.resume_halted(&rows).await;
            }
            let late = at > CALM + PATIENCE;
            if late && !done {
                book.wrong(format_args!("liveness: still open long after the faults: {open:?}"));
            }
            if done || late || book.is_wrong() {
                let (effects, heard) = (self.effects.all(), self.outside.heard().clone());
                return End { rows, effects, heard };
            }
        }
    }

    async fn resume_halted(&self, rows: &Snapshot) {
        for (id, task) in &rows.tasks {
            match task.state {
                TaskState::Halted { reason: HaltReason::Requested } => {
                    self.outside.resume(id.clone()).await;
                }
                TaskState::Halted { reason } => self
                    .network
                    .book
                    .wrong(format_args!("`{id}` was halted as {reason:?}: {:?}", task.note)),
                _ => {}
            }
        }
    }

    /// No fault from now on; what was broken is whole.
    fn heal(&self) {
        self.network.book.note("the faults stop");
        self.network.weather.clear();
        self.network.strikes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.effects.calm();
        for node in &self.nodes {
            node.conditions.cut.store(false, Ordering::Relaxed);
            node.conditions.heartless.store(false, Ordering::Relaxed);
            node.conditions.thaw();
        }
    }

    fn plan(&self, at: i64, fault: Fault) {
        let (network, effects, ahead) =
            (self.network.clone(), self.effects.clone(), self.ahead.clone());
        let nodes = self.nodes.clone();
        let runtime = network.runtime.clone();
        runtime.clone().spawn(
            "fault",
            Box::pin(async move {
                runtime.sleep(Millis(at)).await;
                strike(&network, &nodes, &effects, &ahead, fault).await;
            }),
        );
    }

    /// Asks again for everything that anybody ever asked for: nothing may change.
    async fn everything_again(&self) {
        let mut all = Vec::new();
        for node in &self.nodes {
            let asked = node.conditions.asked.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(asked.iter().cloned());
        }
        all.retain(|command| !matches!(command, Command::HostStart { .. }));
        again(&self.network, &all, "at the end").await;
    }

    async fn sleep(&self, length: i64) {
        self.network.runtime.sleep(Millis(length)).await;
    }
}

async fn deploy(network: &Network) {
    let component: Arc<[u8]> = Arc::from(&b"a script"[..]);
    let module = Digest::of(&component);
    let memory = &network.database.memory;
    memory
        .put_component(module, component, String::new(), Timestamp(0))
        .await
        .expect("memory takes everything");
    let deploy = Command::Deploy { alias: "m".into(), module };
    network.database.execute("operator", &[deploy]).await;
}

/// What is not over: promises, tasks, messages.
fn unfinished(rows: &Snapshot) -> Vec<String> {
    let promises = rows.promises.values().filter(|promise| promise.is_pending());
    let tasks = rows.tasks.values().filter(|task| task.status() != TaskStatus::Fulfilled);
    let open = promises.map(Promise::id).map(|id| format!("promise {id}"));
    let open = open.chain(tasks.map(|task| format!("task {} is {}", task.id, task.status())));
    open.chain(rows.outbox.keys().map(|key| format!("{key:?} is owed"))).collect()
}

async fn strike(
    network: &Arc<Network>,
    nodes: &[Arc<Node>],
    effects: &Effects,
    ahead: &AtomicU64,
    fault: Fault,
) {
    let sleep = |length: i64| network.runtime.sleep(Millis(length));
    match &fault {
        // These tell when they really happen.
        Fault::Commit { .. } | Fault::Noise { .. } | Fault::Stall => {}
        _ => network.book.strikes(&fault),
    }
    let offset = |host: usize, by: i64| {
        nodes[host].offset.fetch_add(by, Ordering::Relaxed);
    };
    match fault {
        Fault::Commit { .. } => {}
        Fault::Crash { host, down } => nodes[host].control(Control::Crash { down }),
        Fault::Stop { host, down } => nodes[host].control(Control::Stop { down }),
        Fault::Partition { host, lasts } => {
            nodes[host].conditions.cut.store(true, Ordering::Relaxed);
            sleep(lasts).await;
            nodes[host].conditions.cut.store(false, Ordering::Relaxed);
        }
        Fault::HeartbeatLoss { host, lasts } => {
            nodes[host].conditions.heartless.store(true, Ordering::Relaxed);
            sleep(lasts).await;
            nodes[host].conditions.heartless.store(false, Ordering::Relaxed);
        }
        Fault::Freeze { host, lasts } => {
            nodes[host].conditions.frozen.store(true, Ordering::Relaxed);
            sleep(lasts).await;
            nodes[host].conditions.thaw();
            sleep(1_500).await;
            zombie(network, &nodes[host]).await;
        }
        Fault::SecondLife { host, lasts } => {
            let older = nodes[host].second();
            sleep(lasts).await;
            // A life that has ended meanwhile needs no end.
            let _ = older.send(Control::End);
        }
        Fault::Skew { host, by } | Fault::Jump { host, by } => offset(host, by),
        Fault::StoreJump { by } => {
            network.database.clock.jump(Millis(by));
            ahead.fetch_add(u64::try_from(by).unwrap_or(0), Ordering::Relaxed);
        }
        Fault::Stall => effects.plan_stall(),
        Fault::Noise { what, level } => network.weather.set(what, level),
    }
}

/// A host that was away for too long asks again for everything it asked for under claims that are over.
async fn zombie(network: &Arc<Network>, node: &Node) {
    let asked = node.conditions.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let stale: Vec<Command> = {
        let Some(judge) = network.database.judge() else { return };
        asked
            .into_iter()
            .filter_map(|command| match command {
                Command::TaskHeartbeat { holder, mut items } => {
                    items.retain(|item| judge.is_over(&item.claim));
                    (!items.is_empty()).then_some(Command::TaskHeartbeat { holder, items })
                }
                Command::TaskAcquire { ref claim, .. } => {
                    let taken =
                        segno_core::id::Claim { version: claim.version.next(), ..claim.clone() };
                    judge.was_granted(&taken).then_some(command)
                }
                command => {
                    let over = judge::guard(&command).is_some_and(|claim| judge.is_over(claim));
                    over.then_some(command)
                }
            })
            .collect()
    };
    if !stale.is_empty() {
        network.book.struck("operations replayed by a zombie");
    }
    again(network, &stale, "by a zombie").await;
}

/// Asks for these once more: nothing may change.
async fn again(network: &Network, commands: &[Command], when: &str) {
    // A deadline that has come is carried out by whoever looks first; that is nobody's doing here.
    let rows = network.database.dump().await;
    let now = network.database.clock.now();
    let overdue: Vec<PromiseId> = rows
        .promises
        .values()
        .filter(|promise| promise.is_overdue(now))
        .map(|promise| promise.id().clone())
        .collect();
    for id in overdue {
        let (_, effects) =
            network.database.execute("operator", &[Command::PromiseDue { id }]).await;
        network.bus.committed(None, &effects);
    }
    let mut before = network.database.dump().await;
    for command in commands {
        let asked = network.database.memory.execute(vec![command.clone()]).await;
        let replies = asked.expect("memory does not fail");
        network.database.forget_effects();
        let after = network.database.dump().await;
        if after != before {
            network.book.wrong(format_args!(
                "asked again {when}, {command:?} changed something: {replies:?}"
            ));
            before = after;
        }
    }
}
