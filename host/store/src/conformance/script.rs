//! Random scripts that reach deep states: mostly commands that make sense in the current state,
//! sometimes arbitrary ones.

use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation, HeartbeatItem},
    fork::{Fork, ForkedStream, KeptPromise},
    graph::{NodeRow, NodeState, ResetReason},
    id::{
        Claim, CommandIndex, Digest, Holder, HostName, ObjectId, PromiseId, ResourceName,
        ScheduleId, StreamId, Version,
    },
    invocation::{
        CommandKind, CommandRequest, EngineFacts, JournalHead, LogLevel, LogLine, Outcome, Record,
        RecordBody, Seed, StepResult,
    },
    object::StateWrite,
    promise::{
        Deferral, FenceToken, NewPromise, NewSchedule, Note, OutboxKey, Overlap, PromiseTemplate,
        ReleaseReason, Task, TaskStatus, TrapKey, Verdict,
    },
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Payload, Tags, Text, Value},
};

use super::{
    admissions,
    budgets::{self, BUDGETS},
    dice::Dice,
    fixture::{MODULE, new},
    runs, streams,
};

/// Ids used in addition to existing ones.
const IDS: [&str; 6] = ["a", "users/42", "ключ \u{0}'\"", "a/0", "nobody", "b/1"];
const TARGETS: [&str; 10] = [
    "wasm://shop/order",
    "wasm://shop/ship",
    "wasm://shop/Cart@ada/add",
    "wasm://shop/Cart@b/o 'б/add",
    "wasm://shop/Cart@ada/total",
    "poll://workers",
    "segno:http",
    "segno:graph",
    "wasm://gone/x",
    "ship",
];

/// The next command, given the state of the model.
pub(crate) fn command(dice: &mut Dice, seen: &Snapshot, now: Timestamp) -> Command {
    let id = pick(dice, seen);
    let other = pick(dice, seen);
    let task = seen.tasks.get(&id);
    if dice.once_in(16) {
        return streams::command(dice, seen, now);
    }
    if dice.once_in(16) {
        return budgets::command(dice, seen, id);
    }
    match dice.roll(100) {
        97..=99 => fork(dice, seen, id),
        90..=96 => runs::command(dice, seen, now),
        75..=89 => admissions::command(dice, seen, now, id),
        73..=74 => update(dice, seen, id),
        70..=72 => Command::ObjectWrite { object: object(dice), write: state(dice) },
        66..=69 => about_resources(dice),
        60..=65 => scheduled(dice, now),
        0..=3 => Command::PromiseCreate(promise(dice, now)),
        4 => Command::TaskCreate { new: promise(dice, now), request: claim_request(dice) },
        27 => begin(dice, seen, now),
        5 => Command::PromiseGet { id },
        6 => {
            // One in three times, a named promise of a workflow, which may not have created it yet.
            let id = if dice.once_in(3) { id.named(dice.of(&["early", "a/p/b"])) } else { id };
            Command::PromiseSettle { id, verdict: verdict(dice), value: value(dice) }
        }
        7 => Command::RegisterCallback { awaited: other, awaiter: id },
        8 => Command::RegisterListener {
            awaited: id,
            address: Text::from(dice.of(&["poll://me", "http://me/x"])),
        },
        9 => Command::TaskGet { id },
        10 => Command::Cancel { invocation: id },
        11 => Command::Kill { invocation: id },
        12 => {
            let key = dice.of(&[None, Some("k"), Some("l")]).map(Text::from);
            let (name, payload) = (Text::from("go"), value(dice));
            match dice.once_in(4) {
                true => {
                    let target = dice.of(&["wasm://shop/order", "wasm://gone/order"]);
                    let new = new(id.as_str(), &[(tags::TARGET, target)], Timestamp::NEVER);
                    Command::SignalStart { new, name, payload, key }
                }
                false => Command::Signal { invocation: id, name, payload, key },
            }
        }
        13 => {
            let module = dice.of(&[MODULE, MODULE, Digest([9; 32])]);
            let of = |names: &[&'static str], dice: &mut Dice| Text::from(dice.of(names));
            match dice.once_in(3) {
                // Keep `shop` deployed most of the time: without it, little can start.
                true => Command::Undeploy {
                    alias: of(&["shop", "other", "other", "other"], dice),
                    module,
                },
                false => Command::Deploy { alias: of(&["shop", "other"], dice), module },
            }
        }
        14 => Command::PromiseDue { id },
        15 => Command::LeaseDue { id },
        16 => Command::RetryDue { id },
        17 => Command::HostStart { node: node(dice) },
        18 => Command::HostRelease { id, node: node(dice), below: 1 + dice.roll(3) as u64 },
        19 => Command::Reconcile { id },
        20 => Command::OutboxDue { key: key(dice, seen, &id) },
        21 => Command::OutboxAck { key: key(dice, seen, &id) },
        24 => Command::OutboxDefer { key: key(dice, seen, &id), until: deferral(dice) },
        22 => Command::TaskHalt { id },
        23 => Command::TaskContinue { id },
        28 => Command::JournalRemove { id },
        26 => {
            let age = Millis(dice.of(&[0, 1, 5_000]));
            Command::Prune {
                top: any(dice, seen),
                before: Timestamp(now.0 - age.0),
                part: false,
                state: dice.once_in(2),
            }
        }
        _ => match task {
            Some(task) => under_claim(dice, seen, task, &other),
            None => Command::PromiseCreate(promise(dice, now)),
        },
    }
}

/// A fork: an invocation that begins with records of another, usually under an unused id.
fn fork(dice: &mut Dice, seen: &Snapshot, id: PromiseId) -> Command {
    let Some(nth) = seen.journals.len().checked_sub(1).map(|last| dice.roll(last + 1)) else {
        return Command::PromiseGet { id };
    };
    let (of, journal) = seen.journals.iter().nth(nth).expect("below their number");
    let records = journal.records[..dice.roll(journal.records.len() + 1)].to_vec();
    let id = match dice.once_in(4) {
        true => id,
        false => PromiseId::new(format!("i{}", dice.roll(1_000))),
    };
    let target = dice.of(&TARGETS[..5]);
    let owns = records.iter().filter_map(|record| match &record.body {
        RecordBody::Notified { index, outcome: Outcome::Own } => Some(id.command(*index)),
        _ => None,
    });
    let step = [(tags::SAGA, "trip"), (tags::SEQ, "0"), (tags::COMPENSATE, "ship")];
    let step = step.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut kept: Vec<KeptPromise> = owns
        .map(|id| KeptPromise {
            id,
            tags: Tags::from(step.clone()),
            verdict: verdict(dice),
            value: Some(value(dice)),
        })
        .collect();
    if dice.once_in(3) {
        let id = id.named("x");
        kept.push(KeptPromise { id, tags: Tags::new(), verdict: Verdict::TimedOut, value: None });
    }
    let new = new(id.as_str(), &[(tags::TARGET, target)], Timestamp::NEVER);
    let module = dice.of(&[None, Some(MODULE), Some(Digest([9; 32]))]);
    let set = vec![CommandIndex(0)];
    let of_it = |id: &&StreamId| id.owner().as_ref() == Some(of);
    let copied = records.len() as u32;
    let mut streams = Vec::new();
    for id in seen.streams.keys().filter(of_it) {
        let appends = (0..copied).filter(|_| dice.once_in(2)).map(|record| (record, 1)).collect();
        streams.push(ForkedStream { id: id.clone(), appends });
    }
    Command::InvocationFork(Box::new(Fork {
        new,
        module,
        of: of.clone(),
        set,
        records,
        copied,
        kept,
        streams,
    }))
}

/// An update, usually of a workflow that has seen everything so far.
fn update(dice: &mut Dice, seen: &Snapshot, id: PromiseId) -> Command {
    let records = seen.journals.get(&id).map_or(0, |journal| journal.head.len);
    let signals = seen.tasks.get(&id).map_or(0, |task| task.signals);
    Command::Update {
        name: Text::from(dice.of(&["note", "stop"])),
        input: Text::from(dice.of(&["1", "\"ж\"", "{}", "{"])),
        key: dice.of(&[None, Some("k"), Some("l")]).map(Text::from),
        records: records + u32::from(dice.once_in(8)),
        signals: signals.saturating_sub(u32::from(dice.once_in(8))),
        invocation: id,
    }
}

/// An invocation that ran before it was stored: it ended, waits, continues with a child, or did
/// something that is refused.
fn begin(dice: &mut Dice, seen: &Snapshot, now: Timestamp) -> Command {
    let new = promise(dice, now);
    let born = match dice.once_in(10) {
        true => Version(3),
        false => seen.first_version,
    };
    let claim = Claim::first(new.id.clone(), born);
    let child = PromiseId::new(format!("{}/0", new.id));
    let act = FenceOperation::CreateLoose { new: self::new(child.as_str(), &[], Timestamp::NEVER) };
    let actions = vec![FenceAction { index: CommandIndex(0), act }];
    let head = JournalHead::default();
    let began = self::records(dice, seen, &new.id, head);
    let logged = self::logs(dice, head);
    let fence = Command::TaskFence { claim: claim.clone(), records: began, logs: logged, actions };
    let first = match dice.roll(5) {
        0 => vec![],
        1 => vec![fence],
        2 => {
            let (records, logs) = (Vec::new(), Vec::new());
            let awaits = [child].into_iter().collect();
            vec![fence, Command::TaskSuspend { claim, records, logs, awaits }]
        }
        3 => {
            let (records, logs) = (Vec::new(), Vec::new());
            let awaits = [new.id.command(CommandIndex(7))].into_iter().collect();
            vec![fence, Command::TaskSuspend { claim, records, logs, awaits }]
        }
        _ => {
            let (records, logs) = (Vec::new(), Vec::new());
            let (verdict, value) = (verdict(dice), value(dice));
            vec![fence, Command::TaskFulfill { claim, records, logs, verdict, value }]
        }
    };
    let at = Timestamp(now.0 - dice.of(&[-5, 0, 40]));
    let module = dice.of(&[MODULE, MODULE, MODULE, Digest([9; 32])]);
    Command::TaskBegin { new, request: claim_request(dice), module, at, born, first }
}

fn object(dice: &mut Dice) -> ObjectId {
    ObjectId::from(dice.of(&["shop/Cart@ada", "shop/Cart@b/o 'б", "shop/Cart@nobody", "Cart"]))
}

fn state(dice: &mut Dice) -> StateWrite {
    let value = |dice: &mut Dice| match dice.roll(4) {
        _ if dice.once_in(12) => Some(Payload::Json(Text::from(large(dice)))),
        0 => None,
        1 => Some(Payload::Bytes(vec![0, 255, 1].into())),
        2 => Some(Payload::Json(Text::from("{\"a\": \"ж\"}"))),
        _ => Some(Payload::Json(Text::from(format!("{}", dice.roll(9))))),
    };
    let entries = (0..dice.roll(3)).map(|_| {
        let name = Text::from(dice.of(&["total", "имя \u{0}'", "items"]));
        (name, value(dice))
    });
    StateWrite { entries: entries.collect(), clears: dice.once_in(8) }
}

fn about_resources(dice: &mut Dice) -> Command {
    let name = ResourceName::from(dice.of(&["stock", "склад '", ""]));
    let token = FenceToken(dice.roll(6) as u64 * (1 << 23));
    match dice.roll(4) {
        0 => Command::ResourceGet { name },
        1 => {
            let (holder, ttl) = (Text::from(dice.of(&["ada", "bob"])), dice.roll(9_000) as i64);
            Command::ResourceLease { name, holder, ttl: Millis(ttl) }
        }
        _ => Command::FencedPut { name, value: value(dice), token },
    }
}

fn scheduled(dice: &mut Dice, now: Timestamp) -> Command {
    let id = ScheduleId::from(dice.of(&["nightly", "ночью '", "b"]));
    match dice.roll(9) {
        0..=2 => {
            let tags =
                [(tags::TARGET, dice.of(&TARGETS)), ("label:team", dice.of(&["blue", "red"]))];
            let template = PromiseTemplate {
                id: Text::from("{{.id}}@{{.timestamp}}"),
                param: value(dice),
                tags: new("", &tags, now).tags,
                timeout: Millis(dice.roll(20_000) as i64),
            };
            let cron = Text::from(dice.of(&["* * * * * *", "*/3 * * * * *", "0 0 30 2 *"]));
            let overlap = dice.of(&[Overlap::Allow, Overlap::Skip, Overlap::Queue]);
            let zone = dice.of(&["UTC", "Europe/Berlin"]).parse().expect("a zone");
            let jitter = Millis(dice.of(&[0, 0, 1_500]));
            Command::ScheduleCreate(NewSchedule { id, cron, zone, jitter, template, overlap })
        }
        3 => Command::ScheduleDelete { id },
        4 => Command::SchedulePause { id, paused: dice.once_in(3) },
        5 => Command::ScheduleBackfill { id, from: now - Millis(9_000), to: now + Millis(4_000) },
        6 => Command::ScheduleTrigger { id, at: Timestamp(now.0 / 4_000 * 4_000) },
        _ => Command::ScheduleDue { id },
    }
}

/// Any promise, settled or not.
fn any(dice: &mut Dice, seen: &Snapshot) -> PromiseId {
    let nth = dice.roll(seen.promises.len().max(1));
    seen.promises.keys().nth(nth).cloned().unwrap_or_else(|| PromiseId::from(dice.of(&IDS)))
}

/// Usually a pending promise.
fn pick(dice: &mut Dice, seen: &Snapshot) -> PromiseId {
    let pending = seen.promises.values().filter(|promise| promise.is_pending());
    let pending: Vec<_> = pending.map(|promise| promise.id()).collect();
    match dice.roll(8) {
        0 => PromiseId::from(dice.of(&IDS)),
        1 if !seen.promises.is_empty() => {
            let nth = dice.roll(seen.promises.len());
            seen.promises.keys().nth(nth).expect("below their number").clone()
        }
        _ if pending.is_empty() => PromiseId::from(dice.of(&IDS)),
        _ => dice.of(&pending).clone(),
    }
}

fn under_claim(dice: &mut Dice, seen: &Snapshot, task: &Task, other: &PromiseId) -> Command {
    let stale = dice.once_in(10);
    let version = Version(if stale { task.version.0.saturating_sub(1) } else { task.version.0 });
    let claim = Claim { id: task.id.clone(), version };
    if task.status() == TaskStatus::Halted && dice.once_in(2) {
        let records = seen.journals.get(&task.id).map_or(0, |journal| journal.head.len);
        return match dice.roll(3) {
            0 => Command::TaskMigrate { id: task.id.clone(), module: MODULE, records },
            1 => Command::TaskMigrate { id: task.id.clone(), module: MODULE, records: records + 1 },
            _ => Command::TaskContinue { id: task.id.clone() },
        };
    }
    if task.lease().is_none() {
        return Command::TaskAcquire { claim, request: claim_request(dice), stall_limit: None };
    }
    let head = seen.journals.get(&task.id).map_or(JournalHead::default(), |journal| journal.head);
    let (records, logs) = (records(dice, seen, &task.id, head), logs(dice, head));
    match dice.roll(8) {
        0..=2 => {
            let actions = actions(dice, &task.id, other, &records);
            Command::TaskFence { actions, claim, records, logs }
        }
        3 => {
            let mut awaits: Vec<_> = (0..1 + dice.roll(2)).map(|_| pick(dice, seen)).collect();
            if dice.once_in(2) {
                awaits.push(task.id.signal(task.signals));
            }
            let awaits = awaits.into_iter().collect();
            Command::TaskSuspend { claim, records, logs, awaits }
        }
        4 if dice.once_in(2) => {
            let same_module = dice.once_in(2);
            let unread = if dice.once_in(2) { vec![0] } else { Vec::new() };
            let param = value(dice);
            Command::TaskHandOver { claim, records, logs, param, same_module, unread }
        }
        4 => Command::TaskFulfill {
            claim,
            records,
            logs,
            verdict: verdict(dice),
            value: value(dice),
        },
        5 => Command::TaskRelease { claim, reason: reason(dice) },
        _ => {
            let lease = task.lease().expect("checked above");
            let progress = Some((dice.roll(5) as u64, Some(b"half".to_vec().into())));
            let items = vec![HeartbeatItem { claim, progress }];
            Command::TaskHeartbeat { holder: lease.holder.clone(), items }
        }
    }
}

fn promise(dice: &mut Dice, now: Timestamp) -> NewPromise {
    // Client ids do not begin with invocation ids here, which stay free for promises made by
    // invocations.
    let id = match dice.roll(6) {
        0 => dice.of(&IDS[..3]).to_owned(),
        _ => format!("i{}", dice.roll(1_000)),
    };
    let mut tags = Vec::new();
    if !dice.once_in(4) {
        tags.push((tags::TARGET, dice.of(&TARGETS)));
    }
    if dice.once_in(8) {
        tags.push((tags::TIMER, "true"));
    }
    if dice.once_in(8) {
        tags.push((tags::DELAY, "9000"));
    }
    if dice.once_in(5) {
        tags.push((tags::BUDGET, dice.of(&BUDGETS)));
    }
    if dice.once_in(3) {
        tags.push(("label:team", "blue"));
        tags.push((tags::BRANCH, dice.of(&["a", "\"quoted\" \\ é", "users/42"])));
        tags.push((tags::PARENT, dice.of(&["a", "\"quoted\" \\ é", "users/42", IDS[2], &id])));
    }
    let timeout_at = match dice.roll(4) {
        0 => now + Millis(dice.roll(20_000) as i64),
        1 => now - Millis(5),
        _ => Timestamp::NEVER,
    };
    new(&id, &tags, timeout_at)
}

/// An arbitrary node row, without regard to order.
fn graph_node(dice: &mut Dice) -> NodeRow {
    NodeRow { state: dice.of(&NodeState::ALL), attempt: dice.roll(3) as u32 }
}

fn actions(
    dice: &mut Dice,
    inv: &PromiseId,
    other: &PromiseId,
    records: &[Record],
) -> Vec<FenceAction> {
    let undone = |dice: &mut Dice| inv.compensation("trip", dice.roll(2) as u32);
    let act = |dice: &mut Dice| match dice.roll(14) {
        13 => FenceOperation::Elapsed { id: other.clone() },
        12 => FenceOperation::UnlessAsked,
        11 => FenceOperation::Create { new: admissions::child(dice, inv), request: None },
        9 | 10 => FenceOperation::State(state(dice)),
        8 => {
            let row = graph_node(dice);
            let resets = [
                None,
                Some(ResetReason::Cancelled),
                Some(ResetReason::Failed { begins_at: Timestamp(7_000) }),
            ];
            let reset = dice.of(&resets);
            FenceOperation::Node { node: Text::from(dice.of(&["a", "b"])), row, reset }
        }
        5 => {
            let id = inv.named(dice.of(&["x", "y"]));
            let seq = dice.of(&["0", "1"]);
            let step = [(tags::SAGA, "trip"), (tags::SEQ, seq), (tags::COMPENSATE, "ship")];
            let doubt = (tags::UNKNOWN, dice.of(&["compensate", "stop"]));
            let tags = [&step[..], &[doubt]].concat();
            FenceOperation::Create { new: new(id.as_str(), &tags, Timestamp::NEVER), request: None }
        }
        6 => {
            let id = undone(dice);
            FenceOperation::Create { new: new(id.as_str(), &[], Timestamp::NEVER), request: None }
        }
        7 => {
            let id = if dice.once_in(2) { undone(dice) } else { inv.named(dice.of(&["x", "y"])) };
            FenceOperation::Settle { id, verdict: verdict(dice), value: value(dice) }
        }
        0 | 1 => {
            let child = inv.command(CommandIndex(dice.roll(12) as u32));
            let detached = (tags::DETACHED, if dice.once_in(4) { "true" } else { "false" });
            let tags = [(tags::TARGET, dice.of(&TARGETS)), detached];
            FenceOperation::Create {
                new: new(child.as_str(), &tags, Timestamp::NEVER),
                request: None,
            }
        }
        2 => {
            FenceOperation::Settle { id: other.clone(), verdict: verdict(dice), value: value(dice) }
        }
        3 => FenceOperation::Cancel { id: inv.command(CommandIndex(dice.roll(3) as u32)) },
        _ if dice.once_in(3) => streams::item(dice),
        _ => FenceOperation::Publish { topic: Text::from("news"), payload: value(dice) },
    };
    let commands = records.iter().filter_map(|record| match record.body {
        RecordBody::Command { index, .. } => Some(index),
        _ => None,
    });
    let commands: Vec<CommandIndex> = commands.collect();
    (0..dice.roll(4))
        .map(|index| {
            let act = act(dice);
            // Events and state are written together with the record of their command.
            let first = matches!(
                act,
                FenceOperation::Publish { .. }
                    | FenceOperation::State(_)
                    | FenceOperation::Stream(_)
            );
            let recorded = commands.first().filter(|_| first);
            FenceAction { index: recorded.copied().unwrap_or(CommandIndex(index as u32)), act }
        })
        .collect()
}

fn records(dice: &mut Dice, seen: &Snapshot, inv: &PromiseId, head: JournalHead) -> Vec<Record> {
    // Sometimes stored records again, like a client that lost the reply.
    if dice.once_in(5) && head.len > 0 {
        let from = dice.roll(head.len as usize);
        return seen.journals[inv].records[from..].to_vec();
    }
    let mut head = head;
    let mut records = Vec::new();
    for _ in 0..dice.roll(4) {
        let record = Record { seq: head.len, at: Timestamp(1_000), body: body(dice, head) };
        match head.after(&record) {
            Ok(after) => head = after,
            Err(_) => break,
        }
        records.push(record);
    }
    if dice.once_in(20) {
        records.truncate(1);
        records.iter_mut().for_each(|record| record.seq += 1);
    }
    records
}

pub(super) fn body(dice: &mut Dice, head: JournalHead) -> RecordBody {
    if head.len == 0 {
        return RecordBody::Started {
            function: Text::from("order"),
            input: Payload::Json(match dice.once_in(12) {
                true => Text::from(large(dice)),
                false => Text::from("{}"),
            }),
            module: MODULE,
            seed: Seed([3; 32]),
            engine: EngineFacts::default(),
        };
    }
    if head.open() > 0 && dice.once_in(2) {
        let outcome = Outcome::Inline(StepResult::Value(Payload::Json(Text::from("[1]"))));
        return RecordBody::Notified { index: CommandIndex(head.notified), outcome };
    }
    if dice.once_in(12) {
        return RecordBody::Finished { outcome: Outcome::Own };
    }
    RecordBody::Command {
        index: CommandIndex(head.commands),
        kind: CommandKind::Call,
        name: Text::from("ship"),
        request: CommandRequest::of(&[("input", b"{}")]),
    }
}

fn logs(dice: &mut Dice, head: JournalHead) -> Vec<LogLine> {
    let line = |n| LogLine {
        seq: head.len,
        level: LogLevel::Info,
        at: Timestamp(1_000),
        message: Text::from(format!("line {n}")),
    };
    (0..dice.roll(3)).map(line).collect()
}

fn deferral(dice: &mut Dice) -> Deferral {
    dice.of(&[
        Deferral::Failed { at_least: Millis(0) },
        Deferral::Failed { at_least: Millis(3_000) },
        Deferral::Offered,
        Deferral::Elsewhere,
        Deferral::Unclaimed,
    ])
}

fn key(dice: &mut Dice, seen: &Snapshot, id: &PromiseId) -> OutboxKey {
    let owed: Vec<_> = seen.outbox.keys().cloned().collect();
    if owed.is_empty() || dice.once_in(4) {
        return dice.of(&[
            OutboxKey::Execute(id.clone()),
            OutboxKey::Unblock(id.clone(), Text::from("poll://me")),
            OutboxKey::Event(id.clone(), CommandIndex(0)),
            OutboxKey::CancelChildren(id.clone()),
        ]);
    }
    dice.of(&owed)
}

fn reason(dice: &mut Dice) -> ReleaseReason {
    let note = Note {
        kind: Text::from("trap"),
        message: Text::from("it broke"),
        details: b"{}".to_vec().into(),
    };
    let trap =
        dice.once_in(2).then(|| TrapKey { journal_len: 0, message: Text::from("unreachable") });
    match dice.roll(4) {
        0 => ReleaseReason::Yield,
        1 => ReleaseReason::Shutdown,
        2 => ReleaseReason::Failed { retry_after: Some(Millis(5)), error: note, trap },
        _ => ReleaseReason::Halt { report: note },
    }
}

pub(crate) fn claim_request(dice: &mut Dice) -> ClaimRequest {
    let holder = Holder { node: node(dice), incarnation: dice.roll(3) as u64 };
    // Nonces use all 64 bits.
    let nonce = u64::MAX - dice.roll(3) as u64;
    ClaimRequest { holder, nonce, ttl: Millis(15_000) }
}

fn node(dice: &mut Dice) -> HostName {
    HostName::from(dice.of(&["n", "m"]))
}

fn verdict(dice: &mut Dice) -> Verdict {
    dice.of(&[Verdict::Resolved, Verdict::Rejected, Verdict::Canceled, Verdict::TimedOut])
}

/// A large value: the beginning is common to many, the end to few.
fn large(dice: &mut Dice) -> String {
    let bytes = dice.of(&[65_537, 90_000, 140_000]);
    let (common, end) = (Dice::new(7), Dice::new(dice.roll(4) as u64));
    let (common, end) = (words(common).take(bytes), words(end).take(dice.roll(30_000)));
    format!("\"{}{}\"", common.collect::<String>(), end.collect::<String>())
}

fn words(mut dice: Dice) -> impl Iterator<Item = char> {
    std::iter::repeat_with(move || char::from(b'a' + dice.roll(26) as u8))
}

fn value(dice: &mut Dice) -> Value {
    if dice.once_in(24) {
        return Value::of(large(dice).into_bytes());
    }
    match dice.roll(4) {
        0 => Value::default(),
        3 => Value { headers: budgets::headers(dice), ..Value::default() },
        1 => Value::of(&[0, 255, 1][..]),
        _ => Value {
            headers: Tags::from([("h".to_owned(), "v".to_owned())]),
            data: b"{\"a\": 1}".to_vec().into(),
        },
    }
}
