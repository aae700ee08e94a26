//! The ingress: routes, bodies, headers, errors.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Request, Stage};

pub(super) async fn bodies(stage: &Stage) {
    stage.call("/Plain/echo", json!("hi")).await;
    stage.call("/Plain/echo", json!({ "a": [1, 2.5, null, true], "ž": "luťoučký" })).await;
    stage.call("/Plain/echo", Value::Null).await;
    stage.say(Request::ingress(Method::POST, "/Plain/nothing")).await;
    let octets = |bytes: &[u8]| {
        Request::ingress(Method::POST, "/Plain/raw")
            .header("content-type", "application/octet-stream")
            .bytes(bytes.to_vec())
    };
    stage.say(octets(&[0, 1, 254, 255])).await;
    stage.say(octets(b"")).await;
}

pub(super) async fn content_types(stage: &Stage) {
    let echo = || Request::ingress(Method::POST, "/Plain/echo");
    stage.remark("without one");
    stage.say(echo().bytes(b"1".to_vec())).await;
    stage.say(echo()).await;
    stage.remark("with another");
    stage.say(echo().header("content-type", "text/plain").bytes(b"1".to_vec())).await;
    let utf8 = "application/json; charset=utf-8";
    stage.say(echo().header("content-type", utf8).bytes(b"1".to_vec())).await;
    stage.say(Request::call("/Plain/raw", json!(1))).await;
    stage.remark("a body for a handler that takes none");
    stage.call("/Plain/nothing", json!(1)).await;
}

pub(super) async fn headers(stage: &Stage) {
    let names = ["x-one", "content-type", "accept", "authorization", "cookie", "idempotency-key"];
    let request = Request::call("/Plain/headers", json!(names))
        .header("X-One", "1")
        .header("authorization", "Bearer abc")
        .header("cookie", "a=b")
        .header("accept", "application/json");
    stage.say(request).await;
    stage.remark("of the runtime");
    stage.call("/Plain/headers", json!(["x-restate-ingress-path", "x-restate-id", "host"])).await;
}

pub(super) async fn unknown_routes(stage: &Stage) {
    for path in ["/Nothing/echo", "/Plain/nowhere", "/Cell/k/nowhere", "/Cell/k/get/more"] {
        stage.call(path, json!(1)).await;
    }
    stage.remark("too short, too long, without a key");
    for path in
        ["/", "/Plain", "/Cell/get", "/Plain/echo/more", "/Plain/echo/send/more", "/Cell//key"]
    {
        stage.call(path, json!(1)).await;
    }
    stage.remark("other verbs");
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::HEAD] {
        stage.say(Request::ingress(method, "/Plain/echo")).await;
    }
    stage.get("/Plain/nothing").await;
    stage.remark("keys are decoded");
    stage.say(Request::ingress(Method::POST, "/Cell/a%20b%2Fc/key")).await;
    stage.say(Request::ingress(Method::POST, "/Cell/%C5%BE/key")).await;
    stage.say(Request::ingress(Method::POST, "/Cell/%FF/key")).await;
    stage.remark("within /restate");
    for path in ["/restate", "/restate/nothing", "/restate/invocation/x"] {
        stage.get(path).await;
    }
}

pub(super) async fn errors(stage: &Stage) {
    for code in [400, 404, 409, 418, 429, 500, 503] {
        stage.call("/Plain/fail", json!({ "code": code, "message": format!("no {code}") })).await;
    }
    stage.remark("codes that are no errors of HTTP");
    for code in [0, 1, 200, 302, 600, 999, 1000] {
        stage.call("/Plain/fail", json!({ "code": code, "message": "odd" })).await;
    }
    stage.remark("messages");
    stage.call("/Plain/fail", json!({ "code": 500, "message": "" })).await;
    stage.call("/Plain/fail", json!({ "code": 500, "message": "two\nlines \"ž\"" })).await;
}

pub(super) async fn error_metadata(stage: &Stage) {
    let failure = json!({ "code": 409, "message": "no", "metadata": { "b": "2", "a": "1" } });
    stage.call("/Plain/fail", failure.clone()).await;
    let failing = json!({ "service": "Plain", "handler": "fail", "value": failure });
    stage.call("/Plain/call", failing).await;
}

pub(super) async fn hidden_handlers(stage: &Stage) {
    stage.call("/Plain/hidden", json!(1)).await;
    stage.call("/Plain/hidden/send", json!(1)).await;
    let hidden = json!({ "service": "Plain", "handler": "hidden", "value": 1 });
    stage.call("/Plain/call", hidden).await;
}

pub(super) async fn health(stage: &Stage) {
    stage.get("/restate/health").await;
    stage.look("/health").await;
    stage.say(Request::ingress(Method::POST, "/restate/health")).await;
}

pub(super) async fn prefixed_routes(stage: &Stage) {
    stage.call("/restate/call/Plain/echo", json!("hi")).await;
    stage.call("/restate/call/Cell/prefixed/add", json!(2)).await;
    let sent = stage.call("/restate/send/Cell/prefixed/add", json!(3)).await;
    let id = sent.field("invocationId");
    stage.get(&format!("/restate/attach/{id}")).await;
    stage.get(&format!("/restate/output/{id}")).await;
    let target = json!({ "target": "invocation", "invocationId": id });
    for what in ["attach", "output", "lookup"] {
        stage.call(&format!("/restate/{what}"), target.clone()).await;
    }
    let keyed = Request::call("/restate/call/Plain/echo", json!(1));
    stage.say(keyed.header("idempotency-key", "prefixed")).await;
    let target = json!({
        "target": "idempotentInvocation",
        "service": "Plain",
        "handler": "echo",
        "idempotencyKey": "prefixed",
    });
    for what in ["attach", "output", "lookup"] {
        stage.call(&format!("/restate/{what}"), target.clone()).await;
    }
    stage.ask(&Request::call("/Cell/prefixed/add", json!(1)).header("idempotency-key", "p")).await;
    let target = json!({
        "target": "idempotentInvocation",
        "service": "Cell",
        "serviceKey": "prefixed",
        "handler": "add",
        "idempotencyKey": "p",
    });
    stage.call("/restate/output", target).await;
    stage.remark("bad ones");
    stage.call("/restate/call/Nothing/echo", json!(1)).await;
    stage.call("/restate/call/Plain", json!(1)).await;
    stage.call("/restate/lookup", json!({ "target": "nothing" })).await;
    stage.call("/restate/lookup", json!({})).await;
    stage.get("/restate/call/Plain/echo").await;
}
