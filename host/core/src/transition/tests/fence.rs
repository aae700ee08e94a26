use std::collections::BTreeSet;

use crate::{
    command::{Command, FenceOperation},
    footprint::rests_on,
    id::{Claim, CommandIndex, PromiseId, Version},
    invocation::{Record, RecordBody},
    promise::{CancelState, OutboxKey, OutboxMessage, Promise, ReleaseReason, TaskStatus, Verdict},
    reply::{FenceResult, Refusal, Reply},
    tags,
    time::Timestamp,
    value::{Text, Value},
    world::{self, CheckedStore},
};

/// A world in which the workflow `w` is acquired.
fn held() -> (CheckedStore, Claim) {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    (world, claim)
}

fn call(id: &str, target: &str) -> FenceOperation {
    FenceOperation::Create {
        new: world::new(id, &[(tags::TARGET, target)], Timestamp::NEVER),
        request: None,
    }
}

fn outcomes(reply: Reply) -> Vec<Result<FenceResult, Refusal>> {
    match reply {
        Reply::Fenced { outcomes, .. } => {
            outcomes.into_iter().map(|(_, outcome)| outcome).collect()
        }
        reply => panic!("{reply:?}"),
    }
}

#[test]
fn records_alone_rest_on_their_claim() {
    let (mut world, claim) = held();
    let batch = world::fence(claim.clone(), vec![world::started(), world::asked(1, 0)], vec![]);
    assert_eq!(rests_on(&batch), Some(&claim));
    // The world also decides the command over the claim alone, and compares.
    assert!(world.decide(&batch).delta.only_appends());
    assert!(!world.decide(&batch).delta.only_appends(), "that was its repetition");
    let more = world::fence(claim, vec![world::asked(2, 1)], vec![call("w/1", "ship")]);
    assert_eq!(rests_on(&more), None);
    assert!(!world.decide(&more).delta.only_appends());
}

#[test]
fn records_and_their_actions_are_stored_together_and_repeated_for_nothing() {
    let (mut world, claim) = held();
    let publish = FenceOperation::Publish { topic: Text::from("t"), payload: Value::default() };
    let batch = world::fence(
        claim,
        vec![world::started(), world::asked(1, 0), world::asked(2, 1)],
        vec![call("w/0", "ship"), publish],
    );
    let first = world.done(batch.clone());
    let event = OutboxKey::Event(PromiseId::from("w"), CommandIndex(1));
    assert!(world.model.outbox_row(&event).is_some());
    world.done(Command::OutboxAck { key: event.clone() });
    let again = world.decide(&batch);
    assert!(again.delta.is_empty(), "{:?}", again.delta);
    let Reply::Fenced { head, .. } = &first else { panic!("{first:?}") };
    assert_eq!((head.len, head.commands), (3, 2));
    assert!(world.model.outbox_row(&event).is_none(), "a delivered event is not owed again");
    let child = world.model.promise(&PromiseId::from("w/0")).expect("it was made");
    let tag = |name: &str| child.spec.tags.get(name).map(String::as_str);
    assert_eq!(
        (tag(tags::PARENT), tag(tags::ORIGIN), tag(tags::BRANCH)),
        (Some("w"), Some("w"), Some("w/0"))
    );
    assert_eq!(child.target(), Some("wasm:///ship"));
    let task = world.model.task(&PromiseId::from("w/0")).expect("it has a target");
    assert_eq!(task.module, Some(world::MODULE), "the caller's own module");
}

/// A host that takes over a workflow cannot know if an event that its journal names was delivered
/// in between.
#[test]
fn an_event_is_owed_once_whoever_repeats_its_command_without_the_record() {
    let (mut world, claim) = held();
    let publish = || FenceOperation::Publish { topic: Text::from("t"), payload: Value::default() };
    let records = vec![world::started(), world::asked(1, 0)];
    world.done(world::fence(claim.clone(), records, vec![publish()]));
    let event = OutboxKey::Event(PromiseId::from("w"), CommandIndex(0));
    let owed = world.model.outbox_row(&event).cloned();
    assert!(owed.is_some());
    world.done(Command::TaskRelease { claim, reason: ReleaseReason::Yield });
    let next = world.acquire("w", 2);
    world.done(world::fence(next.clone(), Vec::new(), vec![publish()]));
    assert_eq!(world.model.outbox_row(&event).cloned(), owed, "it is not begun anew");
    world.done(Command::OutboxAck { key: event.clone() });
    let again = world.decide(&world::fence(next.clone(), Vec::new(), vec![publish()]));
    assert!(again.delta.is_empty(), "{:?}", again.delta);
    let Reply::Fenced { outcomes, .. } = &again.reply else { panic!("{:?}", again.reply) };
    assert_eq!(outcomes[0].1, Ok(FenceResult::Done), "the guest is told that it was published");
    // The next event has another index, and becomes pending with its record.
    let Command::TaskFence { claim, records, logs, mut actions } =
        world::fence(next, vec![world::asked(2, 1)], vec![publish()])
    else {
        unreachable!()
    };
    actions[0].index = CommandIndex(1);
    world.done(Command::TaskFence { claim, records, logs, actions });
    let second = OutboxKey::Event(PromiseId::from("w"), CommandIndex(1));
    assert!(world.model.outbox_row(&second).is_some());
}

#[test]
fn records_that_do_not_follow_are_refused_whole() {
    let (mut world, claim) = held();
    world.done(world::fence(claim.clone(), vec![world::started(), world::asked(1, 0)], Vec::new()));
    let early = Record { at: Timestamp(1), ..world::asked(2, 1) };
    let other = Record { body: RecordBody::Cancelled, ..world::asked(1, 0) };
    for records in [
        vec![world::asked(3, 1)],
        vec![world::asked(2, 2)],
        vec![world::started(), world::asked(1, 0), world::asked(2, 1)],
        vec![other],
        vec![early],
        vec![world::notified(2, 1)],
        vec![world::finished(2), world::asked(3, 1)],
        vec![Record { seq: 2, ..world::started() }],
    ] {
        let refusal =
            world.refused(world::fence(claim.clone(), records.clone(), vec![call("w/9", "ship")]));
        assert_eq!(refusal.kind(), "journal-mismatch", "{records:?}");
    }
}

#[test]
fn an_actions_own_refusal_leaves_the_others_standing() {
    let (mut world, claim) = held();
    world.done(world::create("p", &[]));
    let id = |name: &str| PromiseId::from(name);
    let settle = |name: &str, verdict| FenceOperation::Settle {
        id: id(name),
        verdict,
        value: Value::default(),
    };
    let reply = world.done(world::fence(
        claim,
        Vec::new(),
        vec![
            call("w/0", "wasm://unknown/ship"),
            settle("no", Verdict::Resolved),
            settle("p", Verdict::TimedOut),
            FenceOperation::Cancel { id: id("p") },
            settle("p", Verdict::Resolved),
        ],
    ));
    let kinds: Vec<&str> = outcomes(reply)
        .iter()
        .map(|outcome| outcome.as_ref().map_or_else(Refusal::kind, |_| "done"))
        .collect();
    assert_eq!(kinds, ["unprocessable", "not-found", "bad-request", "unprocessable", "done"]);
    assert_eq!(world.verdict("p"), Some(Verdict::Resolved));
}

#[test]
fn an_id_under_its_own_that_somebody_else_made_refuses_the_batch() {
    let (mut world, claim) = held();
    world.done(world::create("w/0", &[]));
    let batch = world::fence(claim.clone(), vec![world::started()], vec![call("w/0", "ship")]);
    assert_eq!(world.refused(batch).kind(), "id-taken");
    world.done(world::fence(claim.clone(), vec![world::started()], Vec::new()));
    let suspend = Command::TaskSuspend {
        claim: claim.clone(),
        records: Vec::new(),
        logs: Vec::new(),
        awaits: [PromiseId::from("w/0")].into(),
    };
    assert_eq!(world.refused(suspend).kind(), "id-taken", "nor is it waited for");
    let itself = FenceOperation::Cancel { id: PromiseId::from("w") };
    assert_eq!(world.refused(world::fence(claim, Vec::new(), vec![itself])).kind(), "bad-request");
}

#[test]
fn a_command_is_not_recorded_over_what_another_made_before() {
    let (mut world, claim) = held();
    world.done(world::fence(claim.clone(), vec![world::started()], Vec::new()));
    world.done(world::create("w/0", &[]));
    world.wait(10);
    let later = Record { at: world.now, ..world::asked(1, 0) };
    let batch = world::fence(claim, vec![later], vec![call("w/0", "ship")]);
    assert_eq!(world.refused(batch).kind(), "id-taken");
}

#[test]
fn a_cancelled_record_says_that_the_guest_was_told() {
    let (mut world, claim) = held();
    world.done(world::fence(claim.clone(), vec![world::started()], Vec::new()));
    world.done(Command::Cancel { invocation: claim.id.clone() });
    let told = Record { body: RecordBody::Cancelled, ..world::asked(1, 0) };
    world.done(world::fence(claim.clone(), vec![told], Vec::new()));
    assert_eq!(world.model.task(&claim.id).map(|task| task.cancel), Some(CancelState::Delivered));
}

#[test]
fn an_end_waits_for_a_request_that_can_still_be_told() {
    let cancel = |claim: &Claim| Command::Cancel { invocation: claim.id.clone() };
    let ready = Reply::Ready { settled: Vec::new(), cancelled: true };
    let end = |claim: &Claim, records| {
        let mut end = world::fulfill(claim.clone());
        if let Command::TaskFulfill { records: last, .. } = &mut end {
            *last = records;
        }
        end
    };
    let called = |world: &mut CheckedStore, claim: &Claim| {
        let records = vec![world::started(), world::asked(1, 0)];
        world.done(world::fence(claim.clone(), records, vec![call("w/0", "ship")]))
    };
    let cancelled =
        |world: &CheckedStore| world.model.task(&PromiseId::from("w")).map(|task| task.cancel);

    let (mut world, claim) = held();
    called(&mut world, &claim);
    world.done(cancel(&claim));
    let last = vec![world::notified(2, 0), world::finished(3)];
    assert_eq!(world.done(end(&claim, last)), ready);
    let batch = world::fence(
        claim.clone(),
        vec![world::notified(2, 0), world::asked(3, 1)],
        vec![FenceOperation::UnlessAsked, call("w/1", "ship")],
    );
    assert_eq!(world.done(batch), ready);
    assert_eq!((world.status("w/1"), world.model.head(&claim.id).len), (None, 2));
    let told = Record { body: RecordBody::Cancelled, ..world::asked(2, 0) };
    let told = vec![told, world::notified(3, 0)];
    let fenced = world.done(world::fence(claim.clone(), told, vec![FenceOperation::UnlessAsked]));
    assert!(matches!(fenced, Reply::Fenced { cancelled: false, .. }), "{fenced:?}");
    world.done(end(&claim, vec![world::finished(4)]));
    assert_eq!(cancelled(&world), Some(CancelState::Delivered));

    // Its last notification is stored: it cannot be notified of anything before it.
    let (mut world, claim) = held();
    called(&mut world, &claim);
    world.done(cancel(&claim));
    let fenced = world.done(world::fence(claim.clone(), vec![world::notified(2, 0)], vec![]));
    assert!(matches!(fenced, Reply::Fenced { cancelled: true, .. }), "{fenced:?}");
    world.done(end(&claim, vec![world::finished(3)]));
    assert_eq!(
        (world.verdict("w"), cancelled(&world)),
        (Some(Verdict::Resolved), Some(CancelState::Missed))
    );
    let Reply::Promise { changed, .. } = world.done(cancel(&claim)) else { panic!("no promise") };
    assert!(!changed, "it has ended");
}

#[test]
fn what_was_killed_takes_with_it_what_it_made() {
    for (end, verdict) in [("kill", Verdict::Canceled), ("end", Verdict::Resolved)] {
        let (mut world, claim) = held();
        let records = vec![world::started(), world::asked(1, 0)];
        world.done(world::fence(claim.clone(), records, vec![call("w/0", "ship")]));
        let child = world.acquire("w/0", 2);
        let records = vec![world::started(), world::asked(1, 0)];
        world.done(world::fence(child.clone(), records, vec![call("w/0/0", "ship")]));
        world.done(match end {
            "kill" => Command::Kill { invocation: claim.id.clone() },
            _ => world::fulfill(claim.clone()),
        });
        assert_eq!(world.verdict("w"), Some(verdict));
        for id in ["w", "w/0"] {
            let key = OutboxKey::CancelChildren(PromiseId::from(id));
            world.done(Command::OutboxDue { key });
        }
        let killed =
            |id| world.model.promise(&PromiseId::from(id)).is_some_and(Promise::was_killed);
        assert_eq!(["w/0", "w/0/0"].map(killed), [end == "kill"; 2]);
        let asked = world.model.task(&child.id).map(|task| task.cancel);
        assert_eq!(asked == Some(CancelState::Requested), end == "end");
    }
}

#[test]
fn what_an_ended_invocation_left_pending_is_cancelled_in_pages() {
    let (mut world, claim) = held();
    let count = crate::footprint::CHILD_PAGE + 5;
    let mut records = vec![world::started()];
    records.extend((0..count).map(|index| world::asked(index + 1, index)));
    let sleeps = (0..count).map(|index| {
        let id = PromiseId::from("w").command(CommandIndex(index));
        FenceOperation::Create {
            new: world::new(id.as_str(), &[], Timestamp::NEVER),
            request: None,
        }
    });
    let sleeps = sleeps.collect();
    world.done(world::fence(claim.clone(), records, sleeps));
    world.done(world::fulfill(claim.clone()));
    let key = OutboxKey::CancelChildren(claim.id.clone());
    world.done(Command::OutboxDue { key: key.clone() });
    let row = world.model.outbox_row(&key).expect("a second page is owed");
    assert!(matches!(&row.message, OutboxMessage::CancelChildren { after: Some(_) }));
    world.done(Command::OutboxDue { key: key.clone() });
    assert!(world.model.outbox_row(&key).is_none());
    assert_eq!(world.model.children(&claim.id, None).count(), 0);
    assert_eq!(world.verdict("w/0"), Some(Verdict::Canceled));
    assert_eq!(world.refused(Command::OutboxAck { key }).kind(), "bad-request");
}

#[test]
fn an_invocation_that_was_told_of_every_outcome_owes_no_look_for_children() {
    let (mut world, claim) = held();
    world.done(world::fence(
        claim.clone(),
        vec![world::started(), world::asked(1, 0)],
        vec![call("w/0", "ship")],
    ));
    let child = world.acquire("w/0", 2);
    world.done(world::fulfill(child));
    world.done(world::fence(claim.clone(), vec![world::notified(2, 0)], Vec::new()));
    world.done(world::fulfill(claim.clone()));
    assert_eq!(world.status("w"), Some(TaskStatus::Fulfilled));
    assert!(world.model.outbox_row(&OutboxKey::CancelChildren(claim.id)).is_none());
}

#[test]
fn a_tree_acts_on_no_more_than_who_started_it_may() {
    let mut world = CheckedStore::new();
    let settle = |id: &str| FenceOperation::Settle {
        id: PromiseId::from(id),
        verdict: Verdict::Resolved,
        value: Value::of(&b"1"[..]),
    };
    for id in ["a/mine", "b/x"] {
        world.done(Command::PromiseCreate(world::new(id, &[], Timestamp::NEVER)));
    }
    let own = &[(tags::TARGET, "wasm://shop/order"), (tags::RIGHTS, "a/")];
    world.done(Command::PromiseCreate(world::new("a/w", own, Timestamp::NEVER)));
    let claim = world.acquire("a/w", 1);
    let loose = FenceOperation::CreateLoose { new: world::new("b/z", &[], Timestamp::NEVER) };
    let acts = vec![
        call("a/w/0", "ship"),
        settle("a/mine"),
        settle("b/x"),
        settle("b/unknown"),
        loose,
        call("b/c", "ship"),
    ];
    let outcomes = outcomes(world.done(world::fence(claim.clone(), vec![], acts)));
    let refused: Vec<bool> = outcomes.iter().map(Result::is_err).collect();
    assert_eq!(refused, [false, false, true, true, true, true], "{outcomes:?}");
    let reason = outcomes[2].as_ref().expect_err("it is refused").to_string();
    assert!(reason.contains("rights over ids that begin with `a/`"), "{reason}");
    assert_eq!(world.verdict("a/mine"), Some(Verdict::Resolved));
    assert_eq!(world.verdict("b/x"), None);
    assert!(world.model.promise(&PromiseId::from("b/z")).is_none());
    // Its awaits are also restricted to its rights, and it does not learn which promises exist
    // beyond them.
    let suspend = |claim: &Claim, id: &str| Command::TaskSuspend {
        claim: claim.clone(),
        records: Vec::new(),
        logs: Vec::new(),
        awaits: BTreeSet::from([PromiseId::from(id)]),
    };
    for id in ["b/x", "b/unknown"] {
        let reason = world.refused(suspend(&claim, id)).to_string();
        assert!(reason.contains("rights over ids that begin with `a/`"), "{reason}");
        let (awaited, awaiter) = (PromiseId::from(id), claim.id.clone());
        let reason = world.refused(Command::RegisterCallback { awaited, awaiter }).to_string();
        assert!(reason.contains("rights over ids that begin with `a/`"), "{reason}");
    }
    assert_eq!(world.done(suspend(&claim, "a/w/0")), Reply::Suspended);
    // Its children inherit the rights.
    let child = world.acquire("a/w/0", 2);
    let Reply::Fenced { outcomes, .. } =
        world.done(world::fence(child, vec![], vec![settle("b/x")]))
    else {
        panic!("a fence")
    };
    assert!(outcomes[0].1.is_err(), "{outcomes:?}");
    // A tree with rights over all ids is unaffected.
    let (mut world, claim) = held();
    world.done(Command::PromiseCreate(world::new("b/x", &[], Timestamp::NEVER)));
    world.done(world::fence(claim, vec![], vec![settle("b/x")]));
    assert_eq!(world.verdict("b/x"), Some(Verdict::Resolved));
}

#[test]
fn a_signal_under_a_claim_is_sent_once_whatever_is_repeated() {
    let (mut world, claim) = held();
    world.done(world::workflow("other"));
    let signal = |to: &str| FenceOperation::Signal {
        invocation: PromiseId::from(to),
        name: Text::from("hint"),
        payload: Value::default(),
    };
    let records = vec![world::started(), world::asked(1, 0), world::asked(2, 1)];
    let acts = vec![signal("other"), signal("other"), signal("w"), signal("nobody")];
    let batch = world::fence(claim, records, acts);
    for time in 0..2 {
        let decision = world.decide(&batch);
        let done = outcomes(decision.reply);
        assert!(done[..3].iter().all(Result::is_ok), "{done:?}");
        assert!(matches!(done[3], Err(Refusal::NotFound(_))), "{done:?}");
        assert_eq!(decision.delta.is_empty(), time == 1, "{:?}", decision.delta);
        world.done(batch.clone());
    }
    let signals = |id: &str| world.model.task(&PromiseId::from(id)).map(|task| task.signals);
    assert_eq!((signals("other"), signals("w")), (Some(2), Some(1)));
    let sent = world.model.promise(&PromiseId::from("other").signal(1));
    assert!(sent.is_some_and(|sent| !sent.is_pending()));
}

/// An invocation can ask others to stop that it did not create, as a client can, within its rights.
#[test]
fn who_did_not_make_an_invocation_may_ask_it_to_stop() {
    let (mut world, claim) = held();
    world.done(world::workflow("other"));
    let cancel = |id: &str| FenceOperation::CancelLoose { id: PromiseId::from(id) };
    let strict = FenceOperation::Cancel { id: PromiseId::from("other") };
    let acts = vec![strict, cancel("other"), cancel("nobody")];
    let done = outcomes(world.done(world::fence(claim, Vec::new(), acts)));
    assert!(matches!(done[0], Err(Refusal::Unprocessable(_))), "{done:?}");
    assert_eq!(done[1], Ok(FenceResult::Done));
    assert!(matches!(done[2], Err(Refusal::NotFound(_))), "{done:?}");
    let task = world.model.task(&PromiseId::from("other")).expect("it is there");
    assert_eq!(task.cancel, CancelState::Requested);
}

/// A world in which the workflow `w` is acquired and has called `w/0`, which is acquired as well.
fn calling() -> (CheckedStore, Claim, Claim) {
    let (mut world, claim) = held();
    let records = vec![world::started(), world::asked(1, 0)];
    world.done(world::fence(claim.clone(), records, vec![call("w/0", "ship")]));
    let child = world.acquire("w/0", 2);
    (world, claim, child)
}

#[test]
fn a_fence_settles_a_child_under_its_claim_with_the_records_that_follow() {
    let (mut world, claim, child) = calling();
    let records = vec![world::notified(2, 0), world::asked(3, 1)];
    let acts = vec![world::end(child.clone()), call("w/1", "ship")];
    let fence = world::fence(claim, records, acts);
    let results = outcomes(world.done(fence.clone()));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let task = world.model.task(&child.id).expect("it was made");
    assert_eq!((task.status(), task.fulfilled_by), (TaskStatus::Fulfilled, Some(child.version)));
    assert_eq!(world.model.head(&PromiseId::from("w")).len, 4);
    let again = world.decide(&fence);
    assert!(again.delta.is_empty(), "its answer may be lost: {:?}", again.delta);
    assert!(matches!(again.reply, Reply::Fenced { .. }));
    let late = world::fulfill(child);
    assert!(world.decide(&late).delta.is_empty(), "the child may send its end as well");
}

#[test]
fn an_outcome_that_is_not_stored_takes_the_fence_with_it() {
    let (mut world, claim, child) = calling();
    world.done(world::release(child.clone(), ReleaseReason::Yield));
    let records = vec![world::notified(2, 0), world::asked(3, 1)];
    let acts = vec![world::end(child), call("w/1", "ship")];
    let stale = world.decide(&world::fence(claim.clone(), records.clone(), acts));
    let Reply::Refused(refused @ Refusal::NotFulfilled { .. }) = &stale.reply else {
        panic!("{:?}", stale.reply)
    };
    assert_eq!((refused.code(), refused.kind()), (409, "not-fulfilled"));
    assert!(stale.delta.is_empty(), "{:?}", stale.delta);

    // The same if the fence itself is refused after it settled the child.
    let child = world.acquire("w/0", 3);
    let gap = vec![world::asked(7, 1)];
    let torn = world.decide(&world::fence(claim, gap, vec![world::end(child)]));
    assert!(matches!(torn.reply, Reply::Refused(Refusal::JournalMismatch { .. })));
    assert!(torn.delta.is_empty() && torn.effects.is_empty(), "{torn:?}");
}

/// A workflow that holds its claim and sleeps until 5,000 ms.
fn sleeping() -> (CheckedStore, Claim) {
    let (mut world, claim) = held();
    let timer = FenceOperation::Create {
        new: world::new("w/0", &[(tags::TIMER, "true")], Timestamp(5_000)),
        request: None,
    };
    world.done(world::fence(
        claim.clone(),
        vec![world::started(), world::asked(1, 0)],
        vec![timer],
    ));
    (world, claim)
}

#[test]
fn a_fence_that_depends_on_a_deadline_is_stored_from_it_on_and_settles_the_promise() {
    let (mut world, claim) = sleeping();
    let nap = PromiseId::from("w/0");
    let records = vec![world::notified(2, 0), world::asked(3, 1)];
    let acts = vec![FenceOperation::Elapsed { id: nap.clone() }, call("w/1", "ship")];
    let fence = world::fence(claim.clone(), records, acts);
    world.now = Timestamp(4_999);
    let early = world.decide(&fence);
    let Reply::Refused(refused) = &early.reply else { panic!("{:?}", early.reply) };
    assert_eq!((refused.code(), refused.kind()), (409, "not-elapsed"));
    assert!(early.delta.is_empty(), "{:?}", early.delta);
    world.now = Timestamp(5_000);
    let results = outcomes(world.done(fence.clone()));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(world.verdict("w/0"), Some(Verdict::Resolved));
    assert_eq!(world.model.head(&PromiseId::from("w")).len, 4);
    assert!(world.decide(&fence).delta.is_empty(), "its answer may be lost");
}

#[test]
fn a_fence_that_depends_on_a_deadline_is_refused_if_the_promise_ended_otherwise() {
    let (mut world, claim) = sleeping();
    world.done(world::settle("w/0", Verdict::Canceled));
    world.now = Timestamp(6_000);
    for id in ["w/0", "nothing"] {
        let acts = vec![FenceOperation::Elapsed { id: PromiseId::from(id) }];
        let fence = world::fence(claim.clone(), vec![world::notified(2, 0)], acts);
        let decision = world.decide(&fence);
        assert!(matches!(decision.reply, Reply::Refused(_)), "{id}: {:?}", decision.reply);
        assert!(decision.delta.is_empty(), "{id}: {:?}", decision.delta);
    }
}

#[test]
fn a_fence_settles_nothing_if_its_own_claim_is_gone_or_is_asked_to_stop() {
    let (mut world, claim, child) = calling();
    let act = |claim: &Claim, acts| world::fence(claim.clone(), vec![world::notified(2, 0)], acts);
    let stale = Claim { version: claim.version.next(), ..claim.clone() };
    let refused = world.decide(&act(&stale, vec![world::end(child.clone())]));
    assert!(
        matches!(refused.reply, Reply::Refused(Refusal::Conflict(_))) && refused.delta.is_empty()
    );

    world.done(Command::Cancel { invocation: PromiseId::from("w") });
    let acts = vec![world::end(child.clone()), FenceOperation::UnlessAsked];
    let asked = world.decide(&act(&claim, acts));
    assert!(matches!(asked.reply, Reply::Ready { cancelled: true, .. }) && asked.delta.is_empty());
    let own = world.decide(&act(&claim, vec![world::end(claim.clone())]));
    assert!(matches!(own.reply, Reply::Refused(Refusal::BadRequest(_))), "{:?}", own.reply);
    let task = world.model.task(&child.id).expect("it was made");
    assert_eq!(task.status(), TaskStatus::Acquired);
}

#[test]
fn a_call_is_born_under_the_requested_claim_unless_it_exists() {
    let (mut world, claim) = held();
    let request = world::claim_request(7);
    let call = |id: &str, request| FenceOperation::Create {
        new: world::new(id, &[(tags::TARGET, "ship")], Timestamp::NEVER),
        request,
    };
    let records = vec![world::started(), world::asked(1, 0)];
    let fence = world::fence(claim.clone(), records, vec![call("w/0", Some(request.clone()))]);
    let born = outcomes(world.done(fence.clone())).pop().expect("one action");
    let Ok(FenceResult::Held(task)) = born else { panic!("{born:?}") };
    assert_eq!((task.task.version, task.created), (Version(1), true));
    assert_eq!(task.task.status(), TaskStatus::Acquired);
    let again = world.decide(&fence);
    assert!(again.delta.is_empty(), "{:?}", again.delta);
    assert!(matches!(outcomes(again.reply)[..], [Ok(FenceResult::Held(_))]), "its reply was lost");

    // A task that exists keeps its state: it may be delayed.
    world.done(world::fence(claim.clone(), vec![], vec![call("w/1", None)]));
    let known = world.done(world::fence(claim, vec![], vec![call("w/1", Some(request))]));
    assert!(matches!(outcomes(known)[..], [Ok(FenceResult::Promise { changed: false, .. })]));
    let task = world.model.task(&PromiseId::from("w/1")).expect("it was made");
    assert_eq!(task.status(), TaskStatus::Pending);
}
