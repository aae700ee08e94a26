//! The script of a run: operations of clients and faults, decided by a seed. A script can be
//! printed and shortened.

use std::fmt;

use segno_core::{
    config::VersionRule,
    limit::{AdmissionRule, LimitName},
    promise::Overlap,
};
use segno_sim::CommitFault;

use super::{
    crowd,
    dice::Dice,
    fault::{Absence, Fault, FrameFault, MessageFault},
    resonate::{self, Errand},
    services::{self, DEPLOYMENTS, Mode},
    tally,
};

/// Instant at which the faults stop, in milliseconds.
pub(super) const CALM: i64 = 10_000;

/// One operation of a client, which repeats it until it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Starts a function.
    Start {
        /// Id of the invocation.
        id: String,
        /// Name of the function.
        function: &'static str,
        /// Input of the function.
        input: u64,
    },
    /// Registers for the outcome.
    Listen {
        /// Id of the invocation.
        id: String,
    },
    /// Resolves a named promise of a workflow.
    Resolve {
        /// Id of the invocation.
        id: String,
        /// Name of the promise.
        name: &'static str,
    },
    /// Sends a signal.
    Signal {
        /// Id of the invocation.
        id: String,
        /// Number of the signal.
        number: u64,
    },
    /// Cancels an invocation.
    Cancel {
        /// Id of the invocation.
        id: String,
    },
    /// Kills an invocation.
    Kill {
        /// Id of the invocation.
        id: String,
    },
    /// Halts an invocation, and continues it later.
    Pause {
        /// Id of the invocation.
        id: String,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// Creates a schedule, and deletes it later.
    Timetable {
        /// Id of the schedule.
        id: String,
        /// Rule for an occurrence that falls due while the previous one is running.
        overlap: Overlap,
        /// Lifetime of the schedule, in milliseconds.
        lasts: i64,
    },
    /// Leases a contended resource, and writes it.
    Hold {
        /// Name of the resource.
        resource: &'static str,
        /// Number of the client.
        client: u64,
    },
    /// Starts a saga of an external worker, whose last step fails.
    Trip {
        /// Id of the invocation.
        id: String,
    },
    /// Sets a limit.
    Limit {
        /// Name of the limit.
        name: LimitName,
        /// New rule. `None`: the module's rule applies.
        rule: Option<AdmissionRule>,
    },
    /// Begins an invocation of a service.
    Services {
        /// Id of the invocation.
        id: String,
        errand: services::Errand,
    },
    /// An operation of a client of the Resonate protocol.
    Resonate {
        /// Id of the invocation.
        id: String,
        errand: Errand,
    },
}

impl Op {
    /// Id of the invocation that the operation concerns.
    pub fn id(&self) -> &str {
        match self {
            Self::Start { id, .. }
            | Self::Listen { id }
            | Self::Resolve { id, .. }
            | Self::Signal { id, .. }
            | Self::Cancel { id }
            | Self::Kill { id }
            | Self::Pause { id, .. }
            | Self::Timetable { id, .. }
            | Self::Trip { id }
            | Self::Services { id, .. }
            | Self::Resonate { id, .. } => id,
            Self::Hold { resource, .. } => resource,
            Self::Limit { name, .. } => name.as_str(),
        }
    }

    /// True if the operation may change an outcome.
    pub fn interferes(&self) -> bool {
        matches!(
            self,
            Self::Cancel { .. }
                | Self::Kill { .. }
                | Self::Resonate { errand: Errand::Withdraw, .. }
        )
    }

    /// True if the operation only delays an invocation.
    fn pauses(&self) -> bool {
        matches!(self, Self::Pause { .. } | Self::Resonate { errand: Errand::Hold { .. }, .. })
    }

    /// True if the operation begins an invocation.
    pub fn starts(&self) -> bool {
        match self {
            Self::Start { .. } => true,
            Self::Services { errand, .. } => errand.starts(),
            Self::Resonate { errand, .. } => errand.starts(),
            _ => false,
        }
    }

    /// True if workflows cannot end without the operation.
    pub fn is_needed(&self) -> bool {
        matches!(
            self,
            Self::Start { .. }
                | Self::Resolve { .. }
                | Self::Signal { .. }
                | Self::Services { .. }
                | Self::Resonate {
                    errand: Errand::Rpc { .. } | Errand::Run { .. } | Errand::Grant,
                    ..
                }
        )
    }
}

/// Id of the root of the tree that `id` belongs to.
pub(super) fn root(id: &str) -> &str {
    id.split(['/', ':', '.']).next().unwrap_or(id)
}

/// A script. Instants are milliseconds after the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Seed of all remaining draws.
    pub seed: u64,
    /// Number of hosts.
    pub hosts: usize,
    /// Duration of leases, in milliseconds.
    pub lease: i64,
    /// Rule for the increase of versions.
    pub rule: VersionRule,
    /// True if suspended instances are cached.
    pub warm: bool,
    /// Number of workers that speak the Resonate protocol. 0: hosts have no front ends for it.
    pub workers: usize,
    /// Time for which departed workers keep their claims, in milliseconds. `None`: as long as their
    /// leases.
    pub grace: Option<i64>,
    /// Mode of each deployment of services. `None` if there are no deployments.
    pub deployments: Option<[Mode; DEPLOYMENTS]>,
    /// True if the database decides by statements, as PostgreSQL does. Each statement sees the rows
    /// committed at its start.
    pub statements: bool,
    /// True if everything is removed after the end, and started again under the same ids.
    pub anew: bool,
    /// Operations of clients, by instant.
    pub ops: Vec<(i64, Op)>,
    /// Faults, by instant.
    pub faults: Vec<(i64, Fault)>,
}

/// Duration of leases in scenarios that do not compare them, in milliseconds.
const LEASE: i64 = 3_000;

/// Workflows in scenarios.
const FUNCTIONS: [&str; 9] =
    ["order", "fan", "listener", "race", "patient", "outside", "detach", "spin", "saga"];

impl Scenario {
    /// Creates the script of a seed.
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "scenario");
        let hosts = usize::try_from(dice.between(2, 4)).expect("a small number");
        let rule =
            if dice.chance(800) { VersionRule::EveryHandover } else { VersionRule::AcquireOnly };
        let mut scenario = Self {
            seed,
            hosts,
            lease: LEASE,
            rule,
            warm: dice.chance(600),
            workers: 0,
            grace: None,
            deployments: None,
            statements: false,
            anew: false,
            ops: Vec::new(),
            faults: Vec::new(),
        };
        for root in 0..dice.between(2, 4) {
            let function = dice.pick(&FUNCTIONS);
            scenario.root(&format!("r{root}"), function, &mut dice);
        }
        for _ in 0..dice.between(1, 6) {
            let fault = fault(hosts, &mut dice);
            scenario.faults.push((dice.between(0, CALM - 3_000), fault));
        }
        for what in MessageFault::ALL {
            if dice.chance(350) {
                let level = match what {
                    MessageFault::Delay => dice.between(2, 60),
                    MessageFault::MessageDelay => dice.between(2, 900),
                    _ => dice.between(10, 250),
                };
                let level = u64::try_from(level).expect("levels are positive");
                scenario.faults.push((0, Fault::Message { what, level }));
            }
        }
        let mut dice = Dice::new(seed, "resonate");
        if dice.chance(400) {
            scenario.resonate(&mut dice);
        }
        scenario.others(&mut Dice::new(seed, "others"));
        scenario.graph(&mut Dice::new(seed, "graph"));
        scenario.objects(&mut Dice::new(seed, "objects"));
        scenario.crowd(&mut Dice::new(seed, "crowd"));
        scenario.services(&mut Dice::new(seed, "services"));
        scenario.statements = Dice::new(seed, "statements").chance(400);
        scenario.anew = Dice::new(seed, "anew").chance(150);
        scenario.ops.sort_by_key(|(at, _)| *at);
        scenario.faults.sort_by_key(|(at, _)| *at);
        scenario
    }

    /// Adds workers of the Resonate protocol, operations of their clients, and faults.
    fn resonate(&mut self, dice: &mut Dice) {
        self.workers = usize::try_from(dice.between(1, 3)).expect("a small number");
        self.grace = dice.pick(&[None, Some(0), Some(400), Some(2_000)]);
        for root in 0..dice.between(1, 3) {
            let function = dice.pick(&resonate::FUNCTIONS);
            self.errands(&format!("q{root}"), function, dice);
        }
        if dice.chance(300) {
            let start = Op::Start { id: "r9".into(), function: "abroad", input: dice.below(3) };
            self.ops.push((dice.between(0, 3_000), start));
        }
        for _ in 0..dice.between(0, 4) {
            let worker = usize::try_from(dice.below(self.workers as u64)).expect("a small number");
            let fault = match dice.below(5) {
                0 | 1 => Fault::WorkerDeath { worker, down: dice.between(0, 3_000) },
                2 | 3 => Fault::WorkerFreeze { worker, lasts: dice.between(1_000, 6_000) },
                _ => Fault::WorkerSilence { worker, lasts: dice.between(1_000, 6_000) },
            };
            self.faults.push((dice.between(0, CALM - 3_000), fault));
        }
    }

    /// Adds schedules, resources and sagas.
    fn others(&mut self, dice: &mut Dice) {
        if dice.chance(250) {
            let rules = [Overlap::Allow, Overlap::Skip, Overlap::Queue];
            let (at, overlap) = (dice.between(0, 3_000), dice.pick(&rules));
            let lasts = dice.between(1_000, 12_000);
            self.ops.push((at, Op::Timetable { id: "s0".into(), overlap, lasts }));
        }
        if dice.chance(200) {
            for client in 0..dice.below(3) + 1 {
                let hold = Op::Hold { resource: "lock", client };
                self.ops.push((dice.between(0, 3_000), hold));
            }
        }
        if dice.chance(250) {
            self.ops.push((dice.between(0, 3_000), Op::Trip { id: "t0".into() }));
        }
    }

    /// Adds executions that take turns on one or two objects.
    fn objects(&mut self, dice: &mut Dice) {
        if !dice.chance(350) {
            return;
        }
        for number in 0..dice.between(2, 5) {
            let function = dice.pick(&tally::TARGETS);
            self.root(&format!("o{number}"), function, dice);
        }
    }

    /// Adds more executions than a limit admits, and an operator who changes the limit.
    fn crowd(&mut self, dice: &mut Dice) {
        if !dice.chance(350) {
            return;
        }
        for number in 0..dice.between(2, 7) {
            let function = dice.pick(&crowd::FUNCTIONS);
            self.root(&format!("c{number}"), function, dice);
        }
        for _ in 0..dice.between(0, 2) {
            let (name, rule) = crowd::changed(dice);
            self.ops.push((dice.between(0, 6_000), Op::Limit { name, rule }));
        }
    }

    /// Adds deployments of services, operations of their clients, and faults.
    fn services(&mut self, dice: &mut Dice) {
        if !dice.chance(200) {
            return;
        }
        let mode = |dice: &mut Dice| {
            let version = dice.pick(&[1, 2, 3, 5, 6, 7]);
            Mode { version, whole: dice.chance(400) }
        };
        self.deployments = Some([mode(dice), mode(dice)]);
        for (at, id, errand) in services::Errand::some(dice) {
            let starts = matches!(errand, services::Errand::Place { .. });
            self.ops.push((at, Op::Services { id: id.clone(), errand }));
            let mut sometimes = |per_mille, op: Op| {
                if dice.chance(per_mille) {
                    self.ops.push((at + dice.between(0, 3_000), op));
                }
            };
            sometimes(400, Op::Listen { id: id.clone() });
            if starts {
                sometimes(150, Op::Cancel { id: id.clone() });
                // A kill may hit callees in the middle of a write, so the sum of a stock would
                // prove nothing afterwards.
                sometimes(60, Op::Cancel { id: id.clone() });
                sometimes(120, Op::Pause { id, lasts: 1_000 });
            }
        }
        for _ in 0..dice.between(1, 4) {
            let deployment = usize::try_from(dice.below(2)).expect("a small number");
            let fault = service_fault(deployment, dice);
            self.faults.push((dice.between(0, 4_000), fault));
        }
        for deployment in 0..DEPLOYMENTS {
            if dice.chance(300) {
                self.faults.push((dice.between(0, 4_000), Fault::Upgrade { deployment }));
            }
        }
    }

    /// Adds a graph that a workflow runs, and operations on that run.
    fn graph(&mut self, dice: &mut Dice) {
        if !dice.chance(350) {
            return;
        }
        let at = dice.between(0, 3_000);
        let id = || "g0".to_owned();
        let start = Op::Start { id: id(), function: "graph", input: dice.below(4) };
        self.ops.push((at, start));
        let run = || "g0/0".to_owned();
        self.ops.push((at + dice.between(0, 3_000), Op::Signal { id: run(), number: 7 }));
        let lasts = dice.between(50, 3_000);
        for (per_mille, op) in [
            (300, Op::Listen { id: run() }),
            (100, Op::Cancel { id: id() }),
            (100, Op::Cancel { id: run() }),
            (60, Op::Kill { id: run() }),
            (200, Op::Pause { id: run(), lasts }),
        ] {
            if dice.chance(per_mille) {
                self.ops.push((at + dice.between(0, 3_000), op));
            }
        }
    }

    fn errands(&mut self, id: &str, function: &'static str, dice: &mut Dice) {
        let at = dice.between(0, 3_000);
        let input = dice.below(4);
        let deadline = dice.chance(250).then(|| at + dice.between(500, 12_000));
        let begin = if dice.chance(350) {
            let worker = usize::try_from(dice.below(self.workers as u64)).expect("a small number");
            Errand::Run { function, input, deadline, worker }
        } else {
            Errand::Rpc { function, input, deadline }
        };
        let mut add = |at: i64, errand| self.ops.push((at, Op::Resonate { id: id.into(), errand }));
        add(at, begin);
        if function == "human" {
            add(at + dice.between(0, 3_000), Errand::Grant);
        }
        if dice.chance(700) {
            add(at + dice.between(0, 3_000), Errand::Hear);
        }
        if deadline.is_some() && dice.chance(400) {
            add(at + dice.between(0, 3_000), Errand::Withdraw);
        }
        if dice.chance(150) {
            add(at + dice.between(0, 3_000), Errand::Hold { lasts: dice.between(50, 3_000) });
        }
    }

    /// A scenario without faults, with two hosts: the base for enumerations.
    pub fn quiet(seed: u64, functions: &[&'static str]) -> Self {
        let mut scenario = Self {
            seed,
            hosts: 2,
            lease: LEASE,
            rule: VersionRule::EveryHandover,
            warm: seed.is_multiple_of(2),
            workers: 0,
            grace: None,
            deployments: None,
            statements: false,
            anew: false,
            ops: Vec::new(),
            faults: Vec::new(),
        };
        for (root, function) in functions.iter().enumerate() {
            let id = format!("r{root}");
            scenario.ops.push((0, Op::Start { id: id.clone(), function, input: 2 }));
            scenario.needs(&id, function, 300);
            scenario.ops.push((10, Op::Listen { id }));
        }
        scenario.ops.sort_by_key(|(at, _)| *at);
        scenario
    }

    /// A scenario with leases of another duration, in which hosts die for long, freeze, and do not
    /// reach the store.
    pub fn lost(seed: u64, lease: i64) -> Self {
        let mut dice = Dice::new(seed, "lost");
        let mut scenario = Self { hosts: 3, lease, ..Self::quiet(seed, &["fan", "fan", "fan"]) };
        for _ in 0..4 {
            let host = usize::try_from(dice.below(3)).expect("a small number");
            let lasts = dice.between(500, 8_000);
            let fault = match dice.below(3) {
                // The last host stays up.
                0 => Fault::Crash { host: host % 2, down: 90_000 },
                1 => Fault::Freeze { host, lasts },
                _ => Fault::Partition { host, lasts },
            };
            scenario.faults.push((dice.between(0, 3_000), fault));
        }
        scenario
    }

    /// The script without faults and without interference by clients.
    pub fn without_faults(&self) -> Self {
        let ops = self.ops.iter().filter(|(_, op)| !op.interferes() && !op.pauses());
        let ops = ops.cloned().collect();
        let (faults, hosts, statements, anew) = (Vec::new(), 1, false, false);
        Self { faults, hosts, statements, anew, ops, ..self.clone() }
    }

    /// The script reduced to functions of modules, and the operations that they cannot end without.
    pub fn needed(&self) -> Self {
        let needed = |op: &Op| op.is_needed() && !matches!(op, Op::Resonate { .. });
        // A function that calls external workers cannot end without them.
        let abroad = |op: &Op| matches!(op, Op::Start { function: "abroad", .. });
        let ops = self.ops.iter().filter(|(_, op)| needed(op) && !abroad(op));
        Self { ops: ops.cloned().collect(), ..self.clone() }
    }

    fn root(&mut self, id: &str, function: &'static str, dice: &mut Dice) {
        let at = dice.between(0, 3_000);
        let input = dice.below(4);
        self.ops.push((at, Op::Start { id: id.into(), function, input }));
        self.needs(id, function, at + dice.between(0, 3_000));
        let mut sometimes = |per_mille, op: Op, dice: &mut Dice| {
            if dice.chance(per_mille) {
                self.ops.push((at + dice.between(0, 3_000), op));
            }
        };
        let id = || id.to_owned();
        sometimes(600, Op::Listen { id: id() }, dice);
        sometimes(150, Op::Cancel { id: id() }, dice);
        sometimes(60, Op::Kill { id: id() }, dice);
        let lasts = dice.between(50, 3_000);
        sometimes(120, Op::Pause { id: id(), lasts }, dice);
        if function == "fan" {
            let child = format!("{}/0", id());
            sometimes(150, Op::Kill { id: child.clone() }, dice);
            sometimes(100, Op::Pause { id: child, lasts }, dice);
        }
    }

    /// Adds the operations that a function cannot end without.
    fn needs(&mut self, id: &str, function: &str, at: i64) {
        match function {
            "order" => self.ops.push((at, Op::Resolve { id: id.into(), name: "approval" })),
            "listener" => {
                for number in 0..3 {
                    self.ops.push((
                        at + 40 * number,
                        Op::Signal { id: id.into(), number: u64::try_from(number).expect("small") },
                    ));
                }
            }
            _ => {}
        }
    }
}

fn service_fault(deployment: usize, dice: &mut Dice) -> Fault {
    let (by, lasts) = (dice.between(100, 2_500), dice.between(200, 4_000));
    let frame = |how, dice: &mut Dice| Fault::Frame { deployment, number: dice.below(120), how };
    match dice.below(10) {
        0 | 1 => frame(FrameFault::Cut, dice),
        2 | 3 => frame(FrameFault::Twice, dice),
        4 => frame(FrameFault::Late { by }, dice),
        5 => frame(FrameFault::Silence, dice),
        6 | 7 => Fault::Absence { deployment, how: Absence::Down, lasts },
        8 => Fault::Absence { deployment, how: Absence::Late { by }, lasts },
        _ => Fault::Absence { deployment, how: Absence::Silent, lasts },
    }
}

fn fault(hosts: usize, dice: &mut Dice) -> Fault {
    let host = usize::try_from(dice.below(hosts as u64)).expect("a small number");
    match dice.below(15) {
        0..=3 => Fault::Commit { number: dice.below(120), how: dice.pick(&CommitFault::ALL) },
        4 => Fault::Crash { host, down: dice.between(0, 2_000) },
        5 => Fault::Stop { host, down: dice.between(0, 1_000) },
        6 => Fault::Partition { host, lasts: dice.between(100, 6_000) },
        7 | 8 => Fault::Freeze { host, lasts: dice.between(1_000, 6_000) },
        9 => Fault::HeartbeatLoss { host, lasts: dice.between(1_000, 6_000) },
        10 => Fault::SecondLife { host, lasts: dice.between(200, 4_000) },
        11 => Fault::Skew { host, by: dice.between(-20_000, 20_000) },
        12 => Fault::Jump { host, by: dice.between(100, 20_000) },
        13 => Fault::StoreJump { by: dice.between(100, 10_000) },
        _ => Fault::Stall,
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, hosts, lease, rule, warm, workers, grace, statements, anew, .. } = self;
        writeln!(
            f,
            "seed {seed}: {hosts} hosts, leases of {lease} ms, versions rise by {rule:?}, warm instances: {warm}, \
             {workers} workers with a grace of {grace:?}, a database that decides by statements: {statements}, \
             removed and begun anew: {anew}"
        )?;
        for (number, Mode { version, whole }) in self.deployments.iter().flatten().enumerate() {
            writeln!(f, "deployment {number} speaks V{version}, with whole requests: {whole}")?;
        }
        for (at, op) in &self.ops {
            writeln!(f, "  {at:>6} ms  {op:?}")?;
        }
        for (at, fault) in &self.faults {
            writeln!(f, "  {at:>6} ms  fault: {fault}")?;
        }
        Ok(())
    }
}
