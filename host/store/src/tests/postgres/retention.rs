//! Removal of trees and modules in PostgreSQL.

use std::sync::Arc;

use futures::future::join_all;
use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    config::Config,
    id::{Claim, CommandIndex, Digest, Holder, HostName, PromiseId, Version},
    promise::{OutboxKey, Verdict},
    reply::{PruneResult, Reply, RetentionReason},
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
};
use segno_env::Clock as _;

use super::{
    super::{HandClock, MODULE, create, deploy, new},
    database, store,
};
use crate::{NewModule, Store, postgres::PostgresStore};

/// Creates `root` with two hundred children, one of them detached, all settled.
async fn tree(store: &PostgresStore, root: &str) {
    let claim_request = || {
        let holder = Holder { node: HostName::from("n"), incarnation: 1 };
        ClaimRequest { holder, nonce: 1, ttl: Millis(15_000) }
    };
    let target = [(tags::TARGET, "wasm://shop/order")];
    let run = async |command| store.execute(vec![command]).await.expect("a reply");
    run(Command::TaskCreate {
        new: new(root, &target, Timestamp::NEVER),
        request: claim_request(),
    })
    .await;
    let claim = Claim { id: root.into(), version: Version(1) };
    let child = |n: u32| {
        let detached: &[_] = if n == 7 { &[(tags::DETACHED, "true")] } else { &[] };
        new(&format!("{root}/{n}"), detached, Timestamp::NEVER)
    };
    let make = |n| FenceAction {
        index: CommandIndex(n),
        act: FenceOperation::Create { new: child(n), request: None },
    };
    let actions = (0..200).map(make).collect();
    run(Command::TaskFence { claim: claim.clone(), records: vec![], logs: vec![], actions }).await;
    let (verdict, value) = (Verdict::Resolved, Value::of(&b"1"[..]));
    let settle = |n| Command::PromiseSettle { id: child(n).id, verdict, value: value.clone() };
    store.execute((0..200).map(settle).collect()).await.expect("replies");
    let fulfill = Command::TaskFulfill {
        claim,
        records: vec![],
        logs: vec![],
        verdict,
        value: value.clone(),
    };
    run(fulfill).await;
    for _ in 0..3 {
        run(Command::OutboxDue { key: OutboxKey::CancelChildren(root.into()) }).await;
    }
}

fn prune(root: &str, before: Timestamp) -> Command {
    Command::Prune { top: root.into(), before, part: false, state: false }
}

/// A removal writes what was decided before it, so each of these batches inserts twice, in the
/// order of the other one reversed.
#[tokio::test(flavor = "multi_thread")]
async fn batches_that_insert_twice_do_not_wait_for_each_other_until_the_database_intervenes() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let hosts = [store(&database, &clock, &engine).await, store(&database, &clock, &engine).await];
    deploy(&*hosts[0]).await;
    let trees = |round: u32| [format!("left-{round}"), format!("right-{round}")];
    // Before the first removal, which raises the versions of new tasks.
    for root in (0..6).flat_map(trees) {
        tree(&hosts[0], &root).await;
    }
    clock.advance(Millis(10));
    for round in 0..6 {
        let trees = trees(round);
        let ids = [format!("a-{round}"), format!("b-{round}")];
        let batch = |first: &str, root: &str, last: &str| {
            vec![create(first, &[]), prune(root, clock.now()), create(last, &[])]
        };
        let (one, two) = tokio::join!(
            hosts[0].execute(batch(&ids[0], &trees[0], &ids[1])),
            hosts[1].execute(batch(&ids[1], &trees[1], &ids[0]))
        );
        for replies in [one.expect("replies"), two.expect("replies")] {
            let gone = |reply: &Reply| matches!(reply, Reply::Pruned(PruneResult::Gone { .. }));
            assert!(gone(&replies[1]), "{:?}", replies[1]);
        }
    }
    assert_eq!(database.deadlocks(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_remove_the_same_trees_remove_each_of_them_once() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let hosts = [store(&database, &clock, &engine).await, store(&database, &clock, &engine).await];
    deploy(&*hosts[0]).await;
    for n in 0..6 {
        tree(&hosts[0], &format!("t{n}")).await;
    }
    clock.advance(Millis(60_000));
    let scan = hosts[0].scan();
    let found = scan.finished(0, 10_000, clock.now()).await.expect("roots");
    assert_eq!((found.items.len(), found.looked_at), (6, 6 * 201));
    let commands: Vec<Command> = (0..6).map(|n| prune(&format!("t{n}"), clock.now())).collect();
    let both = join_all(hosts.iter().map(|host| host.execute(commands.clone()))).await;
    for n in 0..6 {
        let answers = both.iter().map(|replies| replies.as_ref().expect("replies")[n].clone());
        let mut answers: Vec<Reply> = answers.collect();
        answers.sort_by_key(|answer| {
            *answer == Reply::Pruned(PruneResult::Kept(RetentionReason::Absent))
        });
        let gone = Reply::Pruned(PruneResult::Gone { promises: 201 });
        assert_eq!(answers, [gone, Reply::Pruned(PruneResult::Kept(RetentionReason::Absent))]);
    }
    let rows = hosts[0].read().dump().await.expect("a dump");
    assert!(rows.promises.is_empty() && rows.tasks.is_empty() && rows.journals.is_empty());
    let again = hosts[1].execute(vec![create("t0", &[])]).await.expect("a reply");
    assert!(matches!(again[0], Reply::Promise { changed: true, .. }));
    // A removal on one host raises the version at which another host creates tasks.
    let target = [(tags::TARGET, "wasm://shop/order")];
    hosts[1].execute(vec![create("t1", &target)]).await.expect("a reply");
    let rows = hosts[0].read().dump().await.expect("a dump");
    assert_eq!(rows.tasks[&PromiseId::from("t1")].version, rows.first_version);
    assert!(rows.first_version > Version(1), "t1 was held at version 1 in its earlier life");
    join_all(hosts.iter().map(|host| host.close())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_somebody_waits_for_or_a_module_somebody_runs_stays() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let store = store(&database, &clock, &engine).await;
    deploy(&*store).await;
    tree(&store, "root").await;
    let address = Text::from("poll://me");
    let listened = Command::RegisterListener { awaited: "gate".into(), address };
    let (verdict, value) = (Verdict::Resolved, Value::default());
    let settle = Command::PromiseSettle { id: "gate".into(), verdict, value };
    let commands = vec![create("gate", &[]), listened, settle, prune("gate", clock.now())];
    let replies = store.execute(commands).await.expect("replies");
    let owed = RetentionReason::Owes { id: PromiseId::from("gate") };
    assert_eq!(replies[3], Reply::Pruned(PruneResult::Kept(owed)));

    let next: Arc<[u8]> = Arc::from(&b"next"[..]);
    let digest = Digest([8; 32]);
    store.modules().put(NewModule::plain(digest, next, clock.now())).await.expect("it is kept");
    let deploy = Command::Deploy { alias: "shop".into(), module: digest };
    store.execute(vec![deploy]).await.expect("a reply");
    let remove =
        async |digest| store.modules().remove(digest, clock.now()).await.expect("an answer");
    assert!(!remove(MODULE).await, "what has ended is still kept, and runs it");
    assert!(!remove(digest).await, "an alias stands for it");
    store.execute(vec![prune("root", clock.now())]).await.expect("a reply");
    assert!(remove(MODULE).await);
    assert!(!remove(MODULE).await, "it is gone");
    store.close().await;
}
