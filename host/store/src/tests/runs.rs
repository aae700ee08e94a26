//! Script commands about functions that run once per key, and about the promises of their objects.

use std::sync::Arc;

use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    config::Config,
    footprint::TREE_LIMIT,
    id::{Claim, CommandIndex, ObjectId, PromiseId},
    object::StateWrite,
    promise::{NewPromise, Promise, Verdict},
    reply::{Conflict, PruneResult, Reply, RetentionReason},
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::Value,
};

use super::{
    HandClock,
    conformance::compare,
    create, deploy, memory, new,
    script::{Dice, claim_request},
    sqlite,
};
use crate::Store;

/// Objects; keys may contain any character.
const OBJECTS: [&str; 3] = ["shop/Signup@ada", "shop/Signup@b/o%2F 'б\u{0}", "shop/Signup@ada/p"];

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

/// Everything that an object holds is removed with its run, even if all of it was created in the
/// same transaction; then the key can run again. Promises with similar names, or of other objects,
/// stay.
pub(super) async fn a_run_takes_all_along(
    model: &dyn Store,
    store: &dyn Store,
    clock: &Arc<HandClock>,
) {
    deploy(model).await;
    deploy(store).await;
    for object in OBJECTS.map(ObjectId::from) {
        let target = format!("wasm://{object}/run");
        let run = |id: &str| {
            Command::PromiseCreate(new(id, &[(tags::TARGET, &target)], Timestamp::NEVER))
        };
        let known = |name: &str| {
            let id = object.promise(name);
            Command::PromiseCreate(new(
                id.as_str(),
                &[(tags::OBJECT, object.as_str())],
                Timestamp::NEVER,
            ))
        };
        let plain = object.as_str().replace('\0', "");
        let (first, second) = (format!("first {plain}"), format!("second {plain}"));
        let prune = |top: &str| Command::Prune {
            top: top.into(),
            before: Timestamp::NEVER,
            part: false,
            state: false,
        };
        let alike = object.promise("alike");
        let commands = vec![
            known("sure"),
            create(alike.as_str(), &[]),
            run(&first),
            known("имя/'"),
            Command::PromiseSettle {
                id: object.promise("sure"),
                verdict: Verdict::Resolved,
                value: Value::default(),
            },
            run(&second),
            Command::Kill { invocation: first.as_str().into() },
            prune(object.promise("sure").as_str()),
            prune(&first),
            run(&second),
            known("sure"),
        ];
        let expected = model.execute(commands.clone()).await.expect("replies");
        let refused = Conflict::RanAlready { object: object.clone(), run: first.as_str().into() };
        assert_eq!(expected[5], Reply::Refused(refused.into()));
        assert_eq!(
            expected[7],
            Reply::Pruned(PruneResult::Kept(RetentionReason::OfObject { object: object.clone() }))
        );
        assert_eq!(expected[8], Reply::Pruned(PruneResult::Gone { promises: 3 }));
        assert!(matches!(expected[10], Reply::Promise { changed: true, .. }));
        assert_eq!(store.execute(commands).await.expect("replies"), expected, "{object}");
        compare(model, store, clock, object.as_str()).await;
    }
}

#[tokio::test]
async fn a_run_takes_all_along_that_its_object_holds() {
    let dir = tempfile::tempdir().expect("a directory");
    let (clock, config) = (HandClock::new(), Config::default());
    let model = memory(&clock, &config);
    let store = sqlite(dir.path(), &clock, &config).await;
    a_run_takes_all_along(&*model, &*store, &clock).await;
}

/// An object with more promises than one command removes is kept whole.
#[tokio::test]
async fn what_is_too_much_for_one_command_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let (clock, config) = (HandClock::new(), Config::default());
    let store = sqlite(dir.path(), &clock, &config).await;
    deploy(&*store).await;
    let object = ObjectId::from(OBJECTS[0]);
    let known = |n: u32| {
        let id = object.promise(&n.to_string());
        Command::PromiseCreate(new(
            id.as_str(),
            &[(tags::OBJECT, object.as_str())],
            Timestamp::NEVER,
        ))
    };
    let mut commands: Vec<Command> = (0..=TREE_LIMIT).map(known).collect();
    commands.push(create("run", &[(tags::TARGET, "wasm://shop/Signup@ada/run")]));
    commands.push(Command::Kill { invocation: "run".into() });
    store.execute(commands).await.expect("replies");
    let prune = |top: &str, part| {
        let top = PromiseId::from(top);
        vec![Command::Prune { top, before: Timestamp::NEVER, part, state: false }]
    };
    let replies = store.execute(prune("run", false)).await.expect("a reply");
    assert_eq!(replies, [Reply::Pruned(PruneResult::Kept(RetentionReason::Large))]);
    let one = object.promise("7");
    let replies = store.execute(prune(one.as_str(), true)).await.expect("a reply");
    assert_eq!(replies, [Reply::Pruned(PruneResult::Gone { promises: 1 })]);
    let replies = store.execute(prune("run", false)).await.expect("a reply");
    assert_eq!(replies, [Reply::Pruned(PruneResult::Gone { promises: TREE_LIMIT + 1 })]);
}
