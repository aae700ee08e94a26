//! Deployments, services, queries.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Request, Stage};

pub(super) async fn queries_of_invocations(stage: &Stage) {
    stage.remark("one that waits, and is suspended at once");
    let at_once = |length: &str| json!({ "inactivity_timeout": length });
    stage.manage(Method::PATCH, "/services/Plain", at_once("0s")).await;
    let id = stage.call("/Plain/awakeable/send", json!("queries")).await.field("invocationId");
    let awakeable = stage.awakeable("queries").await;
    stage.has_status(&id, "suspended").await;
    let invocation = format!(
        "SELECT target, target_service_name, target_service_key, target_handler_name, \
        target_service_ty, invoked_by, status, retry_count, completion_result, \
        completion_failure, last_failure, pinned_service_protocol_version IS NOT NULL AS pinned \
        FROM sys_invocation WHERE id = '{id}'"
    );
    let journal = format!(
        "SELECT index, entry_type, name, completed FROM sys_journal WHERE id = '{id}' ORDER BY index"
    );
    stage.query(&invocation).await;
    stage.query(&journal).await;
    stage.ask(&Request::call(&format!("/restate/awakeables/{awakeable}/resolve"), json!(7))).await;
    stage.ask(&Request::ingress(Method::GET, &format!("/restate/invocation/{id}/attach"))).await;
    stage.remark("at its end");
    stage.query(&invocation).await;
    stage.query(&journal).await;
    stage.ask(&Request::admin(Method::PATCH, "/services/Plain").json(at_once("1m"))).await;
    stage.remark("counts");
    let counted = format!(
        "SELECT status, count(*) AS n FROM sys_invocation \
        WHERE target_handler_name = 'awakeable' AND id = '{id}' GROUP BY status"
    );
    stage.query(&counted).await;
    stage.remark("a key, an object, a workflow");
    let echo = Request::call("/Plain/echo", json!(1)).header("idempotency-key", "queries");
    stage.say(echo).await;
    stage.call("/Cell/queries/add", json!(1)).await;
    stage.ask(&Request::call("/Approval/queries/approve", json!("yes"))).await;
    stage.call("/Approval/queries/run", json!("x")).await;
    for target in ["Plain/echo", "Cell/queries/add", "Approval/queries/run"] {
        let sql = format!(
            "SELECT target_service_ty, target_service_key, target_handler_name, status \
            FROM sys_invocation WHERE target = '{target}' \
            AND (idempotency_key = 'queries' OR target_service_key = 'queries')"
        );
        stage.query(&sql).await;
    }
}

pub(super) async fn queries_of_keys(stage: &Stage) {
    stage.ask(&Request::call("/Cell/query-keys/add", json!(5))).await;
    let state = "SELECT service_name, service_key, key, value_utf8 FROM state \
        WHERE service_key = 'query-keys' AND service_name = 'Cell'";
    stage.query(state).await;
    stage.remark("the one with the lock, and the one that waits for it");
    let slow = json!({ "label": "a", "ms": 3_600_000 });
    let holder = stage.call("/Cell/query-keys/slow/send", slow).await.field("invocationId");
    let queued = stage.call("/Cell/query-keys/add/send", json!(1)).await.field("invocationId");
    stage.has_status(&queued, "pending").await;
    let inbox = "SELECT service_name, service_key, id FROM sys_inbox \
        WHERE service_key = 'query-keys'";
    stage.query(inbox).await;
    let locks = "SELECT service_name, service_key, invocation_id FROM sys_keyed_service_status \
        WHERE service_key = 'query-keys' AND service_name = 'Cell'";
    stage.query(locks).await;
    for id in [queued, holder] {
        stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/kill"))).await;
    }
    stage.remark("promises");
    stage.ask(&Request::call("/Approval/query-keys/approve", json!("yes"))).await;
    stage.ask(&Request::call("/Approval/query-keys/run", json!("x"))).await;
    let promises = "SELECT key, completed, completion_success_value_utf8 FROM sys_promise \
        WHERE service_key = 'query-keys' ORDER BY key";
    stage.query(promises).await;
}

pub(super) async fn queries_of_services(stage: &Stage) {
    stage.query("SELECT name, ty, public, revision FROM sys_service ORDER BY name").await;
    let deployments = "SELECT ty, endpoint, min_service_protocol_version, \
        max_service_protocol_version FROM sys_deployment";
    stage.query(deployments).await;
}

pub(super) async fn bad_queries(stage: &Stage) {
    stage.query("SELECT id FROM sys_invocation WHERE id = 'x'").await;
    stage.query("SELECT id FROM nothing").await;
    stage.query("SELECT nothing FROM sys_invocation").await;
    stage.query("no SQL").await;
    stage.manage(Method::POST, "/query", json!({})).await;
}

pub(super) async fn services(stage: &Stage) {
    stage.glance("/services").await;
    stage.look("/services/Cell").await;
    stage.glance("/services/Approval/handlers").await;
    for handler in ["Plain/handlers/raw", "Plain/handlers/hidden", "Plain/handlers/stuck"] {
        stage.look(&format!("/services/{handler}")).await;
    }
    for path in ["/services/Nothing", "/services/Nothing/handlers", "/services/Plain/handlers/x"] {
        stage.look(path).await;
    }
}

pub(super) async fn deployments(stage: &Stage) {
    let all = stage.glance("/deployments").await;
    let id = all.json()["deployments"][0]["id"].as_str().expect("there is one").to_owned();
    stage.glance(&format!("/deployments/{id}")).await;
    stage.look("/deployments/dp_1nothing").await;
    stage.look("/deployments/nothing").await;
    stage.remark("the same again");
    let uri = stage.service().to_owned();
    stage.manage(Method::POST, "/deployments", json!({ "uri": uri })).await;
    stage.remark("it is in use");
    stage.manage(Method::DELETE, &format!("/deployments/{id}"), Value::Null).await;
    stage.manage(Method::DELETE, "/deployments/dp_1nothing?force=true", Value::Null).await;
}

pub(super) async fn changed_service(stage: &Stage) {
    let path = "/services/Plain";
    stage.manage(Method::PATCH, path, json!({ "public": false })).await;
    stage.call("/Plain/echo", json!(1)).await;
    stage.manage(Method::PATCH, path, json!({ "public": true })).await;
    stage.until(Request::call("/Plain/echo", json!(1)), |answer| answer.status == 200).await;
    let times = json!({
        "idempotency_retention": "2h",
        "inactivity_timeout": "1m 30s",
        "abort_timeout": "PT5M",
    });
    stage.manage(Method::PATCH, path, times).await;
    stage.remark("refused");
    stage.manage(Method::PATCH, path, json!({ "idempotency_retention": "soon" })).await;
    stage.manage(Method::PATCH, path, json!({ "workflow_completion_retention": "1s" })).await;
    stage.manage(Method::PATCH, "/services/Nothing", json!({ "public": false })).await;
}

/// URI of another endpoint.
fn other(stage: &Stage, name: &str) -> String {
    format!("{}/{name}", stage.others())
}

async fn register(stage: &Stage, body: Value) -> super::super::Answer {
    stage.manage(Method::POST, "/deployments", body).await
}

pub(super) async fn registration(stage: &Stage) {
    let first = register(stage, json!({ "uri": other(stage, "first") })).await;
    let id = first.field("id");
    stage.glance("/services/Other").await;
    stage.remark("again");
    register(stage, json!({ "uri": other(stage, "first") })).await;
    register(stage, json!({ "uri": other(stage, "first"), "force": true })).await;
    register(stage, json!({ "uri": other(stage, "first"), "force": false })).await;
    stage.remark("with a slash at the end");
    register(stage, json!({ "uri": other(stage, "first/") })).await;
    stage.remark("only tried");
    register(stage, json!({ "uri": other(stage, "second"), "dry_run": true })).await;
    stage.glance("/services/Other").await;
    stage.remark("a second deployment of the service");
    let second = register(stage, json!({ "uri": other(stage, "second") })).await;
    stage.glance("/services/Other").await;
    stage.glance(&format!("/deployments/{id}")).await;
    stage.glance(&format!("/deployments/{}", second.field("id"))).await;
    stage.remark("with headers, which are secret");
    let headers = json!({ "x-one": "1" });
    let third = json!({ "uri": other(stage, "third"), "additional_headers": headers });
    register(stage, third).await;
    stage.remark("unknown fields");
    register(stage, json!({ "uri": other(stage, "first"), "nothing": 1 })).await;
}

pub(super) async fn refused_registrations(stage: &Stage) {
    stage.remark("out of reach");
    register(stage, json!({ "uri": "http://127.0.0.1:1" })).await;
    register(stage, json!({ "uri": "nothing" })).await;
    register(stage, json!({ "uri": "ftp://127.0.0.1" })).await;
    register(stage, json!({})).await;
    stage.remark("no endpoint");
    for name in ["missing", "html", "broken", "empty", "teapot"] {
        register(stage, json!({ "uri": other(stage, name) })).await;
    }
    stage.remark("versions out of range");
    for name in ["old", "future"] {
        register(stage, json!({ "uri": other(stage, name) })).await;
    }
    stage.remark("services that cannot be");
    for name in ["reserved", "misnamed", "runless", "twice"] {
        register(stage, json!({ "uri": other(stage, name) })).await;
    }
    stage.remark("breaking changes");
    register(stage, json!({ "uri": other(stage, "first") })).await;
    for name in ["retyped", "handlerless"] {
        register(stage, json!({ "uri": other(stage, name) })).await;
    }
    register(stage, json!({ "uri": other(stage, "handlerless"), "breaking": true })).await;
    stage.glance("/services/Other").await;
    register(stage, json!({ "uri": other(stage, "retyped"), "force": true })).await;
    stage.glance("/services/Other").await;
}

pub(super) async fn removed_deployment(stage: &Stage) {
    let gone = register(stage, json!({ "uri": other(stage, "gone") })).await;
    let path = format!("/deployments/{}", gone.field("id"));
    stage.manage(Method::DELETE, &path, Value::Null).await;
    stage.manage(Method::DELETE, &format!("{path}?force=true"), Value::Null).await;
    stage.look(&path).await;
    stage.look("/services/Gone").await;
}
