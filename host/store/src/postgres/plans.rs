//! Tests that every statement finds its rows by an index: its cost depends on the rows found, not
//! on the table size.

use std::sync::Arc;

use segno_core::config::Config;
use segno_env::Env;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use throwaway_postgres::Cluster;

use super::{PostgresConfig, PostgresStore, append, large_values, load, tables, write};
use crate::{
    Store as _,
    sql::read::{self, DatabaseKind},
    tests::NoHints,
};

/// The query plan of a statement, with sequential scans disabled wherever there is an alternative.
async fn plan(connection: &mut PgConnection, statement: &str) -> Vec<String> {
    let parameters = (1..40).take_while(|n| statement.contains(&format!("${n}"))).count();
    let prepare = format!("PREPARE looked_at AS {statement}");
    connection
        .execute(AssertSqlSafe(prepare))
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
    let nulls = vec!["NULL"; parameters].join(", ");
    let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE looked_at ({nulls})"));
    let rows = connection.fetch_all(sqlx::raw_sql(explain)).await.expect(statement);
    connection.execute("DEALLOCATE looked_at").await.expect("it was prepared");
    rows.iter().map(|row| row.get::<String, _>(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_finds_its_rows_by_an_index() {
    let Some(cluster) = Cluster::shared() else { return };
    let config = PostgresConfig::new(&cluster.database().url()).expect("an address");
    let options = config.writer();
    let opened = PostgresStore::open(config, Config::default(), Env::system(), Arc::new(NoHints));
    opened.await.expect("it opens").close().await;
    let mut connection = PgConnection::connect_with(options.server(0)).await.expect("a connection");
    let reads = load::STATEMENTS.into_iter().chain(read::walked_by_index(DatabaseKind::Postgres));
    let reads = reads.map(ToOwned::to_owned);
    let values = large_values::STATEMENTS.map(ToOwned::to_owned);
    let writes = write::statements().into_iter().chain(append::statements()).chain(values);
    for statement in reads.chain(writes).chain(tables::statements()).chain(load::names_again()) {
        let plan = plan(&mut connection, &statement).await;
        // No plan may scan a table, or rescan found rows for every given row.
        let through = |step: &&String| step.contains("Seq Scan") || step.contains("Materialize");
        let scans: Vec<_> = plan.iter().filter(through).collect();
        assert!(scans.is_empty(), "{statement}\n{plan:#?}");
    }
}
