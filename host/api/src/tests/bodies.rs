use axum::{
    body::Body,
    http::{Method, Request, header},
};
use serde_json::json;

use crate::testing::{ApiWorld, LIMIT};

#[tokio::test]
async fn bad_json_is_refused_with_its_place() {
    let world = ApiWorld::shop().await;
    let answer = world.send(Method::POST, "/v1/invocations", "{\n  \"target\": }").await;
    answer.problem(400, "invalid-json");
    assert_eq!((&answer.body["line"], &answer.body["column"]), (&json!(2), &json!(13)));
    let answer = world.post("/v1/invocations", json!({ "target": "shop/ship", "inptu": 1 })).await;
    assert!(answer.problem(400, "invalid-json").contains("inptu"));
    let answer = world.post("/v1/invocations", json!({ "target": 7 })).await;
    assert!(answer.problem(400, "invalid-json").contains("string"));
    let answer = world.send(Method::POST, "/v1/invocations", "").await;
    assert!(answer.problem(400, "invalid-json").contains("target"));
}

#[tokio::test]
async fn a_list_is_not_taken_for_an_object() {
    let world = ApiWorld::shop().await;
    world.gate("gate").await;
    let reject = "/v1/promises/gate/reject";
    for (path, body) in [
        (reject, json!([null, null])),
        (reject, json!({ "failure": [400, "no", null] })),
        ("/v1/invocations", json!(["shop/ship"])),
    ] {
        world.post(path, body).await.problem(400, "invalid-json");
    }
    world.post(reject, json!({ "failure": { "code": 400, "message": "no" } })).await.ok();
}

#[tokio::test]
async fn a_wrong_content_type_is_refused() {
    let world = ApiWorld::shop().await;
    let request = Request::post("/v1/invocations")
        .header(header::CONTENT_TYPE, "text/plain")
        .body(Body::from("{}"));
    let answer = world.ask(request.expect("a request")).await;
    assert!(answer.problem(415, "unsupported-media-type").contains("application/json"));
    let request = Request::post("/v1/modules").body(Body::from("wasm x")).expect("a request");
    world.ask(request).await.problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn a_large_body_is_refused_whether_announced_or_not() {
    let world = ApiWorld::new();
    let large = "x".repeat(LIMIT + 1);
    let wasm = (header::CONTENT_TYPE, "application/wasm");
    let announced = Request::post("/v1/modules")
        .header(&wasm.0, wasm.1)
        .header(header::CONTENT_LENGTH, large.len())
        .body(Body::from(large.clone()));
    let answer = world.ask(announced.expect("a request")).await;
    assert!(answer.problem(413, "body-too-large").contains("limits.component_bytes"));
    assert_eq!(answer.body["limit"], LIMIT);
    let pieces = futures::stream::iter([large.clone(), large].map(Ok::<_, std::io::Error>));
    let unannounced =
        Request::post("/v1/modules").header(&wasm.0, wasm.1).body(Body::from_stream(pieces));
    world.ask(unannounced.expect("a request")).await.problem(413, "body-too-large");
    let json = format!("\"{}\"", "x".repeat(5 * 1024 * 1024));
    world.send(Method::POST, "/v1/invocations", json).await.problem(413, "body-too-large");
}

#[tokio::test]
async fn a_broken_body_is_no_module() {
    let world = ApiWorld::new();
    let pieces = [Ok("wasm x"), Err(std::io::Error::other("the line is dead"))];
    let request = Request::post("/v1/modules")
        .header(header::CONTENT_TYPE, "application/wasm")
        .body(Body::from_stream(futures::stream::iter(pieces)));
    let answer = world.ask(request.expect("a request")).await;
    assert!(answer.problem(400, "broken-body").contains("the line is dead"));
    assert_eq!(world.get("/v1/modules").await.ok(), json!({ "modules": [] }));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_coming_is_given_up() {
    let world = ApiWorld::new();
    let request = Request::post("/v1/modules")
        .header(header::CONTENT_TYPE, "application/wasm")
        .body(Body::from_stream(futures::stream::pending::<Result<String, std::io::Error>>()));
    world.ask(request.expect("a request")).await.problem(408, "body-too-slow");
}
