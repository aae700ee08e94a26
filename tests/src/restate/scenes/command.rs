//! The released command of Restate.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Answer, Request, Stage};

/// One hour, longer than any scene waits.
const HOUR_MS: u32 = 3_600_000;

/// Begins an invocation. Returns its id.
async fn sent(stage: &Stage, path: &str, body: Value) -> String {
    let answer = stage.ask(&Request::call(&format!("/{path}/send"), body)).await;
    answer.field("invocationId")
}

/// Begins an invocation that waits. Returns its id once it does.
async fn waiting(stage: &Stage, name: &str) -> String {
    let id = sent(stage, "Plain/waits", json!(name)).await;
    stage.awakeable(name).await;
    stage.is_under_way(&id).await;
    id
}

/// Begins an invocation that holds a key of an object, and one that waits for the key. Returns
/// their ids.
async fn queued(stage: &Stage, object: &str) -> [String; 2] {
    let slow = json!({ "label": "a", "ms": HOUR_MS });
    let holder = sent(stage, &format!("{object}/slow"), slow).await;
    stage.is_under_way(&holder).await;
    let waits = sent(stage, &format!("{object}/add"), json!(1)).await;
    stage.has_status(&waits, "pending").await;
    [holder, waits]
}

async fn kill(stage: &Stage, ids: &[&str]) {
    for id in ids {
        stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/kill"))).await;
        // An invocation that has not begun disappears immediately.
        let sql = format!(
            "SELECT status FROM sys_invocation WHERE id = '{id}' AND status <> 'completed'"
        );
        let is_over = |answer: &Answer| answer.json()["rows"] == json!([]);
        stage.quietly_until(&Request::query(&sql), is_over).await;
    }
}

pub(super) async fn command_lists(stage: &Stage) {
    let [holder, waits] = queued(stage, "Cell/lists").await;
    let waiting = waiting(stage, "command-list").await;
    let late = stage
        .ask(&Request::call("/Plain/echo/send?delay=1h", json!(1)))
        .await
        .field("invocationId");
    for arguments in [
        &["--key", "lists"][..],
        &["--key", "lists", "--oldest-first"],
        &["--key", "lists", "--status", "pending"],
        &["--handler", "waits"],
        &["--status", "scheduled"],
        &["--service", "Plain", "--status", "suspended", "--status", "running"],
        &["--virtual-objects-only"],
        &["--zombie"],
        &["--limit", "1"],
        &["--all", "--handler", "slow"],
        &["--status", "paused"],
    ] {
        stage.run(&[&["invocations", "list"], arguments].concat()).await;
    }
    kill(stage, &[&waits, &holder, &waiting, &late]).await;
}

pub(super) async fn command_describes(stage: &Stage) {
    let steps = json!({ "name": "command-steps", "count": 2, "ms": 1 });
    let steps = sent(stage, "Plain/steps", steps).await;
    let failed = sent(stage, "Plain/fail", json!({ "code": 418, "message": "no tea" })).await;
    let caller =
        sent(stage, "Plain/call", json!({ "service": "Plain", "handler": "echo", "value": 1 }))
            .await;
    for id in [&steps, &failed, &caller] {
        stage.has_status(id, "completed").await;
        stage.run(&["invocations", "describe", id]).await;
    }
    let [holder, waits] = queued(stage, "Cell/describes").await;
    stage.run(&["invocations", "describe", &waits]).await;
    let waiting = waiting(stage, "command-describe").await;
    stage.run(&["invocations", "describe", &waiting]).await;
    stage.run(&["invocations", "describe", "inv_1aaaaaaaaaaa0000000000000000000000"]).await;
    kill(stage, &[&waits, &holder, &waiting]).await;
}

pub(super) async fn command_shows_services(stage: &Stage) {
    let [holder, waits] = queued(stage, "LazyCell/status").await;
    stage.run_sorted(&["services", "list"]).await;
    stage.run_sorted(&["services", "describe", "Cell"]).await;
    stage.run(&["services", "status", "Approval"]).await;
    stage.run(&["services", "status", "LazyCell"]).await;
    stage.run(&["services", "config", "view", "Cell"]).await;
    stage.run(&["services", "describe", "Nothing"]).await;
    kill(stage, &[&waits, &holder]).await;
}

pub(super) async fn command_shows_deployments(stage: &Stage) {
    let waiting = waiting(stage, "command-deployments").await;
    let all = stage.ask(&Request::admin(Method::GET, "/deployments")).await.json();
    let id = all["deployments"][0]["id"].as_str().expect("there is one").to_owned();
    stage.run_sorted(&["deployments", "list"]).await;
    stage.run_sorted(&["deployments", "list", "--extra"]).await;
    stage.run_sorted(&["deployments", "describe", &id, "--extra"]).await;
    stage.run_sorted(&["deployments", "remove", &id]).await;
    stage.run(&["deployments", "describe", "dp_1nothing"]).await;
    let url = stage.service().to_owned();
    stage.run_sorted(&["deployments", "register", &url]).await;
    kill(stage, &[&waiting]).await;
}

pub(super) async fn command_shows_state(stage: &Stage) {
    stage.ask(&Request::call("/Cell/command-state/add", json!(5))).await;
    stage.run_sorted(&["state", "get", "Cell", "command-state"]).await;
    stage.run(&["state", "get", "Cell", "command-state", "--plain"]).await;
    let patch = r#"[{"op":"add","path":"/x","value":7}]"#;
    stage.run_sorted(&["state", "patch", "Cell", "command-state", "--patch", patch]).await;
    let patched = |answer: &Answer| answer.json() == json!(7);
    let get = Request::call("/Cell/command-state/get", json!("x"));
    stage.quietly_until(&get, patched).await;
    stage.run_sorted(&["state", "get", "Cell", "command-state"]).await;
    stage.ask(&Request::call("/Cell/command-clear/add", json!(5))).await;
    stage.run_sorted(&["state", "clear", "Cell/command-clear"]).await;
    let get = Request::call("/Cell/command-clear/get", json!("total"));
    let cleared = |answer: &Answer| answer.json().is_null();
    stage.quietly_until(&get, cleared).await;
    stage.run_sorted(&["state", "get", "Cell", "command-clear"]).await;
}

pub(super) async fn command_asks(stage: &Stage) {
    let id = sent(stage, "Plain/echo", json!("command-asks")).await;
    stage.has_status(&id, "completed").await;
    let one =
        format!("SELECT id, status, created_at, retry_count FROM sys_invocation WHERE id = '{id}'");
    stage.run(&["sql", &one]).await;
    stage.run(&["sql", "--json", &one]).await;
    stage.run(&["sql", "--jsonl", "SELECT name, ty, public FROM sys_service ORDER BY name"]).await;
    let ranked = "WITH ranked AS (SELECT target_handler_name AS handler, status, \
        ROW_NUMBER() OVER (PARTITION BY target_handler_name ORDER BY created_at DESC) AS place FROM sys_invocation) \
        SELECT handler, status FROM ranked WHERE place = 1 AND handler IN ('echo', 'steps') ORDER BY handler";
    stage.run(&["sql", ranked]).await;
    let joined = "SELECT s.name, COUNT(*) > 0 AS used, MIN(i.created_at) > now() - INTERVAL '1 day' AS today \
        FROM sys_service s JOIN sys_invocation i ON i.target_service_name = s.name GROUP BY s.name ORDER BY s.name";
    stage.run(&["sql", joined]).await;
    stage.run(&["sql", "SELECT value FROM state WHERE service_key = 'nobody'"]).await;
    stage.run(&["sql", "DELETE FROM state"]).await;
}

pub(super) async fn command_controls(stage: &Stage) {
    stage.remark("cancel, by id and by target");
    let one = waiting(stage, "command-cancel").await;
    stage.run(&["invocations", "cancel", &one]).await;
    stage.has_status(&one, "completed").await;
    let two = waiting(stage, "command-cancel-two").await;
    stage.run(&["invocations", "cancel", "Plain/waits"]).await;
    stage.has_status(&two, "completed").await;
    stage.run(&["invocations", "cancel", &two]).await;
    stage.remark("pause, resume and kill");
    let [holder, waits] = queued(stage, "Cell/controls").await;
    stage.run(&["invocations", "pause", &holder]).await;
    stage.has_status(&holder, "paused").await;
    stage.run(&["invocations", "resume", &holder]).await;
    stage.is_under_way(&holder).await;
    stage.run(&["invocations", "kill", &waits]).await;
    stage.run(&["invocations", "kill", "Cell/controls"]).await;
    stage.has_status(&holder, "completed").await;
    stage.remark("once more, and gone");
    let note = sent(stage, "Plain/note", json!("command-restart")).await;
    stage.has_status(&note, "completed").await;
    stage.run(&["invocations", "restart-as-new", &note]).await;
    let twice = |answer: &Answer| answer.json() == json!(2);
    stage.quietly_until(&Request::call("/Plain/noted", json!("command-restart")), twice).await;
    stage.run(&["invocations", "purge", &note]).await;
    stage.run(&["invocations", "describe", &note]).await;
    stage.remark("a service becomes private");
    stage.run(&["services", "config", "patch", "Plain", "--public", "false"]).await;
    let private = |answer: &Answer| answer.status != 200;
    stage.quietly_until(&Request::call("/Plain/echo", json!(1)), private).await;
    stage.run(&["services", "config", "patch", "Plain", "--public", "true"]).await;
}
