//! Damage is found, told apart and mended.

use segno_core::{
    command::{Command, FenceAct, FenceAction},
    id::{CommandIndex, PromiseId},
    promise::{HaltReason, OutboxKey, TaskState, TaskStatus},
    reply::Orphan,
    snapshot::Snapshot,
    tags,
    value::Text,
};

use super::{Bed, new, started};
use crate::{
    recovery::{Action, Finding, ORPHANS, Symptom, class, examine, repair},
    runtime::Clock as _,
};

/// Damages, what they are taken for, and what is done.
const DAMAGES: [(Orphan, &str); 8] = [
    (Orphan::TaskMissing, "DELETE FROM tasks WHERE n = (SELECT n FROM promises WHERE id = 'free')"),
    (
        Orphan::ChainUnfinished,
        "UPDATE promises SET state = 1, settled_at = created_at, value = x'31' WHERE id = 'gate'",
    ),
    (Orphan::ChildRuns, "DELETE FROM outbox WHERE kind = 4"),
    (Orphan::SuspendedOnNothing, "DELETE FROM callbacks"),
    (Orphan::WokenButSuspended, "UPDATE callbacks SET consumed = 1"),
    (Orphan::JournalDamaged, "UPDATE journal SET commands = 9"),
    (Orphan::JournalDamaged, "UPDATE journal_recent SET commands = 9"),
    (
        Orphan::FactsContradict,
        "INSERT INTO compensations (inv, saga, seq, fact, promise, compensate, unknown, at)
         SELECT n, 's', 0, column1, 'x', column2, 0, 1000 FROM promises,
                (VALUES (1, 'undo'), (2, NULL), (3, NULL)) WHERE id = 'waits'",
    ),
];

/// `waits` is suspended on `gate`, to which somebody listens; `free` is pending; `waits` has a journal, and `runs` one that
/// grows; `left` ended and left a child, whose message is owed.
async fn something_of_everything() -> Bed {
    let bed = Bed::new().await;
    bed.run(Command::PromiseCreate(new("gate", &[]))).await;
    let address = Text::from("poll://me");
    bed.run(Command::RegisterListener { awaited: "gate".into(), address }).await;
    bed.run(Command::PromiseCreate(new("free", &[(tags::TARGET, "wasm://shop/order")]))).await;
    let waits = bed.workflow("waits", &[]).await;
    let awaits = [PromiseId::from("gate")].into();
    let records = vec![started()];
    bed.run(Command::TaskSuspend { claim: waits, records, logs: vec![], awaits }).await;
    let runs = bed.workflow("runs", &[]).await;
    let records = vec![started()];
    bed.run(Command::TaskFence { claim: runs, records, logs: vec![], actions: vec![] }).await;
    let left = bed.workflow("left", &[]).await;
    let act = FenceAct::Create { new: new("left/0", &[]), hold: None };
    bed.run(Command::TaskFence {
        claim: left.clone(),
        records: vec![],
        logs: vec![],
        actions: vec![FenceAction { index: CommandIndex(0), act }],
    })
    .await;
    bed.fulfill(left).await;
    assert_eq!(bed.symptoms().await, Vec::new());
    bed
}

#[tokio::test]
async fn what_reconcile_does_is_what_the_policy_says() {
    for (orphan, damage) in DAMAGES {
        let mut bed = something_of_everything().await;
        bed.damage(damage).await;
        let survey = bed.host.store.survey().expect("a survey");
        let suspects = survey.suspects(0, 1_000).await.expect("suspects").items;
        let now = bed.clock.now();
        let found = examine(survey, now, &bed.host.config, |_| {}).await.expect("a diagnosis");
        let seen = found.symptoms.iter().find_map(|symptom| match symptom {
            Symptom::Orphan { id, orphan: seen } if *seen == orphan => Some(id.clone()),
            _ => None,
        });
        let id = seen.unwrap_or_else(|| panic!("{orphan:?} was not seen: {found:?}"));
        assert!(suspects.contains(&id), "{orphan:?}: {suspects:?}");
        let before = bed.dump().await;
        let mended = repair(&*bed.host.store, &found).await.expect("a repair");
        assert!(
            mended.findings.iter().any(|finding| matches!(
                finding,
                Finding::Mended { orphan: mended, .. } if *mended == orphan
            )),
            "{orphan:?}: {mended:?}"
        );
        let after = bed.dump().await;
        let status = |rows: &Snapshot| rows.tasks.get(&id).map(segno_core::promise::Task::status);
        match class(orphan).action {
            Action::Halt => {
                let damaged = TaskState::Halted { reason: HaltReason::Damaged };
                assert_eq!(after.tasks[&id].state, damaged, "{orphan:?}");
            }
            Action::Requeue => {
                assert_eq!(status(&before), Some(TaskStatus::Suspended));
                assert_eq!(status(&after), Some(TaskStatus::Pending), "{orphan:?}");
            }
            Action::FinishChain => {
                assert!(after.listeners.is_empty() && after.outbox.len() > before.outbox.len());
                let waiter = &after.tasks[&PromiseId::from("waits")];
                assert_eq!(waiter.status(), TaskStatus::Pending);
            }
            Action::CancelChildren => {
                assert!(after.outbox.contains_key(&OutboxKey::CancelChildren(id.clone())));
            }
        }
        // What was only mended leaves nothing behind; a damaged journal stays damaged, and its execution halted.
        let left = bed.symptoms().await;
        let halted = class(orphan).action == Action::Halt;
        assert!(left.is_empty() || halted, "{orphan:?}: {left:?}");
    }
    let tried: Vec<Orphan> = DAMAGES.iter().map(|(orphan, _)| *orphan).collect();
    let untried: Vec<_> = ORPHANS.iter().filter(|orphan| !tried.contains(orphan)).collect();
    // Without its promise a task has no id in this database: the database's own check tells of it.
    assert_eq!(untried, [&Orphan::TaskWithoutPromise]);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named_and_spoils_nothing_else() {
    let mut bed = something_of_everything().await;
    bed.damage("UPDATE tasks SET details = x'63' WHERE state = 3").await;
    let symptoms = bed.symptoms().await;
    assert!(
        matches!(&symptoms[..], [Symptom::Unreadable(text), ..] if text.contains("`waits` is damaged")),
        "{symptoms:?}"
    );
    let mut bed = something_of_everything().await;
    bed.damage("DELETE FROM promises WHERE id = 'free'").await;
    let symptoms = bed.symptoms().await;
    let expected = "1 rows of `tasks` refer to rows of `promises` that do not exist";
    assert!(symptoms.iter().any(|symptom| symptom.to_string() == expected), "{symptoms:?}");
}

#[tokio::test]
async fn pages_find_what_a_look_at_everything_finds() {
    for (_, damage) in DAMAGES {
        let mut bed = something_of_everything().await;
        bed.damage(damage).await;
        let whole = segno_core::invariants::check(&bed.dump().await);
        let survey = bed.host.store.survey().expect("a survey");
        let mut paged = Vec::new();
        let mut after = 0;
        loop {
            let page = survey.examine(None, after, 2).await.expect("a page");
            let found = segno_core::invariants::check(&Snapshot::of(&page.state));
            let ours = found.into_iter().filter(|violation| page.ids.contains(&violation.ids[0]));
            paged.extend(ours);
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        let key = |violation: &segno_core::invariants::Violation| violation.to_string();
        let mut whole: Vec<String> = whole.iter().map(key).collect();
        let mut paged: Vec<String> = paged.iter().map(key).collect();
        whole.sort();
        paged.sort();
        assert_eq!(whole, paged, "{damage}");
    }
}
