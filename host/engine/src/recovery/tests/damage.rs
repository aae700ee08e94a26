//! One row of each kind is damaged, among undamaged ones. The host starts, due work is done,
//! batches are committed, lists answer, and each damaged row is reported once. Runs on both
//! databases.

use std::{collections::BTreeSet, sync::Arc};

use futures::future::join_all;
use segno_core::{
    command::{Command, FenceAction, FenceOperation, HeartbeatItem},
    config::Config,
    id::{Claim, CommandIndex, Digest, HostName, PromiseId, ScheduleId, Version},
    promise::{
        NewSchedule, OutboxKey, Overlap, PromiseState, PromiseTemplate, TaskStatus, Verdict,
    },
    reply::{HeartbeatResult, Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    unreadable::Subject,
    value::{Tags, Text, Value},
};
use segno_env::{Env, SystemRuntime};
use segno_store::{
    InvocationFilter, NewModule, PromiseFilter, ScheduleFilter, Store, StoreProblem, examine,
    postgres::{PostgresConfig, PostgresStore},
    sqlite::{SqliteConfig, SqliteStore},
};
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use throwaway_postgres::{Cluster, Database};

use super::{HandClock, MODULE, claim_request, new, started};
use crate::{
    boot,
    host::Host,
    recovery::{NextTurn, RepairStep, each, outbox, repair_all, timers},
    testing,
    worker::WorkerSettings,
};

/// The kind of store under test.
enum StoreKind {
    Directory(tempfile::TempDir),
    Database(Database<'static>),
}

/// The kinds of store that are available on this machine.
fn places() -> Vec<StoreKind> {
    let directory = StoreKind::Directory(tempfile::tempdir().expect("a directory"));
    let database = Cluster::shared().map(Cluster::database).map(StoreKind::Database);
    [Some(directory), database].into_iter().flatten().collect()
}

impl StoreKind {
    async fn open(&self, clock: &Arc<HandClock>) -> Host {
        let env = Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) };
        let host = testing::host();
        let (engine, notifier) = (Config::default(), host.notifier.clone());
        let store: Arc<dyn Store> = match self {
            Self::Directory(dir) => {
                let config = SqliteConfig { dir: dir.path().to_owned(), relaxed: true };
                let store = SqliteStore::open(config, engine, env.clone(), notifier).await;
                store.expect("it opens")
            }
            Self::Database(database) => {
                let mut config = PostgresConfig::new(&database.url()).expect("an address");
                (config.server_time, config.spread) = (false, false);
                let store = PostgresStore::open(config, engine, env.clone(), notifier).await;
                store.expect("it opens")
            }
        };
        Host { store, env, ..host }
    }

    /// Executes a statement without the checks of the store and of the database.
    async fn damage(&self, statement: &str) {
        match self {
            Self::Directory(dir) => {
                let file = dir.path().join("segno.db");
                let file = file.to_str().expect("a path");
                let mut tables = SqliteConnection::connect(file).await.expect("it opens");
                let statement = statement.replace("'\\x", "x'");
                for statement in [
                    "PRAGMA foreign_keys = OFF",
                    "PRAGMA ignore_check_constraints = ON",
                    &statement,
                ] {
                    let statement = sqlx::AssertSqlSafe(statement.to_owned());
                    tables.execute(sqlx::query(statement)).await.expect("it is damaged");
                }
                tables.close().await.expect("it closes");
            }
            Self::Database(database) => drop(database.sql(statement)),
        }
    }
}

/// The statements that damage rows. `'\x…'` stands for bytes.
const DAMAGES: [&str; 10] = [
    "UPDATE promises SET param_headers = '{' WHERE id = 'bad-param'",
    "UPDATE promises SET tags = '{\"a\":1}' WHERE id = 'bad-promise'",
    "UPDATE promises SET value_headers = '{' WHERE id = 'bad-value'",
    "UPDATE tasks SET details = '\\xff00ff' WHERE n = (SELECT n FROM promises WHERE id = 'bad-lease')",
    "UPDATE tasks SET details = '\\x' WHERE n = (SELECT n FROM promises WHERE id = 'bad-retry')",
    "UPDATE tasks SET details = '\\x01' WHERE n = (SELECT n FROM promises WHERE id = 'bad-awaiter')",
    "UPDATE outbox SET message = '\\xff' WHERE source = (SELECT n FROM promises WHERE id = 'bad-told')",
    "UPDATE schedules SET tags = '[' WHERE id = 'bad-schedule'",
    "UPDATE logs SET lines = '\\x09'",
    "UPDATE journal SET records = '\\x01ffff' WHERE inv = (SELECT n FROM promises WHERE id = 'bad-journal')",
];

/// Damage that only SQLite can have or accepts.
const LOOSE_DAMAGES: [&str; 6] = [
    "INSERT INTO modules (digest, created_at, description, component) VALUES (x'00', 1000, '{}', x'00')",
    "UPDATE tasks SET wake_at = NULL WHERE n = (SELECT n FROM promises WHERE id = 'bad-no-lease')",
    "INSERT INTO listeners (awaited, address) SELECT n, CAST(x'ff' AS TEXT) FROM promises WHERE id = 'bad-listener'",
    "UPDATE journal_recent SET notified = -1 WHERE inv = (SELECT n FROM promises WHERE id = 'bad-recent')",
    "UPDATE journal_recent SET records = x'01ffff' WHERE inv = (SELECT n FROM promises WHERE id = 'bad-journal')",
    "UPDATE signal_keys SET number = -1",
];

/// Writes one row of each kind to be damaged, and an undamaged one beside it. All are due at 5,000
/// ms, or, for leases, at 16,000 ms.
async fn rows(host: &Host) {
    let run = async |command: Command| {
        let reply = host.store.execute(vec![command.clone()]).await.expect("a reply").remove(0);
        assert!(!matches!(reply, Reply::Refused(_)), "{command:?}: {reply:?}");
    };
    let component: Arc<[u8]> = Arc::from(&b"component"[..]);
    let kept = host.store.modules().put(NewModule::plain(MODULE, component, Timestamp(1_000)));
    kept.await.expect("a component is kept");
    run(Command::Deploy { alias: "shop".into(), module: MODULE }).await;
    run(Command::HostStart { node: HostName::from("n") }).await;
    let due = |id: &str| {
        let timer = new(id, &[(tags::TIMER, "true")]);
        segno_core::promise::NewPromise { timeout_at: Timestamp(5_000), ..timer }
    };
    let task = |id: &str| new(id, &[(tags::TARGET, "wasm://shop/order")]);
    for id in ["bad-promise", "bad-param", "bad-listener", "gate"] {
        run(Command::PromiseCreate(due(id))).await;
    }
    for n in 0..300 {
        run(Command::PromiseCreate(due(&format!("good-{n}")))).await;
    }
    let claim = |id: &str| Claim { id: id.into(), version: Version(1) };
    let held =
        ["bad-lease", "bad-journal", "good-lease", "bad-awaiter", "good-awaiter", "bad-recent"];
    for id in held.into_iter().chain(["bad-no-lease"]) {
        run(Command::TaskCreate { new: task(id), request: claim_request() }).await;
        let (records, actions) = (vec![started()], vec![]);
        let line = segno_core::invocation::LogLine {
            seq: 0,
            at: Timestamp(1_000),
            level: segno_core::invocation::LogLevel::Info,
            message: Text::from("a line"),
        };
        run(Command::TaskFence { claim: claim(id), records, logs: vec![line], actions }).await;
    }
    for id in ["bad-awaiter", "good-awaiter"] {
        let awaits = BTreeSet::from([PromiseId::from("gate")]);
        let (claim, records, logs) = (claim(id), vec![], vec![]);
        run(Command::TaskSuspend { claim, records, logs, awaits }).await;
    }
    for id in ["bad-retry", "good-retry"] {
        run(Command::PromiseCreate(task(id))).await;
    }
    for id in ["bad-told", "good-told", "bad-value"] {
        run(Command::PromiseCreate(new(id, &[]))).await;
        let address = Text::from("poll://me");
        run(Command::RegisterListener { awaited: id.into(), address }).await;
        let (verdict, mut value) = (Verdict::Resolved, Value::of(&b"1"[..]));
        value.headers.insert("a".to_owned(), "b".to_owned());
        run(Command::PromiseSettle { id: id.into(), verdict, value }).await;
    }
    let signal = |key: &str| Command::Signal {
        invocation: "bad-recent".into(),
        name: Text::from("go"),
        payload: Value::default(),
        key: Some(Text::from(key)),
    };
    run(signal("k")).await;
    for id in ["bad-schedule", "good-schedule"] {
        let template = PromiseTemplate {
            id: Text::from("{{.id}}@{{.timestamp}}"),
            param: Value::default(),
            tags: Tags::from([(tags::TARGET.to_owned(), "wasm://shop/order".to_owned())]),
            timeout: Millis::seconds(600),
        };
        let (id, overlap) = (ScheduleId::from(id), Overlap::Allow);
        let new = NewSchedule::plain(id, Text::from("* * * * *"), template, overlap);
        run(Command::ScheduleCreate(new)).await;
    }
}

/// A damaged store, opened again.
async fn damaged(place: &StoreKind, clock: &Arc<HandClock>) -> Host {
    let host = place.open(clock).await;
    rows(&host).await;
    host.store.close().await;
    for damage in DAMAGES {
        place.damage(damage).await;
    }
    if let StoreKind::Directory(_) = place {
        for damage in LOOSE_DAMAGES {
            place.damage(damage).await;
        }
    }
    place.open(clock).await
}

fn clock() -> Arc<HandClock> {
    HandClock::new()
}

fn promise(id: &str) -> Subject {
    Subject::Promise(id.into())
}

/// The subjects that the host has put into quarantine.
fn quarantined(host: &Host) -> Vec<Subject> {
    host.quarantine.cases().into_keys().collect()
}

async fn is_settled(host: &Host, id: &str) -> bool {
    let row = host.store.read().promise(&id.into()).await.expect("a read").expect("a promise");
    matches!(row.promise.state, PromiseState::Settled(_))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_is_carried_out_beside_rows_that_cannot_be_read() {
    for place in places() {
        let clock = clock();
        let host = damaged(&place, &clock).await;
        clock.set(Timestamp(130_000));
        for _ in 0..3 {
            timers::turn(host.clone()).await.expect("a turn");
        }
        for id in (0..300).map(|n| format!("good-{n}")).chain(["gate".to_owned()]) {
            assert!(is_settled(&host, &id).await, "{id}");
        }
        let status = async |id: &str| {
            let row =
                host.store.read().promise(&id.into()).await.expect("a read").expect("a promise");
            row.task.expect("a task").status()
        };
        assert_eq!(status("good-awaiter").await, TaskStatus::Pending, "its gate was settled");
        assert_eq!(status("good-lease").await, TaskStatus::Pending, "its lease had ended");
        let made = PromiseFilter { prefix: Some("good-schedule@".into()), ..Default::default() };
        assert!(!host.store.read().find(&made).await.expect("a list").items.is_empty());

        let both = ["bad-lease", "bad-param", "bad-promise", "bad-retry"];
        let mut expected: Vec<Subject> = both.into_iter().map(promise).collect();
        if let StoreKind::Directory(_) = place {
            expected.extend(["bad-recent", "bad-listener"].map(promise));
        }
        expected.push(Subject::Schedule("bad-schedule".into()));
        expected.sort();
        assert_eq!(quarantined(&host), expected);

        // The rows are still due but skipped: the next turn does not follow immediately, and tries
        // none of them.
        let next = timers::turn(host.clone()).await.expect("a turn");
        assert_ne!(next, NextTurn::Now);
        let cases = host.quarantine.cases();
        assert!(cases.values().all(|case| case.tries == 1), "{cases:?}");
        clock.advance(Millis(60_000));
        timers::turn(host.clone()).await.expect("a turn");
        let cases = host.quarantine.cases();
        assert!(cases.values().all(|case| case.tries == 2), "{cases:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_starts_on_rows_that_cannot_be_read() {
    for place in places() {
        let clock = clock();
        let host = damaged(&place, &clock).await;
        let node = HostName::from("n");
        let running = boot::start(host, node, WorkerSettings::default()).await.expect("it starts");
        assert_eq!(running.incarnation, 2);
        // `bad-journal` is released, since its journal has not been read yet. Of the others,
        // `bad-no-lease` and `bad-recent` are damaged in SQLite only. The damage of `bad-recent` is
        // detected when the host tries to release it.
        let directory = matches!(place, StoreKind::Directory(_));
        assert_eq!(running.recovered, if directory { 3 } else { 4 });
        assert_eq!(quarantined(&running.host).contains(&promise("bad-recent")), directory);
        running.shutdown(Millis(1_000)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_committed_but_for_what_cannot_be_read() {
    for place in places() {
        let host = damaged(&place, &clock()).await;
        let asked = (0..64).map(|n| match n {
            7 => Command::PromiseGet { id: "bad-promise".into() },
            9 => Command::TaskHalt { id: "bad-lease".into() },
            _ => Command::PromiseGet { id: format!("good-{n}").as_str().into() },
        });
        let replies = join_all(asked.map(|command| host.store.execute(vec![command]))).await;
        for (n, reply) in replies.into_iter().enumerate() {
            let reply = reply.expect("an answer").remove(0);
            let refused = matches!(reply, Reply::Refused(Refusal::Unreadable { .. }));
            assert_eq!(refused, n == 7 || n == 9, "{n}: {reply:?}");
        }
        // A holder extends the claims whose rows can be read.
        let item = |id: &str| HeartbeatItem {
            claim: Claim { id: id.into(), version: Version(1) },
            progress: None,
        };
        let items = vec![item("bad-lease"), item("good-lease")];
        let beat = Command::TaskHeartbeat { holder: claim_request().holder, items };
        let reply = host.store.execute(vec![beat]).await.expect("an answer").remove(0);
        let Reply::Heartbeat(beats) = reply else { panic!("{reply:?}") };
        assert!(
            matches!(beats[..], [HeartbeatResult::Stale, HeartbeatResult::Extended { .. }]),
            "{beats:?}"
        );
        // A command that refers to an unreadable row is refused with the name of that row, whatever
        // else it concerns.
        let awaits = BTreeSet::from([PromiseId::from("bad-promise"), PromiseId::from("gate")]);
        let claim = Claim { id: "good-lease".into(), version: Version(1) };
        let suspend = Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits };
        let reply = host.store.execute(vec![suspend]).await.expect("an answer").remove(0);
        let Reply::Refused(refusal) = reply else { panic!("{reply:?}") };
        assert!(refusal.to_string().contains("`bad-promise`"), "{refusal}");
    }
}

/// A row that a table refuses fails its own submission only, and no other of the batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_committed_but_for_what_the_tables_refuse() {
    for place in places() {
        let host = place.open(&clock()).await;
        host.store.close().await;
        place
            .damage(match place {
                StoreKind::Directory(_) => {
                    "CREATE TRIGGER refuses BEFORE INSERT ON promises WHEN NEW.id LIKE 'refused%'
                 BEGIN SELECT json('{' || NEW.id); END"
                }
                StoreKind::Database(_) => {
                    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'no'; END $$;
                 CREATE TRIGGER refuses BEFORE INSERT ON promises FOR EACH ROW
                 WHEN (NEW.id LIKE 'refused%') EXECUTE FUNCTION refuse()"
                }
            })
            .await;
        let host = place.open(&clock()).await;
        let asked = (0..200).map(|n| {
            let kind = if n % 50 == 3 { "refused" } else { "good" };
            Command::PromiseCreate(new(&format!("{kind}-{n}"), &[]))
        });
        let replies = join_all(asked.map(|command| host.store.execute(vec![command]))).await;
        for (n, reply) in replies.into_iter().enumerate() {
            assert_eq!(reply.is_err(), n % 50 == 3, "{n}: {reply:?}");
        }
        // The same holds for the groups that a duty submits in one transaction.
        let groups = (0..200).map(|n| {
            let kind = if n == 77 { "refused" } else { "good" };
            vec![Command::PromiseCreate(new(&format!("{kind}-again-{n}"), &[]))]
        });
        let replies = each(&host, groups.collect()).await.expect("answers");
        let failed = replies.iter().enumerate().filter(|(_, reply)| reply.is_none());
        assert_eq!(failed.map(|(n, _)| n).collect::<Vec<_>>(), [77]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_answer_and_show_what_cannot_be_read() {
    for place in places() {
        let host = damaged(&place, &clock()).await;
        let page = host.store.read().list(&InvocationFilter::default()).await.expect("a list");
        let unreadable: BTreeSet<&str> =
            page.unreadable.iter().map(|row| row.id.as_str()).collect();
        let mut expected = BTreeSet::from(["bad-awaiter", "bad-lease", "bad-retry"]);
        let loose = matches!(place, StoreKind::Directory(_));
        expected.extend(loose.then_some("bad-no-lease"));
        assert_eq!(unreadable, expected);
        let listed: BTreeSet<&str> = page.items.iter().map(|row| row.task.id.as_str()).collect();
        for id in ["good-lease", "good-awaiter", "good-retry", "bad-journal"] {
            assert!(listed.contains(id), "{id}: {listed:?}");
        }
        // An unreadable row counts towards its page, and the next page begins after it.
        let mut found = Vec::new();
        let mut filter = PromiseFilter { prefix: Some("b".into()), limit: 2, ..Default::default() };
        loop {
            let page = host.store.read().find(&filter).await.expect("a list");
            found.extend(page.items.iter().map(|row| row.promise.id().to_string()));
            match page.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        let mut readable =
            vec!["bad-journal", "bad-listener", "bad-recent", "bad-recent/s/0", "bad-told"];
        if !loose {
            readable.insert(2, "bad-no-lease");
        }
        assert_eq!(found, readable);
        let page = host.store.read().schedules(&ScheduleFilter::default()).await.expect("a list");
        let listed: Vec<&str> = page.items.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(listed, ["good-schedule"]);
        assert_eq!(page.unreadable[0].id, "bad-schedule");
        let modules = host.store.modules().list().await.expect("modules");
        assert_eq!(modules.iter().map(|it| it.digest).collect::<Vec<Digest>>(), [MODULE]);
        let ready =
            host.store.work_queue().ready(Timestamp(1_000), None, 100).await.expect("tasks");
        assert!(ready.iter().any(|task| task.id.as_str() == "good-retry"));
    }
}

/// A page ends with its last line, and an unreadable row after it is on the next page.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_cannot_be_read_is_on_one_page() {
    for place in places() {
        let host = damaged(&place, &clock()).await;
        for id in ["a", "c", "z"] {
            let template = PromiseTemplate {
                id: Text::from("{{.id}}@{{.timestamp}}"),
                param: Value::default(),
                tags: Tags::from([(tags::TARGET.to_owned(), "poll://any@g".to_owned())]),
                timeout: Millis::seconds(600),
            };
            let (id, overlap) = (ScheduleId::from(id), Overlap::Allow);
            let new = NewSchedule::plain(id, Text::from("* * * * *"), template, overlap);
            let made = host.store.execute(vec![Command::ScheduleCreate(new)]).await;
            assert!(matches!(made.expect("an answer")[..], [Reply::Schedule { .. }]));
        }
        let mut filter = ScheduleFilter { limit: 1, ..Default::default() };
        let mut pages = Vec::new();
        loop {
            let page = host.store.read().schedules(&filter).await.expect("a list");
            let items = page.items.iter().map(|it| it.id.to_string());
            let unreadable = page.unreadable.iter().map(|row| row.id.clone());
            pages.push(items.chain(unreadable).collect::<Vec<_>>().join(" "));
            match page.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        assert_eq!(pages, ["a", "c bad-schedule", "good-schedule", "z"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_delivered_beside_one_that_cannot_be_read() {
    for place in places() {
        let host = damaged(&place, &clock()).await;
        let key = |id: &str| OutboxKey::Unblock(id.into(), Text::from("poll://me"));
        let due = |id: &str| vec![Command::OutboxDue { key: key(id) }];
        let replies = each(&host, vec![due("bad-told"), due("good-told")]).await.expect("answers");
        assert!(replies[0].is_none());
        let handed = replies[1].as_ref().and_then(|replies| replies.first());
        assert!(matches!(handed, Some(Reply::Message(Some(_)))), "{handed:?}");
        assert_eq!(quarantined(&host), [Subject::Message(key("bad-told"))]);
        // An unreadable message can be removed.
        let ack = Command::OutboxAck { key: key("bad-told") };
        let replies = host.store.execute(vec![ack]).await.expect("an answer");
        assert_eq!(replies, [Reply::Done]);
        let rows = host.store.work_queue().outbox_due(key("x").kind(), Timestamp::NEVER, 100).await;
        let left = rows.expect("messages").commands;
        assert!(!left.contains(&Command::OutboxDue { key: key("bad-told") }), "{left:?}");
        outbox::turn(host.clone()).await.expect("a turn");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_that_cannot_be_read_is_named() {
    for place in places() {
        let host = damaged(&place, &clock()).await;
        let scan = host.store.scan();
        let now = host.env.clock.now();
        let found = examine(scan, now, &host.config, |_| {}).await.expect("a diagnosis");
        let named: Vec<&String> = found
            .findings
            .iter()
            .filter_map(|finding| match finding {
                StoreProblem::Unreadable(text) => Some(text),
                _ => None,
            })
            .collect();
        let mut expected = vec![
            "bad-promise",
            "bad-value",
            "bad-lease",
            "bad-retry",
            "bad-awaiter",
            "bad-told",
            "bad-schedule",
            "bad-journal",
        ];
        if let StoreKind::Directory(_) = place {
            expected.extend(["bad-listener", "bad-recent", "bad-no-lease", "modules"]);
        }
        for id in expected {
            assert!(named.iter().any(|text| text.contains(&format!("`{id}`"))), "{id}: {named:#?}");
        }
        // The reconcile round also finds rows that no timer refers to.
        let candidates = scan.candidates(0, 1_000).await.expect("candidates").items;
        assert!(candidates.contains(&"bad-retry".into()), "{candidates:?}");
        if let StoreKind::Directory(_) = place {
            assert!(candidates.contains(&"bad-no-lease".into()), "{candidates:?}");
        }
        let found = repair_all(&*host.store, &candidates).await.expect("findings");
        let named = |found: &RepairStep| matches!(found, RepairStep::Unreadable { id, .. } if id.as_str() == "bad-retry");
        assert!(found.iter().any(named), "{found:?}");
    }
}

/// A schedule that cannot be read can be deleted and created again.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_cannot_be_read_can_be_deleted() {
    for place in places() {
        let host = damaged(&place, &clock()).await;
        let delete = Command::ScheduleDelete { id: "bad-schedule".into() };
        assert_eq!(host.store.execute(vec![delete]).await.expect("an answer"), [Reply::Done]);
        let page = host.store.read().schedules(&ScheduleFilter::default()).await.expect("a list");
        assert!(page.unreadable.is_empty());
    }
}

/// A commit of a claim succeeds although other rows cannot be read.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_goes_on_beside_rows_that_cannot_be_read() {
    for place in places() {
        let host = damaged(&place, &clock()).await;
        let act = FenceOperation::Create { new: new("good-lease/0", &[]), request: None };
        let fence = Command::TaskFence {
            claim: Claim { id: "good-lease".into(), version: Version(1) },
            records: vec![],
            logs: vec![],
            actions: vec![FenceAction { index: CommandIndex(0), act }],
        };
        let reply = host.store.execute(vec![fence]).await.expect("an answer").remove(0);
        assert!(matches!(reply, Reply::Fenced { .. }), "{reply:?}");
    }
}
