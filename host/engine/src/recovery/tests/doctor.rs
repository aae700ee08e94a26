//! Damage is found, classified and repaired.

use std::sync::Arc;

use segno_core::{
    address::GRAPH_RUN,
    command::{Command, FenceAction, FenceOperation},
    graph::{NodeRow, NodeState},
    id::{Claim, CommandIndex, PromiseId, Version},
    promise::{
        HaltReason, NewPromise, NewSchedule, OutboxKey, Overlap, PromiseTemplate, TaskState,
        TaskStatus, Verdict,
    },
    reply::{DamageKind, Reply},
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
};
use segno_env::Clock as _;
use segno_store::{StoreProblem, examine, examine_pages};

use super::{Fixture, claim_request, new, started};
use crate::recovery::{ORPHANS, RecoveryAction, RepairStep, class, describe, reconcile, repair};

/// Kinds of damage, and the statement that causes each.
const DAMAGES: [(DamageKind, &str); 8] = [
    (
        DamageKind::TaskMissing,
        "DELETE FROM tasks WHERE n = (SELECT n FROM promises WHERE id = 'free')",
    ),
    (
        DamageKind::ChainUnfinished,
        "UPDATE promises SET state = 1, settled_at = created_at, value = x'31' WHERE id = 'gate'",
    ),
    (DamageKind::ChildRuns, "DELETE FROM outbox WHERE kind = 4"),
    (DamageKind::SuspendedOnNothing, "DELETE FROM callbacks"),
    (DamageKind::WokenButSuspended, "UPDATE callbacks SET consumed = 1"),
    (DamageKind::JournalDamaged, "UPDATE journal SET commands = 9"),
    (DamageKind::JournalDamaged, "UPDATE journal_recent SET commands = 9"),
    (
        DamageKind::FactsContradict,
        "INSERT INTO compensations (inv, saga, seq, fact, promise, compensate, unknown, at)
         SELECT n, 's', 0, column1, 'x', column2, 0, 1000 FROM promises,
                (VALUES (1, 'undo'), (2, NULL), (3, NULL)) WHERE id = 'waits'",
    ),
];

/// `waits` is suspended on `gate`, which has a listener. `free` is pending. `waits` has a stored
/// journal, and `runs` a growing one. `left` ended with a pending child, whose cancellation message
/// is still in the outbox.
async fn something_of_everything() -> Fixture {
    let fixture = Fixture::new().await;
    fixture.run(Command::PromiseCreate(new("gate", &[]))).await;
    let address = Text::from("poll://me");
    fixture.run(Command::RegisterListener { awaited: "gate".into(), address }).await;
    fixture.run(Command::PromiseCreate(new("free", &[(tags::TARGET, "wasm://shop/order")]))).await;
    let waits = fixture.workflow("waits", &[]).await;
    let awaits = [PromiseId::from("gate")].into();
    let records = vec![started()];
    fixture.run(Command::TaskSuspend { claim: waits, records, logs: vec![], awaits }).await;
    let runs = fixture.workflow("runs", &[]).await;
    let records = vec![started()];
    fixture.run(Command::TaskFence { claim: runs, records, logs: vec![], actions: vec![] }).await;
    let left = fixture.workflow("left", &[]).await;
    let act = FenceOperation::Create { new: new("left/0", &[]), request: None };
    fixture
        .run(Command::TaskFence {
            claim: left.clone(),
            records: vec![],
            logs: vec![],
            actions: vec![FenceAction { index: CommandIndex(0), act }],
        })
        .await;
    fixture.fulfill(left).await;
    assert_eq!(fixture.findings().await, Vec::new());
    fixture
}

/// A graph run whose node `a` completed and whose node `b` was skipped.
async fn run_of_a_graph() -> Fixture {
    let fixture = Fixture::new().await;
    let plan = r#"{"nodes": {"a": {"call": "f"}, "b": {"call": "f", "needs": ["a"]}}}"#;
    let param = format!(r#"{{"func": "segno:graph", "args": [{{"plan": {plan}}}]}}"#);
    let run = new("g", &[(tags::TARGET, GRAPH_RUN)]);
    let run = NewPromise { param: Value::of(param.as_bytes()), ..run };
    fixture.run(Command::TaskCreate { new: run, request: claim_request() }).await;
    let claim = Claim { id: "g".into(), version: Version(1) };
    let made = |node: &str| FenceOperation::Create {
        new: new(&format!("g/n/{node}/0"), &[]),
        request: None,
    };
    let row = |node: &str, state| FenceOperation::Node {
        reset: None,
        node: Text::from(node),
        row: NodeRow { state, attempt: 0 },
    };
    let settle = FenceOperation::Settle {
        id: "g/n/a/0".into(),
        verdict: Verdict::Resolved,
        value: Value::of(&b"1"[..]),
    };
    let acts = [made("a"), settle, row("a", NodeState::Completed), row("b", NodeState::Skipped)];
    let actions = (0..).zip(acts);
    let actions = actions.map(|(index, act)| FenceAction { index: CommandIndex(index), act });
    let actions = actions.collect();
    fixture.run(Command::TaskFence { claim, records: vec![], logs: vec![], actions }).await;
    fixture
}

#[tokio::test]
async fn what_is_wrong_with_a_run_of_a_graph_is_found_page_by_page() {
    let damages = [
        ("UPDATE graph_nodes SET node = 'z' WHERE node = 'a'", "graph_domain"),
        ("DELETE FROM graph_nodes WHERE node = 'a'", "graph_causal"),
        ("UPDATE graph_nodes SET state = 5 WHERE node = 'a'", "graph_facts_follow_settlements"),
    ];
    for (damage, broken) in damages {
        let mut fixture = run_of_a_graph().await;
        let found = async |fixture: &Fixture| {
            let (scan, now) = (fixture.host.store.scan(), fixture.clock.now());
            // One promise per page.
            let found = examine_pages(scan, 1, now, &fixture.host.config, |_| {}).await;
            found.expect("a diagnosis").findings
        };
        assert_eq!(found(&fixture).await, Vec::new());
        fixture.damage(damage).await;
        let names = found(&fixture).await;
        let is_named = |finding: &StoreProblem| matches!(finding, StoreProblem::Broken(violation) if violation.name == broken);
        assert!(names.iter().any(is_named), "{broken}: {names:?}");
    }
}

#[tokio::test]
async fn what_reconcile_does_is_what_the_policy_says() {
    for (orphan, damage) in DAMAGES {
        let mut fixture = something_of_everything().await;
        fixture.damage(damage).await;
        let scan = fixture.host.store.scan();
        let candidates = scan.candidates(0, 1_000).await.expect("candidates").items;
        let now = fixture.clock.now();
        let found = examine(scan, now, &fixture.host.config, |_| {}).await.expect("a diagnosis");
        let seen = found.findings.iter().find_map(|finding| match finding {
            StoreProblem::Orphan { id, orphan: seen } if *seen == orphan => Some(id.clone()),
            _ => None,
        });
        let id = seen.unwrap_or_else(|| panic!("{orphan:?} was not seen: {found:?}"));
        assert!(candidates.contains(&id), "{orphan:?}: {candidates:?}");
        let before = fixture.dump().await;
        let repaired = repair(&*fixture.host.store, &found).await.expect("a repair");
        assert!(
            repaired.steps.iter().any(|step| matches!(
                step,
                RepairStep::Repaired { orphan: repaired, .. } if *repaired == orphan
            )),
            "{orphan:?}: {repaired:?}"
        );
        let after = fixture.dump().await;
        let status = |rows: &Snapshot| rows.tasks.get(&id).map(segno_core::promise::Task::status);
        match class(orphan).action {
            RecoveryAction::Halt => {
                let damaged = TaskState::Halted { reason: HaltReason::Damaged };
                assert_eq!(after.tasks[&id].state, damaged, "{orphan:?}");
            }
            RecoveryAction::Requeue => {
                assert_eq!(status(&before), Some(TaskStatus::Suspended));
                assert_eq!(status(&after), Some(TaskStatus::Pending), "{orphan:?}");
            }
            RecoveryAction::FinishChain => {
                assert!(after.listeners.is_empty() && after.outbox.len() > before.outbox.len());
                let waiter = &after.tasks[&PromiseId::from("waits")];
                assert_eq!(waiter.status(), TaskStatus::Pending);
            }
            RecoveryAction::CancelChildren => {
                assert!(after.outbox.contains_key(&OutboxKey::CancelChildren(id.clone())));
            }
        }
        // A repaired damage leaves no finding. A damaged journal stays damaged, and its execution
        // halted.
        let left = fixture.findings().await;
        let halted = class(orphan).action == RecoveryAction::Halt;
        assert!(left.is_empty() || halted, "{orphan:?}: {left:?}");
    }
    let tried: Vec<DamageKind> = DAMAGES.iter().map(|(orphan, _)| *orphan).collect();
    let untried: Vec<_> = ORPHANS.iter().filter(|orphan| !tried.contains(orphan)).collect();
    // A task without its promise has no id in this database. The database's own check reports it.
    assert_eq!(untried, [&DamageKind::TaskWithoutPromise]);
}

#[tokio::test]
async fn a_child_that_was_asked_to_stop_and_still_runs_is_no_damage() {
    let fixture = Fixture::new().await;
    let left = fixture.workflow("left", &[]).await;
    let target = [(tags::TARGET, "wasm://shop/order")];
    let child = |n: u32| FenceAction {
        index: CommandIndex(n),
        act: FenceOperation::Create { new: new(&format!("left/{n}"), &target), request: None },
    };
    let actions = (0..3).map(child).collect();
    let fence = Command::TaskFence { claim: left.clone(), records: vec![], logs: vec![], actions };
    fixture.run(fence).await;
    // One child is claimed, one is offered, and one is halted.
    fixture.take("left/0").await;
    fixture.run(Command::TaskHalt { id: "left/2".into() }).await;
    fixture.fulfill(left).await;
    fixture.run(Command::OutboxDue { key: OutboxKey::CancelChildren("left".into()) }).await;
    assert_eq!(fixture.findings().await, Vec::new());
    let scan = fixture.host.store.scan();
    assert_eq!(scan.candidates(0, 1_000).await.expect("candidates").items, Vec::new());
    let look = fixture.run(Command::Reconcile { id: "left".into() }).await;
    assert_eq!(look, Reply::Reconciled { orphans: vec![] });
}

#[tokio::test]
async fn a_child_that_was_not_asked_is_found_behind_those_that_were() {
    let mut fixture = Fixture::new().await;
    let left = fixture.workflow("left", &[]).await;
    let target = [(tags::TARGET, "wasm://shop/order")];
    let act =
        |n: u32| FenceOperation::Create { new: new(&format!("left/{n}"), &target), request: None };
    let actions = (0..3).map(|n| FenceAction { index: CommandIndex(n), act: act(n) }).collect();
    let fence = Command::TaskFence { claim: left.clone(), records: vec![], logs: vec![], actions };
    fixture.run(fence).await;
    fixture.fulfill(left).await;
    fixture.run(Command::OutboxDue { key: OutboxKey::CancelChildren("left".into()) }).await;
    fixture
        .damage(
            "UPDATE tasks SET cancel = 0 WHERE n = (SELECT n FROM promises WHERE id = 'left/2')",
        )
        .await;
    let found = StoreProblem::Orphan { id: "left".into(), orphan: DamageKind::ChildRuns };
    assert_eq!(fixture.findings().await, [found]);
    let scan = fixture.host.store.scan();
    let candidates = scan.candidates(0, 1_000).await.expect("candidates").items;
    assert_eq!(candidates, [PromiseId::from("left")]);
    // The check and the owed message may be in one batch. Each reads its own page of the children.
    let key = OutboxKey::CancelChildren("left".into());
    let both = vec![Command::Reconcile { id: "left".into() }, Command::OutboxDue { key }];
    fixture.all(both).await;
    assert_eq!(fixture.findings().await, Vec::new());
    assert!(fixture.dump().await.outbox.is_empty());
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named_and_spoils_nothing_else() {
    let mut fixture = something_of_everything().await;
    fixture.damage("UPDATE tasks SET details = x'63' WHERE state = 3").await;
    let findings = fixture.findings().await;
    assert!(
        matches!(&findings[..], [StoreProblem::Unreadable(text), ..] if text.contains("`waits` is damaged")),
        "{findings:?}"
    );
    let mut fixture = something_of_everything().await;
    fixture.damage("DELETE FROM promises WHERE id = 'free'").await;
    let findings = fixture.findings().await;
    let expected = "1 rows of `tasks` refer to rows of `promises` that do not exist";
    assert!(findings.iter().any(|finding| describe(finding) == expected), "{findings:?}");
}

#[tokio::test]
async fn pages_find_what_a_look_at_everything_finds() {
    for (_, damage) in DAMAGES {
        let mut fixture = something_of_everything().await;
        fixture.damage(damage).await;
        let whole = segno_core::invariants::check(&fixture.dump().await);
        let scan = fixture.host.store.scan();
        let mut paged = Vec::new();
        let mut after = 0;
        loop {
            let page = scan.examine(None, after, 2).await.expect("a page");
            let found = segno_core::invariants::check(&Snapshot::of(&page.view));
            let ours = found.into_iter().filter(|violation| page.ids.contains(&violation.ids[0]));
            paged.extend(ours);
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        let key = |violation: &segno_core::invariants::InvariantViolation| violation.to_string();
        let mut whole: Vec<String> = whole.iter().map(key).collect();
        let mut paged: Vec<String> = paged.iter().map(key).collect();
        whole.sort();
        paged.sort();
        assert_eq!(whole, paged, "{damage}");
    }
}

#[tokio::test]
async fn a_round_calls_back_schedules_that_a_clock_took_along() {
    let fixture = Fixture::new().await;
    let template = PromiseTemplate {
        id: Text::from("{{.id}}@{{.timestamp}}"),
        param: Value::default(),
        tags: new("", &[(tags::TARGET, "wasm://shop/order")]).tags,
        timeout: Millis(1_000),
    };
    let cron = Text::from("0 0 * * *");
    let schedule = NewSchedule::plain("nightly".into(), cron, template, Overlap::Allow);
    fixture.run(Command::ScheduleCreate(schedule)).await;
    let right = fixture.clock.now();
    fixture.wait(3_650 * super::DAY);
    for _ in 0..10 {
        fixture.run(Command::ScheduleDue { id: "nightly".into() }).await;
    }
    fixture.wait(right.0 - fixture.clock.now().0);
    let next = async || {
        let schedule =
            fixture.host.store.read().schedule(&"nightly".into()).await.expect("a store");
        schedule.expect("it is there").next_at
    };
    assert!(next().await.0 > 2_000 * super::DAY, "{}", next().await);
    reconcile::turn(fixture.host.clone(), Arc::default()).await.expect("a turn");
    assert_eq!(next().await, Timestamp(super::DAY));
}
