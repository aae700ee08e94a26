//! Lists with unreadable rows: each is named, with the reason.

use segno_engine::host::Host;
use segno_store::sqlite::{SqliteConfig, SqliteStore};
use serde_json::json;
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use super::{ApiWorld, Exit, run, served};

/// A host over the database in this folder.
async fn open(folder: &std::path::Path) -> ApiWorld {
    let host = ApiWorld::new().api.host.clone();
    let config = SqliteConfig { dir: folder.to_owned(), relaxed: true };
    let (engine, env) = (host.config.as_ref().clone(), host.env.clone());
    let store = SqliteStore::open(config, engine, env, host.notifier.clone()).await;
    ApiWorld::over(Host { store: store.expect("it opens"), ..host }, |access| access)
}

/// Changes the tables of a database that is not open.
async fn damage(folder: &std::path::Path, damages: &[&'static str]) {
    let file = folder.join("segno.db");
    let mut tables =
        SqliteConnection::connect(file.to_str().expect("a path")).await.expect("it opens");
    for damage in damages {
        tables.execute(*damage).await.expect("it is damaged");
    }
    tables.close().await.expect("it closes");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_whose_module_is_gone_says_which() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = open(folder.path()).await;
    world.upload("shop", "wasm order ship short").await.ok();
    world.start("lost").await.ok();
    world.api.host.store.close().await;
    damage(folder.path(), &["PRAGMA foreign_keys = OFF", "DELETE FROM modules"]).await;
    let (_world, server) = served(open(folder.path()).await).await;
    let said = run(&server, &["why", "lost"]).await;
    let first = "lost  cannot run: the module with which it began is not stored";
    assert!(said.out.starts_with(first), "{said:?}");
    assert!(said.out.contains("→ segno deploy PROJECT"), "{said:?}");
    let stuck = run(&server, &["list", "--stuck"]).await;
    assert!(stuck.out.contains("is not stored"), "{stuck:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_name_what_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = open(folder.path()).await;
    for id in ["bad", "good"] {
        let target = json!({ "id": id, "tags": { "target": "poll://any@packers" } });
        world.post("/v1/promises", target).await.ok();
        let schedule = json!({ "id": id, "cron": "0 3 * * *", "target": "poll://any@packers" });
        world.post("/v1/schedules", schedule).await.ok();
    }
    world.api.host.store.close().await;
    damage(
        folder.path(),
        &[
            "PRAGMA ignore_check_constraints = ON",
            "UPDATE tasks SET details = x'' WHERE n = (SELECT n FROM promises WHERE id = 'bad')",
            "UPDATE schedules SET tags = '[' WHERE id = 'bad'",
        ],
    )
    .await;

    let (_world, server) = served(open(folder.path()).await).await;
    for list in [&["list"][..], &["promise", "list"], &["task", "list"], &["schedule", "list"]] {
        let said = run(&server, list).await;
        assert_eq!(said.exit, Exit::Done, "{list:?}: {said:?}");
        let line = |begins: &str| {
            let line = said.out.lines().find(|line| line.starts_with(begins));
            line.unwrap_or_else(|| panic!("{list:?}: no `{begins}` in {}", said.out)).to_owned()
        };
        assert!(line("bad ").contains("unreadable"), "{list:?}: {}", said.out);
        assert!(!line("good ").contains("unreadable"), "{list:?}: {}", said.out);
        assert!(said.err.contains("bad: "), "{list:?}: it says why: {}", said.err);
        let page = run(&server, &[list, &["--json"]].concat()).await.json();
        assert_eq!(page["unreadable"][0]["id"], "bad", "{list:?}: {page}");
        assert_eq!(page["items"][0]["id"], "good", "{list:?}: {page}");
    }
    // A list that contains only unreadable rows shows them as well.
    let said = run(&server, &["schedule", "list", "--prefix", "b"]).await;
    assert!(said.out.contains("unreadable"), "{said:?}");
}
