//! Functions that run once for each key, and promises of objects, from outside.

use segno_core::{command::Command, promise::Verdict};
use serde_json::json;

use super::ApiWorld;

const OBJECT: &str = "/v1/objects/web/Signup/ada";

async fn web() -> ApiWorld {
    let world = ApiWorld::new();
    world.upload("web", "wasm Signup/run Signup/confirm").await.ok();
    world
}

#[tokio::test]
async fn a_run_has_the_id_of_its_key_so_a_repeated_start_is_answered_with_what_is_there() {
    let world = web().await;
    let start = |input: &str| json!({ "target": "web/Signup@ada/run", "input": input });
    let answer = world.post("/v1/invocations", start("ada@example.org")).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.ok()["id"], "web/Signup@ada/run");
    let again = world.post("/v1/invocations", start("ada@example.org")).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.ok()["created"], false);
    let other = world.post(&format!("{OBJECT}/run"), json!({ "input": "eve@example.org" })).await;
    assert!(other.problem(409, "key-reused").contains("another input"));
    let shown = world.get("/v1/invocations/web%2FSignup@ada%2Frun").await.ok();
    assert_eq!(shown["input"], "ada@example.org");
    assert_eq!(world.get(OBJECT).await.ok()["run"], "web/Signup@ada/run");
    // Another id would be another run.
    let other = json!({ "id": "mine", "target": "web/Signup@ada/run" });
    let refused = world.post("/v1/invocations", other).await;
    assert_eq!(refused.status, 409);
    let problem = refused.body;
    assert_eq!(problem["code"], "ran-already");
    let detail = problem["detail"].as_str().expect("it says why");
    assert!(detail.contains("`web/Signup@ada` has had its run"), "{detail}");
    assert!(detail.contains("`web/Signup@ada/run`"), "{detail}");
    // Functions without this restriction, and other keys, have different ids.
    let looks = json!({ "target": "web/Signup@ada/confirm" });
    let id = world.post("/v1/invocations", looks).await.ok()["id"].clone();
    assert!(id.as_str().is_some_and(|id| id.starts_with("Signup.confirm-")), "{id}");
    let slash = json!({ "target": "web/Signup@b/o%/run" });
    let answer = world.post("/v1/invocations", slash).await.ok();
    assert_eq!(answer["id"], "web/Signup@b%2Fo%25/run");
}

#[tokio::test]
async fn a_run_that_was_removed_leaves_its_key_as_new() {
    let world = web().await;
    let start = json!({ "target": "web/Signup@ada/run" });
    world.post("/v1/invocations", start.clone()).await.ok();
    world.post(&format!("{OBJECT}/promises/confirmed/resolve"), json!({ "value": 1 })).await.ok();
    world.command(Command::Kill { invocation: "web/Signup@ada/run".into() }).await;
    let removed = "/v1/invocations/web%2FSignup@ada%2Frun";
    let removed = world.send(axum::http::Method::DELETE, removed, axum::body::Body::empty()).await;
    assert_eq!(removed.ok()["promises"], 2);
    assert_eq!(world.get(&format!("{OBJECT}/promises/confirmed")).await.ok()["state"], "pending");
    assert_eq!(world.post("/v1/invocations", start).await.status, 201);
}

#[tokio::test]
async fn a_promise_of_an_object_is_settled_before_anybody_waits_for_it_and_once() {
    let world = web().await;
    let path = format!("{OBJECT}/promises/confirmed");
    let shown = world.get(&path).await.ok();
    assert_eq!(shown["state"], "pending");
    assert_eq!(shown["id"], "web/Signup@ada/p/confirmed");
    let settled =
        world.post(&format!("{path}/resolve"), json!({ "value": { "by": "link" } })).await;
    let settled = settled.ok();
    assert_eq!((&settled["state"], &settled["changed"]), (&json!("resolved"), &json!(true)));
    assert_eq!(settled["object"], "web/Signup@ada");
    let again = world.post(&format!("{path}/reject"), json!({})).await.ok();
    assert_eq!((&again["state"], &again["changed"]), (&json!("resolved"), &json!(false)));
    assert_eq!(again["value"], json!({ "by": "link" }));
    let shown = world.get(&path).await.ok();
    assert_eq!((&shown["value"]["by"], shown.get("changed")), (&json!("link"), None));
    // Accessible like any promise, by its id.
    let promise = world.get("/v1/promises/web%2FSignup@ada%2Fp%2Fconfirmed").await.ok();
    assert_eq!(promise["tags"]["segno:object"], "web/Signup@ada");
    let object = world.get(OBJECT).await.ok();
    assert_eq!(object["promises"], json!({ "confirmed": "resolved" }));
    // A promise for which an invocation waits.
    let other = format!("{OBJECT}/promises/a%2Fb/reject");
    let failure = json!({ "failure": { "code": 422, "message": "no" } });
    let rejected = world.post(&other, failure).await.ok();
    assert_eq!((&rejected["name"], &rejected["failure"]["code"]), (&json!("a/b"), &json!(422)));
    let cleared = json!({ "clear_all": true });
    let cleared = world.send(axum::http::Method::PATCH, OBJECT, cleared.to_string()).await.ok();
    assert_eq!(cleared.get("promises"), None);
}

#[tokio::test]
async fn a_promise_that_no_object_of_the_module_can_have_is_refused_by_name() {
    let world = web().await;
    let resolve = async |path: &str| {
        let answer =
            world.post(&format!("/v1/objects/{path}/resolve"), json!({ "value": 1 })).await;
        (answer.status.as_u16(), answer.body["code"].clone())
    };
    let long = "n".repeat(1_025);
    for (path, status, code) in [
        ("gone/Signup/ada/promises/sure", 404, "unknown-module"),
        ("web/Signp/ada/promises/sure", 404, "unknown-function"),
        (&format!("web/Signup/ada/promises/{long}"), 400, "invalid-path"),
        ("web/Sign@up/ada/promises/sure", 400, "invalid-path"),
    ] {
        assert_eq!(resolve(path).await, (status, json!(code)), "{path}");
    }
    assert_eq!(world.post(&format!("{OBJECT}/promises/sure/resolve"), json!(1)).await.status, 400);
    // The promise settles like any other: a client that knows the id may settle it.
    world.post(&format!("{OBJECT}/promises/sure/resolve"), json!({})).await.ok();
    world.settle("web/Signup@ada/p/sure", Verdict::Rejected, "1").await;
    assert_eq!(world.get(&format!("{OBJECT}/promises/sure")).await.ok()["state"], "resolved");
}
