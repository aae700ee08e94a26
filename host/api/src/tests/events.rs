use axum::http::StatusCode;
use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    id::{Claim, CommandIndex},
    invocation::{CommandKind, CommandRequest, Record, RecordBody},
    promise::OutboxKey,
    time::Millis,
    value::{Text, Value as Stored},
};
use serde_json::{Value, json};

use super::ApiWorld;

/// Creates an invocation `id` that has published `count` events.
async fn publisher(world: &ApiWorld, id: &str, count: u32) {
    let digest = world.digest("shop").await;
    world.start(id).await.ok();
    let claim = world.journal(id, digest).await;
    publish(world, &claim, 3, count).await;
}

async fn publish(world: &ApiWorld, claim: &Claim, seq: u32, count: u32) {
    let at = world.api.host.env.clock.now();
    let record = |number: u32| Record {
        seq: seq + number,
        at,
        body: RecordBody::Command {
            index: CommandIndex(number + 1),
            kind: CommandKind::Publish,
            name: Text::from("order.paid"),
            request: CommandRequest::of(&[]),
        },
    };
    let action = |number: u32| FenceAction {
        index: CommandIndex(number + 1),
        act: FenceOperation::Publish {
            topic: Text::from(if number.is_multiple_of(2) { "order.paid" } else { "refund" }),
            payload: Stored::of(format!("{{\"n\":{number}}}").into_bytes()),
        },
    };
    let fence = Command::TaskFence {
        claim: claim.clone(),
        records: (0..count).map(record).collect(),
        logs: vec![],
        actions: (0..count).map(action).collect(),
    };
    world.command(fence).await;
}

fn ids(page: &Value) -> Vec<String> {
    let events = page["events"].as_array().expect("events");
    events.iter().map(|event| event["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn events_are_read_until_they_are_acknowledged() {
    let world = ApiWorld::shop().await;
    publisher(&world, "a", 12).await;
    let whole = world.get("/v1/events").await.ok();
    let expected: Vec<String> = (1..=12).map(|index| format!("a/{index}")).collect();
    assert_eq!(ids(&whole), expected, "in the order of their commands");
    assert_eq!(whole["events"][0]["type"], "order.paid");
    assert_eq!(whole["events"][0]["data"], json!({ "n": 0 }));
    assert_eq!(world.get("/v1/events").await.ok(), whole, "reading takes nothing away");
    let page = world.get("/v1/events?limit=5").await.ok();
    assert_eq!(ids(&page), expected[..5]);
    let next = page["next"].as_str().expect("there is more");
    let page = world.get(&format!("/v1/events?cursor={next}&limit=1000")).await.ok();
    assert_eq!(ids(&page), expected[5..]);
    let ack = json!({ "ids": [expected[1], expected[4], "b/1"] });
    for _ in 0..2 {
        let answer = world.post("/v1/events/ack", ack.clone()).await;
        assert_eq!(answer.ok()["acknowledged"], 3, "again makes no difference");
    }
    let left = ids(&world.get("/v1/events").await.ok());
    assert_eq!(left.len(), 10);
    assert!(!left.contains(&expected[1]) && !left.contains(&expected[4]));
}

#[tokio::test]
async fn events_are_chosen_by_topic() {
    let world = ApiWorld::shop().await;
    publisher(&world, "a", 6).await;
    let page = world.get("/v1/events?topic=refund").await.ok();
    assert_eq!(ids(&page), ["a/2", "a/4", "a/6"]);
    assert_eq!(ids(&world.get("/v1/events?topic=order.*&limit=2").await.ok()), ["a/1", "a/3"]);
    let none = world.get("/v1/events?topic=other").await.ok();
    assert_eq!(ids(&none).len(), 0);
    let next = none["next"].as_str().expect("it was looked through");
    assert_eq!(world.get(&format!("/v1/events?cursor={next}")).await.ok(), json!({ "events": [] }));
}

#[tokio::test]
async fn who_waits_hears_of_the_next_event() {
    let world = ApiWorld::shop().await;
    let digest = world.digest("shop").await;
    world.start("a").await.ok();
    let claim = world.journal("a", digest).await;
    let nothing = world.get("/v1/events?wait_ms=20").await.ok();
    assert_eq!(nothing, json!({ "events": [] }));
    let (page, ()) = tokio::join!(world.get("/v1/events?wait_ms=60000"), async {
        world.api.host.env.runtime.sleep(Millis(30)).await;
        publish(&world, &claim, 3, 1).await;
    });
    assert_eq!(ids(&page.ok()), ["a/1"]);
}

#[tokio::test]
async fn what_is_no_cursor_and_no_id_is_named() {
    let world = ApiWorld::shop().await;
    for path in ["/v1/events?cursor=x", "/v1/events?cursor=1-2", "/v1/events?cursor=1-2-3-4"] {
        let answer = world.get(path).await;
        assert!(answer.problem(400, "invalid-field").contains("`next`"), "{answer:?}");
    }
    world.get("/v1/events?limit=0").await.problem(400, "invalid-field");
    world.get("/v1/events?limit=1001").await.problem(400, "invalid-field");
    world.get("/v1/events?topics=x").await.problem(400, "invalid-query");
    publisher(&world, "a", 1).await;
    let bad = world.post("/v1/events/ack", json!({ "ids": ["a/1", "a"] })).await;
    assert!(bad.problem(400, "invalid-field").contains("`a`"), "{bad:?}");
    assert_eq!(ids(&world.get("/v1/events").await.ok()), ["a/1"], "a bad list changes nothing");
    let many: Vec<String> = (0..1001).map(|index| format!("a/{index}")).collect();
    world.post("/v1/events/ack", json!({ "ids": many })).await.problem(400, "invalid-field");
    assert_eq!(world.post("/v1/events/ack", json!({ "ids": [] })).await.status, StatusCode::OK);
}

#[tokio::test]
async fn events_that_nobody_is_pushed_are_not_written_again() {
    let world = ApiWorld::shop().await;
    publisher(&world, "a", 1).await;
    let recovery = segno_engine::recovery::Recovery::start(&world.api.host);
    world.api.host.env.runtime.sleep(Millis(300)).await;
    recovery.stop();
    let rows = world.api.host.store.read().dump().await.expect("memory answers").outbox;
    let row = &rows[&OutboxKey::Event("a".into(), CommandIndex(1))];
    assert_eq!((row.attempts, row.next_at), (0, row.created_at));
}
