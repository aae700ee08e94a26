//! Append-only rows: the tables refuse changes, and deletions before the rows they belong to.

use segno_core::config::Config;
use sqlx::{Connection as _, Executor as _, PgConnection, SqliteConnection};

use super::{HandClock, create, postgres, sqlite};
use crate::Store;

const ROWS: [&str; 2] = [
    "INSERT INTO compensations (inv, saga, seq, fact, promise, compensate, unknown, at)
     SELECT n, 'trip', 0, 2, 'run', NULL, 0, 1 FROM promises WHERE id = 'run'",
    "INSERT INTO graph_facts (run, node, attempt, state, at, reset, begins_at)
     SELECT n, 'a', 0, 2, 1, NULL, NULL FROM promises WHERE id = 'run'",
];
const REFUSED: [&str; 4] = [
    "UPDATE compensations SET at = 2",
    "DELETE FROM compensations",
    "UPDATE graph_facts SET at = 2",
    "DELETE FROM graph_facts",
];
/// Deletes the rows they belong to, and then the rows.
const GO: [&str; 3] = ["DELETE FROM tasks", "DELETE FROM compensations", "DELETE FROM graph_facts"];

/// Tries all of this over a connection.
macro_rules! tried {
    ($connection:expr) => {{
        let mut connection = $connection;
        for row in ROWS {
            connection.execute(row).await.unwrap_or_else(|error| panic!("{row}: {error}"));
        }
        for statement in REFUSED {
            let refused = connection.execute(statement).await.expect_err(statement).to_string();
            assert!(refused.contains("never"), "{statement}: {refused}");
        }
        for statement in GO {
            let gone = connection.execute(statement).await;
            assert_eq!(gone.expect(statement).rows_affected(), 1, "{statement}");
        }
        connection.close().await.expect("it closes");
    }};
}

async fn with_a_run(store: &dyn Store) {
    store.execute(vec![create("run", &[("target", "segno:graph")])]).await.expect("a run");
}

#[tokio::test]
async fn facts_are_kept_by_the_tables_themselves() {
    let (dir, clock, engine) =
        (tempfile::tempdir().expect("a folder"), HandClock::new(), Config::default());
    let store = sqlite(dir.path(), &clock, &engine).await;
    with_a_run(&*store).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.path().join("segno.db"));
    tried!(SqliteConnection::connect_with(&options).await.expect("a database"));
    store.close().await;

    let Some(database) = postgres::database() else { return };
    let store = postgres::store(&database, &clock, &engine).await;
    with_a_run(&*store).await;
    tried!(PgConnection::connect(&database.url()).await.expect("a database"));
}
