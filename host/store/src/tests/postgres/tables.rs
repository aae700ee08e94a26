//! Both databases have the same tables.

use std::collections::BTreeMap;

use segno_core::config::Config;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _, SqliteConnection};

use super::{
    super::{HandClock, sqlite},
    database, store,
};
use crate::Store as _;

/// A column: its type, whether it is nullable, and its position in the primary key, from 1.
type Column = (String, bool, i64);
/// Columns, by table and column name.
type Tables = BTreeMap<String, BTreeMap<String, Column>>;

#[tokio::test(flavor = "multi_thread")]
async fn the_tables_of_both_databases_are_the_same() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    store(&database, &clock, &engine).await.close().await;
    let dir = tempfile::tempdir().expect("a directory");
    sqlite(dir.path(), &clock, &engine).await.close().await;

    let mut ours = of_postgres(&database.url()).await;
    let mut theirs = of_sqlite(&dir.path().join("segno.db")).await;
    assert!(ours.len() >= 12, "{:?}", ours.keys());
    // In SQLite, the tables that grow with every step have a counter as their key, because rows are
    // stored in key order. In PostgreSQL, the key includes the invocation, so that the tables can
    // be partitioned by it.
    for (table, divisible) in [("journal", ["inv", "first_seq"]), ("logs", ["inv", "n"])] {
        assert_eq!(unkeyed(&mut ours, table), divisible);
        assert_eq!(unkeyed(&mut theirs, table), ["n"]);
    }
    // SQLite has one more table, which saves each step an index.
    assert!(theirs.remove("journal_recent").is_some());
    assert_eq!(ours, theirs);
}

/// Removes the primary key of a table. Returns its columns.
fn unkeyed(tables: &mut Tables, table: &str) -> Vec<String> {
    let mut key = BTreeMap::new();
    for (column, (_, _, place)) in tables.get_mut(table).expect("a table") {
        if *place > 0 {
            key.insert(std::mem::take(place), column.clone());
        }
    }
    key.into_values().collect()
}

async fn of_postgres(url: &str) -> Tables {
    let mut connection = PgConnection::connect(url).await.expect("the database answers");
    let columns = "
        SELECT columns.table_name::text, columns.column_name::text, data_type::text, is_nullable = 'YES',
               coalesce((SELECT key.ordinal_position::bigint FROM information_schema.table_constraints part
                           JOIN information_schema.key_column_usage key USING (constraint_schema, constraint_name)
                          WHERE part.constraint_type = 'PRIMARY KEY' AND key.table_name = columns.table_name
                            AND key.column_name = columns.column_name), 0)
          FROM information_schema.columns
          JOIN information_schema.tables USING (table_schema, table_name)
         WHERE columns.table_schema = current_schema() AND table_type = 'BASE TABLE'";
    let mut tables = Tables::new();
    for row in connection.fetch_all(columns).await.expect("columns") {
        let kind = match row.get::<&str, _>(2) {
            "bigint" | "smallint" => "INTEGER",
            "bytea" => "BLOB",
            "text" => "TEXT",
            other => other,
        };
        put(&mut tables, row.get(0), row.get(1), (kind.to_owned(), row.get(3), row.get(4)));
    }
    tables
}

async fn of_sqlite(file: &std::path::Path) -> Tables {
    let path = file.to_str().expect("a path");
    let mut connection = SqliteConnection::connect(path).await.expect("the database opens");
    let columns = "
        SELECT tables.name, columns.name, columns.type, columns.\"notnull\" = 0 AND columns.pk = 0, columns.pk
          FROM sqlite_schema tables JOIN pragma_table_info(tables.name) columns
         WHERE tables.type = 'table'";
    let mut tables = Tables::new();
    for row in connection.fetch_all(columns).await.expect("columns") {
        put(&mut tables, row.get(0), row.get(1), (row.get(2), row.get(3), row.get(4)));
    }
    tables
}

fn put(tables: &mut Tables, table: String, column: String, described: Column) {
    // Migrations are recorded per database.
    if table != "_sqlx_migrations" && !table.starts_with("sqlite_") {
        tables.entry(table).or_default().insert(column, described);
    }
}
