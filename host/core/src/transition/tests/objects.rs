use crate::{
    command::{Command, FenceOperation},
    id::{ObjectId, PromiseId},
    object::StateWrite,
    promise::{TaskStatus, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::{Payload, Text},
    world::{self, CheckedStore},
};

fn line(world: &CheckedStore) -> (String, String) {
    let line = world.model.line(&world::cart()).expect("the object has a line");
    (line.holder.as_ref().map(ToString::to_string).unwrap_or_default(), line.tail.to_string())
}

fn offer(world: &mut CheckedStore, id: &str) -> Reply {
    let version = world.model.task(&PromiseId::from(id)).expect("a task").version.0;
    world.done(world::acquire(id, version, 9))
}

fn three() -> CheckedStore {
    let mut world = CheckedStore::new();
    for id in ["a", "b", "c"] {
        world.done(world::keyed(id, "add"));
    }
    world
}

#[test]
fn executions_of_an_object_take_turns_in_the_order_of_their_acceptance() {
    let mut world = three();
    assert_eq!(line(&world), ("a".to_owned(), "c".to_owned()));
    assert_eq!(world.status("b"), Some(TaskStatus::Suspended));
    let a = world.acquire("a", 1);
    world.done(world::fulfill(a));
    assert_eq!(world.status("b"), Some(TaskStatus::Pending));
    assert_eq!(world.status("c"), Some(TaskStatus::Suspended));
    let b = world.acquire("b", 2);
    assert_eq!(line(&world), ("b".to_owned(), "c".to_owned()));
    world.done(world::fulfill(b));
    let c = world.acquire("c", 3);
    world.done(world::fulfill(c));
    // The queue is empty: the next execution begins immediately.
    world.done(world::keyed("d", "add"));
    assert_eq!(line(&world), ("d".to_owned(), "d".to_owned()));
    world.acquire("d", 4);
}

#[test]
fn the_turn_lasts_while_its_holder_is_suspended_or_backs_off() {
    let mut world = three();
    world.done(world::create("open", &[]));
    let a = world.acquire("a", 1);
    world.done(world::suspend(a, &["open"]));
    assert_eq!(world.status("b"), Some(TaskStatus::Suspended));
    world.done(world::settle("open", Verdict::Resolved));
    let a = world.acquire("a", 2);
    world.done(world::release(a, world::failed()));
    assert_eq!(
        (world.status("a"), world.status("b")),
        (Some(TaskStatus::Pending), Some(TaskStatus::Suspended))
    );
}

#[test]
fn who_leaves_the_line_lets_the_others_close_up() {
    let mut world = three();
    world.done(world::keyed("d", "add"));
    world.acquire("a", 1);
    world.done(Command::Kill { invocation: "b".into() });
    // An execution that waits for its turn is not resumed to be notified of a stop request.
    world.done(Command::Cancel { invocation: "d".into() });
    assert_eq!(world.verdict("d"), Some(Verdict::Canceled));
    assert_eq!(line(&world), ("a".to_owned(), "c".to_owned()));
    assert_eq!(world.status("c"), Some(TaskStatus::Suspended));
    world.done(Command::Kill { invocation: "a".into() });
    world.acquire("c", 2);
    assert_eq!(line(&world), ("c".to_owned(), "c".to_owned()));
}

#[test]
fn shared_functions_and_other_keys_wait_for_nobody() {
    let mut world = three();
    world.done(world::keyed("look", "total"));
    world.acquire("look", 1);
    assert_eq!(
        world
            .model
            .promise(&"look".into())
            .and_then(|row| tags::turn(&row.spec.tags).map(str::to_owned)),
        None
    );
    let target = [(tags::TARGET, "wasm://shop/Cart@bob/add")];
    world.done(world::create("bob", &target));
    world.acquire("bob", 2);
    // A tag set by a client gives no turn.
    world.done(world::create(
        "free",
        &[(tags::TARGET, "wasm://shop/order"), (tags::TURN, "shop/Cart@ada")],
    ));
    world.acquire("free", 3);
}

#[test]
fn one_that_is_to_begin_later_joins_the_line_then() {
    let mut world = CheckedStore::new();
    let at = (world.now + Millis(50)).to_string();
    let pairs = [(tags::TARGET, "wasm://shop/Cart@ada/add"), (tags::DELAY, at.as_str())];
    world.done(world::create("later", &pairs));
    world.done(world::keyed("a", "add"));
    assert_eq!(line(&world), ("a".to_owned(), "a".to_owned()));
    world.wait(60);
    assert_eq!(offer(&mut world, "later"), Reply::Parked { behind: Some("a".into()) });
    world.done(world::keyed("b", "add"));
    assert_eq!(line(&world), ("a".to_owned(), "b".to_owned()));
    let a = world.acquire("a", 1);
    world.done(world::fulfill(a));
    assert_eq!(world.status("b"), Some(TaskStatus::Suspended));
    world.acquire("later", 2);
}

#[test]
fn one_whose_maker_begins_it_at_once_joins_the_line_whatever_its_delay_says() {
    let mut world = CheckedStore::new();
    let at = (world.now + Millis(50)).to_string();
    let pairs = [(tags::TARGET, "wasm://shop/Cart@ada/add"), (tags::DELAY, at.as_str())];
    let begin = |id: &str, nonce| Command::TaskCreate {
        new: world::new(id, &pairs, Timestamp::NEVER),
        request: world::claim_request(nonce),
    };
    world.done(world::keyed("a", "add"));
    world.done(begin("b", 1));
    assert_eq!(line(&world), ("a".to_owned(), "b".to_owned()));
    assert_eq!(world.status("b"), Some(TaskStatus::Suspended));
    world.acquire("a", 2);
    world.done(Command::Kill { invocation: "b".into() });
    world.done(Command::Kill { invocation: "a".into() });
    world.done(begin("c", 3));
    assert_eq!(world.status("c"), Some(TaskStatus::Acquired));
    assert_eq!(line(&world), ("c".to_owned(), "c".to_owned()));
}

/// The results of the early run are discarded, since the claim was never granted.
#[test]
fn one_that_was_run_before_it_was_stored_waits_for_its_turn_like_any_other() {
    let mut world = CheckedStore::new();
    world.done(world::keyed("a", "add"));
    let mut begin = world::begin("b", &[]);
    if let Command::TaskBegin { new, .. } = &mut begin {
        let target = (tags::TARGET.to_owned(), "wasm://shop/Cart@ada/add".to_owned());
        new.tags.extend([target]);
    }
    world.done(begin);
    assert_eq!(line(&world), ("a".to_owned(), "b".to_owned()));
    assert_eq!(world.status("b"), Some(TaskStatus::Suspended));
    let a = world.acquire("a", 1);
    world.done(world::fulfill(a));
    world.acquire("b", 2);
}

#[test]
fn one_that_was_halted_in_the_line_keeps_its_place() {
    let mut world = three();
    world.done(Command::TaskHalt { id: "b".into() });
    world.done(Command::TaskContinue { id: "b".into() });
    assert_eq!(offer(&mut world, "b"), Reply::Parked { behind: Some("a".into()) });
    let a = world.acquire("a", 1);
    world.done(world::fulfill(a));
    world.acquire("b", 2);
}

#[test]
fn state_is_written_by_the_holder_once_and_by_operators_when_nobody_has_the_turn() {
    let mut world = CheckedStore::new();
    world.done(world::keyed("a", "add"));
    let a = world.acquire("a", 1);
    let first = || {
        world::fence(
            a.clone(),
            vec![world::started(), world::wrote(1, 0)],
            vec![world::state("total", "1")],
        )
    };
    world.done(first());
    let total = |world: &CheckedStore| {
        let state: Vec<_> = world
            .model
            .state_of(&world::cart())
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect();
        state
    };
    let one = vec![("total".to_owned(), Payload::Json(Text::from("1")))];
    assert_eq!(total(&world), one);
    // The reply to the first write was lost, and its result was overwritten in between.
    let second = world::fence(a.clone(), vec![world::wrote(2, 1)], vec![]);
    let Command::TaskFence { claim, records, logs, .. } = second else { unreachable!() };
    let write = StateWrite { clears: true, entries: Vec::new() };
    let act = crate::command::FenceAction {
        index: crate::id::CommandIndex(1),
        act: FenceOperation::State(write),
    };
    world.done(Command::TaskFence { claim, records, logs, actions: vec![act] });
    assert_eq!(total(&world), []);
    world.done(first());
    assert_eq!(total(&world), [], "what is repeated writes nothing");
    let operator =
        Command::ObjectWrite { object: world::cart(), write: world::entry("total", "1") };
    assert_eq!(world.refused(operator.clone()).kind(), "object-busy");
    world.done(world::fulfill(a));
    world.done(operator);
    assert_eq!(total(&world), one);
}

#[test]
fn what_has_no_turn_writes_no_state() {
    let mut world = CheckedStore::new();
    world.done(world::keyed("look", "total"));
    let look = world.acquire("look", 1);
    let write = world::fence(
        look,
        vec![world::started(), world::wrote(1, 0)],
        vec![world::state("total", "1")],
    );
    let refused = world.refused(write);
    assert!(refused.to_string().contains("has no object whose state it may write"), "{refused}");
}

#[test]
fn names_that_no_object_can_have_are_refused() {
    let mut world = CheckedStore::new();
    let create = |target: &str| world::create("a", &[(tags::TARGET, target)]);
    let long = format!("wasm://shop/Cart@{}/add", "k".repeat(1_600));
    assert!(
        matches!(world.refused(create(&long)), Refusal::BadRequest(why) if why.contains("too long"))
    );
    let named = world.refused(create("Cart@ada/add")).to_string();
    assert!(
        named.contains("wasm://MODULE/OBJECT@KEY/FUNCTION") || named.contains("wasm://MODULE/"),
        "{named}"
    );
    for wrong in ["", "shop", "shop/Cart", "shop/Cart@", "shop/@ada"] {
        let write =
            Command::ObjectWrite { object: ObjectId::from(wrong), write: world::entry("n", "1") };
        assert_eq!(world.refused(write).code(), 400, "{wrong}");
    }
}

#[test]
fn the_line_of_an_object_goes_with_its_last_execution() {
    let mut world = CheckedStore::new();
    world.done(world::keyed("a", "add"));
    let a = world.acquire("a", 1);
    world.done(world::fulfill(a));
    world.wait(10);
    world.done(Command::Prune { top: "a".into(), before: world.now, part: false, state: false });
    assert!(world.model.line(&world::cart()).is_none());
    // The id is reused for another execution: no execution waits for it.
    world.done(world::create("a", &[(tags::TARGET, "wasm://shop/order")]));
    world.done(Command::PromiseCreate(world::new(
        "b",
        &[(tags::TARGET, "wasm://shop/Cart@ada/add")],
        Timestamp::NEVER,
    )));
    world.acquire("b", 2);
}

#[test]
fn the_state_of_an_object_goes_with_the_last_of_its_executions_if_it_is_to() {
    for (state, left) in [(false, 1), (true, 0)] {
        let mut world = CheckedStore::new();
        for id in ["a", "b"] {
            world.done(world::keyed(id, "add"));
            let claim = world.acquire(id, 1);
            let record = world::wrote(1, 0);
            let act = world::state("total", "1");
            world.done(world::fence(claim.clone(), vec![world::started(), record], vec![act]));
            world.done(world::fulfill(claim));
        }
        let prune = |top: &str, state| Command::Prune {
            top: top.into(),
            before: Timestamp::NEVER,
            part: false,
            state,
        };
        world.done(prune("a", true));
        assert_eq!(world.model.states().count(), 1, "`b` is kept");
        world.done(prune("b", state));
        assert_eq!(world.model.states().count(), left);
    }
}
