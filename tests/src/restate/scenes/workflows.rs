//! Workflows and their promises.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Request, Stage};

fn asked(key: &str) -> Request {
    Request::call(&format!("/Approval/{key}/stage"), Value::Null)
}

pub(super) async fn workflow(stage: &Stage) {
    stage.call("/Approval/w/stage", Value::Null).await;
    let sent = stage.call("/Approval/w/run/send", json!("holiday")).await;
    let id = sent.field("invocationId");
    stage.until(asked("w"), |answer| answer.json() == "asked").await;
    stage.call("/Approval/w/peek", Value::Null).await;
    stage.get("/restate/workflow/Approval/w/output").await;
    stage.remark("once for each key");
    stage.call("/Approval/w/run", json!("again")).await;
    stage.call("/Approval/w/run/send", json!("again")).await;
    stage.remark("an answer");
    stage.call("/Approval/w/approve", json!({ "by": "Ada" })).await;
    stage.get("/restate/workflow/Approval/w/attach").await;
    stage.get("/restate/workflow/Approval/w/output").await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    stage.call("/Approval/w/done", Value::Null).await;
    stage.call("/Approval/w/stage", Value::Null).await;
    stage.call("/Approval/w/peek", Value::Null).await;
    stage.remark("too late");
    stage.call("/Approval/w/approve", json!("again")).await;
    stage.call("/Approval/w/refuse", json!("again")).await;
    stage.call("/Approval/w/run", json!("again")).await;
    stage.call("/Plain/noted", json!("asked w")).await;
    stage.remark("by its target");
    let target = json!({ "target": "workflow", "workflowName": "Approval", "workflowKey": "w" });
    for what in ["attach", "output", "lookup"] {
        stage.call(&format!("/restate/{what}"), target.clone()).await;
    }
    stage.remark("an idempotency key");
    let keyed = Request::call("/Approval/w/run", json!("again"));
    stage.say(keyed.header("idempotency-key", "w")).await;
    let keyed = Request::call("/Approval/w/stage", Value::Null);
    stage.say(keyed.header("idempotency-key", "w")).await;
}

pub(super) async fn refused_workflow(stage: &Stage) {
    stage.remark("the answer may come first");
    stage.call("/Approval/r/refuse", json!("too long")).await;
    stage.call("/Approval/r/run", json!("sabbatical")).await;
    stage.get("/restate/workflow/Approval/r/attach").await;
    stage.get("/restate/workflow/Approval/r/output").await;
    stage.call("/Approval/r/peek", Value::Null).await;
    stage.call("/Approval/r/done", Value::Null).await;
}

pub(super) async fn unknown_workflow(stage: &Stage) {
    for what in ["attach", "output"] {
        stage.get(&format!("/restate/workflow/Approval/never/{what}")).await;
        stage.get(&format!("/restate/workflow/Nothing/never/{what}")).await;
        stage.get(&format!("/restate/workflow/Cell/never/{what}")).await;
    }
    let attach = Request::ingress(Method::POST, "/restate/workflow/Approval/never/attach");
    stage.say(attach).await;
}
