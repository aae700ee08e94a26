//! Two hosts on PostgreSQL servers that fail over by themselves, with synchronous replication, alone
//! or beside a second database: under load, nothing that was acknowledged is lost, and nothing is
//! paid twice.
//!
//! `SEGNO_WORKFLOWS` sets the number of orders (60), `SEGNO_SEED` repeats a run's draws. The long
//! form has 400 orders.

use std::{collections::BTreeSet, process::Command, thread};

use futures::future::try_join_all;
use segno_api::model::StartInvocation;
use segno_core::{id::PromiseId, shard::ShardMap, time::Millis};
use segno_demo::{
    client::DemoClient,
    clients::{self, OrderTally, PlannedOrder},
    order::{DemoOrder, ExpectedOutcome},
    payments::PaymentsOptions,
    verdict::DemoVerdict,
};
use serde_json::json;
use tests::{guests, host_group::HostGroup, seed};
use throwaway_postgres::{Cluster, PatroniGroup};
use tokio::{runtime::Handle, sync::watch, task::block_in_place};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Guest of the benchmarks, which is in the repository.
const BENCH: &[u8] = include_bytes!("../../host/bench/guest/bench.wasm");
/// Time that an order waits for its approval: longer than any failover.
const APPROVAL_TIMEOUT: Millis = Millis(300_000);
/// Longest time from a commit at the new leader to the first one of a host, on a busy machine. A
/// quiet one needs less than two seconds.
const FOLLOW_MAX: Millis = Millis(10_000);
/// Longest time for a commit in a database while another one is away, on a busy machine.
const AWAY_MAX: Millis = Millis(3_000);
/// Number of times that the leader changes, and the number of phases of the load.
const CHANGES: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_by_a_failover() {
    let Some(servers) = block_in_place(PatroniGroup::start) else { return };
    block_in_place(|| servers.sql("postgres", "CREATE DATABASE orders"));
    fail_over(&servers, &servers.url("orders"), false).await;
}

/// The first of two databases fails over. Executions in the other one go on meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_databases_fails_over() {
    let Some(servers) = block_in_place(PatroniGroup::start) else { return };
    let Some(cluster) = block_in_place(|| Cluster::start(&[])) else { return };
    let other = block_in_place(|| {
        servers.sql("postgres", "CREATE DATABASE orders");
        cluster.database()
    });
    fail_over(&servers, &format!("{} {}", servers.url("orders"), other.url()), true).await;
}

/// Places orders while the servers of the first database in `url` change places.
async fn fail_over(servers: &PatroniGroup, url: &str, has_two: bool) {
    let count = usize::try_from(seed::number("SEGNO_WORKFLOWS").unwrap_or(60)).expect("small");
    let mut chance = seed::chance();
    let payments = PaymentsOptions { delay: Millis(30), ..PaymentsOptions::default() };
    let group = HostGroup::start(SEGNO, url, 2, payments, &["--lease", "5"]).await;
    group.deploy("order", guests::component("order")).await;
    group.deploy("bench", BENCH.to_vec()).await;
    let planned: Vec<PlannedOrder> = (0..count)
        .map(|number| {
            let fate = match number % 5 {
                2 => ExpectedOutcome::Rejected,
                4 => ExpectedOutcome::TooDear,
                _ => ExpectedOutcome::Approved,
            };
            PlannedOrder {
                order: DemoOrder::new(number, fate, group.payments.address(), APPROVAL_TIMEOUT),
                phase: number * CHANGES / count,
                place_after: chance.length(0, 1_000),
                decide_after: chance.length(0, 3_000),
            }
        })
        .collect();

    let (tally, (reached, reach)) = (OrderTally::default(), watch::channel(0));
    let customers = [0, 1].map(|host| DemoClient {
        client: group.client(host),
        env: &group.env,
        module: "order",
    });
    let (first, second) = planned.split_at(count / 2);
    let serving = try_join_all(
        customers
            .iter()
            .zip([first, second])
            .map(|(customer, orders)| clients::serve(customer, orders, &reach, &tally)),
    );
    let map = ShardMap::dealt(2);
    let ids = (0..).map(|number| format!("elsewhere-{number}"));
    let mut elsewhere = ids.filter(|id| map.promise(&PromiseId::from(id.as_str())) == 1);
    let failing = async {
        for number in 0..CHANGES {
            reached.send_replace(number);
            group.env.runtime.sleep(Millis(1_500)).await;
            let changed = group.env.clock.now();
            let (led, pauses, missing) = thread::scope(|scope| {
                let changing = scope.spawn(|| {
                    match number {
                        0 => servers.kill_leader(),
                        _ => servers.switch_over(),
                    }
                    group.env.clock.now()
                });
                // Of the executions in the other database.
                let mut pauses = Vec::new();
                let mut missing = BTreeSet::new();
                block_in_place(|| {
                    while has_two && !changing.is_finished() {
                        let id = elsewhere.next().expect("there are enough");
                        let begun = group.env.clock.now();
                        Handle::current().block_on(commit(&group, &id));
                        pauses.push(group.env.clock.now().since(begun));
                        let ready = Handle::current().block_on(group.client(0).ready());
                        missing.extend(ready.expect("one database takes writes").missing);
                    }
                });
                (changing.join().expect("they change places"), pauses, missing)
            });
            if has_two {
                let longest = pauses.iter().max().copied().unwrap_or_default();
                let count = pauses.len();
                eprintln!(
                    "{count} commits in the other database meanwhile, the slowest in {longest}"
                );
                assert!(count > 10 && longest < AWAY_MAX, "{count} commits, {longest}");
                let named = missing.iter().all(|address| url.starts_with(address.as_str()));
                assert!(number > 0 || missing.len() == 1 && named, "{missing:?}");
            }
            // A commit waits for the standby that the new leader has, or for Patroni to say that it
            // has none.
            let table = format!("CREATE TABLE change_{number} ()");
            block_in_place(|| servers.sql("postgres", &table));
            let writes = group.env.clock.now();
            commit(&group, &format!("after-change-{number}")).await;
            let followed = group.env.clock.now().since(writes);
            eprintln!(
                "another server led after {}, committed after another {}, and a host's commit was {followed} later",
                led.since(changed),
                writes.since(led)
            );
            assert!(followed < FOLLOW_MAX, "the hosts needed {followed}");
            block_in_place(|| servers.until_synchronous());
        }
    };
    let (served, ()) = tokio::join!(serving, failing);
    let ended: Vec<_> =
        served.unwrap_or_else(|error| panic!("{error}")).into_iter().flatten().collect();
    let verdict = DemoVerdict::of(&ended, &group.payments.entries());
    assert!(verdict.is_right(), "{:#?}", verdict.complaints());
    assert_eq!(verdict.orders.len(), count);

    let doctor = Command::new(SEGNO).args(["doctor", "--store", url]).output();
    let said = doctor.expect("the command runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
}

/// Starts an execution at the first host that accepts it.
async fn commit(group: &HostGroup, id: &str) {
    let start = StartInvocation {
        id: Some(id.to_owned()),
        target: "bench/steps".to_owned(),
        input: json!({ "steps": 1, "result_bytes": 22 }),
        ..StartInvocation::default()
    };
    for host in 0.. {
        match group.client(host).start(&start).await {
            Ok(_) => return,
            Err(_) => group.env.runtime.sleep(Millis(20)).await,
        }
    }
}
