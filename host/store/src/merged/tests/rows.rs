//! Every read of several databases has the result of one store with the same rows.

use std::collections::BTreeSet;

use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    config::Config,
    id::{CommandIndex, PromiseId},
    limit::LimitName,
    promise::OutboxMessageKind,
    reply::Reply,
    shard::ShardMap,
    tags,
    time::{Millis, Timestamp},
};
use segno_env::{Clock as _, HandClock};

use super::{divided, parts, scripted, stores};
use crate::{
    AdmittedFilter, DueWork, ParentCursor, Store, StoreProblem,
    conformance::new,
    current_shards::CurrentShards,
    examine_pages,
    tests::{
        conformance::row_reads,
        create, deploy, memory,
        work::{acquire, run},
    },
};

#[tokio::test]
async fn reads_of_several_databases_equal_those_of_one() {
    let (mut crossing, mut seen) = (0, BTreeSet::new());
    for seed in 0..12 {
        let (whole, clock) = scripted(seed, 220).await;
        let rows = whole.read().dump().await.expect("a dump");
        for databases in [1, 2, 3, 5] {
            let context = format!("seed {seed}, {databases} databases");
            let merged = divided(&whole, databases);
            let map = ShardMap::dealt(databases);
            let crosses = |(on, by): &&(PromiseId, PromiseId)| map.promise(on) != map.promise(by);
            crossing += rows.callbacks.keys().filter(crosses).count();
            seen.extend(rows.promises.keys().map(|id| (databases, map.promise(id))));
            assert!(merged.read().dump().await.expect("a dump") == rows, "{context}");
            let expected = row_reads(&*whole, clock.now(), &rows).await;
            let found = row_reads(&merged, clock.now(), &rows).await;
            assert_eq!(found.len(), expected.len(), "{context}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{context}");
            }
            for now in [clock.now(), clock.now() + Millis(20_000)] {
                let [expected, found] = due(&*whole, &merged, now, u32::MAX).await;
                assert_eq!(sorted(&found), sorted(&expected), "{context}");
                assert_eq!(found.next, expected.next, "{context}");
                assert!(found.wakes.iter().all(|wake| expected.wakes.contains(wake)), "{context}");
                for limit in 0..4 {
                    let [one, several] = due(&*whole, &merged, now, limit).await;
                    assert_eq!(several.commands.len(), one.commands.len(), "{context}");
                    if expected.commands.len() > limit as usize {
                        assert!(several.next.is_some_and(|next| next <= now), "{context}");
                    }
                    assert!(several.wakes.len() <= several.commands.len(), "{context}");
                }
            }
            for kind in OutboxMessageKind::ALL {
                let now = clock.now() + Millis(20_000);
                let expected = whole.work_queue().outbox_due(kind, now, u32::MAX).await;
                let found = merged.work_queue().outbox_due(kind, now, u32::MAX).await;
                let (expected, found) = (expected.expect("messages"), found.expect("messages"));
                assert_eq!(sorted(&found), sorted(&expected), "{context}");
                assert_eq!(found.next, expected.next, "{context}");
            }
            let (expected, found) = (whole.scan().size(99).await, merged.scan().size(99).await);
            let (expected, found) = (expected.expect("a report"), found.expect("a report"));
            assert_eq!((found.bytes, &found.parts), (expected.bytes, &expected.parts), "{context}");
            assert_eq!(found.trees.len(), expected.trees.len(), "{context}");
        }
    }
    assert!(crossing > 20, "{crossing} waits between databases");
    assert_eq!(seen.len(), 1 + 2 + 3 + 5, "every database has promises");
}

async fn due(one: &dyn Store, several: &dyn Store, now: Timestamp, limit: u32) -> [DueWork; 2] {
    let one = one.work_queue().due(now, limit).await.expect("what is due");
    [one, several.work_queue().due(now, limit).await.expect("what is due")]
}

fn sorted(due: &DueWork) -> Vec<String> {
    let mut commands: Vec<_> = due.commands.iter().map(|it| format!("{it:?}")).collect();
    commands.sort();
    commands
}

/// The page of a database comes with the rows of other databases that it refers to: an invariant
/// that holds in one store holds in several.
#[tokio::test]
async fn a_diagnosis_of_several_databases_finds_what_that_of_one_finds() {
    let mut broken = BTreeSet::new();
    for seed in 0..8 {
        let (whole, clock) = scripted(seed, 160).await;
        let merged = divided(&whole, 3);
        let (now, config) = (clock.now(), Config::default());
        let expected = examine_pages(whole.scan(), 1_000, now, &config, |_| {}).await;
        let expected = expected.expect("an answer");
        for page in [1, 4, 1_000] {
            let found = examine_pages(merged.scan(), page, now, &config, |_| {}).await;
            let found = found.expect("an answer");
            assert_eq!(found.promises, expected.promises);
            let orphans = |findings: &[StoreProblem]| {
                let is_orphan = |it: &&StoreProblem| matches!(it, StoreProblem::Orphan { .. });
                let orphans = findings.iter().filter(is_orphan).map(|it| format!("{it:?}"));
                orphans.collect::<BTreeSet<String>>()
            };
            assert_eq!(orphans(&found.findings), orphans(&expected.findings), "seed {seed}");
            broken.extend(found.findings.into_iter().filter_map(|it| match it {
                StoreProblem::Broken(violation) => Some(format!("seed {seed}: {violation:?}")),
                _ => None,
            }));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Children that name their parent in a tag are found in every database, also if the parent is in
/// none.
#[tokio::test]
async fn children_are_found_in_every_database() {
    let whole = memory(&HandClock::new(), &Config::default());
    let mut commands = vec![create("parent", &[])];
    for n in 0..12 {
        let parent = if n % 3 == 0 { "nobody" } else { "parent" };
        commands.push(create(&format!("child-{n}"), &[(tags::PARENT, parent)]));
    }
    whole.execute(commands).await.expect("they are made");
    let merged = divided(&whole, 4);
    for (after, each) in [(0, 100), (0, 3), (6, 2)] {
        let parents = ["nobody", "parent"].map(|id| ParentCursor { id: id.into(), after });
        for are_latest in [false, true] {
            let [expected, found] = [&*whole as &dyn Store, &merged].map(|store| {
                let (tree, parents) = (store.call_tree(), parents.clone());
                async move {
                    let found = match are_latest {
                        true => tree.latest(&parents, each).await,
                        false => tree.children(&parents, each).await,
                    };
                    format!("{:?}", found.expect("children"))
                }
            });
            assert_eq!(found.await, expected.await);
        }
    }
    let ids = ["parent", "nobody", "child-1", "no one"].map(PromiseId::from);
    let found = merged.call_tree().neighbours(&ids, 100, 1).await.expect("neighbours");
    let found = found.into_iter().map(|found| found.map(|it| (it.number, it.children)));
    assert_eq!(found.collect::<Vec<_>>(), [Some((1, 8)), Some((0, 4)), Some((3, 0)), None]);
    let found = merged.call_tree().neighbours(&ids, 5, 1).await.expect("neighbours");
    assert_eq!(found[0].as_ref().map(|it| it.children), Some(5));
    assert!(merged.call_tree().neighbours(&ids, 0, 1).await.expect("neighbours")[1].is_none());
}

/// A read by id follows the map.
#[tokio::test]
async fn a_new_map_leads_to_another_database() {
    let whole = memory(&HandClock::new(), &Config::default());
    whole.execute(vec![create("a", &[])]).await.expect("it is made");
    let (parts, map) = parts(&whole, 2);
    let home = map.promise(&"a".into());
    let shards = CurrentShards::new(map.clone());
    let merged = super::merged(stores(parts), shards.clone());
    let is_found = async || merged.read().promise(&"a".into()).await.expect("a read").is_some();
    assert!(is_found().await);
    let places = vec![1 - home as u16; map.places.len()];
    shards.advance(ShardMap { epoch: map.epoch, places: places.clone(), ..map.clone() });
    assert!(is_found().await, "that map is not newer");
    shards.advance(ShardMap { epoch: map.epoch + 1, places, ..map });
    assert!(!is_found().await);
    shards.advance(ShardMap { epoch: 9, databases: 3, places: vec![2], ..(*shards.get()).clone() });
    let unknown = merged.read().promise(&"a".into()).await.expect_err("there are two databases");
    assert!(unknown.to_string().contains("database 3"), "{unknown}");
}

/// The commands of each database have their turn, and come with the tasks that they wake.
#[tokio::test]
async fn due_work_is_taken_from_each_database_in_turn() {
    let clock = HandClock::new();
    let whole = memory(&clock, &Config::default());
    deploy(&*whole).await;
    for n in 0..40 {
        let id = format!("flow-{n}");
        run(&*whole, create(&id, &[(tags::TARGET, "wasm://shop/order")])).await;
        let claim = acquire(&*whole, &id, "node").await;
        let nap = claim.id.named("nap");
        let new = new(nap.as_str(), &[], clock.now() + Millis(5));
        let act = FenceOperation::Create { new, request: None };
        let (claimed, actions) = (claim.clone(), vec![FenceAction { index: CommandIndex(0), act }]);
        let fence = Command::TaskFence { claim: claimed, records: vec![], logs: vec![], actions };
        run(&*whole, fence).await;
        let awaits = [nap].into();
        let suspend = Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits };
        assert_eq!(run(&*whole, suspend).await, Reply::Suspended);
    }
    clock.advance(Millis(10));
    let (merged, map) = (divided(&whole, 3), ShardMap::dealt(3));
    let due = merged.work_queue().due(clock.now(), 9).await.expect("what is due");
    let mut of = [0; 3];
    for command in &due.commands {
        let Command::PromiseDue { id } = command else { panic!("{command:?}") };
        of[map.promise(id)] += 1;
        assert!(due.wakes.iter().any(|wake| wake.awaited == *id), "{id} wakes its task");
    }
    assert_eq!((of, due.wakes.len()), ([3, 3, 3], 9));
    assert!(due.next.is_some_and(|next| next <= clock.now()), "{:?}", due.next);
}

/// Executions of several databases are behind one limit: halted ones first, then by arrival.
#[tokio::test]
async fn a_limit_has_executions_in_every_database() {
    let clock = HandClock::new();
    let whole = memory(&clock, &Config::default());
    deploy(&*whole).await;
    let name = LimitName::of("shop", "mail");
    for n in 0..12 {
        let target = [(tags::TARGET, "wasm://shop/mail")];
        run(&*whole, create(&format!("mail-{n:02}"), &target)).await;
    }
    run(&*whole, Command::TaskHalt { id: "mail-01".into() }).await;
    let merged = divided(&whole, 3);
    let filter = AdmittedFilter { name, key: None, limit: 3 };
    let expected = whole.read().admitted(&filter).await.expect("executions");
    let ids: Vec<&str> = expected.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["mail-01", "mail-00"]);
    assert_eq!(merged.read().admitted(&filter).await.expect("executions"), expected);
    for (most, ahead) in [(0, 0), (3, 3), (100, 9)] {
        let place = merged.read().place(&"mail-11".into(), most).await.expect("a place");
        assert_eq!(place.map(|(_, ahead)| ahead), Some(ahead), "counted up to {most}");
    }
}
