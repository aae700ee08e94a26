//! Real hosts on one real PostgreSQL: killed, and paused past their leases. The database itself is
//! restarted under load.
//!
//! `SEGNO_WORKFLOWS` sets the number of orders (60), `SEGNO_SEED` repeats a run's draws.

use std::collections::BTreeMap;

use segno_core::time::Millis;
use segno_demo::{
    client::DemoClient,
    clients::{self, OrderTally, PlannedOrder},
    order::{DemoOrder, ExpectedOutcome},
    payments::PaymentsOptions,
    rng::DemoRng,
    verdict::DemoVerdict,
};
use segno_env::Env;
use sqlx::{Connection as _, PgConnection};
use tests::{
    guests,
    host_group::HostGroup,
    planned_orders::{APPROVAL_TIMEOUT, planned_orders},
    seed,
};
use throwaway_postgres::Cluster;
use tokio::sync::watch;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Duration of a claim in these tests, and the argument that sets it.
const LEASE: Millis = Millis(2_000);
const ARGUMENTS: [&str; 2] = ["--lease", "2"];

/// Fault of a host or of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// SIGKILL, and a restart soon after.
    Kill,
    /// SIGKILL, and a restart only after other hosts took over its work.
    Death,
    /// SIGSTOP past the lease, then SIGCONT.
    Pause,
    /// The database stops cleanly, and restarts.
    Restart,
    /// The database ends as if its machine had crashed, and restarts.
    Crash,
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hosts_killed_and_paused_at_random_lose_and_repeat_nothing() {
    let orders =
        usize::try_from(seed::number("SEGNO_WORKFLOWS").unwrap_or(60)).expect("it is small");
    let Some(cluster) = Cluster::start(&[]) else { return };
    three_hosts_lose_and_repeat_nothing(&cluster, 1, orders).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hosts_on_two_databases_lose_and_repeat_nothing() {
    let orders =
        usize::try_from(seed::number("SEGNO_WORKFLOWS").unwrap_or(60)).expect("it is small");
    let Some(cluster) = Cluster::start(&[]) else { return };
    three_hosts_lose_and_repeat_nothing(&cluster, 2, orders).await;
}

/// Places orders with three hosts on databases of the cluster. The hosts are killed and paused, and
/// so is the cluster.
pub(crate) async fn three_hosts_lose_and_repeat_nothing(
    cluster: &Cluster,
    databases: usize,
    orders: usize,
) {
    let mut chance = seed::chance();
    let urls: Vec<String> = (0..databases).map(|_| cluster.database().url()).collect();
    let url = urls.join(" ");
    let payments = PaymentsOptions { delay: Millis(30), ..PaymentsOptions::default() };
    let mut group = HostGroup::start(SEGNO, &url, 3, payments, &ARGUMENTS).await;
    group.deploy("order", guests::component("order")).await;

    let faults = 8 + orders / 25;
    let planned_orders = planned_orders(orders, faults, group.payments.address(), &mut chance);
    let clients: Vec<_> = group.hosts.iter().map(|host| host.client().clone()).collect();
    let env = group.env.clone();
    let customers = clients.iter().map(|client| DemoClient { client, env: &env, module: "order" });
    let customers: Vec<_> = customers.collect();
    let (tally, (reached, reach)) = (OrderTally::default(), watch::channel(0));
    // Each share of the orders is served by another host.
    let served =
        customers.iter().zip(shares(&planned_orders, customers.len())).map(|(client, share)| {
            let (reach, tally) = (&reach, &tally);
            async move { clients::serve(client, &share, reach, tally).await }
        });
    let served: Vec<_> = served.collect();
    let injecting = inject(&mut group, cluster, &url, faults, &mut chance, &reached);
    let (ended, injected) = tokio::join!(all_of(served), injecting);
    let ended: Vec<_> = ended.into_iter().flatten().collect();

    let verdict = DemoVerdict::of(&ended, &group.payments.entries());
    assert!(verdict.is_right(), "{:#?}", verdict.complaints());
    assert_eq!(verdict.orders.len(), orders);
    for (order, _) in ended.iter().step_by(orders / 8 + 1) {
        let replay = clients[0].replay(&order.id, None).await;
        let replay = replay.unwrap_or_else(|error| panic!("{}: {error}", order.id));
        assert_eq!(replay.matched, replay.journal_len, "{replay:#?}");
    }
    injected.report(orders);
    let slowest = injected.requeues.iter().max().copied().unwrap_or(Millis::ZERO);
    // The rest of a lease, the scan, and the delay of a busy machine.
    assert!(
        slowest <= Millis(LEASE.0 * 2 + 8_000),
        "a dead host's claim was given on after {slowest}"
    );
    for host in group.hosts {
        host.stop().await.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_of_two_hosts_with_one_name_ends_and_says_why() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database().url();
    let arguments = ["--node", "twin"];
    let mut group = HostGroup::start(SEGNO, &url, 2, PaymentsOptions::default(), &arguments).await;
    let env = group.env.clone();
    for looks in 0.. {
        if group.client(0).ready().await.is_err() {
            break;
        }
        assert!(looks < 300, "the older host goes on");
        env.runtime.sleep(Millis(100)).await;
    }
    // The replaced host must first shut down completely.
    env.runtime.sleep(Millis(2_000)).await;
    let ended = group.hosts[0].kill().expect_err("it ended by itself").to_string();
    assert!(ended.contains("another host was started as `twin`"), "{ended}");
    assert!(ended.contains("--node"), "{ended}");
    group.deploy_at(1, "order", guests::component("order")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_database_is_away_says_so_and_goes_on_when_it_is_back() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    // A connection over the socket needs no password. A password must not be printed all the same.
    let url = cluster.database().url().replace("segno@", "segno:hush-hush@");
    let payments = PaymentsOptions::default();
    let group = HostGroup::start(SEGNO, &url, 1, payments, &["--no-notify", "--lease", "2"]).await;
    group.deploy("order", guests::component("order")).await;
    let env = group.env.clone();
    let client = group.client(0).clone();
    let client = DemoClient { client: &client, env: &env, module: "order" };
    let order =
        DemoOrder::new(1, ExpectedOutcome::Approved, group.payments.address(), APPROVAL_TIMEOUT);
    client.place(&order).await.unwrap_or_else(|error| panic!("{error}"));

    tokio::task::block_in_place(|| cluster.stop());
    let address = format!("http://{}/v1/invocations/{}", group.hosts[0].options().listen, order.id);
    let answer = reqwest::get(&address).await.expect("the host answers");
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"), "{answer:?}");
    // Longer than a lease.
    env.runtime.sleep(Millis(3_000)).await;
    tokio::task::block_in_place(|| cluster.up().expect("it starts again"));

    client.decide(&order, Millis(10)).await.unwrap_or_else(|error| panic!("{error}"));
    let ended = client.ended(&order).await.unwrap_or_else(|error| panic!("{error}"));
    let verdict = DemoVerdict::of(&[(order, ended)], &group.payments.entries());
    assert!(verdict.is_right(), "{:#?}", verdict.complaints());
    let log = std::fs::read_to_string(&group.hosts[0].options().log).expect("a log");
    assert!(log.contains("postgres://segno@localhost"), "{log}");
    assert!(!log.contains("hush-hush"), "the password is in the log");
}

/// Injected faults, and the times until a dead host's claims were released.
#[derive(Debug, Default)]
struct Injected {
    faults: BTreeMap<Fault, usize>,
    requeues: Vec<Millis>,
}

impl Injected {
    fn report(&self, orders: usize) {
        let mut requeues = self.requeues.clone();
        requeues.sort();
        let middle = requeues.get(requeues.len() / 2);
        eprintln!(
            "{orders} orders, {:?}; from a host's death to its last claim given on: {middle:?} in the middle, {:?} at \
             most, with leases of {LEASE}",
            self.faults,
            requeues.last()
        );
    }
}

async fn inject(
    group: &mut HostGroup,
    cluster: &Cluster,
    url: &str,
    faults: usize,
    chance: &mut DemoRng,
    reached: &watch::Sender<usize>,
) -> Injected {
    let env = group.env.clone();
    let mut injected = Injected::default();
    for number in 1..=faults {
        env.runtime.sleep(chance.length(200, 1_000)).await;
        let victim = usize::try_from(chance.between(0, 2)).expect("it is small");
        let fault = match number {
            // Each of these faults occurs once, the rest at random.
            2 => Fault::Death,
            3 => Fault::Pause,
            4 => Fault::Restart,
            6 => Fault::Crash,
            _ => [Fault::Kill, Fault::Kill, Fault::Death, Fault::Pause]
                [chance.between(0, 3) as usize],
        };
        *injected.faults.entry(fault).or_default() += 1;
        let host = &mut group.hosts[victim];
        let fine = |what: &str, done: Result<(), segno_demo::server::ServerError>| {
            done.unwrap_or_else(|error| panic!("{what} {number}: {error}"));
        };
        match fault {
            Fault::Kill => {
                fine("kill", host.kill());
                env.runtime.sleep(chance.length(50, 500)).await;
                fine("restart", host.restart().await);
            }
            Fault::Death => {
                let node = node_of(host.options());
                fine("kill", host.kill());
                injected.requeues.extend(until_released(&env, url, &node).await);
                fine("restart", host.restart().await);
            }
            Fault::Pause => {
                fine("pause", host.pause());
                env.runtime.sleep(LEASE + chance.length(1_000, 3_000)).await;
                fine("resume", host.resume());
            }
            Fault::Restart | Fault::Crash => tokio::task::block_in_place(|| {
                if fault == Fault::Crash {
                    cluster.crash()
                } else {
                    cluster.stop()
                }
                cluster.up().expect("it starts again");
            }),
        }
        reached.send_replace(number);
    }
    injected
}

/// Time until a dead node's claims are released in all databases of `urls`. `None` if it held none.
async fn until_released(env: &Env, urls: &str, node: &str) -> Option<Millis> {
    let mut connections = Vec::new();
    for url in urls.split(' ') {
        connections.push(PgConnection::connect(url).await.expect("the database answers"));
    }
    let died = env.clock.now();
    let mut held = false;
    loop {
        let mut left = 0;
        for connection in &mut connections {
            let in_one: i64 =
                sqlx::query_scalar("SELECT count(*) FROM tasks WHERE node = $1 AND state = 2")
                    .bind(node)
                    .fetch_one(connection)
                    .await
                    .expect("a count");
            left += in_one;
        }
        let waited = env.clock.now().since(died);
        if left == 0 {
            return held.then_some(waited);
        }
        held = true;
        assert!(waited < Millis(60_000), "{node} still holds {left} tasks");
        env.runtime.sleep(Millis(20)).await;
    }
}

/// Name that a host chose for itself.
fn node_of(options: &segno_demo::server::ServerOptions) -> String {
    let own = std::fs::read_to_string(options.data.join("node")).expect("a host has a name");
    let machine =
        std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a machine has a name");
    format!("{}-{}", machine.trim(), own.trim())
}

fn shares(orders: &[PlannedOrder], hosts: usize) -> Vec<Vec<PlannedOrder>> {
    let share = |host| orders.iter().skip(host).step_by(hosts).cloned().collect();
    (0..hosts).map(share).collect()
}

async fn all_of<T, E: std::fmt::Display>(all: Vec<impl Future<Output = Result<T, E>>>) -> Vec<T> {
    let mut done = Vec::new();
    let all = futures::future::join_all(all).await;
    for one in all {
        done.push(one.unwrap_or_else(|error| panic!("{error}")));
    }
    done
}
