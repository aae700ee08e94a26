//! Waits for several results, and waits that are cancelled.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Request, Stage};

/// Starts a handler that waits for `on`. Returns its id.
async fn waiting(stage: &Stage, how: &str, on: Value) -> String {
    let sent = stage.call("/Case/waits/send", json!({ "how": how, "on": on })).await;
    sent.field("invocationId")
}

async fn told(stage: &Stage, id: &str, name: &str, value: &str) {
    let body = json!({ "id": id, "name": name, "value": value });
    stage.ask(&Request::call("/Case/tell", body)).await;
}

async fn refused(stage: &Stage, id: &str, name: &str, reason: &str) {
    let body = json!({ "id": id, "name": name, "reason": reason });
    stage.ask(&Request::call("/Case/tell", body)).await;
}

async fn attached(stage: &Stage, id: &str) {
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
}

/// Waits until an awakeable's id is stored under `name`. Returns the id.
pub(super) async fn kept(stage: &Stage, name: &str) -> String {
    let request = Request::call(&format!("/Book/{name}/kept"), Value::Null);
    let answer = stage.quietly_until(&request, |answer| !answer.json().is_null()).await;
    answer.json().as_str().expect("an id is text").to_owned()
}

pub(super) async fn awakeables_or_time(stage: &Stage) {
    let on = json!([{ "awakeable": "or-time" }, { "sleep": 100 }]);
    stage.call("/Case/waits", json!({ "how": "race", "on": on })).await;
    stage.call("/Case/timesOut", json!(100)).await;
}

pub(super) async fn first_success(stage: &Stage) {
    let names = ["first-0", "first-1", "first-2"];
    let with_failure = |name| [json!({ "awakeable": name }), json!({ "fails": "no" })];
    let id = waiting(stage, "any", names.into_iter().flat_map(with_failure).collect()).await;
    let second = kept(stage, names[1]).await;
    let third = kept(stage, names[2]).await;
    stage.remark("a failure ends nothing");
    stage.call(&format!("/restate/awakeables/{third}/reject"), json!("no")).await;
    stage.call(&format!("/restate/awakeables/{second}/resolve"), json!("the second")).await;
    attached(stage, &id).await;
}

pub(super) async fn combined_signals(stage: &Stage) {
    let three = || json!([{ "signal": "a" }, { "signal": "b" }, { "signal": "c" }]);
    stage.remark("the first success");
    let id = waiting(stage, "any", three()).await;
    refused(stage, &id, "a", "no a").await;
    refused(stage, &id, "c", "no c").await;
    told(stage, &id, "b", "yes").await;
    attached(stage, &id).await;
    stage.remark("all successes");
    let id = waiting(stage, "all", three()).await;
    for name in ["a", "b", "c"] {
        told(stage, &id, name, name).await;
    }
    attached(stage, &id).await;
    stage.remark("all successes, but one is a failure");
    let id = waiting(stage, "all", three()).await;
    told(stage, &id, "a", "a").await;
    refused(stage, &id, "b", "no b").await;
    attached(stage, &id).await;
    stage.remark("all ends");
    let id = waiting(stage, "allSettled", three()).await;
    told(stage, &id, "a", "a").await;
    refused(stage, &id, "b", "no b").await;
    told(stage, &id, "c", "c").await;
    attached(stage, &id).await;
    stage.remark("the first end");
    let id = waiting(stage, "race", three()).await;
    told(stage, &id, "b", "first").await;
    attached(stage, &id).await;
}

pub(super) async fn combined_steps(stage: &Stage) {
    stage.remark("a step, and a signal that nobody sends");
    let on = json!([{ "signal": "never" }, { "run": "the step" }]);
    stage.call("/Case/waits", json!({ "how": "race", "on": on })).await;
    for (how, on) in [
        ("any", json!([{ "fails": "no" }, { "signal": "go" }])),
        ("all", json!([{ "run": "the step" }, { "signal": "go" }])),
        ("allSettled", json!([{ "run": "the step" }, { "signal": "go" }, { "fails": "no" }])),
    ] {
        let id = waiting(stage, how, on).await;
        told(stage, &id, "go", "the signal").await;
        attached(stage, &id).await;
    }
}

pub(super) async fn many_sleeps(stage: &Stage) {
    let lengths =
        |seed: u64| (0..20).map(|place| json!(10 + (seed * 7 + place * 13) % 40)).collect();
    let nap = |seed| Request::call("/Case/naps", Value::Array(lengths(seed)));
    let naps: Vec<_> = (0..25).map(nap).collect();
    let mut ended = 0;
    for answer in join_all(naps.iter().map(|nap| stage.ask(nap))).await {
        ended += answer.json().as_u64().unwrap_or_default();
    }
    stage.remark(&format!("{ended} sleeps of {} handlers have ended", naps.len()));
}

pub(super) async fn cancels_of_waits(stage: &Stage) {
    for wait in ["call", "sleep", "awakeable"] {
        for by in ["admin", "handler"] {
            stage.remark(&format!("{wait}, cancelled by {by}"));
            cancelled(stage, wait, by).await;
        }
    }
}

/// Cancels a caller whose callee waits. Both are notified, and the callee's key is released.
async fn cancelled(stage: &Stage, wait: &str, by: &str) {
    let key = format!("{wait}-{by}");
    let waits = Request::call(&format!("/Caller/{key}/waits/send"), json!(wait));
    let id = stage.ask(&waits).await.field("invocationId");
    let waiting = Request::call(&format!("/Callee/{key}/waiting"), Value::Null);
    stage.quietly_until(&waiting, |answer| answer.json() == wait).await;
    let cancel = match by {
        "handler" => Request::call("/Case/cancels", json!(id)),
        _ => Request::admin(Method::PATCH, &format!("/invocations/{id}/cancel")),
    };
    stage.ask(&cancel).await;
    attached(stage, &id).await;
    stage.call(&format!("/Caller/{key}/ended"), Value::Null).await;
    stage.call(&format!("/Callee/{key}/free"), Value::Null).await;
}
