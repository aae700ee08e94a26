//! PgBouncer in front of the database lends its sessions for single transactions: nothing of a
//! session lasts, and everything works.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::join_all;
use segno_core::{
    command::Command, config::Config, effect::Effect, id::PromiseId, invariants, promise::Verdict,
    time::Millis, value::Value, view::View,
};
use segno_env::{Clock as _, Env, Runtime as _, SystemRuntime};
use throwaway_postgres::{Cluster, Pooler};

use super::{
    super::{
        HandClock,
        conformance::{batches, walk},
        coverage::Seen,
        create, deploy,
        dice::Dice,
        env, memory, script,
    },
    config, open,
};
use crate::{Hints, Store as _, StoreError, postgres::PostgresStore};

/// Fewer sessions than the connections of one host: hosts that kept any would wait for ever.
const SESSIONS: &str = "default_pool_size = 3";

fn pooler(cluster: &Cluster, settings: &[&str]) -> Option<Pooler> {
    Pooler::start(cluster, cluster.socket(), settings)
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_are_answered_alike_through_a_pooler() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(pooler) = pooler(cluster, &[SESSIONS]) else { return };
    for (seed, engine) in [(11, Config::default()), (12, Config::default())] {
        let database = cluster.database();
        let clock = HandClock::new();
        let model = memory(&clock, &engine);
        let store = open(&pooler.url(&database.name()), &clock, &engine).await.expect("it opens");
        deploy(&*model).await;
        deploy(&*store).await;
        walk(&*model, &*store, &clock, seed, 100, &mut Seen::new()).await;
        store.close().await;
        let store = open(&pooler.url(&database.name()), &clock, &engine).await.expect("it opens");
        batches(&*model, &*store, &clock, 10).await;
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_behind_a_pooler_share_few_sessions() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(pooler) = pooler(cluster, &[SESSIONS]) else { return };
    let (database, clock, engine) = (cluster.database(), HandClock::new(), Config::default());
    let url = pooler.url(&database.name());
    let opened = join_all((0..3).map(|_| open(&url, &clock, &engine))).await;
    let hosts: Vec<_> = opened.into_iter().map(|host| host.expect("it opens")).collect();
    deploy(&*hosts[0]).await;
    for round in 0..10 {
        clock.advance(Millis(500));
        let seen = hosts[0].read().dump().await.expect("a dump");
        let work = hosts.iter().enumerate().map(|(number, host)| {
            let mut dice = Dice::new((round * 3 + number) as u64 + 2_000);
            let batches: Vec<Vec<Command>> = (0..8)
                .map(|_| (0..3).map(|_| script::command(&mut dice, &seen, clock.now())).collect())
                .collect();
            async move { join_all(batches.into_iter().map(|batch| host.execute(batch))).await }
        });
        for answer in join_all(work).await.into_iter().flatten() {
            answer.unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        }
        let dump = hosts[0].read().dump().await.expect("a dump");
        let violations = invariants::check(&dump);
        assert!(violations.is_empty(), "round {round}: {violations:?}");
    }
    assert_eq!(database.deadlocks(), [""; 0]);
    let sessions = database.sql(&format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()",
        database.name()
    ));
    assert_eq!(sessions, "3", "hosts share the sessions of the pooler");
}

/// Some poolers are told to ignore settings at the start of a session, and do not refuse them.
#[tokio::test(flavor = "multi_thread")]
async fn settings_that_a_pooler_ignores_go_with_each_transaction() {
    let Some(cluster) = Cluster::shared() else { return };
    let ignored = "ignore_startup_parameters = options,extra_float_digits";
    let Some(pooler) = pooler(cluster, &[SESSIONS, ignored]) else { return };
    let (database, clock) = (cluster.database(), HandClock::new());
    database.sql("CREATE SCHEMA workflows");
    let url = format!("{}&options[search_path]=workflows", pooler.url(&database.name()));
    let store = open(&url, &clock, &Config::default()).await.expect("it opens");
    store.execute(vec![create("a", &[])]).await.expect("it writes");
    let found = store.read().promise(&"a".into()).await.expect("a read");
    assert!(found.is_some(), "reads look into the schema as well");
    store.close().await;
    assert_eq!(database.sql("SELECT count(*) FROM workflows.promises"), "1");
    assert_eq!(database.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}

/// The promises whose settlement this host found out.
#[derive(Default)]
struct Watched {
    heard: Mutex<BTreeSet<PromiseId>>,
}

impl Hints for Watched {
    fn committed(&self, _effects: &[Effect], _state: &View) {}

    fn watched(&self) -> Vec<PromiseId> {
        vec!["awaited".into()]
    }

    fn heard(&self, effects: &[Effect]) {
        let settled = effects.iter().filter_map(|effect| match effect {
            Effect::Settled { id } => Some(id.clone()),
            _ => None,
        });
        self.heard.lock().expect("nobody panicked").extend(settled);
    }
}

/// Nobody can listen, so hosts poll.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_is_found_by_another_host_without_notifications() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(pooler) = pooler(cluster, &[SESSIONS]) else { return };
    let (database, clock) = (cluster.database(), HandClock::new());
    let url = pooler.url(&database.name());
    let one = open(&url, &clock, &Config::default()).await.expect("it opens");
    let (hints, engine) = (Arc::new(Watched::default()), Config::default());
    let period = engine.scan_period;
    let two = PostgresStore::open(config(&url), engine, env(&clock), hints.clone()).await;
    let two = two.unwrap_or_else(|error| panic!("{error}"));
    one.execute(vec![create("awaited", &[])]).await.expect("it commits");
    let settle = Command::PromiseSettle {
        id: "awaited".into(),
        verdict: Verdict::Resolved,
        value: Value::default(),
    };
    one.execute(vec![settle]).await.expect("it commits");
    let machine = Env::system();
    let began = machine.clock.elapsed();
    while hints.heard.lock().expect("nobody panicked").is_empty() {
        SystemRuntime.sleep(Millis(5)).await;
        let waited = machine.clock.elapsed().saturating_sub(began);
        let most = Duration::from_millis(period.0.unsigned_abs()) * 4;
        assert!(waited < most, "not found after {waited:?}");
    }
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    assert_eq!(database.sql(&format!("{listening} AND datname = '{}'", database.name())), "0");
    one.close().await;
    two.close().await;
}

/// The same clients reach another server behind the pooler.
#[tokio::test(flavor = "multi_thread")]
async fn a_failover_behind_a_pooler_loses_nothing_that_was_answered() {
    let Some(primary) = Cluster::start(&[]) else { return };
    let standby = tokio::task::block_in_place(|| primary.standby());
    let route = throwaway_postgres::Route::to(&primary);
    let quick = "server_login_retry = 1";
    let Some(pooler) = Pooler::start(&primary, route.socket(), &[SESSIONS, quick]) else { return };
    let (database, clock) = (primary.database().name(), HandClock::new());
    let url = pooler.url(&database);
    let store = open(&url, &clock, &Config::default()).await.expect("it opens");
    let commit = async |id: &str| {
        for _ in 0..20 {
            match store.execute(vec![create(id, &[("target", "poll://w")])]).await {
                Ok(_) => return,
                Err(StoreError::Away { .. } | StoreError::UnknownOutcome(_)) => {
                    SystemRuntime.sleep(Millis(50)).await;
                }
                Err(error) => panic!("{id}: {error}"),
            }
        }
        panic!("{id} is never committed");
    };
    for number in 0..20 {
        commit(&format!("before-{number}")).await;
    }
    tokio::task::block_in_place(|| {
        primary.wait_for(&standby);
        primary.crash();
        standby.promote();
        route.lead_to(&standby);
    });
    for number in 0..20 {
        commit(&format!("after-{number}")).await;
    }
    let all = store.read().dump().await.expect("a dump").promises;
    assert_eq!(all.len(), 40);
    store.check_writes().await.expect("it is ready");
    store.close().await;
}
