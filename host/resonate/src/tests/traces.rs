//! Recorded conversations of released clients with another server, replayed in debug time: every
//! line is answered as recorded. Times, steps sent in advance, and the wording of refusals may
//! differ between servers.

use std::collections::BTreeMap;

use segno_core::{
    command::Command,
    promise::{Delivery, OutboxMessageKind},
    reply::Reply,
    time::Timestamp,
};
use serde_json::{Value as Json, json};

use super::world::ResonateWorld;

const TYPESCRIPT: &str = include_str!("../../../../tests/traces/sdk-ts-0.11.5.ndjson");
const PYTHON: &str = include_str!("../../../../tests/traces/sdk-py-0.8.1.ndjson");

/// Numbers of messages by kind, id and version.
type MessageCounts = BTreeMap<(String, String, u64), usize>;

#[tokio::test]
async fn every_line_of_the_typescript_client_is_answered_as_recorded() {
    replay(TYPESCRIPT).await;
}

#[tokio::test]
async fn every_line_of_the_python_client_is_answered_as_recorded() {
    replay(PYTHON).await;
}

async fn replay(trace: &str) {
    let world = ResonateWorld::debugging();
    let (mut expected, mut sent) = (MessageCounts::new(), MessageCounts::new());
    let mut timers = Vec::new();
    let mut answered = 0;
    for (number, line) in (1..).zip(trace.lines()) {
        let line: Json = serde_json::from_str(line).expect("a line is JSON");
        let at = line["t"].as_i64().expect("every line has a time");
        // Everything due before this line is executed before it; the line itself may have taken a
        // while.
        tick(&world, at).await;
        deliver(&world, at, &mut sent).await;
        if line["sse"] == "message" {
            count(&mut expected, &line["msg"]);
        }
        let Some(request) = line.get("req") else { continue };
        note_timers(request, &mut timers);
        let mut request = request.clone();
        request["head"]["resonate:debug_time"] = json!(at);
        let (status, reply) = world.post(request.to_string(), Default::default()).await;
        assert_eq!(json!(status), line["http"], "line {number}: {request}\n{reply}");
        assert_eq!(plain(reply), plain(line["res"].clone()), "line {number}: {request}");
        deliver(&world, at, &mut sent).await;
        answered += 1;
    }
    assert!(answered > 30, "{answered} lines were answered");
    // The task of a timer is never offered here: its deadline fulfills it.
    expected.retain(|(_, id, _), _| !timers.contains(id));
    assert_eq!(sent, expected);
}

async fn tick(world: &ResonateWorld, at: i64) {
    let head = json!({ "corrId": "t", "version": "2026-04-01" });
    let request = json!({ "kind": "debug.tick", "head": head, "data": { "time": at } });
    let (status, reply) = world.post(request.to_string(), Default::default()).await;
    assert_eq!((status, &reply["data"]), (200, &json!([])));
}

/// Delivers messages of the outbox, as a host with a stream for them does.
async fn deliver(world: &ResonateWorld, at: i64, sent: &mut MessageCounts) {
    world.clock.set(Some(Timestamp(at)));
    let store = world.stores();
    for kind in [OutboxMessageKind::Execute, OutboxMessageKind::Unblock] {
        let due = store
            .work_queue()
            .outbox_due(kind, Timestamp(at), 100)
            .await
            .expect("a store")
            .commands;
        for command in due {
            let Command::OutboxDue { key } = command.clone() else { panic!("{command:?}") };
            let reply = store.execute(vec![command]).await.expect("a store").remove(0);
            let Reply::Message(Some(delivery)) = reply else { continue };
            let message = match *delivery {
                Delivery::Execute { task, version, .. } => {
                    ("execute".to_owned(), task.to_string(), version.0)
                }
                Delivery::Unblock { promise, .. } => {
                    store.execute(vec![Command::OutboxAck { key }]).await.expect("a store");
                    ("unblock".to_owned(), promise.id().to_string(), 0)
                }
                other => panic!("{other:?}"),
            };
            *sent.entry(message).or_default() += 1;
        }
    }
    world.clock.set(None);
}

fn count(messages: &mut MessageCounts, message: &Json) {
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    let task = &message["data"]["task"];
    let key = match task.is_object() {
        true => (text(&message["kind"]), text(&task["id"]), task["version"].as_u64().unwrap_or(0)),
        false => (text(&message["kind"]), text(&message["data"]["promise"]["id"]), 0),
    };
    *messages.entry(key).or_default() += 1;
}

fn note_timers(request: &Json, timers: &mut Vec<String>) {
    let data = &request["data"]["action"]["data"];
    if data["tags"]["resonate:timer"] == "true" {
        timers.extend(data["id"].as_str().map(str::to_owned));
    }
}

/// Removes the parts of an answer that may differ between servers.
fn plain(mut answer: Json) -> Json {
    match &mut answer {
        Json::Object(fields) => {
            for own in ["preload", "createdAt", "settledAt", "nextRunAt", "lastRunAt"] {
                if let Some(value) = fields.get_mut(own) {
                    *value = json!("…");
                }
            }
            fields.values_mut().for_each(|value| *value = plain(value.take()));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| *item = plain(item.take())),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
    answer
}
