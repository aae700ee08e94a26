//! Lists with unreadable rows: each row is reported, on SQLite and on PostgreSQL.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::Config,
    promise::{NewPromise, NewSchedule, Overlap, PromiseTemplate},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::host::Host;
use segno_store::{
    Store,
    postgres::{PostgresConfig, PostgresStore},
    sqlite::{SqliteConfig, SqliteStore},
};
use serde_json::Value as Json;
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use throwaway_postgres::{Cluster, Database};

use super::ApiWorld;

/// The kind of a store.
enum UnreadableStore {
    Directory(tempfile::TempDir),
    Database(Database<'static>),
}

/// Statements that damage rows.
const DAMAGES: [&str; 3] = [
    "UPDATE promises SET tags = '{\"a\":1}' WHERE id = 'bad-promise'",
    "UPDATE tasks SET attempt = -1 WHERE n = (SELECT n FROM promises WHERE id = 'bad-task')",
    "UPDATE schedules SET tags = '[' WHERE id = 'bad-schedule'",
];

/// Both kinds of store, if installed.
fn places() -> Vec<UnreadableStore> {
    let directory = UnreadableStore::Directory(tempfile::tempdir().expect("a directory"));
    let database = Cluster::shared().map(Cluster::database).map(UnreadableStore::Database);
    [Some(directory), database].into_iter().flatten().collect()
}

impl UnreadableStore {
    async fn open(&self) -> Host {
        let host = ApiWorld::new().api.host.clone();
        let (engine, notifier, env) = (Config::default(), host.notifier.clone(), host.env.clone());
        let store: Arc<dyn Store> = match self {
            Self::Directory(dir) => {
                let config = SqliteConfig { dir: dir.path().to_owned(), relaxed: true };
                SqliteStore::open(config, engine, env, notifier).await.expect("it opens")
            }
            Self::Database(database) => {
                let config = PostgresConfig::new(&database.url()).expect("an address");
                PostgresStore::open(config, engine, env, notifier).await.expect("it opens")
            }
        };
        Host { store, ..host }
    }

    async fn damage(&self) {
        match self {
            Self::Directory(dir) => {
                let file = dir.path().join("segno.db");
                let file = file.to_str().expect("a path");
                let mut tables = SqliteConnection::connect(file).await.expect("it opens");
                for statement in DAMAGES {
                    tables.execute(sqlx::query(statement)).await.expect("it is damaged");
                }
                tables.close().await.expect("it closes");
            }
            Self::Database(database) => {
                DAMAGES.iter().for_each(|damage| drop(database.sql(damage)))
            }
        }
    }
}

async fn rows(host: &Host) {
    let target = || (tags::TARGET.to_owned(), "poll://any@workers".to_owned());
    let promise = |id: &str| {
        Command::PromiseCreate(NewPromise {
            id: id.into(),
            param: Value::default(),
            tags: Tags::from([target()]),
            timeout_at: Timestamp::NEVER,
        })
    };
    let schedule = |id: &str| {
        Command::ScheduleCreate(NewSchedule {
            id: id.into(),
            cron: "0 3 * * *".into(),
            zone: Default::default(),
            jitter: Millis::ZERO,
            template: PromiseTemplate {
                id: "{{.id}}@{{.timestamp}}".into(),
                param: Value::default(),
                tags: Tags::from([target()]),
                timeout: Millis(60_000),
            },
            overlap: Overlap::Allow,
        })
    };
    let promises = ["bad-promise", "bad-task", "good-1", "good-2"].map(promise);
    let schedules = ["bad-schedule", "good-schedule"].map(schedule);
    let commands = promises.into_iter().chain(schedules).collect();
    for reply in host.store.execute(commands).await.expect("a reply for each") {
        assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lists_of_the_api_name_what_cannot_be_read() {
    for place in places() {
        let host = place.open().await;
        rows(&host).await;
        host.store.close().await;
        place.damage().await;
        let world = ApiWorld::over(place.open().await, |access| access);
        let listed = async |path: &str| {
            let page = world.get(path).await.ok();
            let rows = page["unreadable"].as_array().cloned().unwrap_or_default();
            let row = |row: &Json| {
                assert!(row["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{row}");
                format!(
                    "{} {}",
                    row["kind"].as_str().unwrap_or("?"),
                    row["id"].as_str().unwrap_or("?")
                )
            };
            let mut named: Vec<String> = rows.iter().map(row).collect();
            named.sort();
            (named, page["items"].as_array().map_or(0, Vec::len))
        };
        let bad = ["promise bad-promise", "promise bad-task"].map(str::to_owned).to_vec();
        assert_eq!(listed("/v1/promises").await, (bad.clone(), 2));
        assert_eq!(listed("/v1/promises?prefix=bad").await, (bad.clone(), 0));
        assert_eq!(listed("/v1/promises?prefix=good").await, (vec![], 2));
        assert_eq!(listed("/v1/tasks").await, (bad, 2));
        assert_eq!(listed("/v1/schedules").await, (vec!["schedule bad-schedule".to_owned()], 1));
        world.api.host.store.close().await;
    }
}
