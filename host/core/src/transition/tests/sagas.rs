//! Facts of sagas: written only by the settlement they follow from.

use crate::{
    command::{Command, FenceOperation},
    effect::{Effect, Metric},
    id::{Claim, PromiseId},
    promise::Verdict,
    saga::{FactKind, SagaNext, StepEnd, StepOutcome, saga_next},
    tags,
    time::Timestamp,
    value::Value,
    world::{self, CheckedStore},
};

/// An acquired workflow `w` with the steps 0 (compensated if unknown) and 1 (not compensated if
/// unknown), and a plain child.
fn trip() -> (CheckedStore, Claim) {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    let made = |id: &str, pairs: &[(&str, &str)], timeout_at| FenceOperation::Create {
        new: world::new(id, pairs, timeout_at),
        request: None,
    };
    let certain = [(tags::SAGA, "trip"), (tags::SEQ, "1"), (tags::COMPENSATE, "ship")];
    let acts = vec![
        made("w/0", &world::step("0"), Timestamp(5_000)),
        made("w/1", &certain, Timestamp(5_000)),
        made("w/2", &[], Timestamp::NEVER),
    ];
    world.done(world::fence(claim.clone(), vec![], acts));
    (world, claim)
}

fn facts(world: &CheckedStore) -> Vec<(u32, FactKind, bool)> {
    let invocation = PromiseId::from("w");
    let facts = world.model.facts_of(&invocation);
    facts.map(|(key, fact)| (key.seq, key.kind, fact.unknown)).collect()
}

#[test]
fn a_step_is_registered_when_it_acted() {
    let (mut world, _) = trip();
    for id in ["w/0", "w/1", "w/2"] {
        world.done(world::settle(id, Verdict::Resolved));
    }
    assert_eq!(facts(&world), [(0, FactKind::Registered, false), (1, FactKind::Registered, false)]);
}

#[test]
fn a_step_is_registered_by_the_first_promise_that_is_it() {
    let (mut world, claim) = trip();
    let again = world::new("w/3", &world::step("0"), Timestamp(5_000));
    world.done(world::fence(
        claim,
        vec![],
        vec![FenceOperation::Create { new: again, request: None }],
    ));
    world.done(world::settle("w/0", Verdict::Resolved));
    world.wait(1);
    world.done(world::settle("w/3", Verdict::Resolved));
    let w = PromiseId::from("w");
    let registered: Vec<_> = world.model.facts_of(&w).map(|(_, fact)| &fact.promise).collect();
    assert_eq!(registered, [&PromiseId::from("w/0")]);
}

#[test]
fn a_step_that_failed_is_not_registered() {
    let (mut world, _) = trip();
    world.done(world::settle("w/0", Verdict::Rejected));
    world.done(world::settle("w/1", Verdict::Rejected));
    assert_eq!(facts(&world), []);
}

#[test]
fn an_http_step_that_was_declined_is_registered_only_if_it_is_undone_in_doubt() {
    let (mut world, _) = trip();
    for id in ["w/0", "w/1"] {
        let headers = [(tags::DECLINED_HEADER.to_owned(), "true".to_owned())].into();
        let value = Value { headers, ..Value::default() };
        let (id, verdict) = (PromiseId::from(id), Verdict::Resolved);
        world.done(Command::PromiseSettle { id, verdict, value });
    }
    assert_eq!(facts(&world), [(0, FactKind::Registered, false)]);
}

#[test]
fn a_step_of_which_nobody_knows_is_registered_only_if_it_was_declared() {
    let (mut world, _) = trip();
    world.done(world::settle("w/0", Verdict::Canceled));
    assert_eq!(facts(&world), [(0, FactKind::Registered, true)]);
    let (mut world, _) = trip();
    world.now = Timestamp(5_000);
    world.done(Command::PromiseDue { id: "w/0".into() });
    world.done(Command::PromiseDue { id: "w/1".into() });
    assert_eq!(facts(&world), [(0, FactKind::Registered, true)]);
    let steps = [
        StepOutcome { seq: 0, end: StepEnd::Unknown },
        StepOutcome { seq: 1, end: StepEnd::Unknown },
    ];
    let facts = facts(&world).into_iter().map(|(seq, kind, _)| (seq, kind));
    assert_eq!(saga_next(facts, &steps, true), SagaNext::Unclear { seq: 1 });
}

#[test]
fn a_compensation_is_recorded_with_its_settlement_and_once() {
    for (verdict, kind) in
        [(Verdict::Resolved, FactKind::Completed), (Verdict::Rejected, FactKind::Failed)]
    {
        let (mut world, claim) = trip();
        world.done(world::settle("w/0", Verdict::Resolved));
        let id = PromiseId::from("w").compensation("trip", 0);
        let new = world::new(id.as_str(), &[(tags::TARGET, "poll://any@w")], Timestamp::NEVER);
        let undo = world::fence(claim, vec![], vec![FenceOperation::Create { new, request: None }]);
        world.done(undo.clone());
        assert_eq!(facts(&world), [(0, FactKind::Registered, false)]);
        let settle = Command::PromiseSettle { id, verdict, value: Value::default() };
        let decision = world.decide(&settle);
        assert_eq!(
            decision.effects.contains(&Effect::Count(Metric::CompensationFailed)),
            kind == FactKind::Failed
        );
        let expected = [(0, FactKind::Registered, false), (0, kind, false)];
        assert_eq!(facts(&world), expected);
        world.done(undo);
        world.done(settle);
        assert_eq!(facts(&world), expected);
    }
}

#[test]
fn nothing_is_undone_that_was_not_registered_and_by_nobody_else() {
    let (mut world, claim) = trip();
    let id = PromiseId::from("w").compensation("trip", 1);
    let new = world::new(id.as_str(), &[(tags::TARGET, "poll://any@w")], Timestamp::NEVER);
    world.done(world::fence(claim, vec![], vec![FenceOperation::Create { new, request: None }]));
    world.done(world::settle(id.as_str(), Verdict::Resolved));
    // A promise created by a client is never a step, regardless of its tags.
    world.done(world::create("stranger", &world::step("7")));
    world.done(world::settle("stranger", Verdict::Resolved));
    assert_eq!(facts(&world), []);
}

#[test]
fn children_that_are_cancelled_with_their_maker_leave_their_facts() {
    let (mut world, _) = trip();
    world.done(Command::Kill { invocation: "w".into() });
    let key = crate::promise::OutboxKey::CancelChildren("w".into());
    world.done(Command::OutboxDue { key });
    assert_eq!(facts(&world), [(0, FactKind::Registered, true)]);
}
