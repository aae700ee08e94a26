//! Steps that outlast their service's inactivity timeout, kills that reach callees, and the
//! registration of a service by the released command.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Answer, Request, Stage};

/// Duration of a step, in milliseconds. Events during the step arrive after half of it.
const STEP_MS: u32 = 2_400;

async fn sent(stage: &Stage, handler: &str, body: Value) -> String {
    stage
        .ask(&Request::call(&format!("/Patience/{handler}/send"), body))
        .await
        .field("invocationId")
}

/// Waits until a handler has stored something under a key. Returns it.
async fn kept(stage: &Stage, key: &str) -> String {
    let request = Request::call(&format!("/Held/{key}/kept"), Value::Null);
    let answer = stage.quietly_until(&request, |answer| !answer.json().is_null()).await;
    answer.json().as_str().expect("an id is text").to_owned()
}

pub(super) async fn command_registers(stage: &Stage) {
    let url = stage.others().to_owned();
    stage.remark("on a host that knows no services");
    stage.run_sorted(&["deployments", "register", &url]).await;
    stage.remark("again");
    stage.run_sorted(&["deployments", "register", &url]).await;
    stage.remark("anew");
    stage.run_sorted(&["deployments", "register", &url, "--force"]).await;
    for lists in ["subscriptions", "kafka-clusters", "rules", "vqueues"] {
        stage.run(&[lists, "list"]).await;
    }
}

pub(super) async fn what_comes_during_a_step(stage: &Stage) {
    let asked = |name: &str| json!({ "name": name, "ms": STEP_MS });
    stage.call("/Patience/deadline", asked("deadline")).await;
    stage.call("/Patience/raceWithCall", asked("race-call")).await;
    let id = sent(stage, "raceWithAwakeable", asked("race-awakeable")).await;
    let awakeable = kept(stage, "race-awakeable").await;
    stage.pause(1_000).await;
    let resolve = format!("/restate/awakeables/{awakeable}/resolve");
    stage.ask(&Request::call(&resolve, json!("the other"))).await;
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
    stage.remark("one that is asked to stop");
    let id = sent(stage, "steps", asked("cancel")).await;
    stage.pause(1_000).await;
    stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/cancel"))).await;
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
    stage.remark("each was done once");
    for name in ["deadline", "race-call", "race-awakeable", "cancel"] {
        stage.call("/Patience/noted", json!(name)).await;
    }
}

pub(super) async fn kill_of_callers(stage: &Stage) {
    let caller = sent(stage, "calls", json!("tea")).await;
    kept(stage, "tea").await;
    let sql = "SELECT status, completion_result, completion_failure FROM sys_invocation WHERE target = 'Held/tea/holds'";
    stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{caller}/kill"))).await;
    let over = |answer: &Answer| answer.json()["rows"][0]["status"] == "completed";
    stage.quietly_until(&Request::query(sql), over).await;
    stage.query(sql).await;
    stage.call("/Held/tea/free", Value::Null).await;
}

pub(super) async fn pause_in_a_step(stage: &Stage) {
    let id = sent(stage, "steps", json!({ "name": "pause", "ms": STEP_MS })).await;
    stage.pause(800).await;
    stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/pause"))).await;
    stage.has_status(&id, "paused").await;
    stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/resume"))).await;
    stage.get(&format!("/restate/invocation/{id}/attach")).await;
    stage.call("/Patience/noted", json!("pause")).await;
}

pub(super) async fn keys_and_headers(stage: &Stage) {
    stage.call("/Patience/callsWithoutKey", Value::Null).await;
    stage.call("/Held//key", Value::Null).await;
    stage.call("/Patience/length", json!("four and more")).await;
}

pub(super) async fn previews(stage: &Stage) {
    for (operation, body) in [("encode", "\"Hello\""), ("decode", "HELLO")] {
        let path = format!("/internal/services/Patience/serdes/{operation}/shouts%2Finput");
        stage.say(Request::admin(Method::POST, &path).bytes(body.into())).await;
    }
    let unknown = "/internal/services/Patience/serdes/encode/nothing";
    stage.say(Request::admin(Method::POST, unknown).bytes("1".into())).await;
    let nobody = "/internal/services/Nobody/serdes/encode/nothing";
    stage.say(Request::admin(Method::POST, nobody).bytes("1".into())).await;
}

pub(super) async fn failures_of_attempts(stage: &Stage) {
    let id = sent(stage, "fails", json!("once")).await;
    stage.has_status(&id, "backing-off").await;
    let sql = format!(
        "SELECT last_failure LIKE '[500 Internal] no money%' AS shown, last_failure_error_code, \
         last_failure_related_command_index, last_failure_related_command_name, last_failure_related_command_type \
         FROM sys_invocation WHERE id = '{id}'"
    );
    stage.query(&sql).await;
    stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/kill"))).await;
}

pub(super) async fn suspensions_at_each_wait(stage: &Stage) {
    let path = "/services/Patience";
    let body = json!({ "inactivity_timeout": "0s" });
    stage.ask(&Request::admin(Method::PATCH, path).json(body)).await;
    stage.call("/Patience/attempts", json!("attempts")).await;
}

pub(super) async fn registration_stays(stage: &Stage) {
    let of = |answer: Answer| {
        let all = answer.json()["deployments"].clone();
        let all = all.as_array().expect("a list").clone();
        all.into_iter().map(|one| one["created_at"].clone()).collect::<Vec<_>>()
    };
    let list = Request::admin(Method::GET, "/deployments");
    let before = of(stage.ask(&list).await);
    let body = json!({ "abort_timeout": "2m" });
    stage.ask(&Request::admin(Method::PATCH, "/services/Held").json(body)).await;
    let after = of(stage.ask(&list).await);
    stage.remark(if before == after { "registered when it was" } else { "registered anew" });
}

pub(super) async fn columns_of_invocations(stage: &Stage) {
    let of = async |id: &str| {
        let sql = format!(
            "SELECT target, status, completion_retention, journal_retention, running_at IS NOT NULL AS ran, \
            pinned_service_protocol_version AS version, created_using_restate_version IS NOT NULL AS made_by, \
            idempotency_key IS NOT NULL AS keyed FROM sys_invocation WHERE id = '{id}'"
        );
        stage.query(&sql).await;
    };
    stage.remark("with a key, and without");
    for key in [Some("columns"), None] {
        let request = Request::call("/Patience/noted/send", json!("columns"));
        let request =
            key.iter().fold(request, |request, key| request.header("idempotency-key", key));
        let id = stage.ask(&request).await.field("invocationId");
        stage.has_status(&id, "completed").await;
        of(&id).await;
    }
    stage.remark("while it sleeps");
    let id = sent(stage, "nap", json!(60_000)).await;
    stage.has_status(&id, "suspended").await;
    of(&id).await;
    stage.ask(&Request::admin(Method::PATCH, &format!("/invocations/{id}/kill"))).await;
}
