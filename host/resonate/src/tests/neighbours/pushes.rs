//! Workers that receive messages by HTTP posts.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse as _, Redirect},
    routing::post,
};
use bytes::Bytes;
use futures::StreamExt as _;
use segno_engine::metrics::PushResult;
use segno_env::{Runtime as _, SystemRuntime};
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;

use super::{super::world::create, ListeningHost};

/// A server of workers, reliable and faulty ones.
struct WorkerServer {
    address: String,
    /// Ids of accepted messages.
    taken: Arc<Mutex<BTreeSet<String>>>,
    hanging: Arc<AtomicUsize>,
    /// True once the failing server works again.
    well: Arc<AtomicBool>,
}

impl WorkerServer {
    async fn start() -> Self {
        let taken = Arc::<Mutex<BTreeSet<String>>>::default();
        let hanging = Arc::new(AtomicUsize::new(0));
        let well = Arc::new(AtomicBool::new(false));
        let seen = taken.clone();
        let good = move |message: axum::Json<Json>| {
            take(&seen, &message);
            async { StatusCode::OK }
        };
        let (seen, is_well) = (taken.clone(), well.clone());
        let ailing = move |message: axum::Json<Json>| {
            let status = match is_well.load(Ordering::SeqCst) {
                true => {
                    take(&seen, &message);
                    StatusCode::NO_CONTENT
                }
                false => StatusCode::INTERNAL_SERVER_ERROR,
            };
            async move { status }
        };
        let waiting = hanging.clone();
        let hangs = move || {
            waiting.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<StatusCode>()
        };
        let endless = || async {
            let body = futures::stream::repeat(Bytes::from_static(&[b'x'; 4_096]))
                .map(Ok::<_, std::io::Error>);
            (StatusCode::BAD_GATEWAY, Body::from_stream(body)).into_response()
        };
        let breaks = || async {
            let pieces = [Ok("half a"), Err(std::io::Error::other("the end"))];
            let body = Body::from_stream(futures::stream::iter(pieces));
            (StatusCode::BAD_REQUEST, [(header::CONTENT_LENGTH, "100")], body).into_response()
        };
        let router = Router::new()
            .route("/good", post(good))
            .route("/ailing", post(ailing))
            .route("/hangs", post(hangs))
            .route("/redirects", post(|| async { Redirect::temporary("/good") }))
            .route("/endless", post(endless))
            .route("/breaks", post(breaks));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let serving = async move { axum::serve(listener, router).await.expect("it serves") };
        SystemRuntime.spawn("workers", Box::pin(serving));
        Self { address, taken, hanging, well }
    }

    fn at(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    fn taken(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

fn take(taken: &Mutex<BTreeSet<String>>, message: &Json) {
    let data = &message["data"];
    let id = data["task"]["id"].as_str().or_else(|| data["promise"]["id"].as_str());
    let id = id.expect("a message is about something").to_owned();
    taken.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_hangs_fails_or_talks_without_end_holds_up_no_other() {
    let host = ListeningHost::new().await;
    let (world, workers) = (&host.world, WorkerServer::start().await);
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let refuses = format!("http://{}/x", closed.local_addr().expect("an address"));
    drop(closed);
    let elsewhere = WorkerServer::start().await;
    let bad = ["ailing", "hangs", "redirects", "endless", "breaks"].map(|path| workers.at(path));
    let began = world.host.env.clock.now();
    for n in 0..30 {
        for (kind, target) in bad.iter().chain([&refuses]).enumerate() {
            world.done("promise.create", create(&format!("bad{kind}:{n}"), target)).await;
        }
        world.done("promise.create", create(&format!("good:{n}"), &elsewhere.at("good"))).await;
    }
    host.until(50, "the good one gets everything", || elsewhere.taken() >= 30).await;
    let took = world.host.env.clock.now().since(began);
    assert!(took.0 < 10_000, "no server that hangs was given up yet: {took:?}");
    let delivery = &world.host.metrics.delivery;
    let hanging = workers.hanging.load(Ordering::SeqCst);
    assert!((1..=16).contains(&hanging), "{hanging} messages are on their way to who hangs");
    assert_eq!(workers.taken(), 0, "a redirection is not followed");
    for named in [PushResult::Taken, PushResult::Refused, PushResult::Failed, PushResult::HeldBack]
    {
        assert!(delivery.pushes(named) > 0, "{named:?} is counted");
    }
    host.until(500, "what hangs is given up", || workers.hanging.load(Ordering::SeqCst) > 16).await;
    // The failing server receives its tasks once it works again.
    workers.well.store(true, Ordering::SeqCst);
    host.until(500, "it gets all of them", || workers.taken() == 30).await;
}

#[tokio::test(start_paused = true)]
async fn who_fails_is_left_in_peace_for_longer_and_longer() {
    let host = ListeningHost::new().await;
    let (world, workers) = (&host.world, WorkerServer::start().await);
    let address = workers.at("ailing");
    world.done("promise.create", json!({ "id": "p", "timeoutAt": 9_000_000_000_000_i64 })).await;
    world.done("promise.register_listener", json!({ "awaited": "p", "address": address })).await;
    world.done("promise.settle", json!({ "id": "p", "state": "resolved" })).await;
    let delivery = &world.host.metrics.delivery;
    let mut failures = Vec::new();
    for _ in 0..6 {
        let next = delivery.pushes(PushResult::Refused) + 1;
        host.until(50, "it is tried again", || delivery.pushes(PushResult::Refused) >= next).await;
        failures.push(world.host.env.clock.now());
    }
    let waits: Vec<i64> = failures.windows(2).map(|pair| pair[1].since(pair[0]).0).collect();
    assert!(waits[4] >= 800 && waits[4] >= 4 * waits[0], "{waits:?}");
    workers.well.store(true, Ordering::SeqCst);
    host.until(100, "the settlement is told", || workers.taken() == 1).await;
    let owed = async || world.stores().read().dump().await.expect("a dump").outbox.len();
    for _ in 0..500 {
        if owed().await == 0 {
            break;
        }
        host.breathe().await;
    }
    assert_eq!(owed().await, 0, "once is enough");
}

#[tokio::test(start_paused = true)]
async fn thousands_of_tasks_for_who_hangs_cost_a_bounded_memory() {
    let host = ListeningHost::new().await;
    let (world, workers) = (&host.world, WorkerServer::start().await);
    let target = workers.at("hangs");
    let push = &world.front.deliverer.push;
    for n in 0..3_000 {
        world.done("promise.create", create(&format!("t{n}"), &target)).await;
        assert!(push.offering() <= 1_024 && push.under_way() <= 16, "task {n}");
    }
    let hanging = || workers.hanging.load(Ordering::SeqCst);
    host.until(100, "some of them hang", || hanging() >= 16).await;
    for _ in 0..50 {
        host.time.advance(1_000).await;
        host.breathe().await;
        assert!(push.offering() <= 1_024 && push.under_way() <= 16);
    }
    host.is_well().await;
}
