use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::json;

use super::World;
use crate::api::document;

/// Every route.
const ROUTES: &[(&str, &[&str])] = &[
    ("/health", &["get"]),
    ("/ready", &["get"]),
    ("/v1/modules", &["get", "post"]),
    ("/v1/modules/{module}", &["get"]),
    ("/v1/modules/{module}/component", &["get"]),
    ("/v1/invocations", &["get", "post"]),
    ("/v1/invocations/{id}", &["get"]),
    ("/v1/invocations/{id}/wait", &["get"]),
    ("/v1/invocations/{id}/journal", &["get"]),
    ("/v1/invocations/{id}/logs", &["get"]),
    ("/v1/invocations/{id}/cancel", &["post"]),
    ("/v1/invocations/{id}/kill", &["post"]),
    ("/v1/invocations/{id}/continue", &["post"]),
    ("/v1/invocations/{id}/halt", &["post"]),
    ("/v1/invocations/{id}/release", &["post"]),
    ("/v1/invocations/{id}/signals", &["post"]),
    ("/v1/invocations/{id}/replay", &["post"]),
    ("/v1/resources/{name}", &["get", "put"]),
    ("/v1/resources/{name}/lease", &["post"]),
    ("/v1/schedules", &["get", "post"]),
    ("/v1/schedules/{id}", &["get", "delete"]),
    ("/v1/schedules/{id}/pause", &["post"]),
    ("/v1/schedules/{id}/resume", &["post"]),
    ("/v1/schedules/{id}/backfill", &["post"]),
    ("/v1/tasks", &["get"]),
    ("/v1/tasks/{id}", &["get"]),
    ("/v1/promises", &["get", "post"]),
    ("/v1/promises/{id}", &["get"]),
    ("/v1/promises/{id}/tree", &["get"]),
    ("/v1/promises/{id}/resolve", &["post"]),
    ("/v1/promises/{id}/reject", &["post"]),
    ("/v1/promises/{id}/cancel", &["post"]),
    ("/v1/events", &["get"]),
    ("/v1/events/ack", &["post"]),
];

#[tokio::test]
async fn every_route_exists_and_is_documented_with_its_refusals() {
    let world = World::new();
    let document = serde_json::to_value(document()).expect("a document");
    let documented: BTreeSet<&str> =
        document["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = ROUTES.iter().map(|(path, _)| *path).collect();
    assert_eq!(documented, known);
    for (path, methods) in ROUTES {
        for method in *methods {
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
            let asked = path.replace("{id}", "x").replace("{name}", "x").replace("{module}", "x");
            let verb = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let answer = world.send(verb, &asked, "{}").await;
            assert_ne!(answer.body["code"], "unknown-route", "{method} {path}");
            assert_ne!(answer.body["code"], "method-not-allowed", "{method} {path}");
            let wrong = world.send(Method::PATCH, &asked, "").await;
            assert!(wrong.problem(405, "method-not-allowed").contains("PATCH"));
        }
    }
    assert_eq!(world.get("/openapi.json").await.ok(), document);
}

#[tokio::test]
async fn what_is_not_there_is_said_to_be_so() {
    let world = World::new();
    for path in ["/", "/v1", "/v1/", "/v2/modules", "/v1/invocations/a/b", "/v1/modules/x/y"] {
        assert!(world.get(path).await.problem(404, "unknown-route").contains(path));
    }
    world.get("/v1/promises/%FF").await.problem(400, "invalid-path");
    world.get("/v1/promises/%0A").await.problem(400, "invalid-id");
}

#[tokio::test]
async fn the_probes_answer() {
    let world = World::new();
    let health = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    assert_eq!(world.get("/health").await.ok(), health);
    assert_eq!(world.get("/ready").await.ok(), json!({ "status": "ready" }));
}
