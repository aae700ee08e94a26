//! Published events and a real host that is killed. Every event arrives, always under the same id,
//! and an accepted event is never delivered again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use segno_api::model::EventQuery;
use segno_core::time::Millis;
use segno_demo::payments::PaymentsOptions;
use segno_engine::events::CloudEvent;
use segno_env::Env;
use serde_json::json;
use tests::{guests, test_host::TestHost};
use tokio::net::TcpListener;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A receiver of events, which can refuse them.
#[derive(Clone, Default)]
struct Receiver {
    posts: Arc<Mutex<Vec<CloudEvent>>>,
    refuses: Arc<AtomicBool>,
}

impl Receiver {
    /// Starts a receiver on a free port. Returns its address.
    async fn start(env: &Env) -> (Self, String) {
        let receiver = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new().route("/hook", post(take)).with_state(receiver.clone());
        let serving = async move { axum::serve(listener, router).await.expect("it serves") };
        env.runtime.spawn("receiver", Box::pin(serving));
        (receiver, format!("http://{address}/hook"))
    }

    /// Number of deliveries of each event, by id.
    fn taken(&self) -> BTreeMap<String, usize> {
        let mut taken = BTreeMap::new();
        for event in self.posts.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            *taken.entry(event.id.clone()).or_default() += 1;
        }
        taken
    }
}

async fn take(State(receiver): State<Receiver>, Json(event): Json<CloudEvent>) -> StatusCode {
    if receiver.refuses.load(Ordering::Relaxed) {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    receiver.posts.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    StatusCode::NO_CONTENT
}

/// Ids of the events of `herald/announce`. Command 2n is the event, 2n + 1 the pause.
fn expected(invocation: &str, count: usize) -> Vec<String> {
    (0..=count).map(|number| format!("{invocation}/{}", number * 2)).collect()
}

async fn owed(host: &TestHost) -> Vec<CloudEvent> {
    let query = EventQuery { limit: Some(1_000), ..EventQuery::default() };
    host.client().events(&query).await.unwrap_or_else(|error| panic!("{error}")).events
}

#[tokio::test(flavor = "multi_thread")]
async fn pushed_events_arrive_however_often_the_host_is_killed() {
    let (receiver, url) = Receiver::start(&Env::system()).await;
    let arguments = ["--events-url", &url, "--events-secret", "hush"];
    let mut host = TestHost::with(SEGNO, PaymentsOptions::default(), &arguments).await;
    host.deploy("herald", guests::component("herald")).await;
    for invocation in ["a", "b", "c"] {
        let started = host.start_as(invocation, "herald/announce", json!([8, 150])).await;
        started.unwrap_or_else(|error| panic!("{error}"));
    }
    for (kill, pause) in [300, 150, 500, 50, 400].into_iter().enumerate() {
        host.env.runtime.sleep(Millis(pause)).await;
        // Now and then the receiver is out of order as well.
        receiver.refuses.store(kill % 2 == 1, Ordering::Relaxed);
        host.server.kill().unwrap_or_else(|error| panic!("{error}"));
        host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    }
    receiver.refuses.store(false, Ordering::Relaxed);
    for invocation in ["a", "b", "c"] {
        host.ended(invocation).await;
    }
    let mut wanted: Vec<String> = ["a", "b", "c"].iter().flat_map(|id| expected(id, 8)).collect();
    wanted.sort();
    let give_up_at = host.env.clock.now() + Millis(60_000);
    while !owed(&host).await.is_empty() {
        assert!(host.env.clock.now() < give_up_at, "owed: {:#?}", owed(&host).await);
        host.env.runtime.sleep(Millis(50)).await;
    }
    let taken = receiver.taken();
    assert_eq!(taken.keys().cloned().collect::<Vec<_>>(), wanted);
    // Accepted events are not delivered again, not even after another start.
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    host.env.runtime.sleep(Millis(1_000)).await;
    assert_eq!(receiver.taken(), taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_read_again_under_the_same_ids_until_they_are_acknowledged() {
    let mut host = TestHost::start(SEGNO).await;
    host.deploy("herald", guests::component("herald")).await;
    let started = host.start_as("a", "herald/announce", json!([3, 1])).await;
    started.unwrap_or_else(|error| panic!("{error}"));
    host.ended("a").await;
    let before = owed(&host).await;
    let ids =
        |events: &[CloudEvent]| events.iter().map(|event| event.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&before), expected("a", 3));
    assert_eq!(before[3].data, Some(json!({ "announced": 3 })));
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(owed(&host).await, before, "they are not acknowledged");
    let some = ids(&before[..2]);
    host.client().acknowledge(some).await.unwrap_or_else(|error| panic!("{error}"));
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(owed(&host).await, before[2..]);
    let query = EventQuery { topic: Some("news.*".to_owned()), ..EventQuery::default() };
    let page = host.client().events(&query).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ids(&page.events), ids(&before[2..3]));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_published_before_there_was_a_receiver_are_pushed_once_there_is_one() {
    let mut host = TestHost::start(SEGNO).await;
    host.deploy("herald", guests::component("herald")).await;
    let started = host.start_as("a", "herald/announce", json!([3, 1])).await;
    started.unwrap_or_else(|error| panic!("{error}"));
    host.ended("a").await;
    let (receiver, url) = Receiver::start(&host.env).await;
    let routes = |topics: &str| format!("[[push]]\ntopics = [\"{topics}\"]\nurl = \"{url}\"\n");
    let file = host.folder().join("data/events.toml");
    for (topics, left) in [("end", 3), ("news.*", 0)] {
        std::fs::write(&file, routes(topics)).expect("it can be written");
        host.server.kill().unwrap_or_else(|error| panic!("{error}"));
        host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
        let give_up_at = host.env.clock.now() + Millis(30_000);
        while owed(&host).await.len() > left {
            assert!(host.env.clock.now() < give_up_at, "{:?}", receiver.taken());
            host.env.runtime.sleep(Millis(50)).await;
        }
    }
    assert_eq!(receiver.taken().len(), 4);
}
