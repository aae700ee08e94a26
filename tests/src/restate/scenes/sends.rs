//! One-way calls, attaching, idempotency.

use reqwest::Method;
use serde_json::json;

use super::super::{Request, Stage};

/// A well-formed id of no invocation.
const UNKNOWN: &str = "inv_1aaaaaaaaaaa0000000000000000000000";

pub(super) async fn one_way(stage: &Stage) {
    let sent = stage.call("/Plain/echo/send", json!("hi")).await;
    let id = sent.field("invocationId");
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    let sent = stage.call("/Cell/one-way/add/send", json!(1)).await;
    stage.get(&format!("/restate/invocation/{}/attach", sent.field("invocationId"))).await;
    stage.remark("refused at once");
    stage.call("/Nothing/echo/send", json!(1)).await;
    stage.call("/Plain/nowhere/send", json!(1)).await;
    stage.get("/Plain/nothing/send").await;
}

pub(super) async fn delays(stage: &Stage) {
    for delay in ["200ms", "PT0.2S", "0.2s", "0", "0s"] {
        let cell = format!("delay-{delay}").replace('.', "-");
        let sent = stage.call(&format!("/Cell/{cell}/add/send?delay={delay}"), json!(1)).await;
        stage.get(&format!("/restate/invocation/{}/attach", sent.field("invocationId"))).await;
    }
    stage.remark("later than the scene");
    for delay in ["1h", "P1D", "PT60S", "60+sec", "1+day+2h"] {
        let sent = stage.call(&format!("/Plain/echo/send?delay={delay}"), json!(1)).await;
        let id = sent.field("invocationId");
        stage.get(&format!("/restate/invocation/{id}/output")).await;
        stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/kill"))).await;
    }
}

pub(super) async fn bad_delays(stage: &Stage) {
    for delay in ["", "soon", "-1s", "5", "PT", "1x", "PT-1S"] {
        stage.call(&format!("/Plain/echo/send?delay={delay}"), json!(1)).await;
    }
    stage.remark("a delay for a call that is waited for");
    stage.call("/Plain/echo?delay=1s", json!(1)).await;
}

pub(super) async fn results(stage: &Stage) {
    let sent = stage.call("/Plain/awakeable/send", json!("results")).await;
    let id = sent.field("invocationId");
    let awakeable = stage.awakeable("results").await;
    stage.remark("not yet");
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    stage.ask(&Request::call(&format!("/restate/awakeables/{awakeable}/resolve"), json!(7))).await;
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    stage.remark("failed");
    let failing = json!({ "code": 418, "message": "no" });
    let sent = stage.call("/Plain/fail/send", failing).await;
    let id = sent.field("invocationId");
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    stage.remark("unknown");
    for id in [UNKNOWN, "inv_1x", "nothing"] {
        stage.get(&format!("/restate/invocation/{id}/attach")).await;
        stage.get(&format!("/restate/invocation/{id}/output")).await;
    }
    stage.remark("other verbs");
    stage.say(Request::ingress(Method::POST, &format!("/restate/invocation/{id}/attach"))).await;
}

pub(super) async fn idempotency(stage: &Stage) {
    let note = |line: &str, key: &str| {
        Request::call("/Plain/note", json!(line)).header("idempotency-key", key)
    };
    stage.say(note("idempotency", "once")).await;
    stage.say(note("idempotency", "once")).await;
    stage.remark("the input does not matter");
    stage.say(note("something else", "once")).await;
    stage.remark("the key and the handler do");
    stage.say(note("idempotency", "twice")).await;
    let noted = Request::call("/Plain/noted", json!("idempotency"));
    stage.say(noted.header("idempotency-key", "once")).await;
    stage.remark("sent");
    let send = Request::call("/Plain/note/send", json!("idempotency"));
    stage.say(send.clone().header("idempotency-key", "once")).await;
    stage.say(send.clone().header("idempotency-key", "thrice")).await;
    stage.get("/restate/invocation/Plain/note/thrice/attach").await;
    stage.say(send.header("idempotency-key", "thrice")).await;
    stage.remark("by the request");
    stage.get("/restate/invocation/Plain/note/once/attach").await;
    stage.get("/restate/invocation/Plain/note/once/output").await;
    stage.get("/restate/invocation/Plain/note/never/attach").await;
    stage.get("/restate/invocation/Plain/note/never/output").await;
    stage.remark("a failure is kept as well");
    let failing = Request::call("/Plain/fail", json!({ "code": 418, "message": "first" }));
    stage.say(failing.header("idempotency-key", "failing")).await;
    let failing = Request::call("/Plain/fail", json!({ "code": 500, "message": "second" }));
    stage.say(failing.header("idempotency-key", "failing")).await;
    stage.remark("an empty key");
    stage.say(note("idempotency", "")).await;
    stage.remark("two at the same time");
    let waiting = Request::call("/Plain/awakeable/send", json!("idempotency"));
    stage.say(waiting.header("idempotency-key", "waiting")).await;
    let awakeable = stage.awakeable("idempotency").await;
    let waiting = Request::call("/Plain/awakeable/send", json!("idempotency"));
    stage.say(waiting.header("idempotency-key", "waiting")).await;
    stage.get("/restate/invocation/Plain/awakeable/waiting/output").await;
    stage.ask(&Request::call(&format!("/restate/awakeables/{awakeable}/resolve"), json!(7))).await;
    stage.get("/restate/invocation/Plain/awakeable/waiting/attach").await;
}

pub(super) async fn idempotency_of_objects(stage: &Stage) {
    let add = |cell: &str| {
        Request::call(&format!("/Cell/{cell}/add"), json!(2)).header("idempotency-key", "add")
    };
    stage.say(add("idempotent-a")).await;
    stage.say(add("idempotent-a")).await;
    stage.remark("the key of the object matters");
    stage.say(add("idempotent-b")).await;
    stage.get("/restate/invocation/Cell/idempotent-a/add/add/attach").await;
    stage.get("/restate/invocation/Cell/idempotent-a/add/add/output").await;
    stage.get("/restate/invocation/Cell/idempotent-c/add/add/output").await;
}
