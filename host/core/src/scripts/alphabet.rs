//! Alphabet of the test scripts: the steps that are worth trying in a state.

use super::{graph, limits, objects, runs};
use crate::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation, HeartbeatItem},
    id::{Claim, CommandIndex, Holder, HostName, PromiseId, ScheduleId},
    invocation::{CommandKind, JournalHead, Record, RecordBody},
    promise::{Deferral, OutboxKey, Overlap, ReleaseReason, TrapKey, Verdict},
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
    world::{self, CheckedStore, claim},
};

/// A step of a script.
#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    Command(Command),
    Wait(i64),
}

/// All steps worth trying in this state, for these promises.
pub(super) fn alphabet(world: &CheckedStore, ids: &[&str]) -> Vec<ScriptStep> {
    let mut steps = vec![ScriptStep::Wait(10), ScriptStep::Wait(20_000)];
    let mut commands = vec![Command::HostStart { node: HostName::from("n") }];
    for (place, name) in ids.iter().enumerate() {
        commands.extend(about(world, name, ids[(place + 1) % ids.len()]));
    }
    commands.push(Command::WorkerHeartbeat { holder: Holder::worker("w") });
    commands.push(Command::WorkerGone { holder: Holder::worker("w"), unheard_since: world.now });
    steps.extend(commands.into_iter().map(ScriptStep::Command));
    steps
}

/// All steps, including those of schedules, graph runs, objects, runs, forks and limits.
pub(super) fn wide_alphabet(world: &CheckedStore, ids: &[&str]) -> Vec<ScriptStep> {
    let made = occurrences(world);
    let ids: Vec<&str> = ids.iter().copied().chain(made.iter().map(String::as_str)).collect();
    let mut steps = alphabet(world, &ids);
    steps.extend(scheduled(world));
    steps.extend(graph::steps(world).into_iter().map(ScriptStep::Command));
    steps.extend(objects::steps(world, &["x", "y"]).into_iter().map(ScriptStep::Command));
    steps.extend(runs::steps(world, &["r", "s"]).into_iter().map(ScriptStep::Command));
    let forks = ids.iter().flat_map(|id| forks(world, id)).map(ScriptStep::Command);
    steps.extend(forks);
    let limited = limits::steps(world, &["p", "q"], &["pack", "mail"]);
    steps.extend(limited.into_iter().map(ScriptStep::Command));
    steps
}

/// Commands on a schedule.
fn scheduled(world: &CheckedStore) -> Vec<ScriptStep> {
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
        Command::ScheduleTrigger { id: id.clone(), at: world.now },
        Command::ScheduleTrigger { id: id.clone(), at: Timestamp(120_000) },
        Command::ScheduleBackfill { id, from: world.now, to: back },
        world::lease("r", "ada", 15_000),
        world::lease("r", "bob", 0),
        world::lease("r", "", 1),
        world::write("r", "1", 2),
        world::write("r", "2", 1 << 24),
        Command::ResourceGet { name: "r".into() },
        Command::Deploy { alias: Text::from("shop"), module: world::MODULE },
        Command::Deploy { alias: Text::from("a/b"), module: world::MODULE },
        Command::Undeploy { alias: Text::from("shop"), module: world::MODULE },
        Command::JournalRemove { id: "a".into() },
        Command::OutboxAck { key: OutboxKey::Unblock("a".into(), Text::from("poll://me")) },
        Command::OutboxAck { key: OutboxKey::CancelChildren("a".into()) },
        Command::PromiseSettle {
            id: "a".into(),
            verdict: Verdict::TimedOut,
            value: Value::default(),
        },
        Command::PromiseCreate(world::new("", &[], Timestamp::NEVER)),
        Command::PromiseCreate(world::new("b", &[], world.now - Millis(10))),
        Command::Prune {
            top: "a".into(),
            before: world.now - Millis(10_000),
            part: false,
            state: false,
        },
        world::callback("a", "a"),
        Command::RegisterListener { awaited: "a".into(), address: Text::from("segno:http") },
    ];
    let steps = commands.into_iter().map(ScriptStep::Command);
    steps.chain([ScriptStep::Wait(60_000), ScriptStep::Wait(200_000)]).collect()
}

/// Forks of this invocation: under its own id, which is refused; under another id; with a limit;
/// and without records, which is refused.
fn forks(world: &CheckedStore, name: &str) -> Vec<Command> {
    let Some(journal) = world.snapshot.journals.get(&PromiseId::from(name)) else {
        return Vec::new();
    };
    let records = &journal.records;
    let half = &records[..records.len().div_ceil(2)];
    vec![
        world::fork(
            world::new(name, &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER),
            name,
            records,
        ),
        world::fork(
            world::new("c", &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER),
            name,
            half,
        ),
        world::fork(world::keyed_new("c", "add"), name, half),
        world::fork(world::limited("c", "pack", "k", 1), name, half),
        world::fork(world::limited("c", "only", "k", 1), name, half),
        world::fork(world::keyed_new("c", "add"), name, &[]),
    ]
}

/// The ids of two promises that the schedule created.
fn occurrences(world: &CheckedStore) -> Vec<String> {
    let made = world.snapshot.promises.keys().filter(|id| id.as_str().starts_with("s@"));
    made.rev().take(2).map(ToString::to_string).collect()
}

/// An invocation that its holder ran ahead, with the correct initial task version.
fn begun(world: &CheckedStore, name: &str, first: &[Command]) -> Command {
    let mut begin = world::begin(name, first);
    if let Command::TaskBegin { born, .. } = &mut begin {
        *born = world.model.first_version();
    }
    begin
}

/// Commands on a promise and its task, and on another promise in its name.
fn about(world: &CheckedStore, name: &str, other: &str) -> Vec<Command> {
    let id = PromiseId::from(name);
    let soon = world.now + Millis(10);
    let first = Claim::first(id.clone(), world.model.first_version());
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
            request: world::claim_request(2),
        },
        begun(world, name, &[world::fulfill(first.clone())]),
        begun(world, name, &[world::suspend(first, &[other])]),
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
        Command::SignalStart {
            new: world::new(name, &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER),
            name: Text::from("go"),
            payload: Value::default(),
            key: None,
        },
        Command::Signal {
            invocation: id.clone(),
            name: Text::from("go"),
            payload: Value::of(&b"2"[..]),
            key: Some(Text::from("k")),
        },
        Command::Update {
            invocation: id.clone(),
            name: Text::from("go"),
            input: Text::from("1"),
            key: Some(Text::from("k")),
            records: world.model.head(&id).len,
            signals: world.model.task(&id).map_or(0, |task| task.signals),
        },
        Command::Update {
            invocation: id.clone(),
            name: Text::from("go"),
            input: Text::from("2"),
            key: Some(Text::from("k")),
            records: world.model.head(&id).len,
            signals: world.model.task(&id).map_or(0, |task| task.signals),
        },
        Command::PromiseDue { id: id.clone() },
        Command::PromiseGet { id: id.clone() },
        Command::TaskGet { id: id.clone() },
        Command::Prune { top: id.clone(), before: world.now, part: false, state: false },
    ];
    let Some(task) = world.model.task(&id) else { return commands };
    let version = task.version.0;
    let live = || claim(name, version);
    commands.extend([
        Command::TaskHalt { id: id.clone() },
        Command::TaskContinue { id: id.clone() },
        Command::TaskMigrate {
            id: id.clone(),
            module: world::OTHER_MODULE,
            records: world.model.head(&id).len,
        },
        Command::TaskMigrate { id: id.clone(), module: world::OTHER_MODULE, records: 1 },
        Command::LeaseDue { id: id.clone() },
        Command::RetryDue { id: id.clone() },
        Command::HostRelease { id: id.clone(), node: HostName::from("n"), below: 2 },
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
            request: ClaimRequest { holder: Holder::worker("w"), ..world::claim_request(9) },
            stall_limit: None,
        },
        world::acquire(name, version.saturating_sub(1), 1),
        world::suspend(live(), &[other]),
        world::suspend(live(), &[&format!("{name}/s/{}", task.signals)]),
        world::fulfill(live()),
        world::fulfill(claim(name, version.saturating_sub(1))),
        world::hand_over(live(), Vec::new(), &[0]),
        world::settle(&format!("{name}/p/early"), Verdict::Resolved),
        world::create(&format!("{name}/p/early"), &[]),
        world::release(live(), ReleaseReason::Yield),
        world::release(live(), ReleaseReason::NoRoom { wait: Millis::seconds(1) }),
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

/// Fences under the claim on a task.
fn fences(world: &CheckedStore, name: &str, other: &str, version: u64) -> Vec<Command> {
    let id = PromiseId::from(name);
    let child = format!("{name}/0");
    let other_id = PromiseId::from(other);
    let create = || FenceOperation::Create {
        new: world::new(&child, &[(tags::TARGET, "ship")], Timestamp::NEVER),
        request: None,
    };
    let held_create = || FenceOperation::Create {
        new: world::new(&format!("{name}/held"), &[(tags::TARGET, "ship")], Timestamp::NEVER),
        request: Some(world::claim_request(5)),
    };
    let part = |seq: u32| PromiseId::new(format!("{name}/step{seq}"));
    let step = |seq: u32| FenceOperation::Create {
        new: world::new(
            part(seq).as_str(),
            &world::step(if seq == 0 { "0" } else { "1" }),
            Timestamp::NEVER,
        ),
        request: None,
    };
    let undone = id.compensation("trip", 0);
    let undo = FenceOperation::Create {
        new: world::new(undone.as_str(), &[(tags::TARGET, "poll://w")], Timestamp::NEVER),
        request: None,
    };
    let settle =
        |id: PromiseId, verdict| FenceOperation::Settle { id, verdict, value: Value::default() };
    let signal = |to: &str| FenceOperation::Signal {
        invocation: PromiseId::from(to),
        name: Text::from("hint"),
        payload: Value::default(),
    };
    let head = world.model.head(&id);
    let next = match head.len {
        0 => world::started(),
        seq if head.open() > 0 => world::notified(seq, head.commands - 1),
        seq if head.commands > 1 => world::finished(seq),
        seq => world::asked(seq, head.commands),
    };
    // Only hosts keep journals, and they only run modules.
    let hosted = world.model.task(&id).is_some_and(|task| task.module.is_some());
    let fence = |mut records: Vec<Record>, acts| {
        records.retain(|_| hosted);
        // Records have the current time, except the first, which is repeated.
        records.iter_mut().filter(|record| record.seq > 0).for_each(|record| record.at = world.now);
        world::fence(claim(name, version), records, acts)
    };
    let others = world.model.task(&other_id).map_or(0, |task| task.version.0);
    let end = || world::end(claim(other, others));
    vec![
        fence(vec![next.clone()], vec![end(), FenceOperation::UnlessAsked, create()]),
        fence(vec![next.clone()], vec![FenceOperation::UnlessAsked, create()]),
        fence(vec![next.clone()], vec![FenceOperation::Elapsed { id: part(0) }, create()]),
        fence(vec![], vec![held_create()]),
        fence(vec![next], vec![create()]),
        fence(vec![world::started()], vec![create()]),
        fence(vec![], vec![step(0), step(1)]),
        fence(
            vec![],
            vec![settle(part(0), Verdict::Resolved), FenceOperation::Cancel { id: part(1) }],
        ),
        // The same saga step once more, as another promise.
        fence(vec![], vec![step(2), settle(part(2), Verdict::Resolved)]),
        fence(vec![], vec![undo.clone(), settle(undone.clone(), Verdict::Resolved)]),
        fence(vec![], vec![undo, settle(undone, Verdict::Rejected)]),
        fence(vec![world::asked(1, 3)], vec![]),
        publish(world, &head, claim(name, version), hosted && head.open() == 0),
        publish(world, &head, claim(name, version), false),
        fence(
            vec![],
            vec![FenceOperation::CreateLoose {
                new: world::new(&format!("{name}:0"), &[], Timestamp::NEVER),
            }],
        ),
        fence(vec![], vec![FenceOperation::CancelLoose { id: other_id.clone() }]),
        fence(vec![], vec![signal(&child), signal(&child), signal(name)]),
        fence(vec![], vec![FenceOperation::Cancel { id: PromiseId::from(child.as_str()) }]),
        fence(
            vec![],
            vec![
                FenceOperation::Settle {
                    id: other_id,
                    verdict: Verdict::Resolved,
                    value: Value::default(),
                },
                FenceOperation::Publish { topic: Text::from("t"), payload: Value::default() },
            ],
        ),
    ]
}

/// A fence that publishes an event as the next command, if no command is open, because the next
/// record notifies the last one. Without its record, it is the fence that is repeated after a
/// replay.
fn publish(world: &CheckedStore, head: &JournalHead, claim: Claim, with_record: bool) -> Command {
    let mut records = match (with_record, head.len) {
        (false, _) => Vec::new(),
        (true, 0) => vec![world::started(), world::asked(1, 0)],
        (true, seq) => vec![world::asked(seq, head.commands)],
    };
    for record in records.iter_mut().filter(|record| record.seq > 0) {
        record.at = world.now;
        if let RecordBody::Command { kind, .. } = &mut record.body {
            *kind = CommandKind::Publish;
        }
    }
    let index = CommandIndex(if with_record { head.commands } else { 0 });
    let act = FenceOperation::Publish { topic: Text::from("t"), payload: Value::default() };
    let actions = vec![FenceAction { index, act }];
    Command::TaskFence { claim, records, logs: Vec::new(), actions }
}

fn trapped() -> ReleaseReason {
    let trap = TrapKey { journal_len: 0, message: Text::from("unreachable") };
    ReleaseReason::Failed {
        retry_after: Some(Millis(5)),
        error: world::note("trap"),
        trap: Some(trap),
    }
}
