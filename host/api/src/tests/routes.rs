use std::collections::BTreeSet;

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use serde_json::json;

use super::World;
use crate::document;

/// Returns every route with its methods, parsed from the router's source: a router cannot be
/// queried.
pub(super) fn routes() -> Vec<(String, Vec<String>)> {
    // A long route spans several lines.
    let source = include_str!("../routes.rs").split_whitespace().collect::<Vec<_>>().join(" ");
    let source = source.replace(".route( \"", ".route(\"");
    let nested = source.find(".nest(\"/v1\", v1)").expect("the versioned routes are nested");
    let mut routes = Vec::new();
    for (at, _) in source.match_indices(".route(\"") {
        let call = &source[at + 8..];
        let (path, rest) = call.split_once("\", ").expect("a path");
        let handlers = rest.split(" .").next().expect("the rest of the call");
        let methods = ["get", "post", "put", "delete", "patch", "head", "options"];
        let has = |method: &&&str| {
            ["", "."].iter().any(|before| {
                let named = format!("{before}{method}(");
                match *before {
                    "" => handlers.starts_with(&named),
                    _ => handlers.contains(&named),
                }
            })
        };
        let methods: Vec<String> =
            methods.iter().filter(has).map(|method| (*method).to_owned()).collect();
        assert!(!methods.is_empty(), "{path} has a method: {handlers}");
        let prefix = if at < nested { "/v1" } else { "" };
        routes.push((format!("{prefix}{path}"), methods));
    }
    assert_eq!(routes.len(), source.matches(".route(").count(), "every route is read");
    routes
}

#[tokio::test]
async fn every_route_exists_and_is_documented_with_its_refusals() {
    let world = World::new();
    // A stream only ends with its host.
    let stopping = World::new();
    stopping.api.stopping.cancel();
    let document = serde_json::to_value(document()).expect("a document");
    let documented: BTreeSet<&str> =
        document["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
    let routes = routes();
    let known: BTreeSet<&str> = routes.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(documented, known);
    for (path, methods) in &routes {
        let operations = document["paths"][path].as_object().expect("operations");
        let documented: BTreeSet<&str> = operations.keys().map(String::as_str).collect();
        assert_eq!(documented, methods.iter().map(String::as_str).collect(), "{path}");
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
            let parts = ["{id}", "{name}", "{module}", "{object}", "{key}", "{function}"];
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
    let world = World::new();
    for path in ["/v1", "/v1/", "/v2/modules", "/v1/invocations/a/b", "/v1/modules/x/y"] {
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

#[tokio::test]
async fn a_browser_is_sent_to_the_console_and_other_clients_get_json() {
    let world = World::new();
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
