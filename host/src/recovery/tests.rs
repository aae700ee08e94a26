//! Retention, reconcile and doctor over a real database, with a clock that is moved by hand.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use segno_core::{
    command::{Command, FenceAct, FenceAction, Hold},
    config::Config,
    footprint::TREE_LIMIT,
    id::{Claim, CommandIndex, Digest, Holder, NodeName, PromiseId, Version},
    invocation::{EngineFacts, LogLevel, LogLine, Record, RecordBody, Seed},
    promise::{HaltReason, NewPromise, OutboxKey, TaskState, TaskStatus, Verdict},
    reply::{Orphan, Pruned, Reply},
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Payload, Tags, Text, Value},
};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use super::{
    Action, Finding, ORPHANS, Symptom, class,
    driver::Next,
    examine, repair,
    retention::{self, Keep, Retention},
};
use crate::{
    api::tests::World,
    host::Host,
    runtime::{Clock, Surroundings, SystemClock, SystemRuntime},
    store::sqlite::{SqliteConfig, SqliteStore},
};

const MODULE: Digest = Digest([7; 32]);
const DAY: i64 = 86_400_000;

struct HandClock(AtomicI64);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// A host on a database of its own, without duties.
struct Bed {
    host: Host,
    clock: Arc<HandClock>,
    dir: tempfile::TempDir,
}

impl Bed {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = Arc::new(HandClock(AtomicI64::new(1_000)));
        let host = Self::open(dir.path(), &clock).await;
        let component: Arc<[u8]> = Arc::from(&b"component"[..]);
        let store = &host.store;
        let kept = store.put_component(MODULE, component, "{}".to_owned(), Timestamp(1_000)).await;
        kept.expect("a component is kept");
        let bed = Self { host, clock, dir };
        bed.run(Command::Deploy { alias: "shop".into(), module: MODULE }).await;
        bed
    }

    async fn open(dir: &Path, clock: &Arc<HandClock>) -> Host {
        let surroundings = Surroundings { clock: clock.clone(), runtime: Arc::new(SystemRuntime) };
        let host = World::new().api.host.clone();
        let sqlite = SqliteConfig { dir: dir.to_owned(), relaxed: true };
        let store =
            SqliteStore::open(sqlite, Config::default(), surroundings.clone(), host.hub.clone());
        Host { store: store.await.expect("it opens"), surroundings, ..host }
    }

    /// The database by hand: no key, no check and no store in between.
    async fn damage(&mut self, statement: &str) {
        self.host.store.close().await;
        let file = self.dir.path().join("segno.db");
        let file = file.to_str().expect("a path");
        let mut tables = SqliteConnection::connect(file).await.expect("the database opens");
        for statement in
            ["PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON", statement]
        {
            let statement = sqlx::AssertSqlSafe(statement.to_owned());
            tables.execute(sqlx::query(statement)).await.expect("it is damaged");
        }
        tables.close().await.expect("it closes");
        self.host = Self::open(self.dir.path(), &self.clock).await;
    }

    fn wait(&self, length: i64) {
        self.clock.0.fetch_add(length, Ordering::Relaxed);
    }

    async fn run(&self, command: Command) -> Reply {
        self.all(vec![command]).await.remove(0)
    }

    async fn all(&self, commands: Vec<Command>) -> Vec<Reply> {
        let replies = self.host.store.execute(commands.clone()).await.expect("an answer");
        for (command, reply) in commands.iter().zip(&replies) {
            assert!(!matches!(reply, Reply::Refused(_)), "{command:?}: {reply:?}");
        }
        replies
    }

    async fn dump(&self) -> Snapshot {
        self.host.store.dump().await.expect("a dump")
    }

    async fn workflow(&self, id: &str, labels: &[(&str, &str)]) -> Claim {
        let mut all = vec![(tags::TARGET, "wasm://shop/order")];
        all.extend(labels);
        let hold = hold();
        self.run(Command::TaskCreate { new: new(id, &all), hold }).await;
        Claim { id: id.into(), version: Version(1) }
    }

    async fn fulfill(&self, claim: Claim) {
        let (verdict, value) = (Verdict::Resolved, Value::of(&b"1"[..]));
        self.run(Command::TaskFulfill { claim, records: vec![], logs: vec![], verdict, value })
            .await;
    }

    /// `id` with a journal, a log line, a signal and a detached child, all of it settled but the child, whose claim is
    /// answered.
    async fn tree(&self, id: &str, labels: &[(&str, &str)]) -> Claim {
        let claim = self.workflow(id, labels).await;
        let child = new(&format!("{id}/0"), &[(tags::TARGET, "ship"), (tags::DETACHED, "true")]);
        let log = LogLine {
            seq: 0,
            at: Timestamp(1_000),
            level: LogLevel::Info,
            message: Text::from("a line"),
        };
        let act = FenceAct::Create { new: child, hold: Some(hold()) };
        self.run(Command::TaskFence {
            claim: claim.clone(),
            records: vec![started()],
            logs: vec![log],
            actions: vec![FenceAction { index: CommandIndex(0), act }],
        })
        .await;
        self.run(Command::Signal {
            invocation: id.into(),
            name: Text::from("go"),
            payload: Value::default(),
            key: Some(Text::from("k")),
        })
        .await;
        self.fulfill(claim).await;
        self.run(Command::OutboxDue { key: OutboxKey::CancelChildren(id.into()) }).await;
        Claim { id: format!("{id}/0").as_str().into(), version: Version(1) }
    }

    /// Turns of the retention duty, one whole round.
    async fn round(&self, rules: &Retention) {
        let (rules, round) = (Arc::new(rules.clone()), Arc::default());
        for _ in 0..500 {
            let next = retention::turn(self.host.clone(), rules.clone(), Arc::clone(&round)).await;
            if next.expect("a turn") == Next::After(retention::ROUND_PAUSE) {
                return;
            }
        }
        panic!("a round does not end");
    }

    async fn symptoms(&self) -> Vec<Symptom> {
        let survey = self.host.store.survey().expect("a survey");
        let now = self.clock.now();
        let found = examine(survey, now, &self.host.config, |_| {}).await.expect("a diagnosis");
        found.symptoms
    }
}

fn hold() -> Hold {
    let holder = Holder { node: NodeName::from("n"), incarnation: 1 };
    Hold { holder, nonce: 1, ttl: Millis(15_000) }
}

fn new(id: &str, tags: &[(&str, &str)]) -> NewPromise {
    let tags: Tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    NewPromise { id: id.into(), param: Value::of(&b"{}"[..]), tags, timeout_at: Timestamp::NEVER }
}

fn started() -> Record {
    let body = RecordBody::Started {
        function: Text::from("order"),
        input: Payload::Json(Text::from("{}")),
        module: MODULE,
        seed: Seed([3; 32]),
        engine: EngineFacts::default(),
    };
    Record { seq: 0, at: Timestamp(1_000), body }
}

fn rules(text: &str) -> Retention {
    toml::from_str(text).expect("valid rules")
}

#[tokio::test]
async fn whole_old_trees_go_and_the_rest_stays() {
    let bed = Bed::new().await;
    let child = bed.tree("old", &[]).await;
    bed.fulfill(child).await;
    let running = bed.tree("runs", &[]).await;
    let kept = bed.tree("kept", &[("label:env", "live")]).await;
    bed.fulfill(kept).await;
    bed.wait(2 * DAY);
    let child = bed.tree("young", &[]).await;
    bed.fulfill(child).await;
    let retention = rules("default = \"1d\"\n[[rule]]\nlabel = \"env=live\"\nkeep = \"forever\"\n");
    bed.round(&Retention::default()).await;
    assert_eq!(bed.dump().await.promises.len(), 12, "by default everything is kept");
    let again = bed.run(Command::PromiseCreate(new("old", &[]))).await;
    assert!(matches!(again, Reply::Promise { changed: false, .. }), "within the window");

    bed.round(&retention).await;
    let rows = bed.dump().await;
    let roots: Vec<&str> = rows.promises.keys().map(PromiseId::as_str).collect();
    let left = ["kept", "runs", "young"];
    assert!(roots.iter().all(|id| left.iter().any(|root| id.starts_with(root))), "{roots:?}");
    assert_eq!(rows.promises.len(), 9);
    assert!(!rows.journals.contains_key(&PromiseId::from("old")));
    assert_eq!(rows.signal_keys.len(), 3);
    let old = PromiseId::from("old");
    assert_eq!(bed.host.store.log_count(&old).await.expect("a count"), 0);
    assert_eq!(bed.symptoms().await, Vec::new());
    let again = bed.run(Command::PromiseCreate(new("old", &[]))).await;
    assert!(matches!(again, Reply::Promise { changed: true, .. }), "the id begins anew");

    // The tree with the running grandchild goes once that has ended, and is old enough.
    bed.fulfill(running).await;
    bed.round(&retention).await;
    assert!(bed.dump().await.promises.contains_key(&PromiseId::from("runs")), "it ended just now");
    bed.wait(2 * DAY);
    bed.round(&retention).await;
    assert!(!bed.dump().await.promises.contains_key(&PromiseId::from("runs")));
}

#[tokio::test]
async fn a_tree_too_large_for_one_command_goes_as_a_whole_or_not_at_all() {
    let mut bed = Bed::new().await;
    let claim = bed.workflow("root", &[]).await;
    let children = 2 * TREE_LIMIT + 100;
    let timer = |n: u32| NewPromise {
        timeout_at: Timestamp(2_000),
        ..new(&format!("root/{n}"), &[(tags::TIMER, "true")])
    };
    let create = |n| FenceAction {
        index: CommandIndex(n),
        act: FenceAct::Create { new: timer(n), hold: None },
    };
    let fence = |actions| Command::TaskFence {
        claim: claim.clone(),
        records: vec![],
        logs: vec![],
        actions,
    };
    bed.run(fence((0..children).map(create).collect())).await;
    // A detached child that runs, and made something itself.
    let detached = new("root/d", &[(tags::TARGET, "ship"), (tags::DETACHED, "true")]);
    let act = FenceAct::Create { new: detached, hold: Some(hold()) };
    bed.run(fence(vec![FenceAction { index: CommandIndex(0), act }])).await;
    let deep = Claim { id: "root/d".into(), version: Version(1) };
    bed.wait(5_000);
    let due = (0..children).map(|n| Command::PromiseDue { id: timer(n).id });
    bed.all(due.collect()).await;
    bed.fulfill(claim.clone()).await;
    for _ in 0..100 {
        bed.run(Command::OutboxDue { key: OutboxKey::CancelChildren("root".into()) }).await;
    }
    bed.wait(2 * DAY);
    let (retention, all) = (rules("default = \"1d\""), children as usize + 2);
    bed.round(&retention).await;
    assert_eq!(bed.dump().await.promises.len(), all, "one member has not ended");

    bed.fulfill(deep).await;
    bed.wait(2 * DAY);
    // A host that dies in between: some leaves are gone, and the root still holds the id.
    let before = bed.clock.now();
    for n in 0..10 {
        let top = timer(n).id;
        let gone = bed.run(Command::Prune { top, before, part: true }).await;
        assert_eq!(gone, Reply::Pruned(Pruned::Gone { promises: 1 }));
    }
    bed.host.store.close().await;
    bed.host = Bed::open(bed.dir.path(), &bed.clock).await;
    assert_eq!(bed.symptoms().await, Vec::new());
    let again = bed.run(Command::PromiseCreate(new("root", &[]))).await;
    assert!(matches!(again, Reply::Promise { changed: false, .. }));
    bed.round(&retention).await;
    assert_eq!(bed.dump().await.promises.len(), 0);
}

#[tokio::test]
async fn room_is_given_back_to_the_system() {
    let bed = Bed::new().await;
    let file = bed.dir.path().join("segno.db");
    for batch in 0..20 {
        let large = |n: i32| NewPromise {
            param: Value::of(vec![b'x'; 16_384]),
            ..new(&format!("{batch}/{n}"), &[])
        };
        let (verdict, value) = (Verdict::Resolved, Value::default());
        let settle = |n| Command::PromiseSettle { id: large(n).id, verdict, value: value.clone() };
        bed.all((0..50).map(|n| Command::PromiseCreate(large(n))).collect()).await;
        bed.all((0..50).map(settle).collect()).await;
    }
    bed.wait(2 * DAY);
    bed.round(&rules("default = \"1d\"")).await;
    assert_eq!(bed.dump().await.promises.len(), 0);
    bed.host.store.close().await;
    let size = std::fs::metadata(&file).expect("a file").len();
    assert!(size < 2_000_000, "16 MB were written, and {size} bytes are left");
}

#[tokio::test]
async fn modules_that_nobody_refers_to_go() {
    let bed = Bed::new().await;
    let claim = bed.workflow("a", &[]).await;
    bed.fulfill(claim).await;
    let next: Arc<[u8]> = Arc::from(&b"next"[..]);
    let digest = Digest([8; 32]);
    let store = &bed.host.store;
    store.put_component(digest, next, "{}".to_owned(), bed.clock.now()).await.expect("kept");
    bed.run(Command::Deploy { alias: "shop".into(), module: digest }).await;
    let kept = async || {
        let modules = bed.host.store.modules().await.expect("modules");
        modules.into_iter().map(|module| module.digest).collect::<Vec<_>>()
    };
    bed.wait(8 * DAY);
    bed.round(&rules("modules = \"7d\"")).await;
    assert_eq!(kept().await, [MODULE, digest], "an execution that ended is still kept");
    bed.round(&rules("default = \"1d\"\nmodules = \"30d\"")).await;
    assert_eq!(kept().await, [MODULE, digest], "it is too young");
    bed.round(&rules("default = \"1d\"\nmodules = \"7d\"")).await;
    assert_eq!(kept().await, [digest]);
    let again: Arc<[u8]> = Arc::from(&b"component"[..]);
    let put = bed.host.store.put_component(MODULE, again, "{}".to_owned(), bed.clock.now()).await;
    put.expect("it is uploaded again");
    assert_eq!(kept().await, [MODULE, digest]);
}

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

/// `waits` is suspended on `gate`, to which somebody listens; `free` is pending; `waits` has a journal, and `runs` one that grows; `left` ended
/// and left a child, whose message is owed.
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

#[test]
fn rules_keep_by_default() {
    assert_eq!(Retention::default().with_default(Keep::Forever), Retention::default());
}

/// Figures: `SEGNO_ROWS=1000000 cargo test --release -p segno --lib others_commit -- --nocapture`.
#[tokio::test(flavor = "multi_thread")]
async fn others_commit_while_many_trees_go() {
    let rows: i64 = std::env::var("SEGNO_ROWS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let mut bed = Bed::new().await;
    let many = format!(
        "WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < {rows})
         INSERT INTO promises (n, id, state, created_at, timeout_at, settled_at, attached, tags, param, value)
         SELECT n, 'r' || n, 1, 1000, 253402300799999, 1000, 0, '{{}}', randomblob(100), randomblob(100) FROM i"
    );
    bed.damage(&many).await;
    bed.wait(2 * DAY);
    let machine = SystemClock::default();
    let began = machine.now();
    let over = std::sync::atomic::AtomicBool::new(false);
    let others = async {
        let (mut longest, mut count) = (Millis::ZERO, 0_u64);
        while !over.load(Ordering::Relaxed) {
            let before = machine.now();
            let id = format!("client/{count}");
            bed.run(Command::PromiseCreate(new(&id, &[]))).await;
            longest = longest.max(machine.now().since(before));
            count += 1;
        }
        (longest, count)
    };
    let removal = async {
        let (rules, round) = (Arc::new(rules("default = \"1d\"")), Arc::default());
        let mut next = Next::Now;
        while next != Next::After(retention::ROUND_PAUSE) {
            let turn = retention::turn(bed.host.clone(), rules.clone(), Arc::clone(&round));
            next = turn.await.expect("a turn");
        }
        over.store(true, Ordering::Relaxed);
    };
    let ((longest, count), ()) = futures::join!(others, removal);
    let took = machine.now().since(began);
    println!("{rows} trees went in {took}; {count} commits of others, the longest {longest}");
    assert_eq!(bed.dump().await.promises.len() as u64, count);
    assert!(longest < Millis(5_000), "a commit of others took {longest}");
}
