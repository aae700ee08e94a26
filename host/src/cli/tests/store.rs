//! Checking, repairing and moving a store on disk, without a host.

use std::{path::Path, sync::Arc};

use segno_core::{
    command::Command,
    config::Config,
    promise::{NewPromise, Verdict},
    time::Timestamp,
    value::Value,
};
use segno_engine::notifier::CommitNotifier;
use segno_env::Env;
use segno_store::{
    Store as _,
    sqlite::{SqliteConfig, SqliteStore},
};
use serde_json::json;
use sqlx::{Connection as _, Executor as _};
use tempfile::TempDir;

use super::{CommandOutput, Exit, run};

async fn open(config: SqliteConfig) -> Arc<SqliteStore> {
    let (env, hints) = (Env::system(), Arc::new(CommitNotifier::default()));
    SqliteStore::open(config, Config::default(), env, hints).await.expect("it opens")
}

/// A data directory with a finished tree, and one execution that has not ended.
async fn data() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let config = SqliteConfig { relaxed: true, ..SqliteConfig::new(dir.path()) };
    let store = open(config).await;
    let create = |id: &str, target: Option<&str>| {
        let tags = target.map(|target| ("target".to_owned(), target.to_owned()));
        Command::PromiseCreate(NewPromise {
            id: id.into(),
            param: Value::of(&b"{}"[..]),
            tags: tags.into_iter().collect(),
            timeout_at: Timestamp::NEVER,
        })
    };
    let settle = Command::PromiseSettle {
        id: "done".into(),
        verdict: Verdict::Resolved,
        value: Value::of(&b"1"[..]),
    };
    let commands = vec![create("done", None), settle, create("open", Some("poll://workers"))];
    store.execute(commands).await.expect("replies");
    store.close().await;
    dir
}

async fn past(dir: &Path, arguments: &[&str]) -> CommandOutput {
    let dir = dir.display().to_string();
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--store", &dir]).collect();
    run("http://127.0.0.1:1", &arguments).await
}

async fn damage(dir: &TempDir, statement: &'static str) {
    let file = dir.path().join("segno.db");
    let file = file.to_str().expect("a path");
    let mut tables = sqlx::SqliteConnection::connect(file).await.expect("it opens");
    tables.execute(statement).await.expect("it is damaged");
    tables.close().await.expect("it closes");
}

#[tokio::test]
async fn a_sound_store_is_found_sound_and_measured() {
    let dir = data().await;
    let said = past(dir.path(), &["doctor"]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.ends_with(": 2 promises looked at, nothing is wrong\n"), "{}", said.out);
    let said = past(dir.path(), &["doctor", "--json"]).await;
    assert_eq!(
        (said.json()["clean"].clone(), said.json()["promises"].clone()),
        (json!(true), json!(2))
    );
    let said = past(dir.path(), &["size"]).await;
    assert!(said.out.contains("promises") && said.out.contains("LARGEST TREES"), "{}", said.out);
    let said = past(dir.path(), &["size", "--json"]).await;
    assert_eq!(said.json()["trees"][0]["id"], "done");
    assert_eq!(said.json()["functions"][0]["target"], "poll://workers");
    let nowhere = tempfile::tempdir().expect("a directory");
    for command in ["doctor", "size"] {
        let said = past(nowhere.path(), &[command]).await;
        assert_eq!(said.exit, Exit::Error);
        assert!(said.err.contains("there is no database in"), "{}", said.err);
    }
    assert!(!nowhere.path().join("segno.db").exists(), "looking makes nothing");
}

#[tokio::test]
async fn damage_is_told_in_words_and_repaired_where_the_policy_allows() {
    let dir = data().await;
    damage(&dir, "DELETE FROM tasks").await;
    let said = past(dir.path(), &["doctor"]).await;
    assert_eq!(said.exit, Exit::Damaged);
    assert!(
        said.out.contains("task-missing") && said.out.contains("orphan_invokes"),
        "{}",
        said.out
    );
    assert!(said.err.contains("--repair does it"), "{}", said.err);
    let said = past(dir.path(), &["doctor", "--repair"]).await;
    assert_eq!(said.exit, Exit::Done, "{} {}", said.out, said.err);
    assert!(said.out.contains("halt it for a person, raise an alert"), "{}", said.out);
    assert!(said.out.ends_with("looked again: nothing is wrong any more\n"), "{}", said.out);
}

#[tokio::test]
async fn nothing_is_repaired_under_a_running_host() {
    let dir = data().await;
    let store = open(SqliteConfig::new(dir.path())).await;
    assert_eq!(past(dir.path(), &["doctor"]).await.exit, Exit::Done, "looking is allowed");
    let said = past(dir.path(), &["doctor", "--repair"]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("is in use by process"), "{}", said.err);
    store.close().await;
}

#[tokio::test]
async fn a_second_host_in_a_folder_is_told_of_the_first_and_not_of_its_address() {
    let dir = data().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free one");
    let address = taken.local_addr().expect("it listens").to_string();
    let folder = dir.path().display().to_string();
    let serve = ["serve", "--data", &folder, "--listen", &address];
    let said = run("http://127.0.0.1:1", &serve).await;
    assert!(said.err.contains("is taken by another program"), "{}", said.err);
    let store = open(SqliteConfig::new(dir.path())).await;
    let said = run("http://127.0.0.1:1", &serve).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("is in use by process"), "{}", said.err);
    store.close().await;
}

#[tokio::test]
async fn a_store_moves_by_way_of_a_file() {
    let (old, new) = (data().await, tempfile::tempdir().expect("a directory"));
    let file = old.path().join("store.segno").display().to_string();
    let said = past(old.path(), &["export", &file]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.starts_with(&format!("{file}  ")), "{}", said.out);
    let said = past(old.path(), &["export", &file]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("exists: name another file"), "{}", said.err);
    let said = past(new.path(), &["import", &file]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.contains("2 promises looked at, nothing is wrong"), "{}", said.out);
    let said = past(new.path(), &["import", &file]).await;
    assert!(
        said.err.contains("is not empty: a store moves into an empty one only"),
        "{}",
        said.err
    );
    std::fs::write(&file, "a letter").expect("a file");
    let other = tempfile::tempdir().expect("a directory");
    let said = past(other.path(), &["import", &file]).await;
    assert!(said.err.contains("this is not an export of a store"), "{}", said.err);
    assert!(!other.path().join("segno.db").exists());
    // The whole file is read first: a file that is damaged at its end does not even create the
    // directory.
    let whole = old.path().join("whole.segno").display().to_string();
    assert_eq!(past(old.path(), &["export", &whole]).await.exit, Exit::Done);
    let bytes = std::fs::read(&whole).expect("a file");
    std::fs::write(&whole, &bytes[..bytes.len() - 20]).expect("a file");
    let unmade = other.path().join("unmade");
    let said = past(&unmade, &["import", &whole]).await;
    assert!(said.err.contains("the file is damaged or incomplete"), "{}", said.err);
    assert!(!unmade.exists());
}

#[tokio::test]
async fn damage_does_not_move_unless_it_is_asked_to() {
    let (old, new) = (data().await, tempfile::tempdir().expect("a directory"));
    damage(&old, "DELETE FROM tasks").await;
    let file = old.path().join("store.segno").display().to_string();
    assert_eq!(past(old.path(), &["export", &file]).await.exit, Exit::Done);
    let said = past(new.path(), &["import", &file]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("Nothing was kept"), "{}", said.err);
    assert!(!new.path().join("segno.db").exists());
    let said = past(new.path(), &["import", &file, "--even-if-damaged"]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.contains("symptoms of damage, as before"), "{}", said.out);
}
