use axum::http::Method;
use segno_core::{command::Command, time::Timestamp};
use serde_json::json;

use super::ApiWorld;

/// A schedule for every minute, backfilled over one past minute.
fn nightly() -> serde_json::Value {
    json!({
        "id": "nightly/report",
        "cron": "* * * * *",
        "target": "shop/order",
        "input": { "items": [1] },
        "labels": { "team": "blue" }
    })
}

#[tokio::test]
async fn a_schedule_is_made_once_shown_and_removed() {
    let world = ApiWorld::shop().await;
    let made = world.post("/v1/schedules", nightly()).await;
    assert_eq!(made.status.as_u16(), 201);
    let made = made.ok();
    let schedule = &made["schedule"];
    assert_eq!(
        (&made["created"], &schedule["target"]),
        (&json!(true), &json!("wasm://shop/order"))
    );
    assert_eq!(schedule["input"], json!({ "items": [1] }));
    assert_eq!(schedule["invocation_id"], "{{.id}}@{{.timestamp}}");
    assert_eq!((&schedule["overlap"], &schedule["paused"]), (&json!("allow"), &json!(false)));
    assert!(schedule.get("timeout_ms").is_none() && schedule["next_at_ms"].is_i64());
    let mut other = nightly();
    other["cron"] = json!("0 0 * * *");
    let refused = world.post("/v1/schedules", other).await;
    let said = refused.problem(409, "key-reused");
    assert!(said.contains("was used for another request: another cron expression"), "{said}");
    let again = world.post("/v1/schedules", nightly()).await;
    assert_eq!(again.status.as_u16(), 200);
    let again = again.ok();
    assert_eq!(
        (&again["created"], &again["schedule"]["cron"]),
        (&json!(false), &json!("* * * * *"))
    );
    let path = "/v1/schedules/nightly%2Freport";
    let mut shown = world.get(path).await.ok();
    let upcoming = shown["upcoming"].take();
    assert_eq!(upcoming.as_array().map(Vec::len), Some(10));
    assert_eq!(upcoming[0]["at_ms"], schedule["next_at_ms"]);
    shown.as_object_mut().expect("an object").remove("upcoming");
    assert_eq!(shown, *schedule);
    let listed = world.get("/v1/schedules?label=team=blue&prefix=night").await.ok();
    assert_eq!(listed, json!({ "items": [schedule] }));
    assert_eq!(world.get("/v1/schedules?label=team=red").await.ok(), json!({ "items": [] }));
    let removed = world.send(Method::DELETE, path, "").await.ok();
    assert_eq!(removed, json!({ "id": "nightly/report", "changed": true }));
    assert!(world.get(path).await.problem(404, "unknown-schedule").contains("nightly/report"));
    world.send(Method::DELETE, path, "").await.problem(404, "unknown-schedule");
}

#[tokio::test]
async fn a_schedule_stands_still_while_it_is_paused() {
    let world = ApiWorld::shop().await;
    world.post("/v1/schedules", nightly()).await.ok();
    let path = "/v1/schedules/nightly%2Freport";
    assert_eq!(world.post(&format!("{path}/pause"), json!({})).await.ok()["paused"], true);
    assert_eq!(world.post(&format!("{path}/resume"), json!({})).await.ok()["paused"], false);
    for action in ["pause", "resume", "backfill"] {
        let body = match action {
            "backfill" => json!({ "from_at_ms": 0, "to_at_ms": 1 }),
            _ => json!({}),
        };
        let answer = world.post(&format!("/v1/schedules/nothing/{action}"), body).await;
        answer.problem(404, "unknown-schedule");
    }
}

#[tokio::test]
async fn a_backfill_starts_the_past_once() {
    let world = ApiWorld::shop().await;
    world.post("/v1/schedules", nightly()).await.ok();
    let path = "/v1/schedules/nightly%2Freport/backfill";
    let range = json!({ "from_at_ms": 60_000, "to_at_ms": 180_000 });
    let done = world.post(path, range.clone()).await.ok();
    assert_eq!(done, json!({ "started": 2, "existing": 0, "skipped": 0 }));
    let done = world.post(path, range).await.ok();
    assert_eq!(done, json!({ "started": 0, "existing": 2, "skipped": 0 }));
    let started = world.get("/v1/invocations/nightly%2Freport@120000").await.ok();
    assert_eq!(started["state"], "pending");
    assert!(started["created_at_ms"].as_i64() > Some(180_000), "it begins now: {started}");
    assert_eq!(started["labels"], json!({ "team": "blue" }));
    let empty = json!({ "from_at_ms": 5, "to_at_ms": 5 });
    world.post(path, empty).await.problem(400, "bad-request");
    let long = json!({ "from_at_ms": 0, "to_at_ms": 60_000 * 250 });
    assert_eq!(world.post(path, long).await.ok()["next_at_ms"], json!(60_000 * 100));
}

#[tokio::test]
async fn what_a_schedule_makes_can_be_run() {
    let world = ApiWorld::shop().await;
    world.post("/v1/schedules", nightly()).await.ok();
    let path = "/v1/schedules/nightly%2Freport";
    let next = world.get(path).await.ok()["next_at_ms"].as_i64().expect("an instant");
    let due =
        world.api.host.store.work_queue().due(Timestamp(next), 10).await.expect("what is due");
    assert_eq!(due.commands, [Command::ScheduleDue { id: "nightly/report".into() }]);
}

#[tokio::test]
async fn a_schedule_that_could_not_work_is_refused_in_words() {
    let world = ApiWorld::shop().await;
    for (field, value, status, code, part) in [
        ("cron", json!("every day"), 400, "bad-request", "is no cron expression"),
        ("cron", json!("0 0 30 2 *"), 422, "unprocessable", "there is no such date"),
        ("target", json!("shop/nothing"), 404, "unknown-function", "`nothing`"),
        ("target", json!("order"), 400, "invalid-target", "missing"),
        ("input", json!({ "items": "all" }), 422, "invalid-input", "/items"),
        ("invocation_id", json!("{{.id}}"), 400, "invalid-field", "{{.timestamp}}"),
        ("labels", json!({ "": "x" }), 400, "invalid-field", "label"),
        ("id", json!(""), 400, "invalid-id", "empty"),
    ] {
        let mut body = nightly();
        body[field] = value;
        let answer = world.post("/v1/schedules", body).await;
        let detail = answer.problem(status, code);
        assert!(detail.contains(part), "{detail}");
    }
    world.get("/v1/schedules?limit=0").await.problem(400, "invalid-field");
    let mut outside = nightly();
    outside["target"] = json!("poll://workers");
    let made = world.post("/v1/schedules", outside).await.ok();
    assert_eq!(made["schedule"]["input"], json!({ "items": [1] }));
}

#[tokio::test]
async fn a_schedule_tells_of_what_it_left_out_and_what_became_of_the_last() {
    let world = ApiWorld::shop().await;
    world.upload("bare", "wasm other").await.ok();
    let create = json!({
        "id": "each", "cron": "* * * * *", "target": "shop/ship", "overlap": "skip",
        "zone": "America/New_York", "jitter_ms": 5_000,
    });
    let made = world.post("/v1/schedules", create).await.ok();
    assert_eq!(made["schedule"]["zone"], "America/New_York");
    assert_eq!(made["schedule"]["jitter_ms"], 5_000);
    let path = "/v1/schedules/each";
    let trigger = json!({ "at_ms": 60_000 });
    let triggered = world.post(&format!("{path}/trigger"), trigger.clone()).await.ok();
    assert_eq!(triggered, json!({ "id": "each@60000", "created": true }));
    let again = world.post(&format!("{path}/trigger"), trigger).await.ok();
    assert_eq!(again["created"], false);
    world.halt("each@60000").await;
    let shown = world.get(path).await.ok();
    assert_eq!(shown["last"]["state"], "halted");
    assert_eq!(shown["last"]["error"], "the replay leaves the journal at record 3");
    let first = &shown["upcoming"][0];
    assert!(first["starts_at_ms"].as_i64() >= first["at_ms"].as_i64(), "{first}");
    assert!(first["local"].as_str().is_some_and(|local| local.contains("-0")), "{first}");
    let refused = world.post(&format!("{path}/trigger"), json!({})).await;
    let said = refused.problem(409, "schedule-overlaps");
    assert!(said.contains("`each@60000`") && said.contains("one execution at a time"), "{said}");
    let range = json!({ "from_at_ms": 120_000, "to_at_ms": 180_000 });
    let done = world.post(&format!("{path}/backfill"), range).await.ok();
    let because = "`each@60000`, which it started before, is halted and waits for a person";
    assert_eq!((&done["skipped"], &done["because"]), (&json!(1), &json!(because)));
    // First the function is missing, then the module.
    world.upload("shop", "wasm order short").await.ok();
    let problem = "the module `shop` has no function `ship` any more";
    assert_eq!(world.get(path).await.ok()["problem"], problem);
    let listed = world.get("/v1/schedules").await.ok();
    assert_eq!(listed["items"][0]["problem"], problem);
    let module = world.digest("shop").await;
    world.command(Command::Undeploy { alias: "shop".into(), module }).await;
    let problem = "the module `shop` is not deployed any more";
    assert_eq!(world.get(path).await.ok()["problem"], problem);
}

#[tokio::test]
async fn what_would_end_after_the_year_9999_is_refused_before_it_is_stored() {
    let world = ApiWorld::shop().await;
    let far = i64::MAX;
    let start = json!({ "id": "far", "target": "shop/ship", "timeout_ms": far });
    let promise = json!({ "id": "far", "timeout_ms": far });
    let mut schedule = nightly();
    schedule["timeout_ms"] = json!(far);
    for (path, body) in
        [("/v1/invocations", start), ("/v1/promises", promise), ("/v1/schedules", schedule)]
    {
        let refused = world.post(path, body).await;
        let said = refused.problem(400, "invalid-field");
        assert!(said.contains("after the year 9999"), "{path}: {said}");
        assert_eq!(refused.body["field"], "timeout_ms");
    }
    let start =
        json!({ "id": "far", "target": "shop/ship", "start_at_ms": 253_402_300_800_000_i64 });
    world.post("/v1/invocations", start).await.problem(400, "invalid-field");
    world.get("/v1/promises/far").await.problem(404, "unknown-promise");
    for zone in ["", "Europe/Atlantis", "CET+1"] {
        let mut schedule = nightly();
        schedule["zone"] = json!(zone);
        let refused = world.post("/v1/schedules", schedule).await;
        assert!(refused.problem(400, "invalid-field").contains("IANA name"));
    }
}
