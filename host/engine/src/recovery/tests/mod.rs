//! Retention, reconcile and doctor over a real database, with a clock that the test sets.

mod blobs;
mod damage;
mod doctor;
mod retention;

use std::{path::Path, sync::Arc};

use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    config::Config,
    id::{Claim, CommandIndex, Digest, Holder, HostName, Version},
    invocation::{EngineFacts, LogLevel, LogLine, Record, RecordBody, Seed},
    promise::{NewPromise, OutboxKey, Verdict},
    reply::Reply,
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Payload, Tags, Text, Value},
};
use segno_env::{Clock as _, Env, HandClock, SystemRuntime};
use segno_store::{
    NewModule, StoreProblem, examine,
    sqlite::{SqliteConfig, SqliteStore},
};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use super::{
    NextTurn,
    retention::{ROUND_PAUSE, Retention, turn},
};
use crate::{host::Host, testing};

const MODULE: Digest = Digest([7; 32]);
const DAY: i64 = 86_400_000;

/// A host on its own database, without duties.
struct Fixture {
    host: Host,
    clock: Arc<HandClock>,
    dir: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = HandClock::new();
        let host = Self::open(dir.path(), &clock).await;
        let component: Arc<[u8]> = Arc::from(&b"component"[..]);
        let store = &host.store;
        let kept = store.modules().put(NewModule::plain(MODULE, component, Timestamp(1_000))).await;
        kept.expect("a component is kept");
        let fixture = Self { host, clock, dir };
        fixture.run(Command::Deploy { alias: "shop".into(), module: MODULE }).await;
        fixture
    }

    async fn open(dir: &Path, clock: &Arc<HandClock>) -> Host {
        let env = Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) };
        let host = testing::host();
        let sqlite = SqliteConfig { dir: dir.to_owned(), relaxed: true };
        let store =
            SqliteStore::open(sqlite, Config::default(), env.clone(), host.notifier.clone());
        let store = store.await.expect("it opens");
        Host { store, env, ..host }
    }

    /// Executes a statement without the checks of the store and of the database.
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
        self.clock.advance(Millis(length));
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
        self.host.store.read().dump().await.expect("a dump")
    }

    async fn workflow(&self, id: &str, labels: &[(&str, &str)]) -> Claim {
        let mut all = vec![(tags::TARGET, "wasm://shop/order")];
        all.extend(labels);
        let request = claim_request();
        self.run(Command::TaskCreate { new: new(id, &all), request }).await;
        Claim { id: id.into(), version: Version(1) }
    }

    async fn fulfill(&self, claim: Claim) {
        let (verdict, value) = (Verdict::Resolved, Value::of(&b"1"[..]));
        self.run(Command::TaskFulfill { claim, records: vec![], logs: vec![], verdict, value })
            .await;
    }

    /// Creates `id` with a journal, a log line, a signal and a detached child. All are settled
    /// except the child, whose claim is returned.
    async fn tree(&self, id: &str, labels: &[(&str, &str)]) -> Claim {
        let claim = self.workflow(id, labels).await;
        let child = new(&format!("{id}/0"), &[(tags::TARGET, "ship"), (tags::DETACHED, "true")]);
        let log = LogLine {
            seq: 0,
            at: Timestamp(1_000),
            level: LogLevel::Info,
            message: Text::from("a line"),
        };
        let act = FenceOperation::Create { new: child, request: None };
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
        let child = self.take(&format!("{id}/0")).await;
        self.fulfill(claim).await;
        self.run(Command::OutboxDue { key: OutboxKey::CancelChildren(id.into()) }).await;
        child
    }

    /// Acquires a task at its current version.
    async fn take(&self, id: &str) -> Claim {
        let row =
            self.host.store.read().promise(&id.into()).await.expect("a store").expect("it is");
        let version = row.task.expect("it has a task").version;
        let claim = Claim { id: id.into(), version };
        match self
            .run(Command::TaskAcquire { claim, request: claim_request(), stall_limit: None })
            .await
        {
            Reply::Task(task) => Claim { id: id.into(), version: task.task.version },
            other => panic!("{other:?}"),
        }
    }

    /// Runs turns of the retention duty for one complete round.
    async fn round(&self, rules: &Retention) {
        let (rules, round) = (Arc::new(rules.clone()), Arc::default());
        for _ in 0..500 {
            let next = turn(self.host.clone(), rules.clone(), Arc::clone(&round)).await;
            if next.expect("a turn") == NextTurn::After(ROUND_PAUSE) {
                return;
            }
        }
        panic!("a round does not end");
    }

    async fn findings(&self) -> Vec<StoreProblem> {
        let scan = self.host.store.scan();
        let now = self.clock.now();
        let found = examine(scan, now, &self.host.config, |_| {}).await.expect("a diagnosis");
        found.findings
    }
}

fn claim_request() -> ClaimRequest {
    let holder = Holder { node: HostName::from("n"), incarnation: 1 };
    ClaimRequest { holder, nonce: 1, ttl: Millis(15_000) }
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
