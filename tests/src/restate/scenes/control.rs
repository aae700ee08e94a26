//! Cancel, kill, pause, resume, purge, restart.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Answer, Request, Stage};

const UNKNOWN: &str = "inv_1aaaaaaaaaaa0000000000000000000000";

/// Starts `handler`, which waits for an awakeable. Returns its id once it waits.
async fn waiting(stage: &Stage, handler: &str, name: &str) -> String {
    let sent = stage.call(&format!("/Plain/{handler}/send"), json!(name)).await;
    stage.awakeable(name).await;
    sent.field("invocationId")
}

async fn told(stage: &Stage, id: &str, what: &str) {
    stage.manage(Method::PATCH, &format!("/invocations/{id}/{what}"), Value::Null).await;
}

async fn attached(stage: &Stage, id: &str) {
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
}

async fn statuses(stage: &Stage, id: &str) {
    let sql = format!(
        "SELECT status, completion_result, completion_failure FROM sys_invocation WHERE id = '{id}'"
    );
    stage.query(&sql).await;
}

pub(super) async fn cancel(stage: &Stage) {
    let id = waiting(stage, "waits", "cancel").await;
    told(stage, &id, "cancel").await;
    attached(stage, &id).await;
    statuses(stage, &id).await;
    stage.remark("one that cleans up");
    let id = waiting(stage, "cleansUp", "cancel-clean").await;
    told(stage, &id, "cancel").await;
    attached(stage, &id).await;
    stage.call("/Plain/noted", json!("cleaned cancel-clean")).await;
    stage.remark("one that has ended");
    told(stage, &id, "cancel").await;
    stage.remark("the older form");
    let id = waiting(stage, "waits", "cancel-old").await;
    let path = format!("/invocations/{id}");
    stage.manage(Method::DELETE, &path, Value::Null).await;
    attached(stage, &id).await;
    let id = waiting(stage, "waits", "cancel-old-mode").await;
    let path = format!("/invocations/{id}?mode=kill");
    stage.manage(Method::DELETE, &path, Value::Null).await;
    attached(stage, &id).await;
}

pub(super) async fn cancel_of_calls(stage: &Stage) {
    stage.remark("the callee is cancelled, and its failure reaches the caller");
    let sent = stage.call("/Plain/callsWaits/send", json!("cancel-call")).await;
    let id = sent.field("invocationId");
    stage.awakeable("cancel-call").await;
    told(stage, &id, "cancel").await;
    attached(stage, &id).await;
    let sql = format!(
        "SELECT target, status, completion_failure FROM sys_invocation WHERE invoked_by_id = '{id}'"
    );
    let ended = |answer: &Answer| answer.json()["rows"][0]["status"] == "completed";
    stage.until(Request::query(&sql), ended).await;
}

pub(super) async fn cancel_of_queued(stage: &Stage) {
    stage.remark("scheduled");
    let sent = stage.call("/Plain/echo/send?delay=1h", json!(1)).await;
    let id = sent.field("invocationId");
    stage.has_status(&id, "scheduled").await;
    told(stage, &id, "cancel").await;
    attached(stage, &id).await;
    stage.remark("in the inbox");
    let slow = json!({ "label": "first", "ms": 1_500 });
    let first = stage.call("/Cell/queue/slow/send", slow).await.field("invocationId");
    let second = stage.call("/Cell/queue/add/send", json!(1)).await.field("invocationId");
    stage.has_status(&second, "pending").await;
    told(stage, &second, "cancel").await;
    attached(stage, &second).await;
    attached(stage, &first).await;
    stage.call("/Cell/queue/get", json!("total")).await;
    stage.remark("with a caller that waits");
    for (what, key) in [("cancel", "cancel-queue"), ("kill", "kill-queue")] {
        let slow = json!({ "label": "first", "ms": 1_500 });
        stage.call(&format!("/Cell/{key}/slow/send"), slow).await;
        let add = Request::call(&format!("/Cell/{key}/add"), json!(1));
        let refuse = async {
            let sql = format!(
                "SELECT id FROM sys_invocation \
                WHERE target_service_key = '{key}' AND target_handler_name = 'add'"
            );
            let found = |answer: &Answer| answer.json()["rows"][0]["id"].is_string();
            let found = stage.quietly_until(&Request::query(&sql), found).await.json();
            let id = found["rows"][0]["id"].as_str().expect("an id").to_owned();
            stage.has_status(&id, "pending").await;
            told(stage, &id, what).await;
        };
        let (answer, ()) = futures::join!(stage.ask(&add), refuse);
        stage.write(&add, &answer);
    }
    stage.remark("killed");
    let sent = stage.call("/Plain/echo/send?delay=1h", json!(1)).await;
    let id = sent.field("invocationId");
    stage.has_status(&id, "scheduled").await;
    told(stage, &id, "kill").await;
    attached(stage, &id).await;
}

pub(super) async fn cancel_by_handlers(stage: &Stage) {
    stage.call("/Plain/cancelChild", json!("cancel-child")).await;
    let id = waiting(stage, "waits", "cancel-by").await;
    stage.call("/Plain/cancel", json!(id)).await;
    attached(stage, &id).await;
}

pub(super) async fn kill(stage: &Stage) {
    let id = waiting(stage, "cleansUp", "kill").await;
    told(stage, &id, "kill").await;
    attached(stage, &id).await;
    statuses(stage, &id).await;
    stage.remark("nothing is cleaned up");
    stage.call("/Plain/noted", json!("cleaned kill")).await;
    stage.remark("the lock of an object is free");
    let slow = json!({ "label": "never", "ms": 3_600_000 });
    let id = stage.call("/Cell/kill/slow/send", slow).await.field("invocationId");
    stage.is_under_way(&id).await;
    told(stage, &id, "kill").await;
    stage.call("/Cell/kill/add", json!(1)).await;
    stage.remark("one that has ended");
    told(stage, &id, "kill").await;
}

pub(super) async fn purge(stage: &Stage) {
    let note = || Request::call("/Plain/note", json!("purge")).header("idempotency-key", "purge");
    let id = stage.say(note()).await.id();
    told(stage, &id, "purge-journal").await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    stage.query(&format!("SELECT index FROM sys_journal WHERE id = '{id}' ORDER BY index")).await;
    told(stage, &id, "purge").await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    stage.remark("the key is free again");
    stage.say(note()).await;
    stage.remark("a workflow");
    stage.ask(&Request::call("/Approval/purge/approve", json!("yes"))).await;
    let id = stage.call("/Approval/purge/run", json!("x")).await.id();
    told(stage, &id, "purge").await;
    stage.get("/restate/workflow/Approval/purge/output").await;
    stage.call("/Approval/purge/stage", Value::Null).await;
    stage.remark("one that has not ended");
    let id = waiting(stage, "waits", "purge-running").await;
    told(stage, &id, "purge").await;
    told(stage, &id, "purge-journal").await;
    told(stage, &id, "kill").await;
}

pub(super) async fn pause_and_resume(stage: &Stage) {
    stage.remark("paused by the policy");
    let id = stage.call("/Plain/stuck/send", json!("stuck")).await.field("invocationId");
    stage.has_status(&id, "paused").await;
    stage.call("/Plain/noted", json!("stuck stuck")).await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    stage.call("/Plain/note", json!("allow stuck")).await;
    told(stage, &id, "resume").await;
    attached(stage, &id).await;
}

pub(super) async fn pause_by_hand(stage: &Stage) {
    let id = waiting(stage, "awakeable", "pause").await;
    told(stage, &id, "pause").await;
    stage.has_status(&id, "paused").await;
    told(stage, &id, "pause").await;
    let awakeable = stage.awakeable("pause").await;
    stage.call(&format!("/restate/awakeables/{awakeable}/resolve"), json!(1)).await;
    stage.pause(200).await;
    stage.get(&format!("/restate/invocation/{id}/output")).await;
    told(stage, &id, "resume?deployment=latest").await;
    attached(stage, &id).await;
    stage.remark("one that is not paused");
    told(stage, &id, "resume").await;
    told(stage, &id, "pause").await;
    let id = waiting(stage, "waits", "pause-not").await;
    told(stage, &id, "resume?deployment=dp_1nothing").await;
    told(stage, &id, "kill").await;
}

pub(super) async fn doomed(stage: &Stage) {
    stage.call("/Plain/doomed", json!("doomed")).await;
    stage.call("/Plain/noted", json!("doomed doomed")).await;
}

pub(super) async fn restart_as_new(stage: &Stage) {
    let id = stage.call("/Plain/note", json!("restart")).await.id();
    let path = format!("/invocations/{id}/restart-as-new");
    let again = stage.manage(Method::PATCH, &path, Value::Null).await;
    let new = again.field("new_invocation_id");
    attached(stage, &new).await;
    stage.call("/Plain/noted", json!("restart")).await;
    stage.remark("with what was done before");
    let path = format!("/invocations/{id}/restart-as-new?from=1");
    let again = stage.manage(Method::PATCH, &path, Value::Null).await;
    if again.status < 300 {
        attached(stage, &again.field("new_invocation_id")).await;
    }
    stage.remark("with the first of its steps");
    let steps = json!({ "name": "restart-steps", "count": 3, "ms": 1 });
    let id = stage.call("/Plain/steps", steps).await.id();
    let path = format!("/invocations/{id}/restart-as-new?from=2");
    let again = stage.manage(Method::PATCH, &path, Value::Null).await;
    if again.status < 300 {
        attached(stage, &again.field("new_invocation_id")).await;
        for step in 0..3 {
            stage.call("/Plain/noted", json!(format!("restart-steps {step}"))).await;
        }
    }
    stage.remark("with entries that it has not");
    let path = format!("/invocations/{id}/restart-as-new?from=99");
    stage.manage(Method::PATCH, &path, Value::Null).await;
    stage.remark("one that has not ended");
    let id = waiting(stage, "waits", "restart-running").await;
    told(stage, &id, "restart-as-new").await;
    told(stage, &id, "kill").await;
    stage.remark("a workflow");
    stage.ask(&Request::call("/Approval/restart/approve", json!("yes"))).await;
    let id = stage.call("/Approval/restart/run", json!("x")).await.id();
    told(stage, &id, "restart-as-new").await;
}

pub(super) async fn bad_control(stage: &Stage) {
    for what in ["cancel", "kill", "purge", "purge-journal", "pause", "resume", "restart-as-new"] {
        told(stage, UNKNOWN, what).await;
    }
    told(stage, "nothing", "cancel").await;
    told(stage, UNKNOWN, "forget").await;
    stage.manage(Method::DELETE, &format!("/invocations/{UNKNOWN}"), Value::Null).await;
    stage.look(&format!("/invocations/{UNKNOWN}")).await;
}
