//! Awakeables and signals.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Request, Stage};

/// Starts a handler that waits for an awakeable. Returns the ids of the invocation and of the
/// awakeable.
async fn opened(stage: &Stage, name: &str) -> (String, String) {
    let sent = stage.call("/Plain/awakeable/send", json!(name)).await;
    (sent.field("invocationId"), stage.awakeable(name).await)
}

async fn attached(stage: &Stage, id: &str) {
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
}

pub(super) async fn awakeables(stage: &Stage) {
    let (id, awakeable) = opened(stage, "resolved").await;
    stage.call(&format!("/restate/awakeables/{awakeable}/resolve"), json!({ "a": 1 })).await;
    attached(stage, &id).await;
    stage.remark("a second time");
    stage.call(&format!("/restate/awakeables/{awakeable}/resolve"), json!(2)).await;

    let (id, awakeable) = opened(stage, "rejected").await;
    let reject = Request::ingress(Method::POST, &format!("/restate/awakeables/{awakeable}/reject"));
    stage.say(reject.header("content-type", "text/plain").bytes(b"no \xc5\xbe".to_vec())).await;
    attached(stage, &id).await;

    let (id, awakeable) = opened(stage, "rejected in JSON").await;
    stage.call(&format!("/restate/awakeables/{awakeable}/reject"), json!("no")).await;
    attached(stage, &id).await;

    stage.remark("the short route");
    let (id, awakeable) = opened(stage, "short").await;
    stage.call(&format!("/restate/a/{awakeable}/resolve"), json!("short")).await;
    attached(stage, &id).await;

    stage.remark("without a body");
    let (id, awakeable) = opened(stage, "empty").await;
    let path = format!("/restate/awakeables/{awakeable}/reject");
    stage.say(Request::ingress(Method::POST, &path)).await;
    attached(stage, &id).await;
}

pub(super) async fn bad_awakeables(stage: &Stage) {
    for id in ["nothing", "sign_1", "sign_1AAAA", "prom_1AAAA"] {
        stage.call(&format!("/restate/awakeables/{id}/resolve"), json!(1)).await;
        stage.call(&format!("/restate/awakeables/{id}/reject"), json!(1)).await;
    }
    let (_, awakeable) = opened(stage, "verbs").await;
    stage.get(&format!("/restate/awakeables/{awakeable}/resolve")).await;
    stage.call(&format!("/restate/awakeables/{awakeable}"), json!(1)).await;
    stage.call(&format!("/restate/awakeables/{awakeable}/forget"), json!(1)).await;
    stage.ask(&Request::call(&format!("/restate/awakeables/{awakeable}/resolve"), json!(1))).await;
}

pub(super) async fn awakeables_of_handlers(stage: &Stage) {
    let (id, awakeable) = opened(stage, "by a handler").await;
    stage.call("/Plain/resolveAwakeable", json!({ "id": awakeable, "value": [7] })).await;
    attached(stage, &id).await;
    let (id, awakeable) = opened(stage, "against a handler").await;
    stage.call("/Plain/rejectAwakeable", json!({ "id": awakeable, "reason": "no" })).await;
    attached(stage, &id).await;
}

pub(super) async fn signals(stage: &Stage) {
    let sent = stage.call("/Plain/signal/send", json!("go")).await;
    let id = sent.field("invocationId");
    stage.call("/Plain/resolveSignal", json!({ "id": id, "name": "other", "value": 1 })).await;
    stage
        .call("/Plain/resolveSignal", json!({ "id": id, "name": "go", "value": { "a": 2 } }))
        .await;
    attached(stage, &id).await;
    stage.remark("rejected");
    let sent = stage.call("/Plain/signal/send", json!("go")).await;
    let id = sent.field("invocationId");
    stage.call("/Plain/rejectSignal", json!({ "id": id, "name": "go", "reason": "stay" })).await;
    attached(stage, &id).await;
    stage.remark("to one that has ended");
    stage
        .call("/Plain/resolveSignal", json!({ "id": id, "name": "go", "value": Value::Null }))
        .await;
}
