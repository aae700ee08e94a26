//! Hosts that are killed while budgets are spent. What is charged is what was stored, exactly.
//!
//! `SEGNO_KILLS` sets the number of kills (6), `SEGNO_SEED` repeats a run's draws.

use std::time::Duration;

use segno_client::Client;
use segno_core::time::Millis;
use segno_env::Env;
use serde_json::json;
use tests::{guests, host_group::HostGroup, seed};
use throwaway_postgres::Cluster;

use super::{SEGNO, account, host, output, spent, start};

/// Number of executions.
const AGENTS: usize = 12;
/// Tokens of a call, and the limit of an execution: 40 calls, and one that is refused.
const TOKENS: u64 = 25;
const LIMIT: f64 = 1_000.0;
/// Time within which all have ended.
const TIME: Millis = Millis(120_000);

fn kills() -> u64 {
    seed::number("SEGNO_KILLS").unwrap_or(6)
}

async fn begin(clients: &[Client]) {
    let plan = json!({ "calls": 60, "tokens": TOKENS, "pause_ms": 20 });
    for agent in 0..AGENTS {
        let budget = [("tokens", LIMIT), ("calls", 1_000.0)];
        let start = start(&format!("agent-{agent}"), "spend", plan.clone(), &budget);
        let started = clients[agent % clients.len()].start(&start).await;
        started.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Waits for the ends of all executions, and compares what they say with what was charged.
async fn check(client: &Client, env: &Env) {
    for agent in 0..AGENTS {
        let id = format!("agent-{agent}");
        let waiting = async {
            loop {
                match client.wait(&id, Duration::from_secs(1)).await {
                    Ok(found) if found.state.is_settled() => return,
                    _ => env.runtime.sleep(Millis(50)).await,
                }
            }
        };
        env.within(TIME, waiting).await.unwrap_or_else(|| panic!("{id} does not end"));
        let found = client.invocation(&id).await.unwrap_or_else(|error| panic!("{error}"));
        let done = output(&found)["done"].as_u64().expect("a number");
        assert_eq!((done, &output(&found)["code"]), (40, &json!(402)), "{id}");
        let own = account(client, &id).await;
        assert_eq!(spent(&own, "tokens"), (done * TOKENS) as f64, "{id}");
        // Attempts that a kill ended are counted, each once.
        let calls = spent(&own, "calls");
        assert!((40.0..=40.0 + kills() as f64).contains(&calls), "{id}: {calls} calls");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_charges_what_it_stored() {
    let mut chance = seed::chance();
    let mut host = host().await;
    let (client, env) = (host.client().clone(), host.env.clone());
    begin(std::slice::from_ref(&client)).await;
    for kill in 0..kills() {
        env.runtime.sleep(chance.length(100, 500)).await;
        host.server.kill().unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        host.server.restart().await.unwrap_or_else(|error| panic!("kill {kill}: {error}"));
    }
    check(&client, &env).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_that_are_killed_charge_what_they_stored() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let mut chance = seed::chance();
    let url = cluster.database().url();
    let mut group = HostGroup::start(SEGNO, &url, 2, Default::default(), &[]).await;
    group.deploy("purse", guests::component("purse")).await;
    begin(&[group.client(0).clone(), group.client(1).clone()]).await;
    let env = group.env.clone();
    for kill in 0..kills() as usize {
        env.runtime.sleep(chance.length(100, 500)).await;
        let host = &mut group.hosts[kill % 2];
        host.kill().unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        host.restart().await.unwrap_or_else(|error| panic!("kill {kill}: {error}"));
    }
    check(group.client(0), &env).await;
}
