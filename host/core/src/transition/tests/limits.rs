//! Limits: admission, waiting, and durations.

use crate::{
    command::Command,
    id::PromiseId,
    limit::{AdmissionRule, LimitName, LimitPositionState},
    promise::{NewPromise, OutboxKey, TaskStatus, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::Value,
    world::{self, CheckedStore, MODULE, OTHER_MODULE},
};

fn start(world: &mut CheckedStore, id: &str, function: &str, key: &str, priority: u8) {
    world.done(Command::PromiseCreate(world::limited(id, function, key, priority)));
}

fn set(world: &mut CheckedStore, function: &str, json: &str) {
    let rule: AdmissionRule = serde_json::from_str(json).expect("a rule");
    let name = LimitName::of("shop", function);
    world.done(Command::LimitSet { name, rule: Some(rule) });
}

fn state(world: &CheckedStore, id: &str) -> LimitPositionState {
    world.model.place(&id.into()).expect("it is behind a limit").state
}

fn admitted(world: &CheckedStore) -> Vec<&str> {
    let admitted =
        world.model.places().filter(|(_, place)| place.state == LimitPositionState::Admitted);
    admitted.map(|(id, _)| id.as_str()).collect()
}

/// Executes the host's own work: internal messages, and due limits.
fn settle_down(world: &mut CheckedStore) {
    for _ in 0..1_000 {
        let now = world.now;
        let leaves = world.model.outbox().map(|(key, _)| key.clone());
        let leaves = leaves.filter(|key| matches!(key, OutboxKey::LeaveLimit(..)));
        let due =
            world.model.limits().filter(|(_, limit)| limit.due_at.is_some_and(|at| at <= now));
        let due = due.map(|(name, _)| Command::LimitDue { name: name.clone() });
        let mut commands: Vec<_> = leaves.map(|key| Command::OutboxDue { key }).collect();
        commands.extend(due);
        if commands.is_empty() {
            return;
        }
        commands.into_iter().for_each(|command| drop(world.done(command)));
    }
    panic!("a limit is due again and again");
}

fn end(world: &mut CheckedStore, id: &str) {
    world.done(world::settle(id, Verdict::Resolved));
    settle_down(world);
}

/// Settles the admitted executions one after the other, and returns their order of admission.
fn order(world: &mut CheckedStore) -> Vec<String> {
    let mut order = Vec::new();
    settle_down(world);
    while let Some(next) = admitted(world).first().map(|id| (*id).to_owned()) {
        end(world, &next);
        order.push(next);
    }
    order
}

#[test]
fn of_one_key_one_runs_at_a_time_and_the_next_is_who_came_first() {
    let mut world = CheckedStore::new();
    for (id, key) in [("c", "x"), ("b", "x"), ("a", "x"), ("d", "y"), ("e", "z")] {
        start(&mut world, id, "pack", key, 0);
    }
    assert_eq!(admitted(&world), ["c", "d"], "one of a key, and two in all");
    assert_eq!(world.status("b"), Some(TaskStatus::Suspended));
    end(&mut world, "c");
    assert_eq!(admitted(&world), ["b", "d"], "x came before z");
    end(&mut world, "d");
    assert_eq!(admitted(&world), ["b", "e"]);
    end(&mut world, "b");
    assert_eq!(admitted(&world), ["a", "e"]);
    assert_eq!(world.status("a"), Some(TaskStatus::Pending));
    end(&mut world, "a");
    end(&mut world, "e");
    assert!(world.model.partitions().next().is_none(), "nothing is counted, and nothing is kept");
}

#[test]
fn who_is_admitted_is_counted_until_it_settles_whatever_it_does() {
    let mut world = CheckedStore::new();
    start(&mut world, "a", "pack", "x", 0);
    start(&mut world, "b", "pack", "x", 0);
    let claim = world.acquire("a", 1);
    world.done(world::create("awaited", &[]));
    world.done(world::suspend(claim, &["awaited"]));
    settle_down(&mut world);
    assert_eq!(state(&world, "b"), LimitPositionState::Waiting);
    world.done(world::settle("awaited", Verdict::Resolved));
    let claim = world.acquire("a", 2);
    world.done(world::release(claim, world::failed()));
    world.done(Command::TaskHalt { id: "a".into() });
    settle_down(&mut world);
    assert_eq!(state(&world, "b"), LimitPositionState::Waiting);
    end(&mut world, "a");
    assert_eq!(state(&world, "b"), LimitPositionState::Admitted);
}

#[test]
fn a_rate_lets_its_burst_begin_and_then_one_in_each_interval() {
    let mut world = CheckedStore::new();
    for id in ["a", "b", "c", "d"] {
        start(&mut world, id, "mail", "", 0);
    }
    assert_eq!(admitted(&world), ["a", "b"]);
    for id in ["a", "b"] {
        end(&mut world, id);
    }
    assert_eq!(admitted(&world), [""; 0], "who ends gives no token back");
    world.wait(49);
    settle_down(&mut world);
    assert_eq!(admitted(&world), [""; 0]);
    world.wait(1);
    settle_down(&mut world);
    assert_eq!(admitted(&world), ["c"]);
    // A clock that jumps fills the bucket only once.
    world.wait(100_000);
    settle_down(&mut world);
    assert_eq!(admitted(&world), ["c", "d"]);
}

#[test]
fn a_newcomer_does_not_take_the_token_of_who_waits_and_was_not_told_yet() {
    let mut world = CheckedStore::new();
    for id in ["a", "b", "c"] {
        start(&mut world, id, "mail", "", 0);
    }
    world.wait(50);
    start(&mut world, "d", "mail", "", 0);
    assert_eq!(state(&world, "d"), LimitPositionState::Waiting);
    settle_down(&mut world);
    assert_eq!(admitted(&world), ["a", "b", "c"]);
}

#[test]
fn each_who_waits_for_a_token_of_all_keys_is_given_one_in_its_time() {
    let mut world = CheckedStore::new();
    let rule = r#"{"key":"k","total":{"rate":{"count":1,"period_ms":30,"burst":1}}}"#;
    set(&mut world, "pack", rule);
    settle_down(&mut world);
    for id in ["a", "b", "c", "d"] {
        start(&mut world, id, "pack", id, 0);
    }
    for number in 1..=4 {
        assert_eq!(admitted(&world).len(), number);
        world.wait(30);
        settle_down(&mut world);
    }
}

#[test]
fn a_long_line_of_one_key_does_not_hold_up_another() {
    let mut world = CheckedStore::new();
    set(&mut world, "pack", r#"{"key":"k","total":{"concurrency":1}}"#);
    start(&mut world, "first", "pack", "many", 0);
    for place in 0..100 {
        start(&mut world, &format!("many{place:02}"), "pack", "many", 0);
    }
    start(&mut world, "one", "pack", "few", 0);
    let order = order(&mut world);
    let place = order.iter().position(|id| id == "one").expect("it ran");
    assert!(place <= 2, "it was number {place}");
    assert_eq!(order.len(), 102);
    let many: Vec<_> = order.iter().filter(|id| id.starts_with("many")).collect();
    assert!(many.is_sorted(), "within a key, who came first goes first: {many:?}");
}

#[test]
fn a_key_that_comes_late_has_its_share_and_does_not_catch_up() {
    let mut world = CheckedStore::new();
    set(&mut world, "pack", r#"{"key":"k","total":{"concurrency":1}}"#);
    start(&mut world, "first", "pack", "z", 0);
    for place in 0..40 {
        start(&mut world, &format!("early{place:02}"), "pack", "early", 0);
    }
    settle_down(&mut world);
    for _ in 0..20 {
        let next = admitted(&world)[0].to_owned();
        end(&mut world, &next);
    }
    for place in 0..20 {
        start(&mut world, &format!("late{place:02}"), "pack", "late", 0);
    }
    let order = order(&mut world);
    let late = order[..20].iter().filter(|id| id.starts_with("late")).count();
    assert!((9..=10).contains(&late), "{late} of 20 turns, and half of them are due");
}

#[test]
fn keys_have_as_many_turns_as_they_weigh() {
    let mut world = CheckedStore::new();
    set(&mut world, "pack", r#"{"key":"k","total":{"concurrency":1},"weights":{"a":3}}"#);
    start(&mut world, "first", "pack", "z", 0);
    for place in 0..40 {
        for key in ["a", "b"] {
            start(&mut world, &format!("{key}{place:02}"), "pack", key, 0);
        }
    }
    let order = order(&mut world);
    let of_a = order[1..41].iter().filter(|id| id.starts_with('a')).count();
    assert!((29..=31).contains(&of_a), "{of_a} of 40 turns, and 30 are due");
}

#[test]
fn a_higher_priority_goes_first_in_the_whole_limit_as_far_as_its_key_has_room() {
    let mut world = CheckedStore::new();
    for (id, key, priority) in [
        ("a0", "a", 0),
        ("a1", "a", 0),
        ("b0", "b", 0),
        ("c0", "c", 0),
        ("d9", "d", 9),
        ("a5", "a", 5),
    ] {
        start(&mut world, id, "pack", key, priority);
    }
    assert_eq!(admitted(&world), ["a0", "b0"]);
    end(&mut world, "b0");
    assert_eq!(admitted(&world), ["a0", "d9"], "before c0, which came first");
    end(&mut world, "a0");
    assert_eq!(admitted(&world), ["a5", "d9"], "before a1");
}

#[test]
fn a_weighted_priority_has_more_turns_and_the_lowest_is_not_starved() {
    let mut world = CheckedStore::new();
    let rule = r#"{"per_key":{"concurrency":1},"priority":{"path":"p","order":"weighted"}}"#;
    set(&mut world, "pack", rule);
    start(&mut world, "first", "pack", "", 0);
    for place in 0..40 {
        for priority in [0, 4] {
            start(&mut world, &format!("p{priority}-{place:02}"), "pack", "", priority);
        }
    }
    let order = order(&mut world);
    let low = order[1..31].iter().filter(|id| id.starts_with("p0")).count();
    assert!((4..=6).contains(&low), "{low} of 30 turns, and 5 are due");
}

#[test]
fn of_a_singleton_another_start_does_not_begin_and_says_who_is_there() {
    let mut world = CheckedStore::new();
    for (id, key) in [("a", "x"), ("b", "x"), ("c", "y")] {
        start(&mut world, id, "only", key, 0);
    }
    assert_eq!(admitted(&world), ["a", "c"]);
    let settled = world.model.promise(&"b".into()).expect("it was made").settlement().cloned();
    let settled = settled.expect("it is settled");
    assert_eq!(settled.verdict, Verdict::Rejected);
    let said = String::from_utf8(settled.value.expect("why").data.to_vec()).expect("JSON");
    assert!(said.contains("\"code\":409") && said.contains("`a` is under way"), "{said}");
    world.done(world::settle("a", Verdict::Resolved));
    // The message that removes it from the counts is still pending.
    start(&mut world, "d", "only", "x", 0);
    settle_down(&mut world);
    assert_eq!(admitted(&world), ["c", "d"]);
}

#[test]
fn a_singleton_that_is_replaced_is_asked_to_stop_and_the_other_begins_when_it_has() {
    let mut world = CheckedStore::new();
    start(&mut world, "a", "last", "x", 0);
    let claim = world.acquire("a", 1);
    start(&mut world, "b", "last", "x", 0);
    start(&mut world, "c", "last", "x", 0);
    assert_eq!(world.model.task(&"a".into()).map(|task| task.cancel as u8), Some(1));
    assert_eq!(state(&world, "b"), LimitPositionState::Left, "it waited, and gave way");
    settle_down(&mut world);
    assert_eq!(admitted(&world), ["a"]);
    world.done(world::fulfill(claim));
    settle_down(&mut world);
    assert_eq!(admitted(&world), ["c"]);
}

#[test]
fn of_several_starts_in_a_row_the_last_one_begins_when_it_is_quiet() {
    let mut world = CheckedStore::new();
    start(&mut world, "a", "calm", "x", 0);
    assert_eq!(state(&world, "a"), LimitPositionState::Waiting);
    world.wait(20);
    start(&mut world, "b", "calm", "x", 0);
    assert_eq!(state(&world, "a"), LimitPositionState::Left);
    settle_down(&mut world);
    world.wait(20);
    settle_down(&mut world);
    assert_eq!(state(&world, "b"), LimitPositionState::Waiting);
    // At the latest 50 ms after the first, regardless of further arrivals.
    start(&mut world, "c", "calm", "x", 0);
    world.wait(10);
    settle_down(&mut world);
    assert_eq!(admitted(&world), ["c"]);
    let why = world.model.promise(&"b".into()).and_then(|b| b.settlement().cloned());
    let why = why.and_then(|settled| settled.value).expect("why");
    assert!(String::from_utf8_lossy(&why.data).contains("`c` came after it"));
}

#[test]
fn a_rule_that_changes_holds_for_all_who_wait_however_many_keys_they_have() {
    let mut world = CheckedStore::new();
    set(&mut world, "pack", r#"{"key":"k","per_key":{"concurrency":1}}"#);
    for key in 0..150 {
        for place in ["a", "b", "c"] {
            start(&mut world, &format!("{place}{key:03}"), "pack", &format!("{key:03}"), 0);
        }
    }
    settle_down(&mut world);
    assert_eq!(admitted(&world).len(), 150);
    set(&mut world, "pack", r#"{"key":"k","per_key":{"concurrency":2}}"#);
    settle_down(&mut world);
    assert_eq!(admitted(&world).len(), 300);
    set(&mut world, "pack", r#"{"key":"k","per_key":{"concurrency":1}}"#);
    settle_down(&mut world);
    end(&mut world, "a000");
    assert_eq!(
        state(&world, "c000"),
        LimitPositionState::Waiting,
        "one of two is one too many still"
    );
    // The module of the new deployment declares no limits.
    let name = LimitName::of("shop", "pack");
    world.done(Command::LimitSet { name: name.clone(), rule: None });
    world.done(Command::Deploy { alias: "shop".into(), module: OTHER_MODULE });
    settle_down(&mut world);
    assert_eq!(admitted(&world).len(), 449);
    world.done(Command::Deploy { alias: "shop".into(), module: MODULE });
    start(&mut world, "again", "pack", "000", 0);
    assert_eq!(state(&world, "again"), LimitPositionState::Waiting);
}

#[test]
fn who_waits_is_settled_at_once_when_it_is_cancelled_and_keeps_its_place_when_it_is_halted() {
    let mut world = CheckedStore::new();
    for id in ["a", "b", "c", "d"] {
        start(&mut world, id, "pack", "x", 0);
    }
    world.done(Command::Cancel { invocation: "b".into() });
    assert_eq!(world.status("b"), Some(TaskStatus::Fulfilled));
    world.done(Command::TaskHalt { id: "c".into() });
    world.done(Command::TaskContinue { id: "c".into() });
    let claim = world.run(world::acquire("c", 0, 9));
    assert_eq!(claim, Reply::Parked { behind: None });
    assert_eq!(world.status("c"), Some(TaskStatus::Suspended));
    world.done(Command::TaskHalt { id: "c".into() });
    end(&mut world, "a");
    assert_eq!(admitted(&world), ["c"], "and is counted, as if it ran");
    world.done(Command::TaskContinue { id: "c".into() });
    world.acquire("c", 10);
    assert_eq!(state(&world, "d"), LimitPositionState::Waiting);
}

#[test]
fn one_that_begins_later_comes_to_the_limit_then() {
    let mut world = CheckedStore::new();
    let mut later = world::limited("later", "pack", "x", 0);
    later.tags.insert(tags::DELAY.to_owned(), (world.now + Millis(10)).to_string());
    world.done(Command::PromiseCreate(later));
    start(&mut world, "a", "pack", "x", 0);
    assert_eq!(
        (state(&world, "later"), admitted(&world)),
        (LimitPositionState::Expected, vec!["a"])
    );
    world.wait(10);
    world.done(Command::RetryDue { id: "later".into() });
    assert_eq!(world.run(world::acquire("later", 0, 1)), Reply::Parked { behind: None });
    end(&mut world, "a");
    world.acquire("later", 2);
}

/// With the opposite order, the holder of the turn could wait for a place that is occupied by an
/// execution that waits for the turn.
#[test]
fn an_execution_of_an_object_has_its_turn_before_it_comes_to_the_limit() {
    let mut world = CheckedStore::new();
    for id in ["a", "b"] {
        start(&mut world, id, "Cart@ada/pay", "", 0);
    }
    start(&mut world, "c", "Cart@bob/pay", "", 0);
    assert_eq!(state(&world, "b"), LimitPositionState::Expected);
    assert_eq!(state(&world, "c"), LimitPositionState::Waiting);
    end(&mut world, "a");
    assert_eq!(state(&world, "c"), LimitPositionState::Admitted);
    assert_eq!(world.run(world::acquire("b", 0, 1)), Reply::Parked { behind: None });
    end(&mut world, "c");
    world.acquire("b", 2);
}

#[test]
fn a_call_within_a_module_comes_to_the_limit_of_the_module_that_was_called() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("wf"));
    let claim = world.acquire("wf", 1);
    let child = |id: &str| {
        let mut new = world::limited(id, "pack", "x", 0);
        new.tags.insert(tags::TARGET.to_owned(), "pack".to_owned());
        crate::command::FenceOperation::Create { new, request: None }
    };
    world.done(world::fence(claim, vec![], vec![child("wf/0"), child("wf/1")]));
    assert_eq!(admitted(&world), ["wf/0"]);
    assert_eq!(state(&world, "wf/1"), LimitPositionState::Waiting);
    end(&mut world, "wf");
    let key = OutboxKey::CancelChildren("wf".into());
    world.done(Command::OutboxDue { key });
    settle_down(&mut world);
    assert_eq!(world.status("wf/1"), Some(TaskStatus::Fulfilled));
}

#[test]
fn an_execution_that_is_begun_at_once_is_counted_or_waits_and_nothing_of_it_is_kept() {
    let mut world = CheckedStore::new();
    let mut begin = |id: &str| {
        let first = [world::fulfill(world::claim(id, 1))];
        let mut begin = world::begin(id, &first);
        if let Command::TaskBegin { new, .. } = &mut begin {
            *new = world::limited(id, "pack", "x", 0);
        }
        world.done(begin)
    };
    assert!(matches!(begin("a"), Reply::Begun { first: Some(_), .. }));
    // It counts until the message is processed.
    assert!(matches!(begin("b"), Reply::Begun { first: None, .. }));
    assert_eq!(state(&world, "b"), LimitPositionState::Waiting);
    settle_down(&mut world);
    world.acquire("b", 3);
}

#[test]
fn what_the_input_does_not_say_is_refused_and_leaves_nothing() {
    let mut world = CheckedStore::new();
    let new = NewPromise { param: Value::of(*b"{}"), ..world::limited("a", "pack", "", 0) };
    let Reply::Refused(Refusal::Unprocessable(said)) = world.run(Command::PromiseCreate(new))
    else {
        panic!("it is refused");
    };
    assert!(said.contains("`shop/pack` takes the key from `k`"), "{said}");
    let high = world::limited("a", "pack", "x", 10);
    assert!(matches!(world.run(Command::PromiseCreate(high)), Reply::Refused(_)));
    assert!(world.model.promise(&PromiseId::from("a")).is_none());
    for (name, json, said) in [
        ("shop/pack", r#"{"per_key":{"concurrency":0}}"#, "a concurrency of 0"),
        ("shop/pack", "{}", "says nothing"),
        ("shop", r#"{"per_key":{"concurrency":1}}"#, "use MODULE/FUNCTION"),
    ] {
        let rule = serde_json::from_str(json).expect("a rule");
        let refused = world.run(Command::LimitSet { name: name.into(), rule: Some(rule) });
        let Reply::Refused(refusal) = refused else { panic!("{json} is refused") };
        assert!(refusal.to_string().contains(said), "{refusal}");
    }
    assert_eq!(world.now, Timestamp(1_000));
}
