//! Virtual objects.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Request, Stage};

pub(super) async fn state(stage: &Stage) {
    keeps("Cell", stage).await;
}

pub(super) async fn lazy_state(stage: &Stage) {
    keeps("LazyCell", stage).await;
}

async fn keeps(object: &str, stage: &Stage) {
    let path = |handler: &str| format!("/{object}/state/{handler}");
    stage.call(&path("get"), json!("a")).await;
    stage.call(&path("keys"), Value::Null).await;
    stage.call(&path("set"), json!({ "name": "a", "value": { "x": 1 } })).await;
    stage.call(&path("set"), json!({ "name": "b", "value": null })).await;
    stage.call(&path("set"), json!({ "name": "", "value": "unnamed" })).await;
    for name in ["a", "b", ""] {
        stage.call(&path("get"), json!(name)).await;
        stage.call(&path("read"), json!(name)).await;
    }
    stage.call(&path("keys"), Value::Null).await;
    stage.call(&path("clear"), json!("a")).await;
    stage.call(&path("get"), json!("a")).await;
    stage.call(&path("keys"), Value::Null).await;
    stage.call(&path("clearAll"), Value::Null).await;
    stage.call(&path("keys"), Value::Null).await;
    stage.remark("own writes are read");
    stage.call(&path("changes"), Value::Null).await;
    stage.call(&path("changes"), Value::Null).await;
    stage.remark("each key has its own");
    stage.call(&format!("/{object}/one/add"), json!(1)).await;
    stage.call(&format!("/{object}/two/add"), json!(2)).await;
    stage.call(&format!("/{object}/one/add"), json!(10)).await;
    stage.say(Request::ingress(Method::POST, &format!("/{object}/one/key"))).await;
}

pub(super) async fn exclusive_handlers(stage: &Stage) {
    stage.remark("one after the other, in the order of their arrival");
    let mut sent = Vec::new();
    for (label, ms) in [("a", 300), ("b", 1), ("c", 50)] {
        let slow = json!({ "label": label, "ms": ms });
        let answer = stage.call("/Cell/exclusive/slow/send", slow).await;
        sent.push(answer.field("invocationId"));
    }
    stage.remark("a shared handler does not wait");
    stage.call("/Cell/exclusive/get", json!("order")).await;
    for id in sent {
        stage.get(&format!("/restate/invocation/{id}/attach")).await;
    }
    stage.remark("other keys do not wait");
    let slow = json!({ "label": "x", "ms": 200 });
    let others = ["p", "q"].map(|key| Request::call(&format!("/Cell/{key}/slow"), slow.clone()));
    for answer in join_all(others.iter().map(|other| stage.ask(other))).await {
        stage.remark(&answer.json().to_string());
    }
}

pub(super) async fn failed_writes(stage: &Stage) {
    stage.remark("a failure undoes nothing");
    stage.call("/Cell/failed/setAndFail", json!({ "name": "a", "value": 1 })).await;
    stage.call("/Cell/failed/get", json!("a")).await;
}

pub(super) async fn transfers(stage: &Stage) {
    stage.call("/Cell/rich/add", json!(100)).await;
    let transfer = |amount: i32| json!({ "service": "Cell", "to": "poor", "amount": amount });
    stage.call("/Cell/rich/transfer", transfer(30)).await;
    stage.call("/Cell/rich/transfer", transfer(5)).await;
    for cell in ["rich", "poor"] {
        stage.call(&format!("/Cell/{cell}/get"), json!("total")).await;
    }
    stage.call("/Plain/noted", json!("transfer rich poor 30")).await;
}

pub(super) async fn state_from_outside(stage: &Stage) {
    stage.call("/Cell/outside/set", json!({ "name": "a", "value": 1 })).await;
    stage
        .query("SELECT key, value_utf8 FROM state WHERE service_key = 'outside' ORDER BY key")
        .await;
    let bytes = |text: &str| json!(text.as_bytes());
    let state =
        json!({ "object_key": "outside", "new_state": { "b": bytes("2"), "c": bytes("\"x\"") } });
    stage.manage(Method::POST, "/services/Cell/state", state).await;
    stage.until(Request::call("/Cell/outside/get", json!("b")), |answer| answer.json() == 2).await;
    stage.call("/Cell/outside/keys", Value::Null).await;
    stage.remark("with a stale version");
    let state = json!({ "object_key": "outside", "new_state": {}, "version": "x" });
    stage.manage(Method::POST, "/services/Cell/state", state).await;
    stage.pause(200).await;
    stage.call("/Cell/outside/keys", Value::Null).await;
    stage.remark("of a service, of nothing");
    let state = json!({ "object_key": "x", "new_state": {} });
    stage.manage(Method::POST, "/services/Plain/state", state.clone()).await;
    stage.manage(Method::POST, "/services/Nothing/state", state).await;
}
