//! Every statement finds its rows by an index: its cost depends on what it finds, not on what there is.

use sqlx::{Executor as _, Row as _, SqliteConnection};

use super::{
    SqliteConfig, census, events, find, history, lineage, list, load, open::DataDirectory, page,
    reader, recent, resources, schedules, survey, write,
};
use crate::store::{InvocationFilter, PromiseFilter};
use segno_core::id::PromiseId;

const TABLES: [&str; 13] = [
    "promises",
    "tasks",
    "callbacks",
    "listeners",
    "outbox",
    "journal",
    "logs",
    "signal_keys",
    "schedules",
    "resources",
    "resource_leases",
    "compensations",
    "found",
];

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let rows = connection.fetch_all(sqlx::query(explain)).await.expect(statement);
    rows.iter().map(|row| row.get::<String, _>(3)).collect()
}

fn reads_a_whole_table(step: &str) -> bool {
    TABLES
        .iter()
        .any(|table| step == format!("SCAN {table}") || step.starts_with(&format!("SCAN {table} ")))
}

#[tokio::test]
async fn every_statement_finds_its_rows_by_an_index() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    let reads = load::STATEMENTS.iter().chain(&reader::STATEMENTS);
    let reads = reads.chain(&events::STATEMENTS).chain(&history::STATEMENTS);
    let reads = reads.chain(&schedules::STATEMENTS).chain(&resources::STATEMENTS);
    let reads = reads.chain(&lineage::STATEMENTS);
    let reads = reads.chain(&page::STATEMENTS).chain(&survey::STATEMENTS);
    let reads = reads.chain(&recent::STATEMENTS);
    for statement in write::statements().chain(reads.copied()) {
        let plan = plan(&mut connection, statement).await;
        let scans: Vec<_> = plan.iter().filter(|step| reads_a_whole_table(step)).collect();
        assert!(scans.is_empty(), "{statement}\n{plan:#?}");
    }
}

#[tokio::test]
async fn a_listing_reads_no_more_than_it_needs_and_sorts_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    let all = InvocationFilter::default();
    let of_parent =
        InvocationFilter { parent: Some(PromiseId::from("a")), ..InvocationFilter::default() };
    for (filter, begins) in [(all, "SCAN t"), (of_parent, "SEARCH p USING INDEX promises_made_by")]
    {
        let mut query = list::statement(&filter).expect("a filter");
        query.push("10");
        let plan = plan(&mut connection, query.sql().as_str()).await;
        assert!(plan[0].starts_with(begins), "{plan:#?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
    }
}

#[tokio::test]
async fn a_census_walks_only_what_it_counts() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    for statement in census::STATEMENTS.into_iter().chain([reader::IN_USE]) {
        let plan = plan(&mut connection, statement).await;
        let walks =
            plan.iter().filter(|step| step.starts_with("SCAN ") && !step.contains("CONSTANT"));
        let of_all = ["tasks_held", "tasks_halted", "tasks_ready", "tasks_module"];
        for step in walks {
            assert!(of_all.iter().any(|partial| step.ends_with(partial)), "{plan:#?}");
        }
    }
}

/// Neither of the two lists of children is walked past its limit, and neither is sorted.
#[tokio::test]
async fn children_are_found_by_their_indexes_and_in_their_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    for (statement, beyond) in [(lineage::STATEMENTS[0], "rowid>?"), (lineage::STATEMENTS[1], "")] {
        let plan = plan(&mut connection, statement).await;
        for index in ["promises_made_by (made_by=?", "promises_parent (<expr>=?"] {
            let step = plan.iter().find(|step| step.contains(index));
            let step = step.unwrap_or_else(|| panic!("{index} is not used: {plan:#?}"));
            let after =
                index.starts_with("promises_made_by").then_some(beyond.replace("rowid", "n"));
            assert!(step.contains(after.as_deref().unwrap_or(beyond)), "{plan:#?}");
        }
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
    }
}

#[tokio::test]
async fn the_promises_of_a_branch_are_found_by_its_index_and_in_its_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    let filter = PromiseFilter { branch: Some("a".to_owned()), ..PromiseFilter::default() };
    let query = find::statement(&filter);
    let plan = plan(&mut connection, query.sql().as_str()).await;
    assert!(plan[0].starts_with("SEARCH p USING INDEX promises_branch"), "{plan:#?}");
    assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
}
