//! Two hosts whose PostgreSQL fails over to its standby while their sessions stay open.

use std::time::Duration;

use segno_api::model::{InvocationQuery, InvocationState, StartInvocation};
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::payments::PaymentsOptions;
use segno_env::Env;
use serde_json::{Value, json};
use tests::host_group::HostGroup;
use throwaway_postgres::{Cluster, Route};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Guest of the benchmarks, prebuilt, because building one takes longer than this suite.
const BENCH: &[u8] = include_bytes!("../../host/bench/guest/bench.wasm");
const ARGUMENTS: [&str; 2] = ["--lease", "2"];

/// Calls of a long execution. Each has a commit, so it lasts for some seconds.
const CALLS: u32 = 2_000;

/// A start of sequential steps, which waits for the result.
fn start(id: &str, steps: u32) -> StartInvocation {
    let input = json!({ "steps": steps, "result_bytes": 22 });
    request(id, "bench/steps", input, 10_000)
}

/// A start of an execution of this function, which waits up to `wait_ms` for the result.
fn request(id: &str, target: &str, input: Value, wait_ms: u64) -> StartInvocation {
    StartInvocation {
        id: Some(id.to_owned()),
        target: target.to_owned(),
        input,
        wait_ms: Some(wait_ms),
        ..StartInvocation::default()
    }
}

async fn pause(ms: i64) {
    Env::system().runtime.sleep(Millis(ms)).await;
}

/// Starts at a host, and repeats the request after a 503. Returns the status and body of the
/// answer.
async fn started(client: &Client, start: &StartInvocation) -> (u16, Value) {
    let url = format!("{}/v1/invocations", client.server());
    for _ in 0..200 {
        let answer = reqwest::Client::new().post(&url).json(start).send().await;
        let answer = answer.expect("the host answers");
        if answer.status() != 503 {
            return (answer.status().as_u16(), answer.json().await.expect("it is JSON"));
        }
        pause(50).await;
    }
    panic!("nothing is started");
}

/// Number of invocations that a host lists.
async fn listed(client: &Client) -> usize {
    let query = InvocationQuery { limit: Some(1_000), ..InvocationQuery::default() };
    client.list(&query).await.map_or(0, |page| page.items.len())
}

/// Waits until an SQL query at a server returns `expected`.
async fn until(server: &Cluster, database: &str, sql: &str, expected: &str) {
    let mut found = String::new();
    for _ in 0..200 {
        found = tokio::task::block_in_place(|| server.sql(database, sql));
        if found == expected {
            return;
        }
        pause(100).await;
    }
    panic!("{sql}: {found}, and not {expected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_follow_a_switch_over_with_all_of_their_connections() {
    let Some(primary) = Cluster::start(&[]) else { return };
    let standby = tokio::task::block_in_place(|| primary.standby());
    let (route, database) = (Route::to(&primary), primary.database().name());
    let url = route.url(&primary, &database);
    let mut group = HostGroup::start(SEGNO, &url, 2, PaymentsOptions::default(), &ARGUMENTS).await;
    group.deploy("bench", BENCH.to_vec()).await;
    let clients = [group.client(0).clone(), group.client(1).clone()];
    for round in 0..20 {
        for (host, client) in clients.iter().enumerate() {
            let begun = started(client, &start(&format!("before-{host}-{round}"), 1)).await;
            assert_eq!(begun.1["invocation"]["state"], "resolved", "{begun:?}");
            listed(client).await;
        }
    }

    tokio::task::block_in_place(|| {
        primary.wait_for(&standby);
        primary.set_read_only(true);
        standby.promote();
        route.lead_to(&standby);
    });
    let switched = Env::system().clock.now();
    for round in 0..10 {
        for (host, client) in clients.iter().enumerate() {
            let id = format!("after-{host}-{round}");
            let (status, begun) = started(client, &start(&id, 3)).await;
            // Every host reads the committed outcome.
            let state = &begun["invocation"]["state"];
            assert!(status < 300 && *state == "resolved", "{id}: {status} {begun}");
            for other in &clients {
                let found = other.invocation(&id).await.unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(found.state, InvocationState::Resolved, "{id}");
            }
        }
    }
    let took = Env::system().clock.now().since(switched);
    assert!(took < Millis(30_000), "the hosts needed {took}");
    for client in &clients {
        assert_eq!(listed(client).await, 60, "a list is as it was");
        client.ready().await.unwrap_or_else(|error| panic!("{error}"));
    }
    let listening = "SELECT count(*) FROM pg_stat_activity
                      WHERE application_name = 'segno listener' AND query LIKE 'LISTEN%'";
    until(&standby, "postgres", listening, "2").await;
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'segno %'";
    until(&primary, "postgres", sessions, "0").await;

    // Another host takes over the claims of a host that dies now.
    let long: Vec<String> = (0..4).map(|number| format!("long-{number}")).collect();
    for id in &long {
        let input = json!({ "children": CALLS });
        started(&clients[0], &request(id, "bench/chain", input, 0)).await;
    }
    let held = "SELECT count(DISTINCT node) FROM tasks WHERE state = 2";
    let mut holders = String::new();
    for _ in 0..200 {
        holders = tokio::task::block_in_place(|| standby.sql(&database, held));
        if holders != "0" {
            break;
        }
        pause(10).await;
    }
    assert_ne!(holders, "0", "nobody executes");
    group.hosts[0].kill().unwrap_or_else(|error| panic!("{error}"));
    for id in &long {
        let ended = clients[1].wait(id, Duration::from_secs(60)).await;
        let ended = ended.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(ended.state, InvocationState::Resolved, "{id}");
    }
    let node = "SELECT count(*) FROM tasks WHERE state = 2";
    until(&standby, &database, node, "0").await;

    // No server accepts writes. A host reports that, and continues without help once one does.
    let ready = async |expected: u16| {
        for _ in 0..200 {
            let answer = reqwest::get(format!("{}/ready", clients[1].server())).await;
            if answer.expect("the host answers").status() == expected {
                return;
            }
            pause(50).await;
        }
        panic!("`/ready` never says {expected}");
    };
    tokio::task::block_in_place(|| standby.set_read_only(true));
    ready(503).await;
    tokio::task::block_in_place(|| standby.set_read_only(false));
    ready(200).await;
}
