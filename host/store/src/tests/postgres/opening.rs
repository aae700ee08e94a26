//! Errors when a database cannot be used, with messages that an operator can act on.

use segno_core::{
    config::Config,
    id::PromiseId,
    reply::Reply,
    time::{Millis, Timestamp},
};
use segno_env::Env;
use throwaway_postgres::Cluster;

use super::{
    super::{HandClock, NoHints, create, env},
    config, database, open, store,
};
use crate::{
    Store as _,
    postgres::{ClockSkew, PostgresConfig, PostgresStore, check_version},
};

/// The error message for opening `url`.
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
async fn a_host_that_starts_before_its_database_waits_for_it() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let (database, around) = (cluster.database(), Env::system());
    let opening = |url: String, seconds: i64| {
        let mut waiting = config(&url);
        waiting.start_wait = Millis::seconds(seconds);
        let hints = std::sync::Arc::new(NoHints);
        PostgresStore::open(waiting, Config::default(), around.clone(), hints)
    };
    let waited = |began: Timestamp| around.clock.now().since(began);
    cluster.stop();
    let began = around.clock.now();
    let refused = opening(database.url(), 2).await.err().expect("it is away").to_string();
    says(&refused, &["no database answers"]);
    assert!(waited(began) >= Millis::seconds(2), "it waited for {}", waited(began));

    let starting = async {
        around.runtime.sleep(Millis::seconds(1)).await;
        tokio::task::block_in_place(|| cluster.up().expect("it starts again"));
    };
    let began = around.clock.now();
    let (opened, ()) = tokio::join!(opening(database.url(), 60), starting);
    opened.unwrap_or_else(|error| panic!("{error}")).close().await;
    assert!(waited(began) >= Millis::seconds(1), "it was never away");

    // A cause that does not pass is reported at once.
    let began = around.clock.now();
    let refused = opening(cluster.url("nowhere"), 60).await.err().expect("there is none");
    says(&refused.to_string(), &["no such database"]);
    assert!(waited(began) < Millis::seconds(30), "it waited for {}", waited(began));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_refused_and_not_repeated() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let name = cluster.database().name();
    cluster.sql(
        &name,
        "CREATE ROLE clerk LOGIN PASSWORD 'right'; GRANT CREATE, USAGE ON SCHEMA public TO clerk",
    );
    cluster.ask_for_password("clerk");
    let words = ["refuses this user", "check the role and its password", "postgres://clerk@"];
    says(&refusal(&cluster.url_as("clerk:secret", &name)).await, &words);
    says(&refusal(&cluster.url_as("clerk", &name)).await, &words);
    let right = cluster.url_as("clerk:right", &name);
    let opened = open(&right, &HandClock::new(), &Config::default()).await.expect("it opens");
    opened.close().await;
}

#[test]
fn a_server_that_is_too_old_is_refused() {
    let refused = check_version("postgres://db/segno", 12).expect_err("that is too old");
    says(
        &refused.to_string(),
        &["version 12", "at least version 13", "upgrade it", "postgres://db"],
    );
    check_version("postgres://db/segno", 13).expect("that will do");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_clock_is_wrong_goes_by_the_databases() {
    let now = |seconds: i64| Timestamp(1_700_000_000_000) + Millis::seconds(seconds);
    let said = |here, there| ClockSkew::between(now(here), now(there)).map(|skew| skew.to_string());
    assert_eq!(said(0, 5), None, "that may be the way there");
    says(&said(0, 90).expect("a word"), &["90.0 s behind", "counts for all hosts", "set it right"]);
    says(&said(3_600, 0).expect("a word"), &["3600.0 s ahead of", "set it right"]);

    let Some(database) = database() else { return };
    // The host's clock says 1970.
    let clock = HandClock::new();
    let mut config = PostgresConfig::new(&database.url()).expect("an address");
    config.spread = false;
    let around = env(&clock);
    let opened =
        PostgresStore::open(config, Config::default(), around, std::sync::Arc::new(NoHints));
    let store = opened.await.expect("it opens all the same");
    let began = Env::system().clock.now();
    store.execute(vec![create("a", &[])]).await.expect("it writes");
    let made =
        store.read().promise(&PromiseId::from("a")).await.expect("a read").expect("it was made");
    let created = made.promise.spec.created_at;
    assert!(created.since(began).0.abs() < 60_000, "{created:?} is not the database's time");
    assert!(store.time().ahead() > Millis::seconds(1_000_000));
    store.close().await;
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

    // Another role created the tables.
    store(&database, &HandClock::new(), &Config::default()).await.close().await;
    says(&refusal(&url).await, &["the role may not use the tables"]);
    database.sql(&format!(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"
    ));
    let store = open(&url, &HandClock::new(), &Config::default()).await.expect("it opens");
    let made = vec![create("a", &[("target", "poll://w")])];
    let replies = store.execute(made).await.expect("it writes");
    assert!(matches!(replies[..], [Reply::Promise { changed: true, .. }]), "{replies:?}");
    assert_eq!(database.sql("SELECT count(*) FROM promises"), "1");
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
