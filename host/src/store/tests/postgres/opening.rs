//! Why a database cannot be used, said so that somebody can act.

use segno_core::config::Config;
use throwaway_postgres::Cluster;

use super::{
    super::{HandClock, create},
    config, database, open, store,
};
use crate::store::Store as _;

/// What is said when `url` is opened.
async fn refusal(url: &str) -> String {
    let opened = open(url, &HandClock::new(), &Config::default()).await;
    let refused = opened.err().unwrap_or_else(|| panic!("{url} opens"));
    refused.to_string()
}

fn says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
    assert!(!message.contains("secret"), "a password is shown: {message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_refused_by_name() {
    let message = refusal("postgres://segno:secret@127.0.0.1:9/segno").await;
    says(
        &message,
        &["no database answers", "postgres://segno@127.0.0.1:9/segno", "check the address"],
    );
    let Some(cluster) = Cluster::shared() else { return };
    says(&refusal(&cluster.url("nowhere")).await, &["there is no such database", "createdb"]);
    says(&refusal(&cluster.url_as("stranger", "postgres")).await, &["refuses this user", "role"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_may_only_be_read_is_refused() {
    let Some(database) = database() else { return };
    let name = database.name();
    database.sql(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    says(&refusal(&database.url()).await, &["read-only", "standby", "primary"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_another_program_are_left_alone() {
    let Some(database) = database() else { return };
    database.sql("CREATE TABLE promises (theirs int)");
    says(&refusal(&database.url()).await, &["another program's", "another database or schema"]);
    assert_eq!(database.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "1");

    let Some(database) = super::database() else { return };
    database.sql("CREATE TABLE _sqlx_migrations (version bigint)");
    says(&refusal(&database.url()).await, &["another program's"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_another_version_are_left_alone() {
    let Some(database) = database() else { return };
    store(&database, &HandClock::new(), &Config::default()).await.close().await;
    database.sql("UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 1");
    says(&refusal(&database.url()).await, &["format 1 unlike this segno's", "unreleased build"]);

    let Some(database) = super::database() else { return };
    store(&database, &HandClock::new(), &Config::default()).await.close().await;
    database.sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (99, 'to come', true, '\\x00', 0)",
    );
    says(&refusal(&database.url()).await, &["format 99", "formats up to", "use a newer segno"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_needs_no_more_than_its_rows() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    let name = database.name();
    let role = format!("clerk_{name}");
    database.sql(&format!("CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC"));
    let url = cluster.url_as(&role, &name);
    says(&refusal(&url).await, &["the role may not", "let it create them", "grant it"]);

    // Somebody else made the tables.
    store(&database, &HandClock::new(), &Config::default()).await.close().await;
    says(&refusal(&url).await, &["the role may not use the tables"]);
    database.sql(&format!(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"
    ));
    let store = open(&url, &HandClock::new(), &Config::default()).await.expect("it opens");
    store.execute(vec![create("a", &[("target", "poll://w")])]).await.expect("it writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_may_be_in_a_schema_of_their_own() {
    let Some(database) = database() else { return };
    let url = format!("{}&options[search_path]=workflows", database.url());
    says(&refusal(&url).await, &["no schema", "create the schema first"]);
    database.sql("CREATE SCHEMA workflows");
    let opened = open(&url, &HandClock::new(), &Config::default()).await.expect("it opens");
    opened.execute(vec![create("a", &[])]).await.expect("it writes");
    assert_eq!(database.sql("SELECT count(*) FROM workflows.promises"), "1");
    assert_eq!(database.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_say_whose_they_are() {
    let Some(database) = database() else { return };
    let opened = store(&database, &HandClock::new(), &Config::default()).await;
    opened.execute(vec![create("a", &[])]).await.expect("it writes");
    let name = database.name();
    let seen = database.sql(&format!(
        "SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = '{name}' ORDER BY 1"
    ));
    assert!(seen.contains("segno writer"), "{seen}");
    assert!(config(&database.url()).shown().starts_with("postgres://segno@localhost/"));
}
