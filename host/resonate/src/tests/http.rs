//! HTTP specifics: streams, refusals outside the envelope, tokens, foreign origins.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Request, StatusCode, header},
};
use futures::StreamExt as _;
use segno_api::{AccessControl, AllowedOrigins};
use segno_core::{
    command::Command,
    effect::Effect,
    id::Version,
    promise::{Delivery, NewPromise, OutboxKey, OutboxMessageKind, backoff},
    reply::Reply,
    time::{Millis, Timestamp},
    value::{Tags, Value},
    view::View,
};
use segno_engine::{delivery::DeliveryResult, recovery::Recovery};
use segno_store::Hints;
use serde_json::{Value as Json, json};

use super::world::{ResonateWorld, create};
use crate::{ResonateSettings, deliver::UNBLOCK_ATTEMPTS};

/// Reads the next message of a stream, skipping comments.
async fn message(stream: &mut axum::body::BodyDataStream) -> Json {
    loop {
        let frame = stream.next().await.expect("the stream is open").expect("a frame");
        let frame = String::from_utf8(frame.to_vec()).expect("frames are text");
        assert!(frame.ends_with("\n\n"), "{frame}");
        if let Some(message) = frame.strip_prefix("data: ") {
            return serde_json::from_str(message.trim_end()).expect("a message is JSON");
        }
        assert!(frame.starts_with(": "), "{frame}");
    }
}

#[tokio::test]
async fn a_stream_carries_tasks_and_settlements_as_they_happen() {
    let world = ResonateWorld::new();
    let recovery = Recovery::start(&world.host);
    // The promise exists before a worker listens, and is offered when one does.
    world.done("promise.create", create("early", "poll://any@g")).await;
    let mut stream = world.stream("/poll/g/w%2F1").await;
    assert_eq!(
        message(&mut stream).await,
        json!({ "kind": "execute", "head": { "serverUrl": "http://here" }, "data": { "task": { "id": "early", "version": 0 } } })
    );
    world.done("promise.create", create("late", "poll://any@g/other")).await;
    assert_eq!(message(&mut stream).await["data"]["task"]["id"], "late");
    let listener = json!({ "awaited": "late", "address": "poll://uni@g/w/1" });
    world.done("promise.register_listener", listener).await;
    let settled = world.done("promise.settle", json!({ "id": "late", "state": "resolved" })).await;
    assert_eq!(
        message(&mut stream).await,
        json!({ "kind": "unblock", "head": {}, "data": settled }),
        "the record as it was answered"
    );
    assert_eq!(world.front.streams.count(), 1);
    drop(stream);
    recovery.stop();
}

#[tokio::test]
async fn what_found_nobody_at_another_host_goes_out_here() {
    // Another host has the message, but no receiver for it.
    let world = ResonateWorld::new();
    let mut stream = world.stream("/poll/g/w").await;
    world.done("promise.create", create("t", "poll://any@g")).await;
    let execute = OutboxKey::Execute("t".into());
    let own = Effect::Wanted(OutboxKey::Execute("of its own".into()));
    world.host.notifier.committed(&[own], &View::default());
    world.host.notifier.heard(&[Effect::Wanted(execute.clone())]);
    assert_eq!(message(&mut stream).await["data"]["task"]["id"], "t");
    let listener = json!({ "awaited": "t", "address": "poll://uni@g/w" });
    world.done("promise.register_listener", listener).await;
    let settled = world.done("promise.settle", json!({ "id": "t", "state": "resolved" })).await;
    let unblock = OutboxKey::Unblock("t".into(), "poll://uni@g/w".into());
    // A finished task is not offered.
    world.host.notifier.heard(&[Effect::Wanted(execute), Effect::Wanted(unblock.clone())]);
    assert_eq!(message(&mut stream).await["data"], settled);
    world.settle_down().await;
    let owed = world.stores().read().dump().await.expect("memory answers").outbox;
    assert!(!owed.contains_key(&unblock), "it was taken: {owed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_left_gives_its_claims_back_after_the_grace() {
    let settings =
        ResonateSettings { grace: Some(Millis(2_000)), ..ResonateSettings::new("http://here") };
    let world = ResonateWorld::with(settings, |access| access);
    let state = async || {
        let task = world.done("task.get", json!({ "id": "t" })).await;
        task["task"]["state"].as_str().expect("a state").to_owned()
    };
    let first = world.stream("/poll/g/w").await;
    world.task("t").await;
    // Heartbeats use real time; the grace period passes in the test's time.
    std::thread::sleep(std::time::Duration::from_millis(5));
    drop(first);
    let second = world.stream("/poll/g/w").await;
    tokio::time::advance(std::time::Duration::from_secs(3)).await;
    world.settle_down().await;
    assert_eq!(state().await, "acquired", "it came back");
    drop(second);
    world.settle_down().await;
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    world.settle_down().await;
    assert_eq!(state().await, "acquired", "within the grace");
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    world.settle_down().await;
    assert_eq!(state().await, "pending");
}

#[tokio::test]
async fn there_is_room_for_so_many_streams() {
    let settings = ResonateSettings { streams: 1, ..ResonateSettings::new("http://here") };
    let world = ResonateWorld::with(settings, |access| access);
    let _open = world.stream("/poll/g/w").await;
    let request = Request::get("/poll/g/v").body(Body::empty()).expect("a request");
    let (status, body) = world.raw(request).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(String::from_utf8_lossy(&body).contains("--streams"));
}

#[tokio::test]
async fn the_older_protocol_is_gone() {
    let world = ResonateWorld::new();
    for path in ["/promises", "/promises/a/b", "/tasks/claim", "/schedules"] {
        let request = Request::post(path).body(Body::empty()).expect("a request");
        let (status, body) = world.raw(request).await;
        assert_eq!(status, StatusCode::GONE, "{path}");
        let body: Json = serde_json::from_slice(&body).expect("JSON");
        assert!(body["error"].is_string());
    }
}

#[tokio::test]
async fn what_is_no_request_is_answered_in_an_envelope() {
    let world = ResonateWorld::new();
    let large = format!("{{\"kind\": \"{}\"}}", "x".repeat(9 * 1024 * 1024));
    for body in ["", "{", "null", "[1,2]", "{\"kind\":\"promise.get\"}", &large] {
        let (status, reply) = world.post(body.to_owned(), HeaderMap::new()).await;
        assert_eq!(status, 400, "{}", &body[..body.len().min(40)]);
        assert!(reply["data"].is_string() && reply["kind"].is_string(), "{reply}");
    }
}

#[tokio::test]
async fn a_token_is_taken_from_the_header_or_the_envelope() {
    let secret = |_| {
        let address = ([127, 0, 0, 1], 7766).into();
        AccessControl::new(address, Some("secret"), false, vec![]).expect("a token")
    };
    let world = ResonateWorld::with(ResonateSettings::new("http://here"), secret);
    let request = |auth: Json| {
        let mut head = json!({ "corrId": "c", "version": "2026-04-01" });
        if auth.is_string() {
            head["auth"] = auth;
        }
        json!({ "kind": "promise.get", "head": head, "data": { "id": "p" } }).to_string()
    };
    let bearer = |token: &'static str| {
        HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(token))])
    };
    for (auth, headers, status) in [
        (Json::Null, HeaderMap::new(), 401),
        (json!("wrong"), HeaderMap::new(), 401),
        (json!("secret"), HeaderMap::new(), 404),
        (Json::Null, bearer("Bearer secret"), 404),
        (Json::Null, bearer("Bearer wrong"), 401),
    ] {
        let (answered, reply) = world.post(request(auth), headers).await;
        assert_eq!(answered, status, "{reply}");
    }
    let request = Request::get("/poll/g/w").body(Body::empty()).expect("a request");
    assert_eq!(world.raw(request).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn pages_of_other_origins_ask_only_where_they_may() {
    let ask = async |cors: &[&str], origin: &'static str| {
        let cors: Vec<String> = cors.iter().map(|&origin| origin.to_owned()).collect();
        let cors = AllowedOrigins::new(cors);
        let settings = ResonateSettings { cors, ..ResonateSettings::new("http://here") };
        let world = ResonateWorld::with(settings, |access| access);
        let request = Request::post("/").header(header::ORIGIN, origin).body(Body::from("{}"));
        world.raw(request.expect("a request")).await.0
    };
    let page = "http://app.example";
    assert_eq!(ask(&[], page).await, StatusCode::FORBIDDEN);
    assert_eq!(ask(&["http://other.example"], page).await, StatusCode::FORBIDDEN);
    assert_eq!(ask(&[page], page).await, StatusCode::BAD_REQUEST, "it may ask, but better");
    assert_eq!(ask(&["*"], page).await, StatusCode::BAD_REQUEST);
    assert_eq!(ask(&[], "http://localhost:7766").await, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn debugging_is_refused_where_it_is_not_allowed() {
    let (status, message) = ResonateWorld::new().ask("debug.snap", json!({})).await;
    assert_eq!(status, 403, "{message}");
    let world = ResonateWorld::debugging();
    world.done("debug.start", json!({})).await;
    world.done("promise.create", create("p", "poll://any@g")).await;
    world
        .done("promise.register_listener", json!({ "awaited": "p", "address": "poll://any@h" }))
        .await;
    let snap = world.done("debug.snap", json!({})).await;
    let messages = snap["messages"].as_array().expect("a list");
    assert_eq!((messages.len(), &messages[0]["address"]), (1, &json!("poll://any@g")));
    assert_eq!(snap["taskTimeouts"][0]["type"], 0);
    assert_eq!(snap["listeners"], json!([{ "id": "p", "address": "poll://any@h" }]));
    assert_eq!(snap["promiseTimeouts"].as_array().map(Vec::len), Some(1));
    world.done("debug.reset", json!({})).await;
    assert_eq!(world.done("debug.snap", json!({})).await["promises"], json!([]));
}

#[tokio::test]
async fn what_timed_out_long_before_a_host_was_there_is_told_all_the_same() {
    let world = ResonateWorld::debugging();
    let run = async |at, command| {
        world.clock.set(Some(Timestamp(at)));
        world.stores().execute(vec![command]).await.expect("memory answers").remove(0)
    };
    let (param, tags) = (Value::default(), Tags::new());
    let new = NewPromise { id: "p".into(), param, tags, timeout_at: Timestamp(2_000) };
    run(1_000, Command::PromiseCreate(new)).await;
    let address = "poll://uni@g/w".into();
    run(1_000, Command::RegisterListener { awaited: "p".into(), address }).await;
    // Two hours later a host executes the deadline; the promise counts as settled at the deadline.
    let late = 7_202_000;
    let settled = run(late, Command::PromiseDue { id: "p".into() }).await;
    assert_eq!(settled, Reply::Done);
    let mut stream = world.stream("/poll/g/w").await;
    let key = OutboxKey::Unblock("p".into(), "poll://uni@g/w".into());
    let handed = run(late, Command::OutboxDue { key: key.clone() }).await;
    let Reply::Message(Some(delivery)) = handed else { panic!("{handed:?}") };
    let channels = &world.host.channels;
    assert_eq!(channels.deliver(key.kind(), &delivery).await, DeliveryResult::Done);
    assert_eq!(message(&mut stream).await["data"]["promise"]["id"], "p");
}

#[tokio::test]
async fn a_listener_that_takes_nothing_is_given_up_after_an_hour_of_attempts() {
    let world = ResonateWorld::new();
    world.done("promise.create", create("p", "poll://any@g")).await;
    world.done("promise.settle", json!({ "id": "p", "state": "resolved" })).await;
    let row =
        world.stores().read().promise(&"p".into()).await.expect("memory answers").expect("it is");
    let mut waited = Millis::ZERO;
    for attempt in 1..=UNBLOCK_ATTEMPTS + 1 {
        let (promise, address) = (row.promise.clone(), "poll://uni@g/w".into());
        let delivery = Delivery::Unblock { promise, address, attempt };
        let expected = match attempt > UNBLOCK_ATTEMPTS {
            true => DeliveryResult::Done,
            false => DeliveryResult::Elsewhere,
        };
        let told = world.host.channels.deliver(OutboxMessageKind::Unblock, &delivery).await;
        assert_eq!(told, expected, "attempt {attempt}");
        let version = Version(attempt.into());
        waited = waited + backoff(world.host.config.backoff, attempt, &"p".into(), version);
    }
    assert!((3_600..4_800).contains(&(waited.0 / 1_000)), "{waited}");
}
