use std::{
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use axum::{
    body::Body,
    http::{Extensions, Request, header},
};
use futures::{Stream, poll, stream};
use segno_core::time::Millis;
use serde_json::json;

use super::ApiWorld;
use crate::AdmissionLimits;

/// A start request with this stream as its body.
fn coming(body: impl Stream<Item = Result<String, io::Error>> + Send + 'static) -> Request<Body> {
    Request::post("/v1/invocations")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from_stream(body))
        .expect("a request")
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_in_vain_is_refused_and_told_when_to_come_again() {
    let limits = AdmissionLimits { commands: 1, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let start = json!({ "target": "shop/ship", "id": "one" });

    let busy = world.api.room().await.expect("there is room for one");
    let answer = world.post("/v1/invocations", start.clone()).await;
    assert!(answer.problem(503, "overloaded").contains("nothing was done"));
    assert_eq!(answer.retry_after.as_deref(), Some("1"));

    drop(busy);
    world.get("/v1/invocations/one").await.problem(404, "unknown-invocation");
    assert_eq!(world.post("/v1/invocations", start).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_gets_it_in_turn() {
    let limits = AdmissionLimits { commands: 1, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let start =
        |id: &str| world.post("/v1/invocations", json!({ "target": "shop/ship", "id": id }));

    let busy = world.api.room().await.expect("there is room for one");
    let (mut first, mut second) = (pin!(start("first")), pin!(start("second")));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    drop(busy);
    assert_eq!(first.await.status, 201);
    assert_eq!(second.await.status, 201);
}

#[tokio::test]
async fn bodies_share_one_room_and_give_it_back() {
    let limits = AdmissionLimits { body_bytes: 200, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let start = |id: String| json!({ "target": "shop/ship", "id": id });

    let answer = world.post("/v1/invocations", start("x".repeat(200))).await;
    assert!(answer.problem(503, "overloaded").contains("bodies"));
    assert_eq!(answer.retry_after.as_deref(), Some("1"));
    for number in 0..10 {
        let answer = world.post("/v1/invocations", start(format!("small-{number}"))).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    let mut busy = world.api.admission.body();
    busy.grow(190).expect("nothing else is read");
    world.post("/v1/invocations", start("next".to_owned())).await.problem(503, "overloaded");
}

#[tokio::test(start_paused = true)]
async fn bodies_keep_their_room_until_their_handler_is_done() {
    let limits = AdmissionLimits { commands: 1, body_bytes: 300, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let start = |letter: &str| {
        world.post("/v1/invocations", json!({ "target": "shop/ship", "id": letter.repeat(150) }))
    };

    let busy = world.api.room().await.expect("there is room for one");
    let mut first = pin!(start("a"));
    assert!(poll!(&mut first).is_pending(), "it was read, and waits for the store");
    assert!(start("b").await.problem(503, "overloaded").contains("bodies"));
    drop(busy);
    assert_eq!(first.await.status, 201);
    assert_eq!(start("b").await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn who_waits_to_be_let_in_is_not_read_before() {
    let limits = AdmissionLimits { requests: 1, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let is_read = Arc::new(AtomicBool::new(false));
    let body = {
        let is_read = is_read.clone();
        stream::once(async move {
            is_read.store(true, Ordering::Relaxed);
            Ok(json!({ "target": "shop/ship", "id": "one" }).to_string())
        })
    };

    let busy = world.api.let_in(&Extensions::new()).await.expect("there is room for one");
    let mut waiting = pin!(world.ask(coming(body)));
    assert!(poll!(&mut waiting).is_pending());
    assert!(!is_read.load(Ordering::Relaxed), "its body is left where it is");
    drop(busy);
    assert_eq!(waiting.await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_let_in_is_told_when_to_come_again() {
    let limits = AdmissionLimits { requests: 1, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let start = json!({ "target": "shop/ship", "id": "one" });

    let busy = world.api.let_in(&Extensions::new()).await.expect("there is room for one");
    let answer = world.post("/v1/invocations", start.clone()).await;
    assert!(answer.problem(503, "overloaded").contains("nothing was done"));
    assert_eq!(answer.retry_after.as_deref(), Some("1"));
    world.get("/v1/invocations/one").await.problem(404, "unknown-invocation");
    drop(busy);
    assert_eq!(world.post("/v1/invocations", start).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_slow_to_come_keeps_nobody_out() {
    let limits = AdmissionLimits { requests: 1, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let mut slow = pin!(world.ask(coming(stream::pending())));
    assert!(poll!(&mut slow).is_pending());
    let start = json!({ "target": "shop/ship", "id": "one" });
    let started = async { futures::join!(world.post("/v1/invocations", start), slow) };
    let (answer, slow) = started.await;
    assert_eq!(answer.status, 201);
    slow.problem(408, "body-too-slow");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_what_was_started_before_keeps_nobody_out() {
    let limits = AdmissionLimits { requests: 1, commands: 1, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let start = |id: &str, wait_ms: u64| {
        let body = json!({ "target": "shop/ship", "id": id, "wait_ms": wait_ms });
        world.post("/v1/invocations", body)
    };
    assert_eq!(start("first", 0).await.status, 201);
    let both = async { futures::join!(start("first", 60_000), start("second", 0)) };
    let (again, second) = both.await;
    assert_eq!(second.status, 201);
    assert_eq!(again.ok()["invocation"]["state"], "pending");
}

/// Reads do not slow commands down, and have a separate limit.
#[tokio::test(start_paused = true)]
async fn who_looks_around_while_others_do_waits_and_keeps_nobody_from_working() {
    let limits = AdmissionLimits { reads: 1, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let start = |id: &str| {
        let body = json!({ "target": "shop/ship", "id": id });
        world.post("/v1/invocations", body)
    };
    assert_eq!(start("one").await.status, 201);

    let busy = world.api.look().await.expect("there is room for one");
    for path in [
        "/v1/invocations",
        "/v1/invocations?label=a=b",
        "/v1/invocations/one",
        "/v1/invocations/one/journal",
        "/v1/invocations/one/logs",
        "/v1/promises",
        "/v1/promises/one",
        "/v1/promises/one/tree",
        "/v1/tasks",
        "/v1/tasks/one",
        "/v1/schedules",
        "/v1/modules",
        "/v1/modules/shop",
        "/v1/events",
    ] {
        let answer = world.get(path).await;
        assert!(answer.problem(503, "overloaded").contains("reads"), "{path}");
        assert_eq!(answer.retry_after.as_deref(), Some("1"), "{path}");
    }
    assert_eq!(start("two").await.status, 201);
    assert_eq!(start("two").await.status, 200);
    for path in ["/health", "/ready", "/metrics", "/v1/invocations/two/wait?timeout_ms=1"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
    drop(busy);
    assert_eq!(world.get("/v1/invocations").await.status, 200);
}

/// Occasional single bytes would hold a permit for five minutes, on any number of connections.
#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_not_waited_for() {
    let world = ApiWorld::shop().await;
    let (runtime, bytes) = (world.api.host.env.runtime.clone(), Arc::new(AtomicUsize::new(0)));
    let came = bytes.clone();
    let trickle = stream::unfold((runtime, came), async |(runtime, came)| {
        runtime.sleep(Millis(2_000)).await;
        came.fetch_add(1, Ordering::Relaxed);
        Some((Ok("{".to_owned()), (runtime, came)))
    });
    world.ask(coming(trickle)).await.problem(408, "body-too-slow");
    // The rest of a few bodies is read so that the requests can be refused.
    assert!(bytes.load(Ordering::Relaxed) < 10, "{bytes:?}");
}
