//! Tests that every statement finds its rows by an index: its cost depends on the rows found, not
//! on the table size.

use segno_core::{id::PromiseId, time::Timestamp, value::Tags};
use sqlx::{Executor as _, Row as _, SqliteConnection};

use super::{SqliteConfig, journal_buffer, load, open::DataDirectory, tables, write};
use crate::{
    InvocationFilter, PromiseFilter, PromiseStateFilter,
    invocation_filter::{ListedState, SearchBase},
    sql::{
        read::{self, DatabaseKind, call_tree, counts, find, list},
        table,
    },
};

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let rows = connection.fetch_all(sqlx::query(explain)).await.expect(statement);
    // Covering or not makes no difference here.
    rows.iter().map(|row| row.get::<String, _>(3).replace("USING COVERING", "USING")).collect()
}

fn reads_a_whole_table(step: &str) -> bool {
    table::all()
        .chain(["found"])
        .any(|table| step == format!("SCAN {table}") || step.starts_with(&format!("SCAN {table} ")))
}

#[tokio::test]
async fn every_statement_finds_its_rows_by_an_index() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    let reads = load::STATEMENTS.iter().chain(&journal_buffer::STATEMENTS).copied();
    let reads = reads.chain(tables::statements()).chain(read::statements(DatabaseKind::Sqlite));
    for statement in write::statements().chain(reads) {
        let plan = plan(&mut connection, statement).await;
        let scans: Vec<_> = plan.iter().filter(|step| reads_a_whole_table(step)).collect();
        assert!(scans.is_empty(), "{statement}\n{plan:#?}");
    }
}

/// For any filter, a list scans its base in list order between two bounds, and sorts only the few
/// numbers from an index with another order.
#[tokio::test]
async fn a_list_walks_its_base_in_its_order_whatever_the_filter_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    let all = || InvocationFilter { after: Some(9), ..InvocationFilter::default() };
    let text = |text: &str| Some(text.to_owned());
    let filters = [
        all(),
        InvocationFilter { state: text("resolved"), ..all() },
        InvocationFilter { state: text("suspended"), ..all() },
        InvocationFilter { module: text("m"), function: text("f"), ..all() },
        InvocationFilter { prefix: text("p"), label: text("a").zip(text("b")), ..all() },
        InvocationFilter { state: text("pending"), prefix: text("p"), roots: true, ..all() },
        InvocationFilter { since: Some(Timestamp(7)), until: Some(Timestamp(9)), ..all() },
    ];
    let bases = [
        (SearchBase::Tasks, "SEARCH t USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", true),
        (
            SearchBase::Prefix,
            "SEARCH p USING INDEX sqlite_autoindex_promises_1 (id>? AND id<?)",
            false,
        ),
        (SearchBase::Halted, "SEARCH t USING INDEX tasks_halted (n>? AND n<?)", true),
        (
            SearchBase::Children,
            "SEARCH p USING INDEX promises_made_by (made_by=? AND n>? AND n<?)",
            true,
        ),
        (SearchBase::Held, "SEARCH t USING INDEX tasks_held (node=?", false),
        (SearchBase::Acquired, "tasks_held", false),
    ];
    for (base, begins, in_order) in bases {
        for filter in &filters {
            let mut filter = filter.clone();
            match base {
                SearchBase::Halted => filter.state = text("halted"),
                SearchBase::Acquired => filter.state = text("acquired"),
                SearchBase::Held => (filter.state, filter.holder) = (None, text("h")),
                SearchBase::Children => filter.parent = Some(PromiseId::from("a")),
                SearchBase::Prefix => filter.prefix = text("p"),
                SearchBase::Tasks => {}
            }
            let state = filter.state.as_deref().map(|name| ListedState::named(name).expect(name));
            let query = list::statement(DatabaseKind::Sqlite, base, &filter, state, Some(1), 10);
            let steps = plan(&mut connection, &query.text).await;
            let first =
                steps.iter().find(|step| step.starts_with("SEARCH") || step.starts_with("SCAN"));
            assert!(
                first.is_some_and(|step| step.contains(begins)),
                "{base:?} {filter:?}\n{steps:#?}"
            );
            let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
            assert!(!(sorts && in_order), "{base:?} {filter:?}\n{steps:#?}");
            let query = list::counting(DatabaseKind::Sqlite, base, &filter, state, Some(1));
            let steps = plan(&mut connection, &query.text).await;
            assert!(
                steps.iter().any(|step| step.contains(
                    begins.trim_end_matches(" AND n<?)").trim_end_matches(" AND rowid<?)")
                )),
                "{base:?} {filter:?}\n{steps:#?}"
            );
            let ends = [
                list::bound(base, &filter, state),
                list::count(DatabaseKind::Sqlite, base, &filter, state),
            ];
            for query in ends.into_iter().flatten() {
                let steps = plan(&mut connection, &query.text).await;
                assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:#?}");
                let whole =
                    |step: &&String| step.starts_with("SCAN promises") || *step == "SCAN tasks";
                assert!(!steps.iter().any(|step| whole(&step)), "{base:?} {filter:?}\n{steps:#?}");
            }
        }
    }
}

/// For any filter, promises are found between two ids.
#[tokio::test]
async fn promises_are_found_between_two_ids() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    let all = || PromiseFilter { after: Some("m".into()), ..PromiseFilter::default() };
    let tag = Tags::from([("a".to_owned(), "b".to_owned())]);
    for filter in [
        PromiseFilter { tags: tag, ..all() },
        PromiseFilter { standing: Some(PromiseStateFilter::Pending), ..all() },
        PromiseFilter { tasks: true, prefix: Some("a".to_owned()), ..all() },
        PromiseFilter { tasks: true, prefix: Some("z".to_owned()), ..all() },
    ] {
        let bound = find::bound(DatabaseKind::Sqlite, &filter).expect("it is bounded");
        for query in [bound, find::statement(DatabaseKind::Sqlite, &filter, Some(&"n".into()))] {
            let steps = plan(&mut connection, &query.text).await;
            let between = steps[0].starts_with("SEARCH p USING ") && steps[0].contains("(id>?");
            assert!(between, "{steps:#?}");
            let is_ended = steps[0].contains("id<?") || query.text.contains("OFFSET");
            assert!(is_ended, "{steps:#?}");
            assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:#?}");
        }
    }
}

#[tokio::test]
async fn a_census_walks_only_what_it_counts() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    for select in counts::STATEMENTS {
        let plan = plan(&mut connection, select.text(DatabaseKind::Sqlite)).await;
        let walks =
            plan.iter().filter(|step| step.starts_with("SCAN ") && !step.contains("CONSTANT"));
        let of_all = ["tasks_held", "tasks_halted", "tasks_ready"];
        for step in walks {
            assert!(of_all.iter().any(|partial| step.ends_with(partial)), "{plan:#?}");
        }
    }
}

/// Neither of the two lists of children is read past its limit, and neither is sorted.
#[tokio::test]
async fn children_are_found_by_their_indexes_and_in_their_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DataDirectory::open(&SqliteConfig::new(dir.path())).await.expect("it opens");
    let mut connection = directory.connect().await.expect("a connection");
    for (statement, beyond) in [
        (&call_tree::STATEMENTS[0], "rowid>?"),
        (&call_tree::STATEMENTS[1], ""),
        (&call_tree::STATEMENTS[3], "rowid>?"),
    ] {
        let plan = plan(&mut connection, statement.text(DatabaseKind::Sqlite)).await;
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
    let query = find::statement(DatabaseKind::Sqlite, &filter, None);
    let plan = plan(&mut connection, &query.text).await;
    assert!(plan[0].starts_with("SEARCH p USING INDEX promises_branch"), "{plan:#?}");
    assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
}
