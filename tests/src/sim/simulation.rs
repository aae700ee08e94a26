//! One simulated world: set up, run, and observed until it is quiet.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use segno_core::{
    command::Command,
    config::Config,
    id::Digest,
    promise::{HaltReason, Promise, TaskState, TaskStatus},
    snapshot::Snapshot,
    time::{Millis, Timestamp},
};
use segno_engine::recovery::retention::{Retention, RetentionPeriod};
use segno_engine::worker::{WarmBudget, WorkerSettings};
use segno_env::{Clock, Runtime};
use segno_sim::{SimClock, SimRuntime, TaskPanics};
use segno_store::{NewModule, Store};
use tokio::sync::mpsc;

use super::{
    again::again,
    bus::{Bus, NetworkFaults},
    crowd,
    database::Database,
    effects::{self, Effects},
    event_log::EventLog,
    fault::Fault,
    host::{Control, Grace, Node, Parts},
    inject::inject,
    network::Network,
    outside::{MODULE, Outside},
    resonate::{Endpoints, Worker},
    run::{End, Report, config},
    running_hosts::RunningHosts,
    scenario::{CALM, Scenario},
    services::{Services, ToServices},
    verdict,
};
use crate::world::Ledger;

/// Time limit after the last fault, in milliseconds.
const QUIET_TIMEOUT: i64 = 60_000;
/// Maximum extension of that limit for hosts whose clocks are ahead, in milliseconds.
const AHEAD_TIMEOUT: i64 = 100_000;
/// Interval between two observations, in milliseconds.
const TICK: i64 = 100;
/// Retention in worlds with removal, in milliseconds. Longer than everything before the removal
/// takes, with clocks that are ahead.
const KEPT: i64 = 200_000;
/// Time limit for the removal, in milliseconds. A retention round begins a minute after the
/// previous one.
const REMOVAL: i64 = 200_000;

/// One simulated world.
pub(super) struct Simulation {
    network: Arc<Network>,
    nodes: Vec<Arc<Node>>,
    outside: Arc<Outside>,
    workers: Vec<Arc<Worker>>,
    effects: Arc<Effects>,
    services: Option<Arc<Services>>,
    config: Config,
    panics: TaskPanics,
    /// Sum of the jumps of the store's clock, in milliseconds.
    ahead: Arc<AtomicU64>,
}

impl Simulation {
    /// Sets up the world of a scenario.
    pub(super) async fn set_up(scenario: &Scenario, judged: bool) -> Self {
        let seed = scenario.seed;
        let clock = Arc::new(SimClock::default());
        let store_clock = Arc::new(SimClock::default());
        let log = Arc::new(EventLog::new(clock.clone()));
        let panics = TaskPanics::default();
        let runtime = Arc::new(SimRuntime::watched(0, panics.clone()));
        let network_faults = Arc::new(NetworkFaults::default());
        let config = config(scenario);
        let statements = scenario.statements.then_some(seed);
        let database = Database::new(config.clone(), store_clock, log.clone(), judged, statements);
        let database = Arc::new(database);
        let (sender, messages) = mpsc::unbounded_channel();
        let bus =
            Arc::new(Bus::new(seed, network_faults.clone(), log.clone(), runtime.clone(), sender));
        let commit_faults = scenario.faults.iter().filter_map(|(_, fault)| match fault {
            Fault::Commit { number, how } => Some((*number, *how)),
            _ => None,
        });
        // The last one planned for a commit counts.
        let commit_faults: BTreeMap<_, _> = commit_faults.collect();
        let commit_faults = commit_faults.into_iter().collect();
        let network = Arc::new(Network {
            database,
            bus,
            endpoints: Endpoints::default(),
            running_hosts: RunningHosts::default(),
            network_faults,
            log: log.clone(),
            runtime,
            commit_faults,
            seed,
        });
        deploy(&network).await;
        let services = Services::new(scenario, &log);
        if let Some(services) = &services {
            services.register(&network).await;
        }
        let effects = Arc::new(Effects::new(seed, log));
        let workers: Vec<_> = (0..scenario.workers)
            .map(|number| Worker::start(number, network.clone(), effects.clone(), panics.clone()))
            .collect();
        let outside = Outside::start(network.clone(), effects.clone(), workers.clone(), messages);
        let warm = if scenario.warm { 16 } else { 0 };
        let parts = Arc::new(Parts {
            network: network.clone(),
            config: config.clone(),
            worker: WorkerSettings {
                requests: None,
                activities: None,
                slots: 64,
                // Fewer than can be runnable at a time, so that some executions wait in the queue.
                processors: 1,
                scan_period: Millis(1_000),
                warm: WarmBudget { instances: warm, bytes: 1 << 30 },
                speculative_starts: super::dice::Dice::new(seed, "speculative starts").chance(850),
            },
            fronts: (scenario.workers > 0).then_some(Grace(scenario.grace.map(Millis))),
            retention: match scenario.anew {
                true => Retention::default().with_default(RetentionPeriod::For(Millis(KEPT))),
                false => Retention::default(),
            },
            guests: effects::functions(&effects),
            connector: services.clone().map(|services| Arc::new(ToServices(services)) as _),
            outbound: Arc::new(Ledger::default()),
            clock,
            lives: AtomicU64::new(0),
            panics: panics.clone(),
        });
        let nodes = (0..scenario.hosts)
            .map(|number| Node::start(&format!("h{number}"), parts.clone()))
            .collect();
        let ahead = Arc::default();
        Self { network, nodes, outside, workers, effects, services, config, panics, ahead }
    }

    /// Runs the scenario to its end.
    ///
    /// If everything is started again, `End::anew` has the result.
    pub(super) async fn run(self, scenario: &Scenario) -> (Report, End) {
        for (at, op) in &scenario.ops {
            self.outside.plan(*at, op.clone());
        }
        for (at, fault) in &scenario.faults {
            self.plan(*at, fault.clone());
        }
        let mut end = self.until_quiet(0, scenario.faults.is_empty()).await;
        let mut wrong = verdict::end(&end);
        wrong.extend(self.services.iter().flat_map(|services| services.end(&end.rows)));
        wrong.into_iter().for_each(|wrong| self.network.log.finding(wrong));
        if !self.network.log.has_findings() {
            self.everything_again().await;
        }
        if scenario.anew && !self.network.log.has_findings() {
            end.anew = Some(Box::new(self.everything_anew(&scenario.needed()).await));
        }
        let lasted = self.network.log.at();
        for node in &self.nodes {
            node.control(Control::End);
        }
        self.sleep(1).await;
        self.network.runtime.crash();
        for panic in self.panics.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.network.log.finding(panic);
        }
        let (findings, log, counts) = self.network.log.close();
        let commits = self.network.commit_faults.commits();
        let longest_overdue =
            self.network.database.judge().map_or(0, |judge| judge.longest_overdue);
        let unheard =
            self.network.database.judge().map_or(Vec::new(), |judge| judge.unheard.clone());
        let runs: u64 = end.effects.values().map(|runs| u64::from(*runs)).sum();
        let runs = (runs, runs - end.effects.len() as u64);
        (Report { findings, log, counts, commits, lasted, longest_overdue, unheard, runs }, end)
    }

    /// Waits until everything that has ended is removed, and starts it again under the same ids.
    async fn everything_anew(&self, scenario: &Scenario) -> End {
        let log = &self.network.log;
        log.note("all is over; it is removed when it is old enough");
        let latest = log.at() + KEPT + REMOVAL;
        loop {
            self.sleep(10 * TICK).await;
            let left = self.network.database.dump().await.promises;
            if left.is_empty() {
                break;
            }
            if log.at() > latest {
                log.finding(format_args!("retention: still there: {:?}", left.keys()));
                break;
            }
        }
        self.services.iter().for_each(|services| services.begin_anew());
        let begun = log.at();
        for (at, op) in &scenario.ops {
            self.outside.plan(begun + at, op.clone());
        }
        self.until_quiet(begun, true).await
    }

    /// Observes the world until all operations planned from `begun` on are complete, or the time
    /// limit passes.
    async fn until_quiet(&self, begun: i64, calm: bool) -> End {
        let log = &self.network.log;
        let mut calm_since = begun;
        let mut healed = calm;
        let bound = self.config.scan_period.0 + 2 * TICK;
        loop {
            self.sleep(TICK).await;
            let at = log.at();
            if !healed && at >= CALM {
                self.heal();
                healed = true;
            }
            let rows = self.network.database.dump().await;
            let ahead = i64::try_from(self.ahead.load(Ordering::Relaxed)).unwrap_or(0);
            let well = self.network.network_faults.is_clear()
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
            looked.into_iter().flatten().for_each(|wrong| log.finding(wrong));
            let open = unfinished(&rows);
            let done = healed && self.outside.is_idle() && open.is_empty();
            // A request to halt may have been duplicated, and may have arrived after the one to
            // continue.
            if !done && healed && at > begun + CALM + 4_000 {
                self.resume_halted(&rows).await;
            }
            let late = at > begun + CALM + QUIET_TIMEOUT + self.late_sleeps(&rows);
            if late && !done {
                log.finding(format_args!("liveness: still open long after the faults: {open:?}"));
            }
            if done || late || log.has_findings() {
                let (effects, heard) = (self.effects.all(), self.outside.heard().clone());
                let told = self.outside.resonate.told().clone();
                return End { rows, effects, heard, told, anew: None };
            }
        }
    }

    /// Additional time for clocks that are ahead, in milliseconds. A sleep recorded by such a host
    /// ends that much later, and behind a limit the sleeps run one after another.
    fn late_sleeps(&self, rows: &Snapshot) -> i64 {
        let offsets = self.nodes.iter().map(|node| node.offset.load(Ordering::Relaxed));
        let executions = i64::try_from(rows.tasks.len()).unwrap_or(i64::MAX);
        offsets.max().unwrap_or(0).max(0).saturating_mul(executions).min(AHEAD_TIMEOUT)
    }

    async fn resume_halted(&self, rows: &Snapshot) {
        for (id, task) in &rows.tasks {
            match task.state {
                TaskState::Halted { reason: HaltReason::Requested } => {
                    self.outside.resume(id.clone()).await;
                }
                TaskState::Halted { reason } => self
                    .network
                    .log
                    .finding(format_args!("`{id}` was halted as {reason:?}: {:?}", task.note)),
                _ => {}
            }
        }
    }

    /// Ends all faults, and repairs their effects.
    fn heal(&self) {
        self.network.log.note("the faults stop");
        self.network.network_faults.clear();
        self.network.commit_faults.clear();
        self.effects.calm();
        self.services.iter().for_each(|services| services.heal());
        for node in &self.nodes {
            node.conditions.cut.store(false, Ordering::Relaxed);
            node.conditions.heartless.store(false, Ordering::Relaxed);
            node.conditions.thaw();
        }
        self.workers.iter().for_each(|worker| worker.heal());
    }

    fn plan(&self, at: i64, fault: Fault) {
        let (network, effects, ahead) =
            (self.network.clone(), self.effects.clone(), self.ahead.clone());
        let (nodes, workers) = (self.nodes.clone(), self.workers.clone());
        let services = self.services.clone();
        let runtime = network.runtime.clone();
        runtime.clone().spawn(
            "fault",
            Box::pin(async move {
                runtime.sleep(Millis(at)).await;
                inject(&network, &nodes, &workers, &effects, services.as_deref(), &ahead, fault)
                    .await;
            }),
        );
    }

    /// Repeats everything that any client ever sent, and checks that nothing changes.
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
    let component: Arc<[u8]> = Arc::from(MODULE);
    let module = Digest::of(&component);
    let memory = &network.database.memory;
    memory
        .modules()
        .put(NewModule {
            facts: crowd::facts(),
            ..NewModule::plain(module, component, Timestamp(0))
        })
        .await
        .expect("memory takes everything");
    let deploy = Command::Deploy { alias: "m".into(), module };
    network.database.execute("operator", &[deploy]).await;
}

/// Unfinished work: promises, tasks and messages.
fn unfinished(rows: &Snapshot) -> Vec<String> {
    let promises = rows.promises.values().filter(|promise| promise.is_pending());
    let tasks = rows.tasks.values().filter(|task| task.status() != TaskStatus::Fulfilled);
    let open = promises.map(Promise::id).map(|id| format!("promise {id}"));
    let open = open.chain(tasks.map(|task| format!("task {} is {}", task.id, task.status())));
    open.chain(rows.outbox.keys().map(|key| format!("{key:?} is owed"))).collect()
}
