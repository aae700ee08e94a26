//! Ended trees are removed after their retention period, and nothing else is.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    footprint::TREE_LIMIT,
    id::{CommandIndex, Digest, ObjectId, PromiseId},
    object::ModuleFacts,
    promise::{NewPromise, OutboxKey, Verdict},
    reply::{PruneResult, Reply},
    tags,
    time::{Millis, Timestamp},
    value::Value,
};
use segno_env::{Clock as _, SystemClock};
use segno_store::NewModule;

use super::{DAY, Fixture, MODULE, new};
use crate::recovery::{
    NextTurn,
    retention::{self, Retention},
};

fn rules(text: &str) -> Retention {
    toml::from_str(text).expect("valid rules")
}

#[tokio::test]
async fn whole_old_trees_go_and_the_rest_stays() {
    let fixture = Fixture::new().await;
    let child = fixture.tree("old", &[]).await;
    fixture.fulfill(child).await;
    let running = fixture.tree("runs", &[]).await;
    let kept = fixture.tree("kept", &[("label:env", "live")]).await;
    fixture.fulfill(kept).await;
    fixture.wait(2 * DAY);
    let child = fixture.tree("young", &[]).await;
    fixture.fulfill(child).await;
    let retention = rules("default = \"1d\"\n[[rule]]\nlabel = \"env=live\"\nkeep = \"forever\"\n");
    fixture.round(&Retention::default()).await;
    assert_eq!(fixture.dump().await.promises.len(), 12, "by default everything is kept");
    let again = fixture.run(Command::PromiseCreate(new("old", &[]))).await;
    assert!(matches!(again, Reply::Promise { changed: false, .. }), "within the window");

    fixture.round(&retention).await;
    let rows = fixture.dump().await;
    let roots: Vec<&str> = rows.promises.keys().map(PromiseId::as_str).collect();
    let left = ["kept", "runs", "young"];
    assert!(roots.iter().all(|id| left.iter().any(|root| id.starts_with(root))), "{roots:?}");
    assert_eq!(rows.promises.len(), 9);
    assert!(!rows.journals.contains_key(&PromiseId::from("old")));
    assert_eq!(rows.signal_keys.len(), 3);
    let old = PromiseId::from("old");
    assert_eq!(fixture.host.store.read().log_count(&old).await.expect("a count"), 0);
    assert_eq!(fixture.findings().await, Vec::new());
    let again = fixture.run(Command::PromiseCreate(new("old", &[]))).await;
    assert!(matches!(again, Reply::Promise { changed: true, .. }), "the id begins anew");

    // The tree with the running grandchild is removed once that has ended and is old enough.
    fixture.fulfill(running).await;
    fixture.round(&retention).await;
    assert!(
        fixture.dump().await.promises.contains_key(&PromiseId::from("runs")),
        "it ended just now"
    );
    fixture.wait(2 * DAY);
    fixture.round(&retention).await;
    assert!(!fixture.dump().await.promises.contains_key(&PromiseId::from("runs")));
}

#[tokio::test]
async fn a_tree_too_large_for_one_command_goes_as_a_whole_or_not_at_all() {
    let mut fixture = Fixture::new().await;
    let claim = fixture.workflow("root", &[]).await;
    let children = 2 * TREE_LIMIT + 100;
    let timer = |n: u32| NewPromise {
        timeout_at: Timestamp(2_000),
        ..new(&format!("root/{n}"), &[(tags::TIMER, "true")])
    };
    let create = |n| FenceAction {
        index: CommandIndex(n),
        act: FenceOperation::Create { new: timer(n), request: None },
    };
    let fence = |actions| Command::TaskFence {
        claim: claim.clone(),
        records: vec![],
        logs: vec![],
        actions,
    };
    fixture.run(fence((0..children).map(create).collect())).await;
    // A running detached child that has created a promise itself.
    let detached = new("root/d", &[(tags::TARGET, "ship"), (tags::DETACHED, "true")]);
    let act = FenceOperation::Create { new: detached, request: None };
    fixture.run(fence(vec![FenceAction { index: CommandIndex(0), act }])).await;
    let deep = fixture.take("root/d").await;
    fixture.wait(5_000);
    let due = (0..children).map(|n| Command::PromiseDue { id: timer(n).id });
    fixture.all(due.collect()).await;
    fixture.fulfill(claim.clone()).await;
    for _ in 0..100 {
        fixture.run(Command::OutboxDue { key: OutboxKey::CancelChildren("root".into()) }).await;
    }
    fixture.wait(2 * DAY);
    let (retention, all) = (rules("default = \"1d\""), children as usize + 2);
    fixture.round(&retention).await;
    assert_eq!(fixture.dump().await.promises.len(), all, "one member has not ended");

    fixture.fulfill(deep).await;
    fixture.wait(2 * DAY);
    // A host stops in between: some leaves are gone, and the root still reserves the id.
    let before = fixture.clock.now();
    for n in 0..10 {
        let top = timer(n).id;
        let gone = fixture.run(Command::Prune { top, before, part: true, state: false }).await;
        assert_eq!(gone, Reply::Pruned(PruneResult::Gone { promises: 1 }));
    }
    fixture.host.store.close().await;
    fixture.host = Fixture::open(fixture.dir.path(), &fixture.clock).await;
    assert_eq!(fixture.findings().await, Vec::new());
    let again = fixture.run(Command::PromiseCreate(new("root", &[]))).await;
    assert!(matches!(again, Reply::Promise { changed: false, .. }));
    fixture.round(&retention).await;
    assert_eq!(fixture.dump().await.promises.len(), 0);
}

#[tokio::test]
async fn what_an_object_holds_goes_with_its_run_however_much_it_is_and_never_before() {
    let fixture = Fixture::new().await;
    let component: Arc<[u8]> = Arc::from(&b"signups"[..]);
    let facts = ModuleFacts { runs: ["Signup/run".into()].into(), ..ModuleFacts::default() };
    let module = Digest([8; 32]);
    let plain = NewModule::plain(module, component, fixture.clock.now());
    fixture.host.store.modules().put(NewModule { facts, ..plain }).await.expect("it is kept");
    fixture.run(Command::Deploy { alias: "web".into(), module }).await;
    let object = ObjectId::from("web/Signup@ada");
    let known = |n: u32| {
        let id = object.promise(&n.to_string());
        Command::PromiseCreate(new(id.as_str(), &[(tags::OBJECT, object.as_str())]))
    };
    let settle = |n: u32| Command::PromiseSettle {
        id: object.promise(&n.to_string()),
        verdict: Verdict::Resolved,
        value: Value::default(),
    };
    let run = || Command::PromiseCreate(new("run", &[(tags::TARGET, "wasm://web/Signup@ada/run")]));
    fixture.run(run()).await;
    // More promises than one command removes. Half of them are settled.
    let count = TREE_LIMIT + 200;
    fixture.all((0..count).map(known).collect()).await;
    fixture.all((0..count / 2).map(settle).collect()).await;
    fixture.wait(2 * DAY);
    let retention = rules("default = \"1d\"");
    fixture.round(&retention).await;
    assert_eq!(fixture.dump().await.promises.len(), count as usize + 1, "the run has not ended");
    fixture.run(Command::Kill { invocation: "run".into() }).await;
    fixture.wait(2 * DAY);
    fixture.round(&retention).await;
    let rows = fixture.dump().await;
    assert_eq!((rows.promises.len(), rows.lines.len()), (0, 0));
    let again = fixture.run(run()).await;
    assert!(matches!(again, Reply::Promise { changed: true, .. }), "the key runs again");
}

#[tokio::test]
async fn room_is_given_back_to_the_system() {
    let fixture = Fixture::new().await;
    let file = fixture.dir.path().join("segno.db");
    for batch in 0..20 {
        let large = |n: i32| NewPromise {
            param: Value::of(vec![b'x'; 16_384]),
            ..new(&format!("{batch}/{n}"), &[])
        };
        let (verdict, value) = (Verdict::Resolved, Value::default());
        let settle = |n| Command::PromiseSettle { id: large(n).id, verdict, value: value.clone() };
        fixture.all((0..50).map(|n| Command::PromiseCreate(large(n))).collect()).await;
        fixture.all((0..50).map(settle).collect()).await;
    }
    fixture.wait(2 * DAY);
    fixture.round(&rules("default = \"1d\"")).await;
    assert_eq!(fixture.dump().await.promises.len(), 0);
    fixture.host.store.close().await;
    let size = std::fs::metadata(&file).expect("a file").len();
    assert!(size < 2_000_000, "16 MB were written, and {size} bytes are left");
}

#[tokio::test]
async fn modules_that_nobody_refers_to_go() {
    let fixture = Fixture::new().await;
    let claim = fixture.workflow("a", &[]).await;
    fixture.fulfill(claim).await;
    let next: Arc<[u8]> = Arc::from(&b"next"[..]);
    let digest = Digest([8; 32]);
    let store = &fixture.host.store;
    store.modules().put(NewModule::plain(digest, next, fixture.clock.now())).await.expect("kept");
    fixture.run(Command::Deploy { alias: "shop".into(), module: digest }).await;
    let kept = async || {
        let modules = fixture.host.store.modules().list().await.expect("modules");
        modules.into_iter().map(|module| module.digest).collect::<Vec<_>>()
    };
    fixture.wait(8 * DAY);
    fixture.round(&rules("modules = \"7d\"")).await;
    assert_eq!(kept().await, [MODULE, digest], "an execution that ended is still kept");
    fixture.round(&rules("default = \"1d\"\nmodules = \"30d\"")).await;
    assert_eq!(kept().await, [MODULE, digest], "it is too young");
    fixture.round(&rules("default = \"1d\"\nmodules = \"7d\"")).await;
    assert_eq!(kept().await, [digest]);
    let again: Arc<[u8]> = Arc::from(&b"component"[..]);
    let put = fixture
        .host
        .store
        .modules()
        .put(NewModule::plain(MODULE, again, fixture.clock.now()))
        .await;
    put.expect("it is uploaded again");
    assert_eq!(kept().await, [MODULE, digest]);
}

/// Prints measurements: `SEGNO_ROWS=1000000 cargo test --release -p segno --lib others_commit --
/// --nocapture`.
#[tokio::test(flavor = "multi_thread")]
async fn others_commit_while_many_trees_go() {
    let rows: i64 = std::env::var("SEGNO_ROWS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let mut fixture = Fixture::new().await;
    let many = format!(
        "WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < {rows})
         INSERT INTO promises (n, id, state, created_at, timeout_at, settled_at, attached, tags, param, value)
         SELECT n, 'r' || n, 1, 1000, 253402300799999, 1000, 0, '{{}}', randomblob(100), randomblob(100) FROM i"
    );
    fixture.damage(&many).await;
    fixture.wait(2 * DAY);
    let machine = SystemClock::default();
    let began = machine.now();
    let over = AtomicBool::new(false);
    let others = async {
        let (mut longest, mut count) = (Millis::ZERO, 0_u64);
        while !over.load(Ordering::Relaxed) {
            let before = machine.now();
            let id = format!("client/{count}");
            fixture.run(Command::PromiseCreate(new(&id, &[]))).await;
            longest = longest.max(machine.now().since(before));
            count += 1;
        }
        (longest, count)
    };
    let removal = async {
        let (rules, round) = (Arc::new(rules("default = \"1d\"")), Arc::default());
        let mut next = NextTurn::Now;
        while next != NextTurn::After(retention::ROUND_PAUSE) {
            let turn = retention::turn(fixture.host.clone(), rules.clone(), Arc::clone(&round));
            next = turn.await.expect("a turn");
        }
        over.store(true, Ordering::Relaxed);
    };
    let ((longest, count), ()) = futures::join!(others, removal);
    let took = machine.now().since(began);
    println!("{rows} trees went in {took}; {count} commits of others, the longest {longest}");
    assert_eq!(fixture.dump().await.promises.len() as u64, count);
    assert!(longest < Millis(5_000), "a commit of others took {longest}");
}
