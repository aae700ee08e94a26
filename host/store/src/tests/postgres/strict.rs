//! A server that knows less than PostgreSQL, and fails more often: `xmin`, `LISTEN`, advisory locks
//! and two writes to one table are refused, nothing of a session lasts, a fifth of the commits
//! fails, and for a while no writes are taken.
//!
//! `SEGNO_STRICT` sets the length of the scripts (120).

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use segno_core::{
    command::Command, config::Config, id::Digest, invariants, promise::Verdict, time::Millis,
    value::Value,
};
use segno_env::{Clock as _, Runtime as _, SystemRuntime};
use throwaway_postgres::{Cluster, StrictServer, Strictness};

use super::{
    super::{HandClock, conformance::walk_rows, create, deploy, dice::Dice, memory, script},
    open,
};
use crate::{NewModule, Store as _, StoreError};

const STRICT: Strictness = Strictness { keeps_sessions: false, conflicts: 20 };

fn length() -> usize {
    let given = std::env::var("SEGNO_STRICT").ok();
    given.and_then(|steps| steps.parse().ok()).unwrap_or(120)
}

/// The two levels at which a database may run transactions.
const LEVELS: [&str; 2] = ["read committed", "serializable"];

#[tokio::test(flavor = "multi_thread")]
async fn scripts_are_answered_alike_by_a_strict_server() {
    let Some(cluster) = Cluster::shared() else { return };
    for (seed, level) in (31..).zip(LEVELS) {
        let strict = StrictServer::before(cluster, STRICT);
        let (database, clock, engine) = (cluster.database(), HandClock::new(), Config::default());
        let name = database.name();
        database
            .sql(&format!("ALTER DATABASE {name} SET default_transaction_isolation = '{level}'"));
        let model = memory(&clock, &engine);
        let store = open(&strict.url(cluster, &name), &clock, &engine).await.expect("it opens");
        deploy(&*model).await;
        deploy(&*store).await;
        walk_rows(&*model, &*store, &clock, seed, length()).await;
        store.close().await;
        assert_eq!(strict.refused(), [""; 0], "{level}");
        assert!(strict.conflicts() >= 5, "{level}: {} commits failed", strict.conflicts());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_hosts_on_a_strict_server_break_no_invariant() {
    let Some(cluster) = Cluster::shared() else { return };
    for level in LEVELS {
        let strict = StrictServer::before(cluster, STRICT);
        let (database, clock, engine) = (cluster.database(), HandClock::new(), Config::default());
        let name = database.name();
        database
            .sql(&format!("ALTER DATABASE {name} SET default_transaction_isolation = '{level}'"));
        let url = strict.url(cluster, &name);
        let opened = join_all((0..3).map(|_| open(&url, &clock, &engine))).await;
        let hosts: Vec<_> = opened.into_iter().map(|host| host.expect("it opens")).collect();
        deploy(&*hosts[0]).await;
        for round in 0..length() / 8 {
            clock.advance(Millis(500));
            let seen = hosts[0].read().dump().await.expect("a dump");
            let work = hosts.iter().enumerate().map(|(number, host)| {
                let mut dice = Dice::new((round * 3 + number) as u64 + 3_000);
                let batches: Vec<Vec<Command>> = (0..6)
                    .map(|_| {
                        let length = 1 + dice.roll(3);
                        (0..length)
                            .map(|_| script::command(&mut dice, &seen, clock.now()))
                            .collect()
                    })
                    .collect();
                async move { join_all(batches.into_iter().map(|batch| host.execute(batch))).await }
            });
            for answer in join_all(work).await.into_iter().flatten() {
                answer.unwrap_or_else(|error| panic!("{level}, round {round}: {error:?}"));
            }
            let dump = hosts[0].read().dump().await.expect("a dump");
            let violations = invariants::check(&dump);
            assert!(violations.is_empty(), "{level}, round {round}: {violations:?}");
        }
        assert_eq!(strict.refused(), [""; 0], "{level}");
        assert_eq!(database.deadlocks(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_are_refused_for_a_while_are_made_afterwards() {
    let Some(cluster) = Cluster::shared() else { return };
    let strict = StrictServer::before(cluster, STRICT);
    let (database, clock) = (cluster.database(), HandClock::new());
    let url = strict.url(cluster, &database.name());
    let store = open(&url, &clock, &Config::default()).await.expect("it opens");
    strict.refuse_writes(Duration::from_secs(7));
    // A caller waits for five seconds.
    let refused = store.execute(vec![create("a", &[])]).await.expect_err("no writes are taken");
    assert!(matches!(&refused, StoreError::Away { reason } if reason.contains("read-only")));
    store.execute(vec![create("b", &[])]).await.expect("it waits for the server");
    assert_eq!(store.read().dump().await.expect("a dump").promises.len(), 1);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_to_notify_is_asked_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let strict = StrictServer::before(cluster, Strictness { keeps_sessions: true, conflicts: 0 });
    let (database, clock) = (cluster.database(), HandClock::new());
    let url = strict.url(cluster, &database.name());
    let store = open(&url, &clock, &Config::default()).await.expect("it opens");
    for number in 0..30 {
        let id = format!("a{number}");
        let settle = Command::PromiseSettle {
            id: id.as_str().into(),
            verdict: Verdict::Resolved,
            value: Value::default(),
        };
        store.execute(vec![create(&id, &[]), settle]).await.expect("it commits");
        SystemRuntime.sleep(Millis(100)).await;
    }
    store.close().await;
    let refused = strict.refused();
    for statement in ["LISTEN", "PG_NOTIFY"] {
        let count = refused.iter().filter(|refused| refused.starts_with(statement)).count();
        assert_eq!(count, 1, "{statement}: {refused:?}");
    }
    assert_eq!(refused.len(), 2, "{refused:?}");
}

/// Modules are written without a batch.
#[tokio::test(flavor = "multi_thread")]
async fn modules_are_kept_and_removed_whatever_commits_fail() {
    let Some(cluster) = Cluster::shared() else { return };
    let strict = StrictServer::before(cluster, Strictness { conflicts: 60, ..STRICT });
    let (database, clock) = (cluster.database(), HandClock::new());
    let url = strict.url(cluster, &database.name());
    let store = open(&url, &clock, &Config::default()).await.expect("it opens");
    for number in 0..8_u8 {
        let component: Arc<[u8]> = Arc::from([number]);
        let digest = Digest::of(&component);
        let module = NewModule::plain(digest, component, clock.now());
        store.modules().put(module).await.expect("it is kept");
        store.check_writes().await.expect("it writes");
        assert!(store.modules().remove(digest, clock.now()).await.expect("an answer"));
    }
    store.wipe().await.expect("it is wiped");
    assert!(strict.conflicts() > 8, "{} commits failed", strict.conflicts());
    store.close().await;
}
