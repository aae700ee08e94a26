//! Scripts: every short one over two promises with a clock that jumps, and long random ones. The checked store does
//! the asserting.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use crate::command::{Command, FenceAct, HeartbeatItem, Hold};
use crate::config::{Config, Exhausted, VersionRule};
use crate::id::{Claim, Holder, NodeName, PromiseId, ScheduleId};
use crate::invocation::Record;
use crate::promise::{Deferral, OutboxKey, Overlap, ReleaseReason, TrapKey, Verdict};
use crate::reply::{Pruned, Reply};
use crate::tags;
use crate::time::{Millis, Timestamp};
use crate::value::{Text, Value};
use crate::world::{self, World, claim};

/// One step of a script.
#[derive(Clone, Debug)]
enum Step {
    Command(Command),
    Wait(i64),
}

/// Everything worth trying in this state, for these promises.
fn alphabet(world: &World, ids: &[&str]) -> Vec<Step> {
    let mut steps = vec![Step::Wait(10), Step::Wait(20_000)];
    let mut commands = vec![Command::HostStart { node: NodeName::from("n") }];
    for (place, name) in ids.iter().enumerate() {
        commands.extend(about(world, name, ids[(place + 1) % ids.len()]));
    }
    commands.push(Command::WorkerHeartbeat { holder: Holder::worker("w") });
    commands.push(Command::WorkerGone { holder: Holder::worker("w"), unheard_since: world.now });
    steps.extend(commands.into_iter().map(Step::Command));
    steps
}

/// The same, with a schedule and what it made.
fn wide_alphabet(world: &World, ids: &[&str]) -> Vec<Step> {
    let made = occurrences(world);
    let ids: Vec<&str> = ids.iter().copied().chain(made.iter().map(String::as_str)).collect();
    let mut steps = alphabet(world, &ids);
    steps.extend(scheduled(world));
    steps
}

/// What can be done with a schedule.
fn scheduled(world: &World) -> Vec<Step> {
    let id = ScheduleId::from("s");
    let back = world.now - Millis(150_000);
    let commands = vec![
        world::schedule("s", Overlap::Allow),
        world::schedule("s", Overlap::Skip),
        world::schedule("s", Overlap::Queue),
        world::schedule("", Overlap::Allow),
        Command::ScheduleDelete { id: id.clone() },
        Command::SchedulePause { id: id.clone(), paused: true },
        Command::SchedulePause { id: id.clone(), paused: false },
        Command::ScheduleDue { id: id.clone() },
        Command::ScheduleBackfill { id: id.clone(), from: back, to: world.now },
        Command::ScheduleBackfill { id, from: world.now, to: back },
        world::lease("r", "ada", 15_000),
        world::lease("r", "bob", 0),
        world::lease("r", "", 1),
        world::write("r", "1", 2),
        world::write("r", "2", 1 << 24),
        Command::ResourceGet { name: "r".into() },
        Command::Deploy { alias: Text::from("shop"), module: world::MODULE },
        Command::Deploy { alias: Text::from("a/b"), module: world::MODULE },
        Command::OutboxAck { key: OutboxKey::Unblock("a".into(), Text::from("poll://me")) },
        Command::OutboxAck { key: OutboxKey::CancelChildren("a".into()) },
        Command::PromiseSettle {
            id: "a".into(),
            verdict: Verdict::TimedOut,
            value: Value::default(),
        },
        Command::PromiseCreate(world::new("", &[], Timestamp::NEVER)),
        Command::RegisterListener { awaited: "a".into(), address: Text::from("segno:http") },
    ];
    let steps = commands.into_iter().map(Step::Command);
    steps.chain([Step::Wait(60_000), Step::Wait(200_000)]).collect()
}

/// The ids of two promises that the schedule made.
fn occurrences(world: &World) -> Vec<String> {
    let made = world.snapshot.promises.keys().filter(|id| id.as_str().starts_with("s@"));
    made.rev().take(2).map(ToString::to_string).collect()
}

fn about(world: &World, name: &str, other: &str) -> Vec<Command> {
    let id = PromiseId::from(name);
    let soon = world.now + Millis(10);
    let mut commands = vec![
        world::create(name, &[]),
        world::outside(name),
        world::workflow(name),
        Command::PromiseCreate(world::new(name, &[(tags::TARGET, "poll://w")], soon)),
        Command::PromiseCreate(world::new(
            name,
            &[(tags::TARGET, "poll://w"), (tags::TIMER, "true")],
            soon,
        )),
        Command::PromiseCreate(world::new(
            name,
            &[(tags::TARGET, "ship"), (tags::DELAY, "1500")],
            world.now,
        )),
        Command::TaskCreate {
            new: world::new(name, &[(tags::TARGET, "poll://w")], Timestamp::NEVER),
            hold: world::hold(2),
        },
        world::begin(name, &[world::fulfill(Claim::first(id.clone()))]),
        world::begin(name, &[world::suspend(Claim::first(id.clone()), &[other])]),
        world::settle(name, Verdict::Rejected),
        world::callback(other, name),
        world::listener(name),
        Command::Cancel { invocation: id.clone() },
        Command::Kill { invocation: id.clone() },
        Command::Signal {
            invocation: id.clone(),
            name: Text::from("go"),
            payload: Value::default(),
            key: Some(Text::from("k")),
        },
        Command::PromiseDue { id: id.clone() },
        Command::PromiseGet { id: id.clone() },
        Command::TaskGet { id: id.clone() },
        Command::Prune { top: id.clone(), before: world.now, part: false },
    ];
    let Some(task) = world.state.task(&id) else { return commands };
    let version = task.version.0;
    let live = || claim(name, version);
    commands.extend([
        Command::TaskHalt { id: id.clone() },
        Command::TaskContinue { id: id.clone() },
        Command::LeaseDue { id: id.clone() },
        Command::RetryDue { id: id.clone() },
        Command::HostRelease { id: id.clone(), node: NodeName::from("n"), below: 2 },
        Command::Reconcile { id: id.clone() },
        Command::OutboxDue { key: OutboxKey::Execute(id.clone()) },
        Command::OutboxDue { key: OutboxKey::Unblock(id.clone(), Text::from("poll://me")) },
        Command::OutboxDue { key: OutboxKey::CancelChildren(id.clone()) },
        Command::OutboxDefer {
            key: OutboxKey::Unblock(id.clone(), Text::from("poll://me")),
            until: Deferral::Unclaimed,
        },
        world::acquire(name, version, 1),
        Command::TaskAcquire {
            claim: live(),
            hold: Hold { holder: Holder::worker("w"), ..world::hold(9) },
            stall_limit: None,
        },
        world::acquire(name, version.saturating_sub(1), 1),
        world::suspend(live(), &[other]),
        world::suspend(live(), &[&format!("{name}/s/{}", task.signals)]),
        world::fulfill(live()),
        world::fulfill(claim(name, version.saturating_sub(1))),
        world::release(live(), ReleaseReason::Yield),
        world::release(live(), world::failed()),
        world::release(live(), trapped()),
        world::release(live(), ReleaseReason::Halt { report: world::note("divergence") }),
        Command::TaskHeartbeat {
            holder: world::holder("n", 1),
            items: vec![HeartbeatItem { claim: live(), progress: Some((version, None)) }],
        },
    ]);
    commands.extend(fences(world, name, other, version));
    commands
}

fn fences(world: &World, name: &str, other: &str, version: u64) -> Vec<Command> {
    let id = PromiseId::from(name);
    let child = format!("{name}/0");
    let other_id = PromiseId::from(other);
    let create = |hold| FenceAct::Create {
        new: world::new(&child, &[(tags::TARGET, "ship")], Timestamp::NEVER),
        hold,
    };
    let part = |seq: u32| PromiseId::new(format!("{name}/step{seq}"));
    let step = |seq: u32| FenceAct::Create {
        new: world::new(
            part(seq).as_str(),
            &world::step(if seq == 0 { "0" } else { "1" }),
            Timestamp::NEVER,
        ),
        hold: None,
    };
    let undone = id.compensation("trip", 0);
    let undo = FenceAct::Create {
        new: world::new(undone.as_str(), &[(tags::TARGET, "poll://w")], Timestamp::NEVER),
        hold: None,
    };
    let settle = |id: PromiseId, verdict| FenceAct::Settle { id, verdict, value: Value::default() };
    let head = world.state.head(&id);
    let next = match head.len {
        0 => world::started(),
        seq if head.open() > 0 => world::notified(seq, head.commands - 1),
        seq if head.commands > 1 => world::finished(seq),
        seq => world::asked(seq, head.commands),
    };
    // Only hosts keep journals, and they run modules only.
    let hosted = world.state.task(&id).is_some_and(|task| task.module.is_some());
    let fence = |mut records: Vec<Record>, acts| {
        records.retain(|_| hosted);
        world::fence(claim(name, version), records, acts)
    };
    vec![
        fence(vec![next], vec![create(None)]),
        fence(vec![world::started()], vec![create(Some(world::hold(5)))]),
        fence(
            vec![],
            vec![
                step(0),
                step(1),
                FenceAct::FencedPut { name: "r".into(), value: Value::default() },
            ],
        ),
        fence(vec![], vec![settle(part(0), Verdict::Resolved), FenceAct::Cancel { id: part(1) }]),
        fence(vec![], vec![undo.clone(), settle(undone.clone(), Verdict::Resolved)]),
        fence(vec![], vec![undo, settle(undone, Verdict::Rejected)]),
        fence(vec![world::asked(1, 3)], vec![]),
        fence(
            vec![],
            vec![FenceAct::CreateLoose {
                new: world::new(&format!("{name}:0"), &[], Timestamp::NEVER),
            }],
        ),
        fence(vec![], vec![FenceAct::Cancel { id: PromiseId::from(child.as_str()) }]),
        fence(
            vec![],
            vec![
                FenceAct::RegisterCallback { awaited: other_id.clone() },
                FenceAct::Settle {
                    id: other_id,
                    verdict: Verdict::Resolved,
                    value: Value::default(),
                },
                FenceAct::Publish { topic: Text::from("t"), payload: Value::default() },
            ],
        ),
    ]
}

fn trapped() -> ReleaseReason {
    let trap = TrapKey { journal_len: 0, message: Text::from("unreachable") };
    ReleaseReason::Failed {
        retry_after: Some(Millis(5)),
        error: world::note("trap"),
        trap: Some(trap),
    }
}

/// What was seen on the way: each command's name with the kind of its reply.
type Seen = BTreeSet<(&'static str, String)>;

fn take(world: &mut World, step: &Step, seen: &mut Seen) {
    match step {
        Step::Wait(length) => world.wait(*length),
        Step::Command(command) => note(command, &world.decide(command).reply, seen),
    }
}

fn note(command: &Command, reply: &Reply, seen: &mut Seen) {
    let kind = match reply {
        Reply::Refused(refusal) => refusal.kind().to_owned(),
        Reply::Suspended => "suspended".to_owned(),
        Reply::Ready { .. } => "ready".to_owned(),
        Reply::Pruned(Pruned::Kept(_)) => "kept".to_owned(),
        _ => "done".to_owned(),
    };
    seen.insert((command.name(), kind));
}

/// How long the scripts are that are all tried: four steps, or as many as `SEGNO_SCRIPTS` says. Five take many minutes.
fn length() -> u32 {
    std::env::var("SEGNO_SCRIPTS").ok().and_then(|given| given.parse().ok()).unwrap_or(4)
}

/// Tries every script of this length, going on from each state once. While neither promise of a pair exists, they are
/// alike: scripts then begin with the first.
fn explore(start: World, ids: &[&str], length: u32) -> (usize, Seen) {
    let (mut met, mut seen) = (HashSet::new(), Seen::new());
    let mut frontier = vec![start];
    for steps_left in (0..length).rev() {
        let mut next = Vec::new();
        for world in &frontier {
            let untouched = world.snapshot.promises.is_empty();
            let ids = if untouched { &ids[..1] } else { ids };
            for step in alphabet(world, ids) {
                let Some(successor) = step_from(world, &step, &mut seen) else { continue };
                if steps_left > 0 && met.insert(fingerprint(&successor)) {
                    next.push(successor);
                }
            }
        }
        frontier = next;
    }
    (met.len(), seen)
}

/// The state after a step; none if it is the same.
fn step_from(world: &World, step: &Step, seen: &mut Seen) -> Option<World> {
    let mut successor = match step {
        Step::Wait(_) => world.clone(),
        Step::Command(command) => {
            let decision = world.consider(command);
            note(command, &decision.reply, seen);
            if decision.delta.is_empty() {
                return None;
            }
            let mut successor = world.clone();
            successor.accept(command, &decision);
            return Some(successor);
        }
    };
    take(&mut successor, step, seen);
    Some(successor)
}

fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    postcard::to_allocvec(&world.snapshot).expect("a snapshot encodes").hash(&mut hasher);
    world.now.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn every_short_script_from_nothing_keeps_the_rules() {
    let (states, seen) = explore(World::new(), &["a", "b"], length());
    assert!(states > 1_000, "{states} states were met");
    assert!(seen.contains(&("task-fulfill", "done".to_owned())), "{seen:?}");
}

#[test]
fn every_short_script_from_a_waiting_pair_keeps_the_rules() {
    for rule in [VersionRule::EveryHandover, VersionRule::AcquireOnly] {
        let mut start = World::new();
        start.config = Config { version_rule: rule, ..limits() };
        start.done(world::workflow("a"));
        start.done(world::outside("b"));
        let waiting = start.acquire("a", 1);
        start.done(world::suspend(waiting, &["b"]));
        start.acquire("b", 2);
        let (states, seen) = explore(start, &["a", "b"], length());
        assert!(states > 1_000, "{states} states were met");
        for wanted in
            [("task-suspend", "ready"), ("task-suspend", "suspended"), ("task-release", "done")]
        {
            assert!(seen.contains(&(wanted.0, wanted.1.to_owned())), "{wanted:?} in {seen:?}");
        }
    }
}

#[test]
fn every_short_script_around_a_parent_and_its_child_keeps_the_rules() {
    let mut start = World::new();
    start.done(world::workflow("a"));
    let parent = start.acquire("a", 1);
    let child = world::new("a/0", &[(tags::TARGET, "ship")], Timestamp::NEVER);
    let create = FenceAct::Create { new: child, hold: Some(world::hold(7)) };
    start.done(world::fence(parent, vec![world::started(), world::asked(1, 0)], vec![create]));
    let (states, _) = explore(start, &["a", "a/0"], length());
    assert!(states > 1_000, "{states} states were met");
}

fn limits() -> Config {
    Config {
        lost_limit: 3,
        attempt_limit: Some(4),
        stall_limit: Some(Millis(40)),
        on_exhausted: Exhausted::Reject,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn long_random_scripts_keep_the_rules(
        choices in proptest::collection::vec(any::<u32>(), 1..250),
        rule in prop_oneof![Just(VersionRule::EveryHandover), Just(VersionRule::AcquireOnly)],
        limited in any::<bool>(),
    ) {
        let mut world = World::new();
        world.config = Config { version_rule: rule, ..if limited { limits() } else { Config::default() } };
        let mut seen = Seen::new();
        for choice in choices {
            let mut steps = wide_alphabet(&world, &["a", "b", "c", "a/0"]);
            let step = steps.swap_remove(choice as usize % steps.len());
            take(&mut world, &step, &mut seen);
        }
    }
}

/// Every kind of command.
const COMMANDS: &[&str] = &[
    "promise-get",
    "promise-create",
    "promise-settle",
    "register-callback",
    "register-listener",
    "task-get",
    "task-create",
    "task-begin",
    "task-acquire",
    "task-heartbeat",
    "task-fence",
    "task-suspend",
    "task-fulfill",
    "task-release",
    "task-halt",
    "task-continue",
    "cancel",
    "kill",
    "signal",
    "deploy",
    "resource-get",
    "resource-lease",
    "fenced-put",
    "schedule-create",
    "schedule-delete",
    "schedule-pause",
    "schedule-backfill",
    "schedule-due",
    "promise-due",
    "lease-due",
    "retry-due",
    "outbox-due",
    "outbox-ack",
    "outbox-defer",
    "worker-heartbeat",
    "worker-gone",
    "host-start",
    "host-release",
    "reconcile",
    "prune",
];

/// Those that look again, or only look.
const NEVER_REFUSED: &[&str] = &[
    "resource-get",
    "schedule-due",
    "promise-due",
    "lease-due",
    "retry-due",
    "outbox-due",
    "outbox-defer",
    "worker-heartbeat",
    "worker-gone",
    "host-start",
    "host-release",
    "reconcile",
];

/// A long walk that is always the same, to know that the scripts get everywhere.
#[test]
fn a_long_walk_meets_every_kind_of_answer() {
    let mut seen = Seen::new();
    let mut random = 1_u64;
    for walk in 0..300 {
        let mut world = World::new();
        world.config = if walk % 2 == 0 { limits() } else { Config::default() };
        for _ in 0..200 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mut steps = wide_alphabet(&world, &["a", "b", "a/0"]);
            let step = steps.swap_remove((random >> 33) as usize % steps.len());
            take(&mut world, &step, &mut seen);
        }
    }
    for name in COMMANDS {
        let answers = seen.iter().filter(|(seen, _)| seen == name).map(|(_, kind)| kind.as_str());
        let (done, refused): (Vec<&str>, Vec<&str>) =
            answers.partition(|kind| matches!(*kind, "done" | "suspended" | "ready"));
        assert!(!done.is_empty(), "`{name}` never succeeded");
        let never = NEVER_REFUSED.contains(name);
        assert_eq!(refused.is_empty(), never, "`{name}` was refused: {refused:?}");
    }
    let names: BTreeSet<&str> = seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, COMMANDS.iter().copied().collect(), "every command is in the list");
    for wanted in [
        ("promise-create", "unprocessable"),
        ("register-callback", "unprocessable"),
        ("task-create", "not-holder"),
        ("task-create", "wrong-state"),
        ("task-acquire", "stale-version"),
        ("task-acquire", "wrong-state"),
        ("task-acquire", "promise-settled"),
        ("task-fence", "id-taken"),
        ("task-fence", "journal-mismatch"),
        ("task-fence", "done"),
        ("task-suspend", "ready"),
        ("task-suspend", "suspended"),
        ("task-suspend", "unprocessable"),
        ("task-fulfill", "done"),
        ("task-fulfill", "stale-version"),
        ("task-continue", "done"),
        ("signal", "promise-settled"),
        ("signal", "done"),
        ("outbox-due", "done"),
        ("resource-lease", "done"),
        ("resource-lease", "resource-busy"),
        ("resource-lease", "bad-request"),
        ("fenced-put", "done"),
        ("fenced-put", "stale-token"),
        ("task-heartbeat", "superseded"),
        ("schedule-create", "done"),
        ("schedule-delete", "done"),
        ("schedule-delete", "not-found"),
        ("schedule-pause", "done"),
        ("schedule-due", "done"),
        ("schedule-backfill", "done"),
        ("schedule-backfill", "bad-request"),
        ("prune", "done"),
        ("prune", "kept"),
    ] {
        assert!(
            seen.contains(&(wanted.0, wanted.1.to_owned())),
            "{wanted:?} was never met: {seen:?}"
        );
    }
}
