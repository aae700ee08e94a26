//! Queries and updates on real hosts. An accepted update is executed once, whatever crashes. Also
//! misuse.
//!
//! `SEGNO_OPERATIONS` sets the number of bids of each bidder (16).

use std::collections::BTreeSet;

use segno_api::model::{
    InvocationState, SendQuery, SendUpdate, StartFirst, StartInvocation, UpdateAnswer, UpdateState,
    UpdateWait,
};
use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_demo::{payments::PaymentsOptions, server::DemoServer};
use segno_env::Env;
use serde_json::{Value as Json, json};
use tests::{guests, host_group::HostGroup, kills::Kills, seed, test_host::TestHost};
use throwaway_postgres::Cluster;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
const BIDDERS: usize = 5;

/// Asks the hosts in turn until one answers, or the workflow itself refuses.
async fn asked<T>(
    clients: &[Client],
    first: usize,
    env: &Env,
    ask: impl AsyncFn(&Client) -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    for attempt in 0..400 {
        match ask(&clients[(first + attempt) % clients.len()]).await {
            Err(refused @ ClientError::Refused(_)) if refused.code() == "update-refused" => {
                return Err(refused);
            }
            Err(_) => env.runtime.sleep(Millis(50)).await,
            answered => return answered,
        }
    }
    panic!("no host has answered")
}

async fn leader(clients: &[Client], first: usize, env: &Env) -> Option<u64> {
    let query = SendQuery::default();
    let answer =
        asked(clients, first, env, async |client| client.query("lot", "leader", &query).await);
    answer.await.expect("a query is answered").value["amount"].as_u64()
}

/// Amounts that were accepted according to the answers to a bidder.
async fn bids(clients: &[Client], number: usize, env: &Env, count: u64, kills: &Kills) -> Vec<u64> {
    let mut accepted = Vec::new();
    for turn in 0..count {
        kills.before(turn as usize, count as usize, env).await;
        let amount = leader(clients, number, env).await.map_or(100, |amount| amount + 1);
        let update = SendUpdate {
            input: json!({ "bidder": number.to_string(), "amount": amount }),
            key: Some(format!("{number}-{turn}")),
            timeout_ms: Some(5_000),
            ..SendUpdate::default()
        };
        let told = asked(clients, number, env, async |client| {
            let answer = client.update("lot", "bid", &update).await?;
            match answer.state {
                UpdateState::Accepted => Err(ClientError::Slow { server: String::new() }),
                _ => Ok(answer),
            }
        });
        if let Ok(answer) = told.await {
            let next = answer.output.as_ref().and_then(Json::as_u64);
            assert_eq!(next, Some(amount + 1), "{answer:?}");
            accepted.push(amount);
        }
    }
    accepted
}

/// Runs bidders at one auction while hosts are killed.
async fn auction(clients: &[Client], env: &Env, hosts: &mut [DemoServer]) {
    clients[0].deploy(guests::component("auction"), Some("auction")).await.expect("a module");
    let start = StartInvocation {
        id: Some("lot".to_owned()),
        target: "auction/auction".to_owned(),
        input: json!({ "name": "a clock", "least": 100, "open_s": 3_600 }),
        ..StartInvocation::default()
    };
    clients[0].start(&start).await.expect("it starts");
    let count = seed::number("SEGNO_OPERATIONS").unwrap_or(16);
    let kills = Kills::of(4);
    let bidders = (0..BIDDERS).map(|number| bids(clients, number, env, count, &kills));
    let accepted = kills.beside(hosts, env, futures::future::join_all(bidders)).await;
    // Each amount was accepted once, from one bidder, and each accepted amount is stored.
    let amounts: Vec<u64> = accepted.iter().flatten().copied().collect();
    let distinct: BTreeSet<u64> = amounts.iter().copied().collect();
    assert_eq!(distinct.len(), amounts.len(), "{accepted:?}");
    // When all bid the same amount at the same time, one of them gets it.
    assert!(amounts.len() as u64 * 2 > count, "{} bids were accepted", amounts.len());
    for (number, accepted) in accepted.iter().enumerate() {
        let query = SendQuery { input: json!(number.to_string()), at: None };
        let answer = asked(clients, number, env, async |client| {
            client.query("lot", "bids-of", &query).await
        });
        assert_eq!(answer.await.expect("an answer").value, json!(accepted), "bidder {number}");
    }
    let close = SendUpdate::default();
    let closed = asked(clients, 0, env, async |client| client.update("lot", "close", &close).await);
    assert_eq!(closed.await.expect("an answer").state, UpdateState::Completed);
    let replay = clients[0].replay("lot", None).await.expect("it is replayed");
    assert_eq!(replay.matched, replay.journal_len, "{replay:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_a_host_that_is_killed_are_done_once_and_answered() {
    let mut host = TestHost::start(SEGNO).await;
    let (clients, env) = ([host.client().clone()], host.env.clone());
    auction(&clients, &env, std::slice::from_mut(&mut host.server)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_three_hosts_that_are_killed_are_done_once_and_answered() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database().url();
    let payments = PaymentsOptions::default();
    let mut group = HostGroup::start(SEGNO, &url, 3, payments, &["--lease", "2"]).await;
    let clients: Vec<Client> = group.hosts.iter().map(|host| host.client().clone()).collect();
    auction(&clients, &group.env, &mut group.hosts).await;
    for host in group.hosts {
        host.stop().await.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// One request starts a missing workflow and sends the update. Its repetition does neither again.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_may_start_what_it_is_for() {
    let host = TestHost::start(SEGNO).await;
    let client = host.client();
    client.deploy(guests::component("shelf"), Some("shelf")).await.expect("a module");
    let start = |target: &str, input: Json| {
        Some(StartFirst { target: target.to_owned(), input, ..StartFirst::default() })
    };
    let with =
        |start, input, key: &str| SendUpdate { start, key: Some(key.to_owned()), ..of(input) };
    let nothing = with(start("shelf/answers", Json::Null), json!("7"), "a");
    let refused = client.update("it", "set", &nothing).await.expect_err("it does not fit");
    assert_eq!(refused.code(), "invalid-input");
    let refused = client.invocation("it").await.expect_err("nothing was started");
    assert_eq!(refused.code(), "unknown-invocation");
    for _ in 0..2 {
        let update = with(start("shelf/answers", Json::Null), json!(7), "a");
        let answer = client.update("it", "set", &update).await.expect("an answer");
        assert_eq!((answer.output, &*answer.promise), (Some(json!(0)), "it/a/0"));
    }
    let next = with(start("shelf/answers", Json::Null), json!(8), "b");
    assert_eq!(client.update("it", "set", &next).await.expect("an answer").output, Some(json!(7)));
    let other = with(start("shelf/answers", json!(1)), json!(9), "c");
    let refused = client.update("it", "set", &other).await.expect_err("it is another");
    assert_eq!(refused.code(), "key-reused", "{refused}");
}

fn of(input: Json) -> SendUpdate {
    SendUpdate { input, ..SendUpdate::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_use_is_refused_by_name_and_leaves_no_trace() {
    let host = TestHost::start(SEGNO).await;
    let client = host.client();
    client.deploy(guests::component("shelf"), Some("shelf")).await.expect("a module");
    host.start_as("it", "shelf/answers", Json::Null).await.expect("it starts");
    host.until("it", "suspended", |seen| seen.state == InvocationState::Suspended).await;
    let records = async || client.journal("it", 0, 100).await.expect("a journal").records.len();
    let before = records().await;
    for (name, input, code, said) in [
        ("nothing", Json::Null, "unknown-query", "it has endless, fails, number, panics"),
        ("number", json!(1), "invalid-input", "does not fit the query `number` of `answers`"),
        ("fails", Json::Null, "query-failed", "no number today (code 418)"),
        ("panics", Json::Null, "query-trapped", "there is no number"),
        ("endless", Json::Null, "query-trapped", "`limits.cpu_ms`"),
    ] {
        let refused = client.query("it", name, &SendQuery { input, at: None }).await;
        let refused = refused.expect_err(name);
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.to_string().contains(said), "{refused}");
    }
    for (name, input, code, said) in [
        ("nothing", Json::Null, "unknown-update", "it has set, stay"),
        ("set", json!("1"), "invalid-input", "does not fit the update `set` of `answers`"),
        ("set", json!(100), "update-refused", "too large (code 422)"),
    ] {
        let refused = client.update("it", name, &of(input)).await.expect_err(name);
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.to_string().contains(said), "{refused}");
    }
    assert_eq!(records().await, before);
    // An update that was accepted and fails is answered with its failure.
    let failed = client.update("it", "set", &of(json!(5))).await.expect("an answer");
    assert_eq!(failed.failure.map(|failure| failure.code), Some(409));
    let wait = UpdateWait::Accepted;
    let stays = client.update("it", "stay", &SendUpdate { wait, ..of(Json::Null) }).await;
    let UpdateAnswer { state, promise, .. } = stays.expect("it is accepted");
    assert_eq!(state, UpdateState::Accepted);
    let ended = client.update("it", "set", &of(json!(10))).await.expect("an answer");
    assert_eq!(ended.output, Some(json!(0)));
    assert_eq!(host.ended("it").await.output, Some(json!(10)));
    // The workflow has ended. It still answers queries, accepts no updates, and owes no answers.
    let number = client.query("it", "number", &SendQuery::default()).await.expect("an answer");
    assert_eq!(number.value, json!(10));
    let early = SendQuery { at: Some(1), ..SendQuery::default() };
    let early = client.query("it", "number", &early).await.expect("an answer");
    assert_eq!((early.value, early.records), (json!(0), 1));
    let late = client.update("it", "set", &of(json!(11))).await.expect_err("it has ended");
    assert_eq!(late.code(), "already-settled", "{late}");
    let left = async || client.promise(&promise).await.expect("it is there").state;
    for _ in 0..100 {
        if format!("{:?}", left().await) == "Cancelled" {
            return;
        }
        host.env.runtime.sleep(Millis(20)).await;
    }
    panic!("`{promise}` is {:?}", left().await);
}
