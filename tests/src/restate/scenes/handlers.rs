//! Capabilities of a handler, seen from outside.

use serde_json::json;

use super::super::{Request, Stage};

pub(super) async fn retries(stage: &Stage) {
    stage.call("/Plain/flaky", json!("retries")).await;
    stage.call("/Plain/noted", json!("flaky retries")).await;
}

pub(super) async fn runs(stage: &Stage) {
    stage.call("/Plain/run", json!({ "a": 1 })).await;
    stage.call("/Plain/run", json!(null)).await;
    stage.call("/Plain/runTerminal", json!("refused")).await;
    stage.call("/Plain/runFlaky", json!("runs")).await;
    stage.call("/Plain/noted", json!("runFlaky runs")).await;
}

pub(super) async fn runs_that_give_up(stage: &Stage) {
    stage.call("/Plain/runGivesUp", json!("runs")).await;
}

pub(super) async fn steps(stage: &Stage) {
    stage.call("/Plain/steps", json!({ "name": "steps", "count": 20, "ms": 0 })).await;
    for step in [0, 19] {
        stage.call("/Plain/noted", json!(format!("steps {step}"))).await;
    }
    stage.remark("with sleeps between them");
    stage.call("/Plain/steps", json!({ "name": "sleepy", "count": 5, "ms": 10 })).await;
    for step in [0, 4] {
        stage.call("/Plain/noted", json!(format!("sleepy {step}"))).await;
    }
}

pub(super) async fn sleeps(stage: &Stage) {
    stage.call("/Plain/sleep", json!(0)).await;
    stage.call("/Plain/sleep", json!(300)).await;
}

pub(super) async fn chance(stage: &Stage) {
    stage.call("/Plain/random", json!(null)).await;
}

pub(super) async fn calls(stage: &Stage) {
    let echo = json!({ "service": "Plain", "handler": "echo", "value": [1, { "a": "b" }] });
    stage.call("/Plain/call", echo).await;
    let add = json!({ "service": "Cell", "key": "calls", "handler": "add", "value": 2 });
    stage.call("/Plain/call", add.clone()).await;
    stage.call("/Plain/call", add).await;
    let run = json!({ "service": "Approval", "key": "calls", "handler": "stage", "value": null });
    stage.call("/Plain/call", run).await;
    stage.remark("a call that fails");
    let failure = json!({ "code": 418, "message": "no" });
    let fail = json!({ "service": "Plain", "handler": "fail", "value": failure });
    stage.call("/Plain/callCatches", fail.clone()).await;
    stage.call("/Plain/call", fail).await;
    stage.remark("many of them");
    stage.call("/Plain/fibonacci", json!(6)).await;
}

pub(super) async fn call_options(stage: &Stage) {
    let headers = json!({
        "service": "Plain",
        "handler": "headers",
        "value": ["x-one", "content-type", "x-restate-ingress-path"],
        "headers": { "x-one": "1" },
    });
    stage.call("/Plain/call", headers).await;
    stage.remark("an idempotency key");
    let twice = json!({ "name": "handlers", "idempotencyKey": "call-options" });
    stage.call("/Plain/callTwice", twice.clone()).await;
    stage.call("/Plain/callTwice", twice).await;
    stage.get("/restate/invocation/Plain/note/call-options/output").await;
}

pub(super) async fn sends_of_handlers(stage: &Stage) {
    let set = |value: i32| json!({ "name": "sent", "value": value });
    let send = |cell: &str, value: i32| {
        let value = set(value);
        json!({ "service": "Cell", "key": cell, "handler": "set", "value": value })
    };
    stage.call("/Plain/send", send("sends", 1)).await;
    stage.until(get("sends"), |answer| !answer.json().is_null()).await;
    stage.remark("later");
    let mut later = send("sends-later", 2);
    later["delay"] = json!(300);
    stage.call("/Plain/send", later).await;
    stage.say(get("sends-later")).await;
    stage.until(get("sends-later"), |answer| !answer.json().is_null()).await;
    stage.remark("in the order of sending");
    for label in ["a", "b", "c"] {
        let slow = json!({ "label": label, "ms": 1 });
        let send =
            json!({ "service": "Cell", "key": "sends-order", "handler": "slow", "value": slow });
        stage.ask(&Request::call("/Plain/send", send)).await;
    }
    let order = Request::call("/Cell/sends-order/get", json!("order"));
    let all = |order: &serde_json::Value| order.as_array().is_some_and(|order| order.len() == 3);
    stage.until(order, |answer| all(&answer.json())).await;
}

fn get(cell: &str) -> Request {
    Request::call(&format!("/Cell/{cell}/get"), json!("sent"))
}

pub(super) async fn ids_of_sends(stage: &Stage) {
    let echo = json!({ "service": "Plain", "handler": "echo", "value": "hi" });
    let sent = stage.call("/Plain/sendForId", echo).await;
    let id = sent.json().as_str().expect("an id").to_owned();
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
    stage.call("/Plain/attach", json!(id)).await;
    stage.remark("one that fails");
    let failure = json!({ "code": 418, "message": "no" });
    let fail = json!({ "service": "Plain", "handler": "fail", "value": failure });
    let sent = stage.call("/Plain/sendForId", fail).await;
    stage.call("/Plain/attach", sent.json()).await;
    stage.remark("an unknown one");
    let unknown = "inv_1aaaaaaaaaaa0000000000000000000000";
    stage.call("/Plain/attach", json!(unknown)).await;
}

pub(super) async fn combinations(stage: &Stage) {
    stage.call("/Plain/all", json!([1, "two", [3]])).await;
    stage.call("/Plain/race", json!("first")).await;
    stage.call("/Plain/any", json!("any")).await;
    stage.call("/Plain/settled", json!("settled")).await;
    stage.call("/Plain/timeout", json!(50)).await;
}

pub(super) async fn mismatches(stage: &Stage) {
    stage.call("/Plain/mismatch", json!("once")).await;
    stage.call("/Plain/noted", json!("mismatch once")).await;
}
