//! A run of twenty nodes on real stores, with a crash at a commit. On SQLite the host restarts, on
//! PostgreSQL there are two hosts. Every result is that of the undisturbed run, and each output was
//! accepted once.
//!
//! `SEGNO_EVERY` sets the distance between the commits with a fault (9). 1 means every commit.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use segno_core::{
    command::Command,
    config::Config,
    graph::NodeState,
    id::{Digest, HostName, PromiseId},
    promise::Promise,
    time::Millis,
    value::Value,
};
use segno_engine::host::Host;
use segno_engine::notifier::CommitNotifier;
use segno_engine::worker::WorkerSettings;
use segno_env::Env;
use segno_guest::{Guests, NoGuests};
use segno_sim::{CommitFault, HintSwitch, HostLife, MortalStore, PlannedFaults, SimRuntime};
use segno_store::{
    NewModule, Store,
    postgres::{PostgresConfig, PostgresStore},
    sqlite::{SqliteConfig, SqliteStore},
};
use serde_json::json;
use tests::{
    graphs::{functions, run, twenty},
    seed,
    world::StoreProbe,
};
use throwaway_postgres::{Cluster, StrictServer, Strictness};

/// Length of a second in these runs, in milliseconds.
const SECOND: i64 = 40;
/// Time limit of every operation.
const PATIENCE: Millis = Millis(60_000);

/// Settings of the hosts: the claims of a dead host are released soon.
fn config() -> Config {
    let ttl = (Millis(1_500), Millis(1_000), Millis(2_000));
    Config { ttl, ..Config::default() }
}

/// A host over a store, across its incarnations.
struct TestHost {
    name: &'static str,
    store: Arc<dyn Store>,
    switch: Arc<HintSwitch>,
    guests: Arc<dyn Guests>,
    faults: Arc<PlannedFaults>,
    life: Option<HostLife>,
}

static LIVES: AtomicU64 = AtomicU64::new(1);

impl TestHost {
    /// Starts an incarnation. One that is up crashes first.
    async fn boot(&mut self) {
        loop {
            if let Some(life) = self.life.take() {
                life.runtime.crash();
            }
            let runtime = Arc::new(SimRuntime::life(LIVES.fetch_add(1, Ordering::Relaxed)));
            let notifier = Arc::new(CommitNotifier::default());
            self.switch.set(Some(notifier.clone()));
            let probed = Arc::new(StoreProbe::default()).over(self.store.clone());
            let host = Host::new(
                Env { clock: Env::system().clock, runtime: runtime.clone() },
                config(),
                Arc::new(MortalStore::new(probed, self.faults.clone())),
                self.guests.clone(),
                Arc::new(NoGuests),
                notifier,
            );
            let (node, settings) = (HostName::from(self.name), WorkerSettings::default());
            let life = HostLife::start(host, runtime, node, settings, &self.faults).await;
            if let Ok(Some(life)) = life {
                self.life = Some(life);
                return;
            }
        }
    }
}

/// Hosts over one database.
struct Stage {
    hosts: Vec<TestHost>,
    env: Env,
}

impl Stage {
    /// Creates a host for each of these stores. The first one fails as `faults` define.
    async fn new(
        stores: Vec<(&'static str, Arc<dyn Store>, Arc<HintSwitch>)>,
        faults: PlannedFaults,
    ) -> Self {
        let (script, _) = functions(SECOND);
        let env = Env::system();
        let component: Arc<[u8]> = Arc::from(&b"a script"[..]);
        let digest = Digest::of(&component);
        let store = stores[0].1.clone();
        let put = store.modules().put(NewModule::plain(digest, component, env.clock.now()));
        put.await.expect("the module is kept");
        let deploy = Command::Deploy { alias: "m".into(), module: digest };
        store.execute(vec![deploy]).await.expect("it is deployed");
        let (mut hosts, mut faults) = (Vec::new(), Some(faults));
        for (name, store, switch) in stores {
            let faults = Arc::new(faults.take().unwrap_or_default());
            let guests: Arc<dyn Guests> = script.clone();
            let mut host = TestHost { name, store, switch, guests, faults, life: None };
            host.boot().await;
            hosts.push(host);
        }
        Self { hosts, env }
    }

    async fn promise(&self, id: &str) -> Option<Promise> {
        let last = self.hosts.last().expect("there is a host");
        let row = last.store.read().promise(&PromiseId::from(id)).await.expect("the store answers");
        row.map(|row| row.promise)
    }

    /// Waits until `is_so` returns true. A host that dies is restarted.
    async fn until(&mut self, what: &str, is_so: impl AsyncFn(&Self) -> bool) {
        let end = self.env.clock.now() + PATIENCE;
        while !is_so(self).await {
            assert!(self.env.clock.now() < end, "not in time: {what}");
            if self.hosts[0].faults.crash_within(Millis(10)).await {
                self.hosts[0].boot().await;
            }
        }
    }

    /// Result of a run of twenty nodes, with everything that was created for it.
    async fn twenty(mut self) -> (String, u64, bool) {
        let plan = json!({ "nodes": twenty(SECOND), "max_parallel": 4 });
        let start = run("g", &json!({ "plan": plan, "input": { "n": 1 } }));
        // The host that stores a command gets the first hint, so the host that fails has the most
        // work.
        let store = self.hosts[0].store.clone();
        store.execute(vec![start]).await.expect("it is started");
        let nodes = async |stage: &Self| {
            let store = &stage.hosts[0].store;
            store.read().graph_nodes(&PromiseId::from("g")).await.expect("the store answers")
        };
        self.until("it waits for the signal", async |stage| {
            let rows = nodes(stage).await;
            rows.iter().any(|(node, row)| node.as_str() == "d1" && row.state == NodeState::Waiting)
        })
        .await;
        let signal = Command::Signal {
            invocation: "g".into(),
            name: "go".into(),
            payload: Value::of(&b"\"yes\""[..]),
            key: None,
        };
        store.execute(vec![signal]).await.expect("it is sent");
        self.until("it ends", async |stage| {
            stage.promise("g").await.is_some_and(|promise| !promise.is_pending())
        })
        .await;
        let rows = store.read().dump().await.expect("the store answers");
        let violations = segno_core::invariants::check(&rows);
        assert!(violations.is_empty(), "{violations:?}");
        let nodes =
            rows.graph_nodes.iter().map(|((run, node), row)| format!("{run} {node} {row:?}"));
        let promises = rows.promises.values().map(|promise| {
            let settled = promise.settlement().map(|it| (it.verdict, it.value.clone()));
            format!("{} {settled:?}", promise.id())
        });
        let mut seen = nodes.chain(promises).collect::<Vec<_>>().join("\n");
        // The number of an activity's last attempt depends on the crashes.
        for attempt in 1..5 {
            seen = seen.replace(&format!("attempt {attempt} failed"), "failed");
        }
        let (commits, injected) = {
            let faults = &self.hosts[0].faults;
            (faults.commits(), faults.injected())
        };
        for host in &mut self.hosts {
            if let Some(HostLife { runtime, running }) = host.life.take() {
                running.shutdown(Millis(1_000)).await;
                runtime.crash();
            }
        }
        for host in &self.hosts {
            host.store.close().await;
        }
        (seen, commits, injected)
    }
}

async fn sqlite(faults: PlannedFaults) -> (String, u64, bool) {
    let dir = tempfile::tempdir().expect("a folder");
    let switch = Arc::new(HintSwitch::default());
    let opened =
        SqliteStore::open(SqliteConfig::new(dir.path()), config(), Env::system(), switch.clone());
    let store = opened.await.expect("a database");
    Stage::new(vec![("one", store, switch)], faults).await.twenty().await
}

/// Two hosts on a new database, whose address `of` makes from its name.
async fn postgres(of: impl Fn(&str) -> String, faults: PlannedFaults) -> (String, u64, bool) {
    let cluster = Cluster::shared().expect("the caller looked");
    let url = of(&cluster.database().name());
    let mut stores: Vec<(&'static str, Arc<dyn Store>, Arc<HintSwitch>)> = Vec::new();
    for name in ["one", "two"] {
        let switch = Arc::new(HintSwitch::default());
        let at = PostgresConfig::new(&url).expect("an address");
        let opened = PostgresStore::open(at, config(), Env::system(), switch.clone()).await;
        stores.push((name, opened.expect("a database"), switch));
    }
    Stage::new(stores, faults).await.twenty().await
}

/// The commits with a fault, and the faults.
fn faults(commits: u64) -> impl Iterator<Item = (u64, CommitFault)> {
    let every = usize::try_from(seed::number("SEGNO_EVERY").unwrap_or(9)).expect("it is small");
    (0..commits).step_by(every.max(1)).zip(CommitFault::ALL.into_iter().cycle())
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_run_ends_alike_whatever_crashes() {
    let (expected, commits, _) = sqlite(PlannedFaults::default()).await;
    assert!(expected.contains("g a4 NodeRow { state: Completed, attempt: 0 }"), "{expected}");
    let mut hits = 0;
    for (commit, fault) in faults(commits) {
        let (seen, _, injected) = sqlite(PlannedFaults::at(commit, fault)).await;
        assert_eq!(seen, expected, "{fault:?} at commit {commit}");
        hits += u64::from(injected);
    }
    assert!(hits > 3, "{hits} faults in {commits} commits");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_with_two_hosts_a_run_ends_alike_whatever_crashes() {
    let Some(cluster) = Cluster::shared() else { return };
    let (expected, commits, _) = postgres(|name| cluster.url(name), PlannedFaults::default()).await;
    assert!(expected.contains("g a4 NodeRow { state: Completed, attempt: 0 }"), "{expected}");
    let mut hits = 0;
    for (commit, fault) in faults(commits) {
        let (seen, _, injected) =
            postgres(|name| cluster.url(name), PlannedFaults::at(commit, fault)).await;
        assert_eq!(seen, expected, "{fault:?} at commit {commit} of the first host");
        hits += u64::from(injected);
    }
    assert!(hits > 3, "{hits} faults in {commits} commits of the first host");
}

/// A fifth of the commits fails, and the scripted crashes come on top.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_server_that_knows_less_a_run_ends_alike_whatever_crashes() {
    let Some(cluster) = Cluster::shared() else { return };
    let strictness = Strictness { keeps_sessions: false, conflicts: 20 };
    let strict = StrictServer::before(cluster, strictness);
    let at = |name: &str| {
        let level = "SET default_transaction_isolation = 'serializable'";
        cluster.sql("postgres", &format!("ALTER DATABASE {name} {level}"));
        strict.url(cluster, name)
    };
    let (expected, commits, _) = postgres(at, PlannedFaults::default()).await;
    for (commit, fault) in faults(commits).step_by(3) {
        let (seen, _, _) = postgres(at, PlannedFaults::at(commit, fault)).await;
        assert_eq!(seen, expected, "{fault:?} at commit {commit} of the first host");
    }
    assert_eq!(strict.refused(), [""; 0]);
    assert!(strict.conflicts() > 10, "{} commits failed", strict.conflicts());
}
