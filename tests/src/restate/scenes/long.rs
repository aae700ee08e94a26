//! Scenes that run while the runtime and the services are killed. Their requests are idempotent,
//! and their transcripts contain results only.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    super::{Request, Stage},
    Scene, long,
};

/// All long scenes. They may be played concurrently.
pub(crate) const SCENES: &[Scene] = scenes! {
    long: {
        long_steps,
        long_fibonacci,
        long_transfers,
        long_workflows,
        long_awakeables,
        long_order,
        long_sleeps,
        long_cancels,
    }
};

/// Starts a handler with the idempotency key `name`. Further starts return the same invocation.
async fn begun(stage: &Stage, path: &str, name: &str, input: Value) -> String {
    let request = Request::call(&format!("{path}/send"), input).header("idempotency-key", name);
    stage.insist(&request).await.field("invocationId")
}

/// Records the result of an invocation.
async fn ended(stage: &Stage, what: &str, id: &str) {
    let path = format!("/restate/invocation/{id}/attach");
    shown(stage, what, Request::ingress(Method::GET, &path)).await;
}

/// Records the answer to a request.
async fn shown(stage: &Stage, what: &str, request: Request) {
    let answer = stage.insist(&request).await;
    stage.remark(&format!("{what}: {}", answer.brief()));
}

pub(crate) async fn long_steps(stage: &Stage) {
    let mut workflows = Vec::new();
    for number in 1..=4 {
        let name = format!("long-steps-{number}");
        let steps =
            json!({ "name": name, "count": 20, "ms": if number % 2 == 0 { 100 } else { 0 } });
        workflows.push((begun(stage, "/Plain/steps", &name, steps).await, name));
    }
    for (id, name) in &workflows {
        ended(stage, name, id).await;
    }
}

pub(crate) async fn long_fibonacci(stage: &Stage) {
    for n in [5, 7, 8] {
        let name = format!("long-fibonacci-{n}");
        let id = begun(stage, "/Plain/fibonacci", &name, json!(n)).await;
        ended(stage, &name, &id).await;
    }
}

pub(crate) async fn long_transfers(stage: &Stage) {
    let rich = ["long-rich-1", "long-rich-2", "long-rich-3"];
    let poor = ["long-poor-1", "long-poor-2"];
    for cell in rich {
        let id = begun(stage, &format!("/Cell/{cell}/add"), "all", json!(1000)).await;
        ended(stage, cell, &id).await;
    }
    let mut transfers = Vec::new();
    for number in 0..30 {
        let (from, to) = (rich[number % rich.len()], poor[number % poor.len()]);
        let transfer = json!({ "service": "Cell", "to": to, "amount": number });
        let name = format!("transfer {number}");
        let path = format!("/Cell/{from}/transfer");
        transfers.push(async move { begun(stage, &path, &name, transfer).await });
    }
    for id in join_all(transfers).await {
        let path = format!("/restate/invocation/{id}/attach");
        stage.insist(&Request::ingress(Method::GET, &path)).await;
    }
    for cell in rich.iter().chain(&poor) {
        shown(stage, cell, Request::call(&format!("/Cell/{cell}/get"), json!("total"))).await;
    }
}

pub(crate) async fn long_workflows(stage: &Stage) {
    for number in 1..=4 {
        let key = format!("long-{number}");
        let run = Request::call(&format!("/Approval/{key}/run/send"), json!(number));
        stage.insist(&run).await;
    }
    for number in 1..=4 {
        let key = format!("long-{number}");
        let stage_of = Request::call(&format!("/Approval/{key}/stage"), Value::Null);
        stage.quietly_until(&stage_of, |answer| answer.json() == "asked").await;
        stage.pause(150).await;
        let (how, value) = if number == 3 { ("refuse", "no") } else { ("approve", "yes") };
        stage.insist(&Request::call(&format!("/Approval/{key}/{how}"), json!(value))).await;
        let path = format!("/restate/workflow/Approval/{key}/attach");
        shown(stage, &key, Request::ingress(Method::GET, &path)).await;
    }
}

pub(crate) async fn long_awakeables(stage: &Stage) {
    for number in 1..=5 {
        let name = format!("long-awakeable-{number}");
        let id = begun(stage, "/Plain/awakeable", &name, json!(name)).await;
        let awakeable = stage.awakeable(&name).await;
        stage.pause(150).await;
        let path = format!("/restate/awakeables/{awakeable}/resolve");
        stage.insist(&Request::call(&path, json!(number))).await;
        ended(stage, &name, &id).await;
    }
}

pub(crate) async fn long_order(stage: &Stage) {
    let mut sent = Vec::new();
    for number in 0..10 {
        let name = format!("long-order-{number}");
        let slow = json!({ "label": number, "ms": 100 });
        sent.push(begun(stage, "/Cell/long-order/slow", &name, slow).await);
    }
    for (number, id) in sent.iter().enumerate() {
        ended(stage, &format!("{number}"), id).await;
    }
}

pub(crate) async fn long_sleeps(stage: &Stage) {
    let sleeps = (1..=5).map(|number| async move {
        let name = format!("long-sleep-{number}");
        (begun(stage, "/Plain/sleep", &name, json!(number * 400)).await, name)
    });
    for (id, name) in join_all(sleeps).await {
        ended(stage, &name, &id).await;
    }
}

pub(crate) async fn long_cancels(stage: &Stage) {
    for number in 1..=3 {
        let name = format!("long-cancel-{number}");
        let id = begun(stage, "/Plain/cleansUp", &name, json!(name)).await;
        stage.awakeable(&name).await;
        let path = format!("/invocations/{id}/cancel");
        stage.insist(&Request::admin(Method::PATCH, &path)).await;
        ended(stage, &name, &id).await;
    }
}
