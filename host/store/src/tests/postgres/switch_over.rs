//! Failover: another server becomes the primary while sessions with the former one are open, and
//! every connection of every host follows.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use segno_core::{
    command::Command,
    config::Config,
    effect::Effect,
    id::PromiseId,
    promise::{TaskStatus, Verdict},
    reply::Reply,
    time::Millis,
    value::Value,
    view::View,
};
use segno_env::{Clock as _, Env, Runtime as _, SystemRuntime};
use throwaway_postgres::{Cluster, Route};

use super::{
    super::{
        HandClock, create, env,
        work::{acquire, run},
    },
    config,
};
use crate::{Hints, Store, StoreError, WorkQueue as _, postgres::PostgresStore};

/// The promises whose settlement another host notified.
#[derive(Default)]
struct Heard(Mutex<BTreeSet<PromiseId>>);

impl Hints for Heard {
    fn committed(&self, _effects: &[Effect], _state: &View) {}

    fn heard(&self, effects: &[Effect]) {
        let settled = effects.iter().filter_map(|effect| match effect {
            Effect::Settled { id } => Some(id.clone()),
            _ => None,
        });
        self.0.lock().expect("nobody panicked").extend(settled);
    }
}

/// A primary with its standby, and two hosts that use one address.
struct World {
    primary: Cluster,
    standby: Cluster,
    route: Route,
    database: String,
    clock: Arc<HandClock>,
    heard: Arc<Heard>,
    hosts: [Arc<PostgresStore>; 2],
}

impl World {
    async fn start() -> Option<Self> {
        let primary = Cluster::start(&[])?;
        let standby = tokio::task::block_in_place(|| primary.standby());
        let (route, database) = (Route::to(&primary), primary.database().name());
        let (clock, heard) = (HandClock::new(), Arc::new(Heard::default()));
        let url = route.url(&primary, &database);
        let open = async |hints: Arc<Heard>| {
            let opened = PostgresStore::open(config(&url), Config::default(), env(&clock), hints);
            opened.await.unwrap_or_else(|error| panic!("{error}"))
        };
        let hosts = [open(Arc::new(Heard::default())).await, open(heard.clone()).await];
        let world = Self { primary, standby, route, database, clock, heard, hosts };
        // Every pool has sessions that are reused.
        for host in &world.hosts {
            host.execute(vec![create("before", &[])]).await.expect("it commits");
            let reads: Vec<_> = (0..8).map(|_| world.reads(host, "before")).collect();
            assert!(futures::future::join_all(reads).await.into_iter().all(|found| found));
            host.check_writes().await.expect("it is ready");
        }
        world.is_heard("first").await;
        Some(world)
    }

    /// Points the address to the standby, and promotes it.
    fn switch_over(&self, read_only: bool) {
        tokio::task::block_in_place(|| {
            self.primary.wait_for(&self.standby);
            if read_only {
                self.primary.set_read_only(true);
                self.standby.promote();
            } else {
                self.standby.promote();
            }
            self.route.lead_to(&self.standby);
        });
    }

    /// True if every kind of read of a host finds the promise.
    async fn reads(&self, host: &PostgresStore, id: &str) -> bool {
        let clients = host.for_clients().expect("clients have their own");
        let mut found = Vec::new();
        for store in [host as &dyn Store, &*clients] {
            found.push(store.read().promise(&id.into()).await.expect("a read").is_some());
            let all = store.read().dump().await.expect("a read");
            found.push(all.promises.contains_key(&PromiseId::from(id)));
        }
        assert!(found.iter().all(|each| *each == found[0]), "{found:?}");
        found[0]
    }

    /// Commits at a host like a client that retries after failures.
    async fn commit(&self, host: &PostgresStore, command: &Command) -> Reply {
        for _ in 0..100 {
            match host.execute(vec![command.clone()]).await {
                Ok(mut replies) => return replies.remove(0),
                Err(StoreError::Away { .. } | StoreError::UnknownOutcome(_)) => {
                    SystemRuntime.sleep(Millis(50)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
        panic!("nothing is committed");
    }

    /// Creates a promise at the first host and settles it, which notifies the second one.
    async fn settle(&self, id: &str) {
        self.commit(&self.hosts[0], &create(id, &[])).await;
        let settle = Command::PromiseSettle {
            id: id.into(),
            verdict: Verdict::Resolved,
            value: Value::of(b"1".as_slice()),
        };
        self.commit(&self.hosts[0], &settle).await;
    }

    /// Settles promises until the second host is notified of one.
    async fn is_heard(&self, name: &str) {
        for round in 0..100 {
            let id = format!("{name}{round}");
            self.settle(&id).await;
            for _ in 0..10 {
                if self
                    .heard
                    .0
                    .lock()
                    .expect("nobody panicked")
                    .contains(&PromiseId::from(id.as_str()))
                {
                    return;
                }
                SystemRuntime.sleep(Millis(20)).await;
            }
        }
        panic!("the second host is told nothing");
    }

    /// Waits until the hosts have no session with a server.
    async fn is_left(&self, server: &Cluster) {
        let sessions = "SELECT coalesce(string_agg(application_name || ' ' || state, ', '), '')
                          FROM pg_stat_activity WHERE application_name LIKE 'segno %'";
        let mut left = String::new();
        for round in 0..200 {
            left = tokio::task::block_in_place(|| server.sql("postgres", sessions));
            if left.is_empty() {
                return;
            }
            // Idle connections are dropped on their next use.
            for host in &self.hosts {
                let clients = host.for_clients().expect("clients have their own");
                for store in [&**host as &dyn Store, &*clients] {
                    let _ = store.read().promise(&"before".into()).await;
                }
            }
            self.settle(&format!("used{round}")).await;
            SystemRuntime.sleep(Millis(100)).await;
        }
        panic!("sessions stay with the former primary: {left}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_connection_leaves_a_primary_that_became_read_only() {
    let Some(world) = World::start().await else { return };
    let [a, b] = &world.hosts;
    // Claimed by a host that never reports again.
    run(&**a, Command::HostStart { node: "gone".into() }).await;
    run(&**a, create("held", &[("target", "poll://w")])).await;
    acquire(&**a, "held", "gone").await;

    world.switch_over(true);
    world.commit(a, &create("after", &[])).await;
    assert!(world.reads(a, "after").await, "the host that committed it does not find it");
    assert!(world.reads(b, "after").await, "another host does not find it");
    for host in &world.hosts {
        host.check_writes().await.expect("it is ready");
    }
    world.is_heard("later").await;
    // Another host takes over its claim.
    let mut due = Vec::new();
    for _ in 0..10 {
        world.clock.advance(Millis(60_000));
        due = b.due(world.clock.now(), 100).await.expect("a read").commands;
        if !due.is_empty() {
            break;
        }
    }
    assert_eq!(due, [Command::LeaseDue { id: "held".into() }]);
    run(&**b, due.remove(0)).await;
    let held = a.read().promise(&"held".into()).await.expect("a read").expect("it is there");
    assert_eq!(held.task.expect("it has a task").status(), TaskStatus::Pending);
    world.is_left(&world.primary).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_former_primary_that_was_told_nothing_is_found_out_and_left() {
    let Some(world) = World::start().await else { return };
    world.switch_over(false);
    world.is_left(&world.primary).await;
    let [a, b] = &world.hosts;
    world.commit(a, &create("after", &[])).await;
    assert!(world.reads(a, "after").await && world.reads(b, "after").await);
    let count = "SELECT count(*) FROM promises WHERE id = 'after'";
    assert_eq!(world.standby.sql(&world.database, count), "1");
    world.is_heard("later").await;
    // An address that leads back to the former primary is refused.
    world.route.lead_to(&world.primary);
    tokio::task::block_in_place(|| {
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE application_name LIKE 'segno %'";
        world.standby.sql("postgres", end);
    });
    let refused = a.execute(vec![create("lost", &[])]).await.expect_err("it was left behind");
    assert!(refused.to_string().contains("former primary"), "{refused}");
    let refused = b.read().promise(&"after".into()).await.expect_err("it was left behind");
    assert!(refused.to_string().contains("former primary"), "{refused}");
    assert!(b.check_writes().await.is_err(), "it is not ready");
}

/// The standby comes first in the address, and is the primary later.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_several_servers_leads_to_the_one_that_takes_writes() {
    let Some(primary) = Cluster::start(&[]) else { return };
    let standby = tokio::task::block_in_place(|| primary.standby());
    let (clock, database) = (HandClock::new(), primary.database().name());
    let folders = [&standby, &primary].map(|server| server.socket().display().to_string());
    let url = format!(
        "postgres://segno@localhost/{database}?host={}&target_session_attrs=read-write",
        folders.join(",")
    );
    let hints = Arc::new(Heard::default());
    let opened = PostgresStore::open(config(&url), Config::default(), env(&clock), hints).await;
    let store = opened.unwrap_or_else(|error| panic!("{error}"));
    let commit = async |id: &str| {
        for _ in 0..20 {
            match store.execute(vec![create(id, &[])]).await {
                Ok(_) => return,
                Err(StoreError::Away { .. } | StoreError::UnknownOutcome(_)) => {
                    SystemRuntime.sleep(Millis(50)).await;
                }
                Err(error) => panic!("{id}: {error}"),
            }
        }
        panic!("{id} is never committed");
    };
    commit("before").await;
    tokio::task::block_in_place(|| {
        primary.wait_for(&standby);
        primary.crash();
        standby.promote();
    });
    // The first use after the crash: the pool would ask the dead server for five seconds.
    let reads = store.read();
    let reading = Env::system().within(Millis(4_000), reads.promise(&"before".into())).await;
    assert!(reading.expect("the other server is asked at once").expect("a read").is_some());
    commit("after").await;
    for id in ["before", "after"] {
        let found = store.read().promise(&id.into()).await.expect("a read");
        assert!(found.is_some(), "{id}");
    }
    store.check_writes().await.expect("it is ready");
    assert_eq!(standby.sql(&database, "SELECT count(*) FROM promises"), "2");
    store.close().await;
}
