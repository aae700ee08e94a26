use axum::{
    body::{Body, BodyDataStream},
    http::{Request, header},
};
use futures::{FutureExt as _, StreamExt as _};
use segno_core::time::Millis;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::ApiWorld;
use crate::router;

async fn stream(world: &ApiWorld, query: &str) -> BodyDataStream {
    let request = Request::get(format!("/v1/stream{query}")).header(header::HOST, "localhost");
    let answer = router(world.api.clone()).oneshot(request.body(Body::empty()).expect("a request"));
    let answer = answer.await.expect("the router answers");
    assert_eq!(
        (answer.status(), &answer.headers()[header::CONTENT_TYPE]),
        (axum::http::StatusCode::OK, &"text/event-stream".parse().expect("a value"))
    );
    let mut frames = answer.into_body().into_data_stream();
    let first = frames.next().await.expect("a frame").expect("a frame");
    assert!(first.starts_with(b"retry: "), "it says at once that it is open");
    frames
}

/// Reads the data of the next event.
async fn event(world: &ApiWorld, frames: &mut BodyDataStream) -> Value {
    let frame = world.api.host.env.within(Millis(5_000), frames.next()).await;
    let frame = frame.expect("soon").expect("it goes on").expect("a frame");
    let text = String::from_utf8(frame.to_vec()).expect("a text");
    let data = text.strip_prefix("event: changed\ndata: ").expect("an event of changes");
    serde_json::from_str(data.trim()).expect("JSON")
}

#[tokio::test]
async fn a_stream_names_what_a_commit_changed() {
    let world = ApiWorld::shop().await;
    assert!(!world.api.host.notifier.changes.are_watched());
    let mut all = stream(&world, "").await;
    let mut one = stream(&world, "?id=a").await;
    assert!(world.api.host.notifier.changes.are_watched());
    world.start("b").await.ok();
    assert_eq!(event(&world, &mut all).await, json!({ "ids": ["b"] }));
    world.start("a").await.ok();
    assert_eq!(event(&world, &mut one).await, json!({ "ids": ["a"] }));
    assert_eq!(event(&world, &mut all).await, json!({ "ids": ["a"] }));
    // A claim that changes hands, a growing journal and an end are all reported.
    world.acquire("a").await;
    assert_eq!(event(&world, &mut one).await, json!({ "ids": ["a"] }));
    world.post("/v1/invocations/a/kill", json!({})).await.ok();
    assert_eq!(event(&world, &mut one).await, json!({ "ids": ["a"] }));
    assert!(one.next().now_or_never().is_none(), "nothing else");
    drop((all, one));
    assert!(!world.api.host.notifier.changes.are_watched(), "a host that nobody looks at");
}

#[tokio::test]
async fn a_stream_ends_with_its_host() {
    let world = ApiWorld::new();
    let mut frames = stream(&world, "").await;
    world.api.stopping.cancel();
    assert!(frames.next().await.is_none());
}

#[tokio::test]
async fn streams_are_bounded() {
    let world = ApiWorld::new();
    let mut open = Vec::new();
    for _ in 0..128 {
        open.push(stream(&world, "").await);
    }
    world.get("/v1/stream").await.problem(503, "overloaded");
    open.pop();
    drop(stream(&world, "").await);
    world.get("/v1/stream?id=.").await.problem(400, "invalid-id");
}
