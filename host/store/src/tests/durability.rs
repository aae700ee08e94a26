//! Guarantees of the SQLite store: directory ownership, the effect of a damaged batch, the number
//! of statements.

use std::{fs, sync::Arc};

use futures::future::join_all;
use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    config::Config,
    id::{Claim, CommandIndex, Holder, PromiseId, Version},
    invocation::{LogLevel, LogLine},
    promise::{OutboxKey, OutboxMessageKind, Verdict},
    reply::Reply,
    time::{Millis, Timestamp},
    value::Value,
};
use segno_env::Clock as _;
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use super::{HandClock, create, deploy, memory, new, open, sqlite};
use crate::{Store, StoreError, sqlite::SqliteOpenError};

fn here() -> (tempfile::TempDir, Arc<HandClock>, Config) {
    (tempfile::tempdir().expect("a directory"), HandClock::new(), Config::default())
}

/// A direct connection to the database, bypassing the store.
async fn tables(dir: &tempfile::TempDir) -> SqliteConnection {
    let path = dir.path().join("segno.db");
    SqliteConnection::connect(path.to_str().expect("a path")).await.expect("the database opens")
}

#[tokio::test]
async fn a_directory_in_use_names_its_owner() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let refused = open(dir.path(), &clock, &config).await.err().expect("it is in use");
    assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
    store.close().await;
    sqlite(dir.path(), &clock, &config).await.close().await;
}

/// Such a commit would wait for the disk several times before the host does anything.
#[tokio::test]
async fn a_database_is_opened_again_without_a_commit() {
    let (dir, clock, config) = here();
    let read = || fs::read(dir.path().join("segno.db")).expect("the database");
    sqlite(dir.path(), &clock, &config).await.close().await;
    let before = read();
    sqlite(dir.path(), &clock, &config).await.close().await;
    assert!(read() == before, "the database was written");
    // It returns free space in small steps, as it did when it was new.
    let mut tables = tables(&dir).await;
    let vacuum: i64 =
        sqlx::query_scalar("PRAGMA auto_vacuum").fetch_one(&mut tables).await.expect("the mode");
    assert_eq!(vacuum, 2);
}

#[tokio::test]
async fn a_closed_store_answers_that_it_is_closed() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    store.close().await;
    let refused = store.execute(vec![create("a", &[])]).await;
    assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    let refused = store.read().promise(&PromiseId::from("a")).await;
    assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    store.close().await;
}

#[tokio::test]
async fn whoever_comes_behind_the_close_is_told_that_nothing_was_written() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let (before, (), behind) = futures::join!(
        store.execute(vec![create("a", &[])]),
        store.close(),
        store.execute(vec![create("b", &[])])
    );
    assert!(before.is_ok(), "{before:?}");
    assert!(matches!(behind, Err(StoreError::Closed)), "{behind:?}");
    let store = sqlite(dir.path(), &clock, &config).await;
    assert!(store.read().promise(&PromiseId::from("a")).await.expect("a read").is_some());
    assert!(store.read().promise(&PromiseId::from("b")).await.expect("a read").is_none());
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_by_name() {
    let (dir, clock, config) = here();
    fs::write(
        dir.path().join("segno.db"),
        "a letter, not a database, and long enough to be one".repeat(90),
    )
    .expect("a file");
    let refused = open(dir.path(), &clock, &config).await.err();
    assert!(matches!(refused, Some(SqliteOpenError::NotOurs { .. })), "{refused:?}");

    let (dir, ..) = here();
    tables_of_another_program(&dir).await;
    let refused = open(dir.path(), &clock, &config).await.err();
    assert!(matches!(refused, Some(SqliteOpenError::NotOurs { .. })), "{refused:?}");

    let (dir, ..) = here();
    let file = dir.path().join("file");
    fs::write(&file, "").expect("a file");
    let refused = open(&file, &clock, &config).await.err();
    assert!(matches!(refused, Some(SqliteOpenError::Directory { .. })), "{refused:?}");

    let (dir, ..) = here();
    sqlite(dir.path(), &clock, &config).await.close().await;
    let mut connection = tables(&dir).await;
    let newer =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (99, 'to come', TRUE, x'00', 0)";
    connection.execute(newer).await.expect("a migration to come");
    connection.close().await.expect("it closes");
    let refused = open(dir.path(), &clock, &config).await.err();
    assert!(matches!(refused, Some(SqliteOpenError::Newer { found: 99, .. })), "{refused:?}");
}

async fn tables_of_another_program(dir: &tempfile::TempDir) {
    let path = dir.path().join("segno.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.expect("a database");
    connection.execute("CREATE TABLE theirs (x)").await.expect("a table");
    connection.close().await.expect("it closes");
}

#[tokio::test]
async fn one_refused_row_does_not_fail_the_neighbours() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let mut connection = tables(&dir).await;
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON promises WHEN new.id = 'poison'
                  BEGIN SELECT RAISE(ABORT, 'poison'); END";
    connection.execute(poison).await.expect("a trigger");
    let ids: Vec<String> =
        (0..40).map(|n| if n == 20 { "poison".to_owned() } else { format!("p{n}") }).collect();
    let answers = join_all(ids.iter().map(|id| store.execute(vec![create(id, &[])]))).await;
    for (id, answer) in ids.iter().zip(answers) {
        let kept =
            store.read().promise(&PromiseId::from(id.as_str())).await.expect("a read").is_some();
        if id == "poison" {
            assert!(matches!(answer, Err(StoreError::Database { .. })), "{answer:?}");
            assert!(!kept);
        } else {
            assert!(
                matches!(answer.as_deref(), Ok([Reply::Promise { changed: true, .. }])),
                "{answer:?}"
            );
            assert!(kept);
        }
    }
    connection.execute("DROP TRIGGER poison").await.expect("no trigger");
    let answer = store.execute(vec![create("poison", &[])]).await;
    assert!(matches!(answer.as_deref(), Ok([Reply::Promise { changed: true, .. }])), "{answer:?}");
}

#[tokio::test]
async fn a_statement_that_fails_half_way_leaves_nothing_and_the_store_goes_on() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let mut connection = tables(&dir).await;
    let fails = "CREATE TRIGGER fails BEFORE INSERT ON tasks BEGIN SELECT RAISE(FAIL, 'x'); END";
    connection.execute(fails).await.expect("a trigger");
    let refused = store.execute(vec![create("a", &[("target", "poll://w")])]).await;
    assert!(
        matches!(refused, Err(StoreError::Database { statement: "put tasks", .. })),
        "{refused:?}"
    );
    assert_eq!(
        store.read().promise(&PromiseId::from("a")).await.expect("a read").map(|row| row.promise),
        None
    );
    connection.execute("DROP TRIGGER fails").await.expect("no trigger");
    store.execute(vec![create("a", &[("target", "poll://w")])]).await.expect("it goes on");
}

#[tokio::test]
async fn many_commands_take_one_commit_and_few_looks() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    deploy(&*store).await;
    let commands = |first: usize| {
        (first..first + 256)
            .map(|n| create(&format!("order/{n}"), &[("target", "wasm://shop/order")]))
            .collect::<Vec<_>>()
    };
    let before = store.written();
    store.execute(commands(0)).await.expect("replies");
    let after = store.written();
    assert_eq!(after.commits - before.commits, 1);
    let looks = after.loads - before.loads;
    assert!(looks < 3, "{looks} looks at the tables for 256 commands");
}

#[tokio::test]
async fn a_commit_about_what_is_known_reads_nothing_and_takes_few_statements() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let request = ClaimRequest {
        holder: Holder { node: "n".into(), incarnation: 1 },
        nonce: 1,
        ttl: Millis(60_000),
    };
    let new = new("a", &[("target", "poll://w")], Timestamp::NEVER);
    store.execute(vec![Command::TaskCreate { new, request }]).await.expect("a claim");
    let claim = Claim { id: "a".into(), version: Version(1) };
    let before = store.written();
    for n in 0..10 {
        let log = LogLine {
            seq: 0,
            level: LogLevel::Info,
            at: clock.now(),
            message: format!("{n}").into(),
        };
        let fence = Command::TaskFence {
            claim: claim.clone(),
            records: vec![],
            logs: vec![log],
            actions: vec![],
        };
        store.execute(vec![fence]).await.expect("it is logged");
    }
    let after = store.written();
    assert_eq!((after.commits - before.commits, after.loads - before.loads), (10, 0));
    assert_eq!(after.statements - before.statements, 30, "begin, append, commit");
}

#[tokio::test]
async fn commits_that_wait_together_share_a_transaction() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let before = store.written();
    let ids: Vec<String> = (0..200).map(|n| format!("p{n}")).collect();
    let answers = join_all(ids.iter().map(|id| store.execute(vec![create(id, &[])]))).await;
    assert!(answers.iter().all(Result::is_ok));
    let commits = store.written().commits - before.commits;
    assert!(commits < 50, "{commits} commits for 200 callers");
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_take_its_commit_with_it() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    {
        let mut gone = Box::pin(store.execute(vec![create("a", &[])]));
        assert!(futures::poll!(gone.as_mut()).is_pending());
    }
    store.execute(vec![create("b", &[])]).await.expect("a reply");
    assert!(store.read().promise(&PromiseId::from("a")).await.expect("a read").is_some());
}

#[tokio::test]
async fn a_thousand_children_are_cancelled_page_by_page() {
    let (dir, clock, config) = here();
    let model = memory(&clock, &config);
    let store = sqlite(dir.path(), &clock, &config).await;
    let request = ClaimRequest {
        holder: Holder { node: "n".into(), incarnation: 1 },
        nonce: 1,
        ttl: Millis(60_000),
    };
    let parent = PromiseId::from("p");
    let action = |index| FenceAction {
        index: CommandIndex(index),
        act: FenceOperation::Create {
            new: new(parent.command(CommandIndex(index)).as_str(), &[], Timestamp::NEVER),
            request: None,
        },
    };
    let claim = Claim { id: parent.clone(), version: Version(1) };
    let script = vec![
        Command::TaskCreate { new: new("p", &[("target", "poll://w")], Timestamp::NEVER), request },
        Command::TaskFence {
            claim,
            records: vec![],
            logs: vec![],
            actions: (0..1000).map(action).collect(),
        },
        Command::Kill { invocation: parent.clone() },
    ];
    for command in script {
        let expected = model.execute(vec![command.clone()]).await.expect("a reply");
        assert_eq!(store.execute(vec![command]).await.expect("a reply"), expected);
    }
    for round in 0.. {
        let owed = model
            .work_queue()
            .outbox_due(OutboxMessageKind::CancelChildren, Timestamp(i64::MAX), 1)
            .await;
        let due = owed.expect("what is owed").commands;
        if due.is_empty() {
            break;
        }
        assert!(round < 20, "the children are never done");
        clock.advance(Millis(1));
        let expected = model.execute(due.clone()).await.expect("a reply");
        assert_eq!(store.execute(due).await.expect("a reply"), expected);
    }
    let dump = store.read().dump().await.expect("a dump");
    assert_eq!(dump, model.read().dump().await.expect("a dump"));
    assert!(dump.promises.values().all(|promise| !promise.is_pending()));
}

#[tokio::test]
async fn an_id_that_begins_anew_after_a_start_begins_above_its_earlier_life() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let holder = Holder { node: "n".into(), incarnation: 1 };
    let make = |nonce| Command::TaskCreate {
        new: new("a", &[("target", "poll://w")], Timestamp::NEVER),
        request: ClaimRequest { holder: holder.clone(), nonce, ttl: Millis(60_000) },
    };
    let settle = Command::PromiseSettle {
        id: "a".into(),
        verdict: Verdict::Resolved,
        value: Value::default(),
    };
    let gone =
        Command::Prune { top: "a".into(), before: Timestamp(i64::MAX), part: false, state: false };
    let first = store.execute(vec![make(1), settle, gone]).await.expect("replies");
    store.close().await;
    drop(store);

    let store = sqlite(dir.path(), &clock, &config).await;
    let again = store.execute(vec![make(2)]).await.expect("a reply");
    let version = |reply: &Reply| match reply {
        Reply::Task(task) => task.task.version,
        other => panic!("{other:?}"),
    };
    assert!(version(&again[0]) > version(&first[0]), "{again:?} after {first:?}");
    assert_eq!(store.read().dump().await.expect("a dump").first_version.next(), version(&again[0]));
    store.close().await;
}

#[tokio::test]
async fn a_look_for_damage_takes_no_child_from_the_message_in_the_same_batch() {
    let (dir, clock, config) = here();
    let store = sqlite(dir.path(), &clock, &config).await;
    let request = ClaimRequest {
        holder: Holder { node: "n".into(), incarnation: 1 },
        nonce: 1,
        ttl: Millis(60_000),
    };
    let parent = PromiseId::from("p");
    let act = |n| FenceAction {
        index: CommandIndex(n),
        act: FenceOperation::Create {
            new: new(&format!("p/{n}"), &[], Timestamp::NEVER),
            request: None,
        },
    };
    let claim = Claim { id: parent.clone(), version: Version(1) };
    let actions = (0..3).map(act).collect();
    let script = vec![
        Command::TaskCreate { new: new("p", &[("target", "poll://w")], Timestamp::NEVER), request },
        Command::TaskFence { claim, records: vec![], logs: vec![], actions },
        Command::Kill { invocation: parent.clone() },
    ];
    store.execute(script).await.expect("replies");
    store.close().await;
    drop(store);

    // Start with an empty cache.
    let store = sqlite(dir.path(), &clock, &config).await;
    let key = OutboxKey::CancelChildren(parent.clone());
    let both = vec![Command::Reconcile { id: parent }, Command::OutboxDue { key }];
    store.execute(both).await.expect("replies");
    let rows = store.read().dump().await.expect("a dump");
    let left = rows.promises.values().filter(|promise| promise.is_pending()).count();
    assert_eq!(left, 0, "children nobody asks to stop any more");
    store.close().await;
}
