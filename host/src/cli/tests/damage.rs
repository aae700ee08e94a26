//! Lists with unreadable rows: each is named, with the reason.

use serde_json::json;
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use super::{Exit, World, run, served};
use crate::{
    host::Host,
    store::sqlite::{SqliteConfig, SqliteStore},
};

/// A host over the database in this folder.
async fn open(folder: &std::path::Path) -> World {
    let host = World::new().api.host;
    let config = SqliteConfig { dir: folder.to_owned(), relaxed: true };
    let (engine, env) = (host.config.as_ref().clone(), host.env.clone());
    let store = SqliteStore::open(config, engine, env, host.notifier.clone()).await;
    World::over(Host { store: store.expect("it opens"), ..host }, |access| access)
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
    let file = folder.path().join("segno.db");
    let mut tables =
        SqliteConnection::connect(file.to_str().expect("a path")).await.expect("it opens");
    for damage in [
        "PRAGMA ignore_check_constraints = ON",
        "UPDATE tasks SET details = x'' WHERE n = (SELECT n FROM promises WHERE id = 'bad')",
        "UPDATE schedules SET tags = '[' WHERE id = 'bad'",
    ] {
        tables.execute(damage).await.expect("it is damaged");
    }
    tables.close().await.expect("it closes");

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
    // A list with unreadable rows only shows them as well.
    let said = run(&server, &["schedule", "list", "--prefix", "b"]).await;
    assert!(said.out.contains("unreadable"), "{said:?}");
}
