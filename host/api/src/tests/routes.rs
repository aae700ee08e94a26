use axum::{
    body::Body,
    http::{Method, Request, header},
};
use serde_json::{Value, json};

use super::ApiWorld;
use crate::document;

/// Returns every route with its methods.
fn routes(document: &Value) -> Vec<(String, Vec<String>)> {
    let paths = document["paths"].as_object().expect("paths");
    let methods =
        |operations: &Value| operations.as_object().expect("operations").keys().cloned().collect();
    paths.iter().map(|(path, operations)| (path.clone(), methods(operations))).collect()
}

#[tokio::test]
async fn every_route_exists_and_is_documented_with_its_refusals() {
    let world = ApiWorld::new();
    // A stream only ends with its host.
    let stopping = ApiWorld::new();
    stopping.api.stopping.cancel();
    let document = serde_json::to_value(document()).expect("a document");
    let routes = routes(&document);
    assert!(routes.len() > 60, "{} routes", routes.len());
    for (path, methods) in &routes {
        for method in methods {
            let operation = &document["paths"][path][method];
            assert!(
                !operation["summary"].as_str().unwrap_or_default().is_empty(),
                "{method} {path}"
            );
            for status in ["400", "401", "403", "404", "409", "422", "503"] {
                let content = &operation["responses"][status]["content"];
                assert!(
                    content["application/problem+json"].is_object(),
                    "{method} {path} {status}"
                );
            }
            let parts =
                ["{id}", "{name}", "{module}", "{object}", "{key}", "{function}", "{digest}"];
            let asked = parts.iter().fold(path.clone(), |path, part| path.replace(part, "x"));
            let verb = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let world = if path == "/v1/stream" { &stopping } else { &world };
            let answer = world.send(verb, &asked, "{}").await;
            assert_ne!(answer.body["code"], "unknown-route", "{method} {path}");
            assert_ne!(answer.body["code"], "method-not-allowed", "{method} {path}");
            let other = if methods.iter().any(|method| method == "patch") {
                Method::DELETE
            } else {
                Method::PATCH
            };
            let wrong = world.send(other.clone(), &asked, "").await;
            assert!(wrong.problem(405, "method-not-allowed").contains(other.as_str()));
        }
    }
    assert_eq!(world.get("/openapi.json").await.ok(), document);
}

#[tokio::test]
async fn what_is_not_there_is_said_to_be_so() {
    let world = ApiWorld::new();
    for path in ["/v1", "/v1/", "/v2/modules", "/v1/invocations/a/b", "/v1/modules/x/y"] {
        assert!(world.get(path).await.problem(404, "unknown-route").contains(path));
    }
    world.get("/v1/promises/%FF").await.problem(400, "invalid-path");
    world.get("/v1/promises/%0A").await.problem(400, "invalid-id");
}

#[tokio::test]
async fn the_probes_answer() {
    let world = ApiWorld::new();
    let health = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    assert_eq!(world.get("/health").await.ok(), health);
    assert_eq!(world.get("/ready").await.ok(), json!({ "status": "ready" }));
}

#[tokio::test]
async fn a_browser_is_sent_to_the_console_and_other_clients_get_json() {
    let world = ApiWorld::new();
    let answer = world.get("/").await;
    assert_eq!(answer.content_type, "application/json");
    let index = answer.ok();
    assert_eq!(
        (&index["name"], &index["version"]),
        (&json!("segno"), &json!(env!("CARGO_PKG_VERSION")))
    );
    for link in index["links"].as_array().expect("links") {
        world.get(link.as_str().expect("a path")).await.ok();
    }
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let page = world
        .ask(
            Request::get("/")
                .header(header::ACCEPT, browser)
                .body(Body::empty())
                .expect("a request"),
        )
        .await;
    assert_eq!(page.status, 303, "to the console");
}
