//! One run per key, and the content of that key's object.

use crate::{
    command::{Command, FenceAction},
    id::{Claim, CommandIndex, PromiseId},
    object::StateWrite,
    promise::{Settlement, Verdict},
    reply::{Conflict, FenceResult, PruneResult, Refusal, Reply, RetentionReason},
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
    world::{self, CheckedStore, OTHER_MODULE},
};

fn run(world: &CheckedStore) -> Option<String> {
    world.model.line(&world::ada())?.run.as_ref().map(ToString::to_string)
}

fn prune(top: &str, state: bool) -> Command {
    Command::Prune { top: top.into(), before: Timestamp::NEVER, part: false, state }
}

fn kept(reply: &Reply) -> &RetentionReason {
    match reply {
        Reply::Pruned(PruneResult::Kept(kept)) => kept,
        other => panic!("{other:?}"),
    }
}

fn sure() -> PromiseId {
    world::ada().promise("sure")
}

/// Acts on the object's promise by the command `index` of an execution.
fn act(
    world: &mut CheckedStore,
    claim: &Claim,
    index: u32,
    name: &str,
    verdict: Option<Verdict>,
) -> Result<(ExpectedVerdict, bool), Refusal> {
    let act = world::of_object(name, verdict);
    let fence = Command::TaskFence {
        claim: claim.clone(),
        records: Vec::new(),
        logs: Vec::new(),
        actions: vec![FenceAction { index: CommandIndex(index), act }],
    };
    let Reply::Fenced { mut outcomes, .. } = world.done(fence) else { panic!("no fence") };
    match outcomes.pop().expect("one action").1? {
        FenceResult::Promise { promise, changed } => {
            Ok((promise.settlement().map(|settlement: &Settlement| settlement.verdict), changed))
        }
        FenceResult::Held(_) | FenceResult::Done => panic!("it is about a promise"),
    }
}

type ExpectedVerdict = Option<Verdict>;

#[test]
fn a_key_has_one_run_whatever_became_of_it() {
    let overdue = |world: &CheckedStore| world.now - Millis(1);
    let target = (tags::TARGET, "wasm://shop/Signup@ada/run");
    type RunSetup = fn(&mut CheckedStore, (&str, &str), Timestamp);
    let cases: [(&str, RunSetup); 5] = [
        ("it runs", |world, _, _| {
            world.done(world::signup("first", "run"));
            world.acquire("first", 1);
        }),
        ("it has ended", |world, _, _| {
            world.done(world::signup("first", "run"));
            let claim = world.acquire("first", 1);
            world.done(world::fulfill(claim));
        }),
        ("it was killed before it began", |world, _, _| {
            world.done(world::signup("first", "run"));
            world.done(Command::Kill { invocation: "first".into() });
        }),
        ("it is to begin later", |world, target, _| {
            let later = (world.now + Millis(50)).to_string();
            world.done(world::create("first", &[target, (tags::DELAY, &later)]));
        }),
        ("its deadline had passed when it was made", |world, target, overdue| {
            world.done(Command::PromiseCreate(world::new("first", &[target], overdue)));
        }),
    ];
    for (what, begin) in cases {
        let mut world = CheckedStore::new();
        let overdue = overdue(&world);
        begin(&mut world, target, overdue);
        let refused = world.refused(world::signup("second", "run"));
        let expected = Conflict::RanAlready { object: world::ada(), run: "first".into() };
        assert_eq!(refused, Refusal::Conflict(expected), "{what}");
        assert_eq!((refused.code(), refused.kind()), (409, "ran-already"));
        // The same id again gets the existing promise as reply.
        let again = world.done(world::signup("first", "run"));
        assert!(matches!(again, Reply::Promise { changed: false, .. }), "{what}");
        // Its other functions, and other keys, are unaffected.
        world.done(world::signup("look", "confirm"));
        world.done(world::create("bob", &[(tags::TARGET, "wasm://shop/Signup@bob/run")]));
    }
}

#[test]
fn a_run_that_begins_later_has_its_turn_then() {
    let mut world = CheckedStore::new();
    let at = (world.now + Millis(50)).to_string();
    let pairs = [(tags::TARGET, "wasm://shop/Signup@ada/run"), (tags::DELAY, at.as_str())];
    world.done(world::create("later", &pairs));
    world.wait(60);
    world.acquire("later", 1);
}

#[test]
fn a_call_of_a_key_that_has_run_is_refused_to_its_caller() {
    let mut world = CheckedStore::new();
    world.done(world::signup("first", "run"));
    world.done(world::workflow("caller"));
    let caller = world.acquire("caller", 1);
    let target = (tags::TARGET, "wasm://shop/Signup@ada/run");
    let new = world::new("caller/0", &[target], Timestamp::NEVER);
    let create = crate::command::FenceOperation::Create { new, request: None };
    let fence = world::fence(caller, vec![world::started(), world::asked(1, 0)], vec![create]);
    let Reply::Fenced { outcomes, .. } = world.done(fence) else { panic!("no fence") };
    let refused = outcomes[0].1.as_ref().expect_err("it has run");
    assert_eq!(refused.kind(), "ran-already");
    assert!(refused.to_string().contains("`first`"), "{refused}");
}

#[test]
fn a_client_s_tag_makes_no_run() {
    let mut world = CheckedStore::new();
    let tags = [(tags::TARGET, "wasm://shop/Cart@ada/add"), (tags::RUN, "true")];
    world.done(world::create("a", &tags));
    world.done(world::create("b", &tags));
}

#[test]
fn what_an_object_holds_goes_with_its_run_and_the_key_runs_again() {
    let mut world = CheckedStore::new();
    world.done(world::known("early"));
    world.done(world::signup("first", "run"));
    let claim = world.acquire("first", 1);
    let write = world::state("mail", "1");
    let records = vec![world::started(), world::wrote(1, 0)];
    world.done(world::fence(claim.clone(), records, vec![write]));
    act(&mut world, &claim, 1, "sure", Some(Verdict::Resolved)).expect("it is its own");
    world.done(world::fulfill(claim));
    let reply = world.done(prune(sure().as_str(), false));
    assert_eq!(*kept(&reply), RetentionReason::OfObject { object: world::ada() });
    // A function that only reads awaits another promise, so it has to end first.
    world.done(world::signup("look", "confirm"));
    let look = world.acquire("look", 2);
    world.done(world::fence(look.clone(), vec![], vec![world::of_object("early", None)]));
    let early = world::ada().promise("early");
    world.done(world::suspend(look, &[early.as_str()]));
    let reply = world.done(prune("first", false));
    assert_eq!(*kept(&reply), RetentionReason::Awaited { id: early.clone(), by: "look".into() });
    world.done(Command::Kill { invocation: "look".into() });
    let reply = world.done(prune("first", false));
    assert_eq!(reply, Reply::Pruned(PruneResult::Gone { promises: 3 }));
    assert_eq!((world.model.states().count(), world.verdict(early.as_str())), (0, None));
    assert!(world.model.promise(&early).is_none() && world.model.promise(&sure()).is_none());
    world.done(world::signup("second", "run"));
    assert_eq!(run(&world).as_deref(), Some("second"));
}

#[test]
fn a_promise_that_settled_late_keeps_its_run() {
    let mut world = CheckedStore::new();
    world.done(world::known("sure"));
    world.done(world::signup("first", "run"));
    world.done(Command::Kill { invocation: "first".into() });
    let before = world.now;
    world.wait(10);
    world.done(world::settle(sure().as_str(), Verdict::Resolved));
    let command =
        |before| Command::Prune { top: "first".into(), before, part: false, state: false };
    let reply = world.done(command(before));
    assert_eq!(*kept(&reply), RetentionReason::Recent { id: sure() });
    world.done(command(world.now));
    assert!(world.model.promise(&sure()).is_none());
}

/// The new module does not declare the function as a run: other executions follow the run, and may
/// still write.
#[test]
fn a_run_is_kept_also_where_other_code_has_others_after_it() {
    let mut world = CheckedStore::new();
    world.done(world::signup("first", "run"));
    world.done(Command::Kill { invocation: "first".into() });
    let deploy = |module| Command::Deploy { alias: Text::from("shop"), module };
    world.done(deploy(OTHER_MODULE));
    world.done(world::signup("other", "run"));
    let other = world.acquire("other", 1);
    let records = vec![world::started(), world::wrote(1, 0)];
    world.done(world::fence(other.clone(), records, vec![world::state("mail", "1")]));
    world.done(deploy(world::MODULE));
    assert_eq!(world.refused(world::signup("second", "run")).kind(), "ran-already");
    world.done(prune("first", false));
    assert_eq!(world.model.states().count(), 1, "who has the turn may read it");
    world.done(world::signup("second", "run"));
    world.done(world::fulfill(other));
    world.acquire("second", 2);
    assert_eq!(run(&world).as_deref(), Some("second"));
}

#[test]
fn the_line_is_kept_for_the_run_where_the_last_one_goes_first() {
    let mut world = CheckedStore::new();
    world.done(world::signup("first", "run"));
    world.done(Command::Kill { invocation: "first".into() });
    world.done(Command::Deploy { alias: Text::from("shop"), module: OTHER_MODULE });
    world.done(world::signup("other", "run"));
    world.done(Command::Kill { invocation: "other".into() });
    world.done(Command::Deploy { alias: Text::from("shop"), module: world::MODULE });
    world.done(prune("other", true));
    assert_eq!(world.refused(world::signup("second", "run")).kind(), "ran-already");
    world.done(prune("first", false));
    assert!(world.model.line(&world::ada()).is_none());
}

#[test]
fn a_promise_of_an_object_is_settled_once_and_who_did_it_knows_that() {
    let mut world = CheckedStore::new();
    world.done(world::signup("first", "run"));
    world.done(world::signup("look", "confirm"));
    let (first, look) = (world.acquire("first", 1), world.acquire("look", 2));
    let mut done = |claim: &Claim, index, verdict| {
        act(&mut world, claim, index, "sure", verdict).expect("it is one of its object")
    };
    assert_eq!(done(&first, 0, None), (None, true));
    assert_eq!(done(&look, 0, None), (None, false));
    assert_eq!(done(&look, 1, Some(Verdict::Resolved)), (Some(Verdict::Resolved), true));
    // The reply was lost.
    assert_eq!(done(&look, 1, Some(Verdict::Resolved)), (Some(Verdict::Resolved), true));
    assert_eq!(done(&look, 2, Some(Verdict::Rejected)), (Some(Verdict::Resolved), false));
    assert_eq!(done(&first, 1, Some(Verdict::Rejected)), (Some(Verdict::Resolved), false));
    let promise = world.model.promise(&sure()).expect("it is there");
    assert_eq!((promise.spec.made_by.as_ref(), promise.spec.timeout_at), (None, Timestamp::NEVER));
}

#[test]
fn a_promise_of_an_object_outlives_who_made_it_and_waits_for_it() {
    let mut world = CheckedStore::new();
    world.done(world::signup("first", "run"));
    let first = world.acquire("first", 1);
    act(&mut world, &first, 0, "sure", None).expect("it is its own");
    world.done(world::suspend(first, &[sure().as_str()]));
    world.done(Command::Cancel { invocation: "first".into() });
    let first = world.acquire("first", 2);
    world.done(world::fulfill(first));
    assert_eq!(world.verdict(sure().as_str()), None);
    world.done(world::signup("look", "confirm"));
    let look = world.acquire("look", 3);
    world.done(world::suspend(look, &[sure().as_str()]));
    world.done(world::settle(sure().as_str(), Verdict::Resolved));
    world.acquire("look", 4);
}

#[test]
fn only_functions_of_the_object_act_on_its_promises_whatever_their_rights() {
    let mut world = CheckedStore::new();
    let bob = [(tags::TARGET, "wasm://shop/Signup@bob/confirm")];
    world.done(world::create("bob", &bob));
    world.done(world::workflow("plain"));
    let narrow = [(tags::TARGET, "wasm://shop/Signup@ada/confirm"), (tags::RIGHTS, "mine/")];
    world.done(world::create("narrow", &narrow));
    let [bob, plain, narrow] =
        [("bob", 1), ("plain", 2), ("narrow", 3)].map(|(id, nonce)| world.acquire(id, nonce));
    for claim in [&bob, &plain] {
        let refused = act(&mut world, claim, 0, "sure", None).expect_err("it is not its own");
        assert_eq!(refused.code(), 422, "{refused}");
    }
    act(&mut world, &narrow, 0, "sure", None).expect("it may do what its function does");
    world.done(world::suspend(narrow, &[sure().as_str()]));
}

#[test]
fn names_that_no_promise_of_an_object_can_have_are_refused() {
    let mut world = CheckedStore::new();
    let of = |id: &str, more: &[(&str, &str)]| {
        let tags = [&[(tags::OBJECT, "shop/Signup@ada")], more].concat();
        world::create(id, &tags)
    };
    let target = [(tags::TARGET, "wasm://shop/order")];
    for (id, more) in [
        ("shop/Signup@ada", &[][..]),
        ("shop/Signup@ada/p/", &[]),
        ("shop/Signup@bob/p/sure", &[]),
        ("shop/Signup@ada/p/sure", &target),
    ] {
        let refused = world.refused(of(id, more));
        assert_eq!(refused.code(), 400, "{refused}");
    }
    let long = "n".repeat(1_025);
    let refused = world.refused(of(&format!("shop/Signup@ada/p/{long}"), &[])).to_string();
    assert!(refused.contains("the name of the promise") && refused.contains("1024"), "{refused}");
}

#[test]
fn an_object_that_is_cleared_loses_its_promises_unless_one_is_waited_for() {
    let mut world = CheckedStore::new();
    world.done(world::known("sure"));
    world.done(world::signup("look", "confirm"));
    let look = world.acquire("look", 1);
    world.done(world::suspend(look, &[sure().as_str()]));
    let clear = |entries| Command::ObjectWrite {
        object: world::ada(),
        write: StateWrite { clears: true, entries },
    };
    assert_eq!(world.refused(clear(Vec::new())).kind(), "object-busy");
    world.done(Command::Kill { invocation: "look".into() });
    // A write with entries keeps the object.
    world.done(clear(world::entry("mail", "1").entries));
    assert!(world.model.promise(&sure()).is_some());
    world.done(clear(Vec::new()));
    assert!(world.model.promise(&sure()).is_none());
}

#[test]
fn a_promise_of_an_object_goes_by_itself_only_as_a_part_of_what_is_too_much() {
    let mut world = CheckedStore::new();
    world.done(world::known("sure"));
    let part = |before| Command::Prune { top: sure(), before, part: true, state: false };
    world.done(Command::PromiseSettle {
        id: sure(),
        verdict: Verdict::Resolved,
        value: Value::default(),
    });
    let reply = world.run(part(world.now - Millis(1)));
    assert_eq!(*kept(&reply), RetentionReason::Recent { id: sure() });
    let reply = world.done(part(world.now));
    assert_eq!(reply, Reply::Pruned(PruneResult::Gone { promises: 1 }));
}

#[test]
fn a_schedule_runs_again_and_again_and_so_not_what_runs_once() {
    let mut world = CheckedStore::new();
    let schedule = |function: &str| {
        let mut command = world::schedule("each", crate::promise::Overlap::Allow);
        if let Command::ScheduleCreate(new) = &mut command {
            let target = format!("wasm://shop/Signup@ada/{function}");
            new.template.tags.insert(tags::TARGET.to_owned(), target);
        }
        command
    };
    let refused = world.refused(schedule("run"));
    assert_eq!(refused.code(), 422);
    assert!(refused.to_string().contains("runs once a key"), "{refused}");
    world.done(schedule("confirm"));
}
