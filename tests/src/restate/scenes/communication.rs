//! Calls and sends of handlers, effects of failures, scopes and headers.

use serde_json::{Value, json};

use super::super::{Request, Stage};

/// Trace context from another system.
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async fn total(stage: &Stage, key: &str) {
    stage.call(&format!("/Book/{key}/total"), Value::Null).await;
}

/// Records the total of `key` once it is `expected`.
async fn totals(stage: &Stage, key: &str, expected: u64) {
    let request = Request::call(&format!("/Book/{key}/total"), Value::Null);
    stage.until(request, |answer| answer.json() == expected).await;
}

pub(super) async fn order_of_calls(stage: &Stage) {
    let mixed = [["send", "call", "call"], ["call", "send", "call"], ["send", "send", "call"]];
    for (number, ways) in mixed.iter().enumerate() {
        let key = format!("order-{number}");
        stage.call("/Case/many", json!({ "key": key, "ways": ways })).await;
        stage.call(&format!("/Book/{key}/entries"), Value::Null).await;
    }
}

pub(super) async fn keyed_calls(stage: &Stage) {
    for (handler, key) in [("adds", "keyed-call"), ("sendsAdd", "keyed-send")] {
        let add = json!({ "key": key, "amount": 1, "idempotencyKey": "once" });
        stage.call(&format!("/Case/{handler}"), add.clone()).await;
        totals(stage, key, 1).await;
        stage.call(&format!("/Case/{handler}"), add).await;
        stage.get(&format!("/restate/invocation/Book/{key}/add/once/output")).await;
        total(stage, key).await;
    }
}

pub(super) async fn delayed_sends(stage: &Stage) {
    stage.remark("at once");
    let add = json!({ "key": "at-once", "amount": 1, "times": 3 });
    stage.call("/Case/sendsAdd", add).await;
    totals(stage, "at-once", 3).await;
    stage.remark(
        "later, all at the same time: one after the other takes longer than anything is waited for",
    );
    let add = json!({ "key": "later", "amount": 1, "times": 10, "delay": 3_000 });
    stage.call("/Case/sendsAdd", add).await;
    total(stage, "later").await;
    totals(stage, "later", 10).await;
}

pub(super) async fn state_of_other_keys(stage: &Stage) {
    for (key, name) in [("cleared", "a"), ("cleared", "b"), ("other", "b")] {
        let entry = json!({ "name": name, "value": format!("{name} of {key}") });
        stage.call(&format!("/Book/{key}/set"), entry).await;
    }
    stage.call("/Book/cleared/clearAll", Value::Null).await;
    for (key, name) in [("cleared", "a"), ("cleared", "b"), ("other", "b")] {
        stage.call(&format!("/Book/{key}/get"), json!(name)).await;
    }
}

pub(super) async fn failures_of_steps(stage: &Stage) {
    let plain = json!({ "message": "a step failed" });
    let metadata = json!({ "b": "2", "a": "1" });
    let with_metadata = json!({ "message": "a step failed", "metadata": metadata });
    for handler in ["stepFails", "callsStepFails"] {
        for body in [&plain, &with_metadata] {
            stage.call(&format!("/Case/{handler}"), body.clone()).await;
        }
    }
}

pub(super) async fn runs_with_few_attempts(stage: &Stage) {
    for attempts in [1, 3] {
        let name = format!("attempts-{attempts}");
        stage.call("/Case/tries", json!({ "name": name, "attempts": attempts })).await;
    }
}

pub(super) async fn fickle_handlers(stage: &Stage) {
    for handler in ["sleepsOrCalls", "callsAnother", "sendsToAnother", "setsAnother"] {
        stage.call(&format!("/Book/{handler}/add"), json!(1)).await;
        stage.call(&format!("/Fickle/{handler}/{handler}"), Value::Null).await;
        stage.pause(100).await;
        total(stage, handler).await;
    }
}

pub(super) async fn scopes_of_keys(stage: &Stage) {
    let mut drawn = Vec::new();
    for scope in ["tenant-a", "tenant-b", "tenant-a"] {
        let draws = Request::call(&format!("/restate/scope/{scope}/send/Case/draws"), Value::Null);
        let id = stage.say(draws.header("idempotency-key", "shared")).await.field("invocationId");
        let attach = Request::ingress(reqwest::Method::GET, &format!("/restate/attach/{id}"));
        drawn.push(stage.ask(&attach).await.json());
    }
    let is = |equal: bool| if equal { "the same" } else { "another" };
    let others = is(drawn[0] == drawn[1]);
    let own = is(drawn[0] == drawn[2]);
    stage.remark(&format!("drawn in the other scope: {others}; in the same scope: {own}"));
}

pub(super) async fn trace_context(stage: &Stage) {
    stage
        .say(Request::call("/Case/header", json!("traceparent")).header("traceparent", TRACE))
        .await;
}
