//! Checks of messages to a workflow against its module's declarations.

use segno_core::{command::FenceOperation, id::PromiseId};
use serde_json::json;

use super::ApiWorld;
use crate::testing::new_promise;

/// Creates a host with `desk/desk`, which awaits the promise `approved`, and `desk/ship`, both
/// running.
async fn world() -> ApiWorld {
    let world = ApiWorld::new();
    world.upload("desk", "wasm desk ship short").await;
    for (id, target) in [("d", "desk/desk"), ("s", "desk/ship"), ("t", "desk/short")] {
        let start = json!({ "id": id, "target": target, "input": null });
        world.post("/v1/invocations", start).await.ok();
        let claim = world.acquire(id).await;
        let names = ["approved", "other"].map(|name| PromiseId::from(id).named(name));
        let create = |id| FenceOperation::Create { new: new_promise(id, &[]), request: None };
        world.fence(&claim, names.map(create)).await;
    }
    world
}

#[tokio::test]
async fn the_value_of_a_promise_that_its_workflow_could_not_read_is_refused() {
    let world = world().await;
    let path = |id: &str| format!("/v1/promises/{}/resolve", id.replace('/', "%2F"));
    let yes = json!({ "value": "yes" });
    let refused = world.post(&path("d/p/approved"), yes.clone()).await;
    let said = refused.problem(422, "invalid-input");
    assert!(said.contains("the promise `approved` of `desk`: \"yes\" is not of type"), "{said}");
    assert_eq!(refused.body["name"], "approved");
    // The refusals changed nothing, and a valid value is accepted; afterwards the first outcome
    // stays.
    let taken = world.post(&path("d/p/approved"), json!({ "value": true })).await.ok();
    assert_eq!(taken["changed"], true);
    assert_eq!(world.post(&path("d/p/approved"), yes.clone()).await.ok()["changed"], false);
    // Undeclared promises may have any value.
    for id in ["d/p/other", "s/p/approved"] {
        assert_eq!(world.post(&path(id), yes.clone()).await.ok()["changed"], true);
    }
    // A rejection is not a value, so the schema does not apply.
    world.post("/v1/promises/d%2Fp%2Flost/reject", json!({ "value": 5 })).await.ok();
}

#[tokio::test]
async fn what_is_settled_before_its_workflow_makes_it_is_checked_and_kept() {
    let world = ApiWorld::new();
    world.upload("desk", "wasm desk ship short").await;
    let start = json!({ "id": "d", "target": "desk/desk", "input": null });
    world.post("/v1/invocations", start).await.ok();
    let path = "/v1/promises/d%2Fp%2Fapproved/resolve";
    world.post(path, json!({ "value": "yes" })).await.problem(422, "invalid-input");
    let kept = world.post(path, json!({ "value": true })).await.ok();
    assert_eq!((&kept["id"], &kept["changed"]), (&json!("d/p/approved"), &json!(true)));
    assert_eq!(world.post(path, json!({ "value": false })).await.ok()["changed"], false);
    let seen = world.get("/v1/invocations/d").await.ok();
    assert_eq!(seen["unread"], json!({ "signals": 0, "promises": ["approved"] }));
    let made = json!({ "id": "d/p/other" });
    let answer = world.post("/v1/promises", made).await;
    let refused = answer.problem(422, "unprocessable");
    assert!(refused.contains("settle it, also before that"), "{refused}");
    world.acquire("d").await;
    world.post("/v1/invocations/d/kill", json!({})).await.ok();
    world
        .post("/v1/promises/d%2Fp%2Flate/resolve", json!({}))
        .await
        .problem(404, "unknown-promise");
}

#[tokio::test]
async fn a_signal_starts_the_workflow_that_it_is_sent_to() {
    let world = ApiWorld::new();
    world.upload("desk", "wasm desk ship short").await;
    let send = async |name: &str, target: &str| {
        let start = json!({ "target": target, "input": null, "labels": { "of": "ada" } });
        let signal = json!({ "name": name, "key": "k", "start": start });
        world.post("/v1/invocations/d/signals", signal).await
    };
    // An invalid signal or target starts nothing.
    send("clsoe", "desk/desk").await.problem(422, "unknown-signal");
    send("close", "desk/nothing").await.problem(404, "unknown-function");
    world.get("/v1/invocations/d").await.problem(404, "unknown-invocation");
    let taken = send("close", "desk/desk").await.ok();
    assert_eq!(taken, json!({ "id": "d", "signal": 0, "started": true }));
    assert_eq!(send("close", "desk/desk").await.ok(), json!({ "id": "d", "signal": 0 }));
    let seen = world.get("/v1/invocations/d").await.ok();
    assert_eq!((&seen["labels"]["of"], &seen["signals"]), (&json!("ada"), &json!(1)));
    assert_eq!(seen["unread"], json!({ "signals": 1 }));
}

#[tokio::test]
async fn a_signal_that_its_workflow_does_not_take_is_refused() {
    let world = world().await;
    let send = async |id: &str, name: &str, payload| {
        let signal = json!({ "name": name, "payload": payload });
        world.post(&format!("/v1/invocations/{id}/signals"), signal).await
    };
    let refused = send("d", "close", json!(1)).await;
    let said = refused.problem(422, "invalid-input");
    assert!(said.contains("the signal `close` of `desk`: 1 is not of type \"null\""), "{said}");
    let refused = send("d", "clsoe", json!(null)).await;
    let said = refused.problem(422, "unknown-signal");
    assert_eq!(said, "`desk` does not take the signal `clsoe`: it takes close");
    let refused = send("t", "close", json!(null)).await;
    let said = refused.problem(422, "unknown-signal");
    assert_eq!(said, "`short` does not take the signal `close`: it takes none");
    assert_eq!(send("d", "close", json!(null)).await.ok()["signal"], 0);
    // A workflow that receives signals without declaring their names.
    assert_eq!(send("s", "anything", json!(1)).await.ok()["signal"], 0);
}
