use axum::http::Method;
use segno_core::{command::Command, promise::Verdict, time::Millis, value::Value as Stored};
use serde_json::{Value, json};

use super::ApiWorld;

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("items");
    items.iter().filter_map(|item| item["id"].as_str()).collect()
}

#[tokio::test]
async fn listings_are_filtered_and_come_in_pages() {
    let world = ApiWorld::shop().await;
    for n in 0..5 {
        world.start(&format!("a{n}")).await.ok();
    }
    let labelled = json!({ "id": "b", "target": "shop/short", "labels": { "customer": "42" } });
    world.post("/v1/invocations", labelled).await.ok();
    let first = world.get("/v1/invocations?limit=4&function=ship").await.ok();
    assert_eq!(ids(&first), ["a4", "a3", "a2", "a1"]);
    let next = first["next"].as_str().expect("a further page");
    let second =
        world.get(&format!("/v1/invocations?limit=4&function=ship&after={next}")).await.ok();
    assert_eq!((ids(&second), &second["next"]), (vec!["a0"], &Value::Null));
    for (query, found) in [
        ("label=customer%3D42", vec!["b"]),
        ("prefix=a&limit=1", vec!["a4"]),
        ("state=suspended", vec![]),
        ("module=other", vec![]),
        ("module=shop&function=short&state=pending&roots=true", vec!["b"]),
        ("parent=a0", vec![]),
    ] {
        let page = world.get(&format!("/v1/invocations?{query}")).await.ok();
        assert_eq!(ids(&page), found, "{query}");
    }
}

#[tokio::test]
async fn a_listing_counts_by_state_and_takes_what_was_made_between_two_instants() {
    let world = ApiWorld::shop().await;
    let mut made = Vec::new();
    for id in ["a", "b", "c"] {
        let started = world.start(id).await.ok();
        made.push(started["invocation"]["created_at_ms"].as_i64().expect("an instant"));
        world.api.host.env.runtime.sleep(Millis(5)).await;
    }
    world.halt("a").await;
    let page = world.get("/v1/invocations?limit=1&counts=true").await.ok();
    assert_eq!(ids(&page), ["c"]);
    assert_eq!(
        page["counts"],
        json!({ "states": { "halted": 1, "pending": 2 }, "newest_only": false })
    );
    let query = format!("since_at_ms={}&until_at_ms={}&counts=true", made[1], made[2]);
    let page = world.get(&format!("/v1/invocations?{query}")).await.ok();
    assert_eq!((ids(&page), &page["counts"]["states"]), (vec!["b"], &json!({ "pending": 1 })));
    assert_eq!(world.get("/v1/invocations").await.ok()["counts"], Value::Null);
    let halted = world.get("/v1/invocations?state=halted").await.ok();
    assert_eq!(halted["items"][0]["note"]["kind"], "divergence");
    assert_eq!(halted["items"][0]["note"]["details"], Value::Null);
}

#[tokio::test]
async fn what_was_killed_differs_from_what_was_cancelled() {
    let world = ApiWorld::shop().await;
    for id in ["a", "b"] {
        world.start(id).await.ok();
    }
    world.post("/v1/invocations/a/kill", json!({})).await.ok();
    world.post("/v1/promises/b/cancel", json!({})).await;
    let killed = world.get("/v1/invocations/a").await.ok();
    assert_eq!((&killed["state"], &killed["killed"]), (&json!("cancelled"), &json!(true)));
    assert_eq!(killed["failure"], json!({ "code": 499, "message": "killed" }));
    let listed = world.get("/v1/invocations").await.ok();
    assert_eq!(
        (&listed["items"][1]["killed"], &listed["items"][0]["killed"]),
        (&json!(true), &Value::Null)
    );
}

#[tokio::test]
async fn what_a_schedule_started_names_it_and_was_called_by_nobody() {
    let world = ApiWorld::shop().await;
    let create = json!({ "id": "often", "cron": "* * * * *", "target": "shop/ship", "input": {} });
    world.post("/v1/schedules", create).await.ok();
    let now = world.api.host.env.clock.now().0;
    let past = json!({ "from_at_ms": now - 120_000, "to_at_ms": now - 59_000 });
    world.post("/v1/schedules/often/backfill", past).await.ok();
    let listed = world.get("/v1/invocations").await.ok();
    let item = &listed["items"][0];
    assert_eq!((&item["schedule"], &item["parent"]), (&json!("often"), &Value::Null));
    let id = item["id"].as_str().expect("an id");
    let shown = world.get(&format!("/v1/invocations/{id}")).await.ok();
    assert_eq!((&shown["schedule"], &shown["parent"]), (&json!("often"), &Value::Null));
    let created = shown["created_at_ms"].as_i64().expect("an instant");
    assert!(created >= now, "a backfilled one began now");
}

#[tokio::test]
async fn queries_that_make_no_sense_are_refused() {
    let world = ApiWorld::new();
    for query in ["state=running", "limit=0", "limit=1001", "after=x", "label=customer"] {
        let answer = world.get(&format!("/v1/invocations?{query}")).await;
        let field = query.split('=').next();
        assert_eq!(answer.body["field"].as_str(), field);
        answer.problem(400, "invalid-field");
    }
    assert!(
        world
            .get("/v1/invocations?state=running")
            .await
            .problem(400, "invalid-field")
            .contains("suspended")
    );
    for query in ["stat=pending", "limit=many"] {
        world.get(&format!("/v1/invocations?{query}")).await.problem(400, "invalid-query");
    }
}

#[tokio::test]
async fn a_journal_and_a_log_are_readable() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let digest = world.digest("shop").await;
    world.journal("a", digest).await;
    let journal = world.get("/v1/invocations/a/journal").await.ok();
    let records = journal["records"].as_array().expect("records");
    assert_eq!(records.len(), 3);
    assert_eq!(records[0]["kind"], "started");
    assert_eq!(records[0]["request"], json!({ "no": 1 }));
    assert_eq!(records[0]["module"], digest.to_string());
    assert_eq!((&records[1]["command"], &records[1]["name"]), (&json!("run"), &json!("weigh")));
    assert_eq!(records[1]["request"], json!({ "unit": "kg" }));
    assert_eq!(records[2]["outcome"]["failure"], json!({ "code": 422, "message": "too heavy" }));
    assert_eq!(journal["next"], Value::Null);
    let page = world.get("/v1/invocations/a/journal?from=1&limit=1").await.ok();
    assert_eq!((&page["records"][0]["seq"], &page["next"]), (&json!(1), &json!(2)));
    let logs = world.get("/v1/invocations/a/logs").await.ok();
    assert_eq!(
        (&logs["lines"][0]["level"], &logs["lines"][0]["message"]),
        (&json!("warn"), &json!("weighing"))
    );
    let shown = world.get("/v1/invocations/a").await.ok();
    assert_eq!((&shown["journal_len"], &shown["state"]), (&json!(3), &json!("acquired")));
    assert_eq!(shown["lease"]["node"], "test");
    world.get("/v1/invocations/a/journal?limit=0").await.problem(400, "invalid-field");
    world.get("/v1/invocations/b/journal").await.problem(404, "unknown-invocation");
    world.get("/v1/invocations/b/logs").await.problem(404, "unknown-invocation");
}

#[tokio::test]
async fn a_halted_invocation_says_why_and_can_continue() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let answer = world.post("/v1/invocations/a/continue", json!({})).await;
    assert!(answer.problem(409, "wrong-state").contains("pending"));
    world.halt("a").await;
    let shown = world.get("/v1/invocations/a").await.ok();
    assert_eq!(shown["state"], "halted");
    assert_eq!(shown["note"]["kind"], "divergence");
    assert_eq!(shown["note"]["details"], json!({ "seq": 3 }));
    assert_eq!(
        world.post("/v1/invocations/a/continue", json!({})).await.ok(),
        json!({ "id": "a", "changed": true })
    );
    assert_eq!(world.get("/v1/invocations/a").await.ok()["state"], "pending");
}

#[tokio::test]
async fn cancel_asks_and_kill_ends() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    world.post("/v1/invocations/a/cancel", json!({})).await.ok();
    let shown = world.get("/v1/invocations/a").await.ok();
    assert_eq!((&shown["cancel"], &shown["state"]), (&json!("requested"), &json!("pending")));
    let killed = json!({ "id": "a", "changed": true });
    assert_eq!(world.post("/v1/invocations/a/kill", json!({})).await.ok(), killed);
    let shown = world.get("/v1/invocations/a").await.ok();
    assert_eq!((&shown["state"], &shown["failure"]["code"]), (&json!("cancelled"), &json!(499)));
    let nothing = json!({ "id": "a", "changed": false });
    assert_eq!(world.post("/v1/invocations/a/kill", json!({})).await.ok(), nothing);
    assert_eq!(world.post("/v1/invocations/a/cancel", json!({})).await.ok(), nothing);
    for action in ["cancel", "kill", "continue"] {
        let answer = world.post(&format!("/v1/invocations/b/{action}"), json!({})).await;
        answer.problem(404, "unknown-invocation");
        let answer =
            world.post(&format!("/v1/invocations/a/{action}"), json!({ "hard": true })).await;
        answer.problem(400, "invalid-json");
    }
}

#[tokio::test]
async fn signals_are_numbered_and_absorbed_by_their_key() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let signal = |key: Option<&str>| json!({ "name": "nudge", "payload": { "n": 1 }, "key": key });
    let sent = |n: u32| json!({ "id": "a", "signal": n });
    for (key, n) in [(Some("k"), 0), (None, 1), (Some("k"), 0), (None, 2)] {
        assert_eq!(world.post("/v1/invocations/a/signals", signal(key)).await.ok(), sent(n));
    }
    for (name, n, differs) in [("nudge", 2, "another payload"), ("poke", 1, "another name")] {
        let other = json!({ "name": name, "payload": { "n": n }, "key": "k" });
        let answer = world.post("/v1/invocations/a/signals", other).await;
        let said = answer.problem(409, "key-reused");
        assert!(
            said.contains("the key `k` was used for another request") && said.contains(differs),
            "{said}"
        );
    }
    for key in ["", " ", "\u{200b}", "a\nb"] {
        let blank = world.post("/v1/invocations/a/signals", signal(Some(key))).await;
        assert!(blank.problem(400, "bad-request").contains("the key of the signal"), "{blank:?}");
    }
    assert_eq!(world.get("/v1/invocations/a").await.ok()["signals"], 3);
    world
        .post("/v1/invocations/a/signals", json!({ "name": "" }))
        .await
        .problem(400, "invalid-field");
    world.post("/v1/invocations/b/signals", signal(None)).await.problem(404, "unknown-invocation");
    world.post("/v1/invocations/a/kill", json!({})).await.ok();
    let answer = world.post("/v1/invocations/a/signals", signal(None)).await;
    assert!(answer.problem(409, "already-settled").contains("cancelled"));
}

#[tokio::test]
async fn what_it_waits_for_is_named() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let claim = world.acquire("a").await;
    world.gate("gate").await;
    world.suspend(claim, ["gate".into()]).await;
    let shown = world.get("/v1/invocations/a").await.ok();
    assert_eq!(shown["state"], "suspended");
    assert_eq!(shown["waits"], json!([{ "id": "gate", "kind": "promise" }]));
    assert_eq!(shown["waits_count"], 1);
    assert_eq!(world.get("/v1/promises/gate").await.ok()["awaited_by"], json!(["a"]));
    world.post("/v1/promises/gate/resolve", json!({ "value": 1 })).await.ok();
    assert_eq!(world.get("/v1/invocations/a").await.ok()["state"], "pending");
}

#[tokio::test]
async fn an_end_is_shown_with_its_value() {
    let world = ApiWorld::shop().await;
    for (id, verdict, data, state, field, shown) in [
        ("a", Verdict::Resolved, "[1]", "resolved", "output", json!([1])),
        (
            "b",
            Verdict::Rejected,
            "{\"code\":402,\"message\":\"no\"}",
            "rejected",
            "failure",
            json!({ "code": 402, "message": "no" }),
        ),
        ("c", Verdict::Resolved, "", "resolved", "output", Value::Null),
    ] {
        world.start(id).await.ok();
        let claim = world.acquire(id).await;
        let value = Stored::of(data.as_bytes());
        world
            .command(Command::TaskFulfill { claim, records: vec![], logs: vec![], verdict, value })
            .await;
        for path in [format!("/v1/invocations/{id}"), format!("/v1/invocations/{id}/wait")] {
            let answer = world.get(&path).await.ok();
            assert_eq!(answer["state"], state);
            assert_eq!(answer[field], shown);
        }
    }
}

#[tokio::test]
async fn a_journal_is_removed_after_the_end_and_the_outcome_says_so() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let path = "/v1/invocations/a/journal";
    let refused = world.send(Method::DELETE, path, "").await;
    assert!(refused.problem(409, "not-ended").contains("needs its journal"));
    let claim = world.journal("a", world.digest("shop").await).await;
    let (verdict, value) = (Verdict::Resolved, Stored::of(&b"1"[..]));
    let (records, logs) = (vec![], vec![]);
    world.command(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
    assert_ne!(world.get(path).await.ok()["records"], json!([]));
    let outcome = world.send(Method::DELETE, path, "").await.ok();
    assert_eq!((&outcome["state"], &outcome["output"]), (&json!("resolved"), &json!(1)));
    let said = outcome["note"]["message"].as_str().expect("a note").to_owned();
    assert!(said.starts_with("its journal was removed on "), "{said}");
    assert_eq!(world.get(path).await.ok()["records"], json!([]));
    let shown = world.get("/v1/invocations/a").await.ok();
    assert_eq!((&shown["journal_len"], &shown["note"]["message"]), (&json!(0), &json!(said)));
    let replay = world.post("/v1/invocations/a/replay", json!({})).await;
    assert!(replay.problem(409, "no-journal").contains(&said));
    let again = world.start("a").await.ok();
    assert_eq!(again["created"], false, "its id is taken as before");
    world
        .send(Method::DELETE, "/v1/invocations/none/journal", "")
        .await
        .problem(404, "unknown-invocation");
}

#[tokio::test]
async fn invocations_are_found_by_the_text_of_an_error() {
    let world = ApiWorld::shop().await;
    for id in ["a", "b", "c"] {
        world.start(id).await.ok();
    }
    world.halt("a").await;
    world.settle("b", Verdict::Rejected, r#"{"code":402,"message":"Card DECLINED"}"#).await;
    let found = async |query: &str| {
        let page = world.get(&format!("/v1/invocations?{query}")).await.ok();
        let items = page["items"].as_array().expect("items").clone();
        items.iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("error=declined").await, ["b"]);
    assert_eq!(found("error=402:").await, ["b"]);
    assert_eq!(found("error=leaves%20the%20journal").await, ["a"]);
    assert_eq!(found("error=declined&state=halted").await, [""; 0]);
    // A page without matches is skipped.
    assert_eq!(found("error=leaves&limit=1").await, ["a"]);
    let both = world.get("/v1/invocations?error=x&counts=true").await;
    assert!(both.problem(400, "invalid-field").contains("`counts`"));
}
