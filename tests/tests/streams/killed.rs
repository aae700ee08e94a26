//! Hosts that are killed while streams are written and followed. No item is missing, none comes
//! twice, and every reader goes on where it was.
//!
//! `SEGNO_KILLS` sets the number of kills (6), `SEGNO_SEED` repeats a run's draws.

use std::slice;

use segno_client::Client;
use segno_core::{id::ObjectId, time::Millis};
use segno_demo::server::DemoServer;
use segno_env::Env;
use serde_json::{Value, json};
use tests::{guests, host_group::HostGroup, seed};
use throwaway_postgres::Cluster;

use super::{SEGNO, host, messages};

const ITEMS: u64 = 10_000;
/// Time within which the streams are complete.
const LIMIT: Millis = Millis(120_000);

/// An execution and the stream that it writes.
const WRITERS: [(&str, &str, &str); 2] =
    [("told", "teller/tell", "numbers"), ("relayed", "teller/relay", "tokens")];

/// Kills the hosts one after the other, and starts each again.
async fn kill_in_turn(hosts: &mut [DemoServer], env: &Env) {
    let (mut chance, count) = (seed::chance(), hosts.len());
    for kill in 0..seed::number("SEGNO_KILLS").unwrap_or(6) as usize {
        env.runtime.sleep(chance.length(100, 500)).await;
        let host = &mut hosts[kill % count];
        host.kill().unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        host.restart().await.unwrap_or_else(|error| panic!("kill {kill}: {error}"));
    }
}

async fn replays_as_recorded(client: &Client, id: &str) {
    let replay = client.replay(id, None).await.unwrap_or_else(|error| panic!("{id}: {error}"));
    assert_eq!(replay.matched, replay.journal_len, "{id}: {replay:#?}");
}

/// Follows a stream to its end, through `clients` in turn. A read that fails is repeated.
async fn follow(clients: Vec<Client>, id: &str, name: &str, env: &Env) -> Vec<Value> {
    let (mut items, mut offset, mut turn) = (Vec::new(), "-1".to_owned(), 0);
    loop {
        let client = &clients[turn % clients.len()];
        turn += 1;
        match client.stream(id, name, &offset, true).await {
            Ok(data) => {
                items.extend(messages(&data.body));
                offset = data.next_offset;
                if data.closed {
                    return items;
                }
            }
            Err(_) => env.runtime.sleep(Millis(20)).await,
        }
    }
}

fn is_whole(items: &[Value]) -> bool {
    items.len() as u64 == ITEMS && (0..).zip(items).all(|(number, item)| *item == json!(number))
}

fn input() -> Value {
    json!({ "items": ITEMS, "pause_every": 100, "pause_ms": 15 })
}

#[tokio::test(flavor = "multi_thread")]
async fn no_item_is_lost_or_doubled_when_the_host_is_killed() {
    let mut host = host(&[]).await;
    for (id, target, _) in WRITERS {
        host.start_as(id, target, input()).await.expect("it starts");
    }
    let (client, env) = (host.client().clone(), host.env.clone());
    let following = futures::future::join_all(WRITERS.map(|(id, _, name)| {
        let clients = vec![client.clone()];
        let env = &env;
        async move { follow(clients, id, name, env).await }
    }));
    let killing = kill_in_turn(slice::from_mut(&mut host.server), &env);
    let both = async { tokio::join!(following, killing).0 };
    let followed = env.within(LIMIT, both).await.expect("in time");
    for ((id, ..), items) in WRITERS.iter().zip(&followed) {
        assert!(is_whole(items), "{id}: {} items", items.len());
    }
    for (id, _, _) in WRITERS {
        replays_as_recorded(&client, id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_of_an_object_that_are_killed_append_every_item_once_and_in_order() {
    let mut host = host(&[]).await;
    let owner = ObjectId::from("teller/Ledger@a/b").streams();
    let input = json!({ "items": ITEMS / 10, "pause_every": 100, "pause_ms": 15 });
    for number in 0..10 {
        let id = format!("added-{number}");
        host.start_as(&id, "teller/Ledger@a/b/add", input.clone()).await.expect("it starts");
    }
    host.start_as("last", "teller/Ledger@a/b/end", Value::Null).await.expect("it starts");
    let (client, env) = (host.client().clone(), host.env.clone());
    let following = follow(vec![client.clone()], owner.as_str(), "log", &env);
    let killing = kill_in_turn(slice::from_mut(&mut host.server), &env);
    let both = async { tokio::join!(following, killing).0 };
    let items = env.within(LIMIT, both).await.expect("in time");
    assert!(is_whole(&items), "{} items", items.len());
    for id in ["added-0", "added-9"] {
        replays_as_recorded(&client, id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_one_host_follow_what_the_other_writes_until_it_is_killed() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let url = cluster.database().url();
    let mut group = HostGroup::start(SEGNO, &url, 2, Default::default(), &[]).await;
    group.deploy("teller", guests::component("teller")).await;
    let clients = vec![group.client(0).clone(), group.client(1).clone()];
    for (number, (id, target, _)) in WRITERS.iter().enumerate() {
        let start = segno_api::model::StartInvocation {
            target: (*target).to_owned(),
            id: Some((*id).to_owned()),
            input: input(),
            ..Default::default()
        };
        clients[number].start(&start).await.unwrap_or_else(|error| panic!("{error}"));
    }
    let env = group.env.clone();
    let following = futures::future::join_all(WRITERS.map(|(id, _, name)| {
        let (clients, env) = (clients.clone(), &env);
        async move { follow(clients, id, name, env).await }
    }));
    let killing = kill_in_turn(&mut group.hosts, &env);
    let both = async { tokio::join!(following, killing).0 };
    let followed = env.within(LIMIT, both).await.expect("in time");
    for ((id, ..), items) in WRITERS.iter().zip(&followed) {
        assert!(is_whole(items), "{id}: {} items", items.len());
    }
}
