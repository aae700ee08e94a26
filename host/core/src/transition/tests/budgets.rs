//! Budgets: accounts, what is charged to them, and what ends when they are spent.

use crate::{
    budget::{ACCOUNTS_MAX, SpentBudget},
    command::{Command, FenceOperation},
    id::{Claim, PromiseId},
    promise::{Note, ReleaseReason, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::Timestamp,
    value::{Tags, Value},
    world::{self, CheckedStore},
};

fn call(id: &str, budget: Option<&str>) -> FenceOperation {
    let mut pairs = vec![(tags::TARGET, "ship")];
    pairs.extend(budget.map(|budget| (tags::BUDGET, budget)));
    FenceOperation::Create { new: world::new(id, &pairs, Timestamp::NEVER), request: None }
}

/// The acquired root `w`, with this budget.
fn root(budget: &str) -> (CheckedStore, Claim) {
    let mut world = CheckedStore::new();
    world.done(world::budgeted("w", budget));
    let claim = world.acquire("w", 1);
    (world, claim)
}

fn spent(world: &CheckedStore, account: &str, unit: &str) -> String {
    world.snapshot.budgets[&PromiseId::from(account)].units[unit].spent.to_string()
}

/// Creates calls under a claim, and acquires them.
fn calls<const N: usize>(
    world: &mut CheckedStore,
    claim: &Claim,
    made: [(&str, Option<&str>); N],
) -> [Claim; N] {
    let acts = made.iter().map(|(id, budget)| call(id, *budget)).collect();
    world.done(world::fence(claim.clone(), vec![], acts));
    made.map(|(id, _)| world.acquire(id, 7))
}

fn end(claim: &Claim, cost: &str) -> Command {
    let headers = Tags::from([(tags::COST_HEADER.to_owned(), cost.to_owned())]);
    let value = Value { headers, ..Value::default() };
    let (records, logs, verdict) = (vec![], vec![], Verdict::Resolved);
    Command::TaskFulfill { claim: claim.clone(), records, logs, verdict, value }
}

fn stopped(world: &mut CheckedStore, claim: &Claim) -> SpentBudget {
    match world.run(world::charge(claim.clone(), true, "")) {
        Reply::Refused(Refusal::BudgetSpent(spent)) => *spent,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_attempt_is_counted_once_and_its_outcome_is_charged_once() {
    let (mut world, claim) = root("calls=10,tokens=100");
    let [first] = calls(&mut world, &claim, [("w/0", None)]);
    // The reply to the first try was lost.
    for _ in 0..2 {
        world.done(world::charge(first.clone(), true, ""));
    }
    assert_eq!(spent(&world, "w", "calls"), "1");
    for _ in 0..2 {
        world.done(end(&first, "tokens=40,usd=1"));
    }
    assert_eq!(spent(&world, "w", "tokens"), "40");
    assert_eq!(world.snapshot.budgets[&PromiseId::from("w")].units.len(), 2);
}

#[test]
fn an_attempt_that_fails_is_charged_with_its_release() {
    let (mut world, claim) = root("calls=2,tokens=100");
    let [first] = calls(&mut world, &claim, [("w/0", None)]);
    world.done(world::charge(first.clone(), true, ""));
    world.done(world::charge(first.clone(), false, "tokens=30"));
    world.done(Command::TaskRelease { claim: first.clone(), reason: ReleaseReason::Yield });
    assert!(matches!(
        world.run(world::charge(first, false, "tokens=30")),
        Reply::Refused(Refusal::Conflict(_))
    ));
    let second = world.acquire("w/0", 8);
    world.done(world::charge(second, true, ""));
    assert_eq!(spent(&world, "w", "calls"), "2");
    assert_eq!(spent(&world, "w", "tokens"), "30");
}

#[test]
fn nothing_begins_when_a_unit_is_spent_until_its_limit_is_raised() {
    let (mut world, claim) = root("tokens=50");
    let [first, second] = calls(&mut world, &claim, [("w/0", None), ("w/1", None)]);
    world.done(world::charge(first.clone(), true, ""));
    world.done(end(&first, "tokens=60"));
    let refused = stopped(&mut world, &second);
    assert_eq!((refused.account.as_str(), refused.unit.as_str()), ("w", "tokens"));
    assert!(refused.to_string().contains("60 of 50 tokens are used"), "{refused}");
    let limits = "tokens=61,usd=1".parse().expect("costs");
    world.done(Command::BudgetSet { account: "w".into(), limits });
    world.done(world::charge(second.clone(), true, ""));
    world.done(end(&second, "usd=0.25"));
    assert_eq!(spent(&world, "w", "usd"), "0.25");
}

#[test]
fn a_budget_below_another_spends_both() {
    let (mut world, claim) = root("calls=3");
    let [agent] = calls(&mut world, &claim, [("w/0", Some("calls=1,tokens=5"))]);
    let [first, second] = calls(&mut world, &agent, [("w/0/0", None), ("w/0/1", None)]);
    world.done(world::charge(first.clone(), true, ""));
    assert_eq!(stopped(&mut world, &second).account.as_str(), "w/0");
    world.done(end(&first, "tokens=2"));
    assert_eq!(
        (spent(&world, "w", "calls"), spent(&world, "w/0", "calls")),
        ("1".into(), "1".into())
    );
    // What lies beside it draws on the upper one only.
    let [beside] = calls(&mut world, &claim, [("w/1", None)]);
    world.done(world::charge(beside, true, ""));
    assert_eq!(
        (spent(&world, "w", "calls"), spent(&world, "w/0", "calls")),
        ("2".into(), "1".into())
    );
}

#[test]
fn only_a_claim_charges() {
    let (mut world, claim) = root("tokens=5");
    let [first] = calls(&mut world, &claim, [("w/0", None)]);
    let headers = Tags::from([(tags::COST_HEADER.to_owned(), "tokens=4".to_owned())]);
    let value = Value { headers, ..Value::default() };
    world.done(Command::PromiseSettle { id: first.id, verdict: Verdict::Resolved, value });
    assert_eq!(spent(&world, "w", "tokens"), "0");
}

#[test]
fn a_budget_that_cannot_be_held_is_refused() {
    let mut world = CheckedStore::new();
    let refused = |world: &mut CheckedStore, command| match world.run(command) {
        Reply::Refused(refusal) => (refusal.code(), refusal.to_string()),
        other => panic!("{other:?}"),
    };
    let (code, why) = refused(&mut world, world::budgeted("w", "tokens"));
    assert!(code == 400 && why.contains("UNIT=AMOUNT"), "{why}");
    let (code, why) = refused(&mut world, world::create("p", &[(tags::BUDGET, "calls=1")]));
    assert!(code == 400 && why.contains("nothing executes it"), "{why}");
    world.done(world::workflow("free"));
    let set = |id: &str| Command::BudgetSet {
        account: id.into(),
        limits: "calls=1".parse().expect("costs"),
    };
    assert!(refused(&mut world, set("free")).1.contains("segno start --budget"));
    assert_eq!(refused(&mut world, set("absent")).0, 404);
    // A client cannot name accounts.
    world.done(world::create(
        "w",
        &[(tags::TARGET, "wasm://shop/order"), (tags::ACCOUNTS, "[\"free\"]")],
    ));
    assert!(!world.snapshot.promises[&PromiseId::from("w")].has_budget());
}

#[test]
fn budgets_are_nested_up_to_a_depth() {
    let (mut world, mut claim) = root("calls=100");
    for depth in 1..=ACCOUNTS_MAX {
        let id = format!("{}/0", claim.id);
        let act = call(&id, Some("calls=1"));
        let Reply::Fenced { outcomes, .. } =
            world.done(world::fence(claim.clone(), vec![], vec![act]))
        else {
            panic!("no fence")
        };
        let (_, outcome) = &outcomes[0];
        assert_eq!(outcome.is_err(), depth == ACCOUNTS_MAX, "{depth}: {outcome:?}");
        if depth < ACCOUNTS_MAX {
            claim = world.acquire(&id, 7);
        }
    }
    assert_eq!(world.snapshot.budgets.len(), ACCOUNTS_MAX);
}

#[test]
fn a_budget_goes_with_its_tree() {
    let (mut world, claim) = root("calls=1");
    world.done(world::fulfill(claim));
    let before = Timestamp::NEVER;
    world.done(Command::Prune { top: "w".into(), before, part: false, state: false });
    assert!(world.snapshot.budgets.is_empty());
}

#[test]
fn what_undoes_a_step_is_not_charged() {
    let (mut world, claim) = root("calls=1");
    let undo = claim.id.compensation("trip", 0);
    let [first, undoing] = calls(&mut world, &claim, [("w/0", None), (undo.as_str(), None)]);
    world.done(world::charge(first, true, ""));
    world.done(world::charge(undoing, true, ""));
    assert_eq!(spent(&world, "w", "calls"), "1");
}

/// A claim on a call of an external worker, or of a service, below `w`.
fn taken(world: &mut CheckedStore, claim: &Claim, id: &str, target: &str) -> Claim {
    let new = world::new(id, &[(tags::TARGET, target)], Timestamp::NEVER);
    let call = FenceOperation::Create { new, request: None };
    world.done(world::fence(claim.clone(), vec![], vec![call]));
    world.acquire(id, 7)
}

#[test]
fn an_external_worker_takes_no_call_beyond_the_budget() {
    let (mut world, claim) = root("calls=1");
    taken(&mut world, &claim, "w/0", "poll://any@workers");
    // The reply to the first try was lost.
    world.done(world::acquire("w/0", 0, 7));
    assert_eq!(spent(&world, "w", "calls"), "1");
    let new = world::new("w/1", &[(tags::TARGET, "poll://any@workers")], Timestamp::NEVER);
    let call = FenceOperation::Create { new, request: None };
    world.done(world::fence(claim, vec![], vec![call]));
    let request = world::claim_request(8);
    let acquire =
        Command::TaskAcquire { claim: world::claim("w/1", 0), request, stall_limit: None };
    for _ in 0..2 {
        let reply = world.run(acquire.clone());
        let is_settled = matches!(&reply, Reply::Refused(Refusal::Conflict(_)));
        assert!(is_settled || reply == Reply::Parked { behind: None }, "{reply:?}");
    }
    let settled = &world.snapshot.promises[&PromiseId::from("w/1")];
    let settlement = settled.settlement().expect("it failed");
    let value = settlement.value.as_ref().expect("a failure");
    let value: serde_json::Value = serde_json::from_slice(&value.data).expect("JSON");
    assert_eq!((settlement.verdict, &value["code"]), (Verdict::Rejected, &402.into()));
    assert_eq!(value["details"]["account"], "w");
    assert_eq!(value["details"]["units"]["calls"]["limit"], 1);
    assert_eq!(spent(&world, "w", "calls"), "1");
}

#[test]
fn a_worker_that_creates_what_it_takes_is_counted() {
    let mut world = CheckedStore::new();
    for (id, budget, calls) in [("one", "calls=1", "1"), ("none", "calls=0", "0")] {
        let tags = [(tags::TARGET, "poll://any@workers"), (tags::BUDGET, budget)];
        let (new, request) = (world::new(id, &tags, Timestamp::NEVER), world::claim_request(9));
        for _ in 0..2 {
            world.done(Command::TaskCreate { new: new.clone(), request: request.clone() });
            assert_eq!(spent(&world, id, "calls"), calls);
        }
        let pending = world.snapshot.promises[&PromiseId::from(id)].is_pending();
        assert_eq!(pending, id == "one");
    }
}

#[test]
fn an_attempt_goes_on_after_a_suspension_and_a_retry_is_another() {
    for target in ["poll://any@workers", "wasm://shop/order"] {
        let (mut world, claim) = root("calls=9");
        world.done(world::create("gate", &[]));
        let begin = |world: &mut CheckedStore, claim: &Claim| {
            world.done(world::charge(claim.clone(), true, ""));
        };
        let first = taken(&mut world, &claim, "w/0", target);
        begin(&mut world, &first);
        world.done(world::suspend(first, &["gate"]));
        world.done(world::settle("gate", Verdict::Resolved));
        let second = world.acquire("w/0", 8);
        begin(&mut world, &second);
        let goes_on = target.starts_with("poll");
        let counted = |calls: u32| if goes_on { calls } else { calls + 1 };
        assert_eq!(spent(&world, "w", "calls"), counted(1).to_string(), "{target}");
        world.done(Command::TaskRelease { claim: second, reason: ReleaseReason::Yield });
        let third = world.acquire("w/0", 9);
        begin(&mut world, &third);
        assert_eq!(spent(&world, "w", "calls"), counted(2).to_string(), "{target}");
        let report = Note { kind: "stop".into(), message: "x".into(), details: Default::default() };
        let reason = ReleaseReason::Halt { report };
        world.done(Command::TaskRelease { claim: third, reason });
        world.done(Command::TaskContinue { id: "w/0".into() });
        let fourth = world.acquire("w/0", 10);
        begin(&mut world, &fourth);
        assert_eq!(spent(&world, "w", "calls"), counted(3).to_string(), "{target}");
    }
}
