//! Deployments that replace others, restarted invocations, and metadata of services.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    super::{Answer, Request, Stage},
    combinators::kept,
};

async fn registered(stage: &Stage, name: &str) -> String {
    let uri = format!("{}/{name}", stage.service());
    let request = Request::admin(Method::POST, "/deployments").json(json!({ "uri": uri }));
    stage.ask(&request).await.field("id")
}

async fn attached(stage: &Stage, id: &str) {
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
}

async fn note(stage: &Stage, line: &str) {
    stage.ask(&Request::call("/Case/note", json!(line))).await;
}

pub(super) async fn upgrades(stage: &Stage) {
    registered(stage, "one").await;
    stage.call("/Versioned/new/version", Value::Null).await;
    let sent = stage.call("/Versioned/in-flight/holds/send", Value::Null).await;
    let awakeable = kept(stage, "in-flight").await;
    registered(stage, "two").await;
    let asked = Request::call("/Versioned/new/version", Value::Null);
    stage.until(asked, |answer| answer.json() == "two").await;
    stage.remark("what began before goes on where it began");
    let resolve = format!("/restate/awakeables/{awakeable}/resolve");
    stage.call(&resolve, json!("go on")).await;
    attached(stage, &sent.field("invocationId")).await;
    stage.call("/Versioned/in-flight/version", Value::Null).await;
}

pub(super) async fn resume_elsewhere(stage: &Stage) {
    registered(stage, "failing").await;
    let id = stage.call("/Mended/run/send", Value::Null).await.field("invocationId");
    stage.has_status(&id, "paused").await;
    let mended = registered(stage, "mended").await;
    let resume = format!("/invocations/{id}/resume?deployment={mended}");
    stage.ask(&Request::admin(Method::PATCH, &resume)).await;
    attached(stage, &id).await;
    stage.has_status(&id, "completed").await;
}

pub(super) async fn restart_of_failures(stage: &Stage) {
    let first = stage.call("/Case/greetsOnceAllowed", json!("tea")).await.id();
    note(stage, "allow tea").await;
    for query in ["deployment=latest", "from=1&deployment=latest"] {
        let path = format!("/invocations/{first}/restart-as-new?{query}");
        let again = stage.manage(Method::PATCH, &path, Value::Null).await;
        let new = again.field("new_invocation_id");
        attached(stage, &new).await;
        stage.has_status(&new, "completed").await;
    }
    stage.has_status(&first, "completed").await;
}

pub(super) async fn journals(stage: &Stage) {
    let id = stage.call("/Case/naps", json!([100])).await.id();
    stage.has_status(&id, "completed").await;
    let sql = format!("SELECT index, entry_type FROM sys_journal WHERE id = '{id}' ORDER BY index");
    let all =
        |answer: &Answer| answer.json()["rows"].as_array().is_some_and(|rows| rows.len() == 4);
    stage.until(Request::query(&sql), all).await;
}

pub(super) async fn signed_requests(stage: &Stage) {
    stage.remark("what a request is answered that nobody signed");
    stage.call("/Case/unsigned", Value::Null).await;
    stage.remark("what the runtime asks is signed");
    stage.call("/Book/signed/add", json!(1)).await;
}

pub(super) async fn openapi(stage: &Stage) {
    let request = Request::admin(Method::GET, "/services/Book/openapi");
    let answer = stage.ask(&request).await;
    let document = answer.json();
    let version = document["openapi"].as_str().unwrap_or_default();
    let paths: Vec<_> = document["paths"].as_object().into_iter().flatten().collect();
    let described = |handler: &str| {
        let end = format!("/{handler}");
        paths.iter().any(|(path, methods)| path.ends_with(&end) && methods["post"].is_object())
    };
    let all = ["add", "total", "append", "clearAll"].iter().all(|handler| described(handler));
    stage.remark(&format!("{}, OpenAPI {version}, each handler: {all}", answer.status));
}

pub(super) async fn acknowledged_steps(stage: &Stage) {
    let body = json!({ "inactivity_timeout": "0s" });
    stage.ask(&Request::admin(Method::PATCH, "/services/Case").json(body)).await;
    stage.call("/Case/executes", json!(3)).await;
}
