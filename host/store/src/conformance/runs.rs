//! Script commands about functions that run once per key, and about the promises of their objects.

use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    id::{Claim, CommandIndex, ObjectId, PromiseId},
    object::StateWrite,
    promise::{NewPromise, Promise, Verdict},
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::Value,
};

use super::{dice::Dice, fixture::new, script::claim_request, streams};

/// Objects; keys may contain any character.
pub(crate) const OBJECTS: [&str; 3] =
    ["shop/Signup@ada", "shop/Signup@b/o%2F 'б\u{0}", "shop/Signup@ada/p"];

/// The next command about these objects, given the state of the model.
pub(super) fn command(dice: &mut Dice, seen: &Snapshot, now: Timestamp) -> Command {
    let object = ObjectId::from(dice.of(&OBJECTS));
    let promise = object.promise(dice.of(&["sure", "имя/\u{0}'"]));
    match dice.roll(12) {
        0 | 1 => Command::PromiseCreate(function(dice, &object, "run", now)),
        2 => Command::PromiseCreate(function(dice, &object, "confirm", now)),
        3 => {
            let tags = [(tags::OBJECT, object.as_str())];
            Command::PromiseCreate(new(promise.as_str(), &tags, Timestamp::NEVER))
        }
        4 => {
            let verdict = dice.of(&[Verdict::Resolved, Verdict::Rejected]);
            Command::PromiseSettle { id: promise, verdict, value: Value::of(&b"1"[..]) }
        }
        5 | 6 => {
            let runs = seen.lines.values().filter_map(|line| line.run.clone());
            let runs: Vec<PromiseId> = runs.chain([promise]).collect();
            let (top, state) = (dice.of(&runs), dice.once_in(3));
            Command::Prune { top, before: now, part: dice.once_in(6), state }
        }
        7 if dice.once_in(2) => {
            let write = StateWrite { clears: true, entries: Vec::new() };
            Command::ObjectWrite { object, write }
        }
        _ => execution(dice, seen, &promise),
    }
}

/// An execution of a function of the object: it begins immediately, or later, or has timed out.
fn function(dice: &mut Dice, object: &ObjectId, function: &str, now: Timestamp) -> NewPromise {
    let target = format!("wasm://{object}/{function}");
    let mut tags = vec![(tags::TARGET, target.as_str())];
    tags.extend(dice.once_in(4).then_some((tags::DELAY, "9000")));
    let timeout_at = match dice.roll(5) {
        0 => now - Millis(5),
        1 => now + Millis(3_000),
        _ => Timestamp::NEVER,
    };
    new(&format!("r{}", dice.roll(60)), &tags, timeout_at)
}

/// The next command of an existing execution.
fn execution(dice: &mut Dice, seen: &Snapshot, promise: &PromiseId) -> Command {
    let open = seen.promises.values().filter(|promise| promise.is_pending());
    let open = open.filter(|promise| {
        promise.target().is_some_and(|target| target.starts_with("wasm://shop/Signup@"))
    });
    let open: Vec<PromiseId> = open.map(Promise::id).cloned().collect();
    let Some(task) = (!open.is_empty()).then(|| dice.of(&open)).and_then(|id| seen.tasks.get(&id))
    else {
        return Command::PromiseGet { id: promise.clone() };
    };
    let claim = Claim { id: task.id.clone(), version: task.version };
    if task.lease().is_none() {
        return Command::TaskAcquire { claim, request: claim_request(dice), stall_limit: None };
    }
    let (records, logs) = (Vec::new(), Vec::new());
    if dice.once_in(3) {
        let target = seen.promises[&task.id].target().unwrap_or_default();
        let object = target.strip_prefix("wasm://").and_then(|path| path.rsplit_once('/'));
        return streams::of_object(dice, seen, claim, &object.unwrap_or_default().0.into());
    }
    match dice.roll(6) {
        0 => Command::TaskSuspend { claim, records, logs, awaits: [promise.clone()].into() },
        1 => {
            let (verdict, value) = (Verdict::Resolved, Value::default());
            Command::TaskFulfill { claim, records, logs, verdict, value }
        }
        roll => {
            let value = Value::of(&b"[1]"[..]);
            let settles =
                (roll > 3).then(|| (dice.of(&[Verdict::Resolved, Verdict::Rejected]), value));
            let act = FenceOperation::ObjectPromise { id: promise.clone(), settles };
            let index = CommandIndex(dice.roll(3) as u32);
            Command::TaskFence { claim, records, logs, actions: vec![FenceAction { index, act }] }
        }
    }
}
