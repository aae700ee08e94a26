//! The rights of a signed token: every operation checks every id in it.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Request, StatusCode, header},
};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use futures::StreamExt as _;
use segno_api::testing::{
    ApiWorld as Native,
    signed::{self, HOST, LATER, admin, of, token},
};
use segno_core::{tags, time::Millis};
use segno_engine::{delivery::Reach, recovery::Recovery};
use serde_json::{Value as Json, json};

use super::world::{ResonateWorld, create};
use crate::ResonateSettings;

/// A host that accepts signed tokens.
fn signed(settings: ResonateSettings) -> ResonateWorld {
    ResonateWorld::with(settings, |_| signed::access())
}

fn world() -> ResonateWorld {
    signed(ResonateSettings::new("http://here"))
}

/// Sends an operation with a token, and returns the answer.
async fn ask(world: &ResonateWorld, token: &str, kind: &str, data: Json) -> (u16, Json) {
    let head = json!({ "corrId": "c", "version": "2026-04-01", "auth": token });
    let request = json!({ "kind": kind, "head": head, "data": data });
    let (status, reply) = world.post(request.to_string(), HeaderMap::new()).await;
    (status, reply["data"].clone())
}

async fn done(world: &ResonateWorld, token: &str, kind: &str, data: Json) -> Json {
    let (status, answer) = ask(world, token, kind, data).await;
    assert_eq!(status, 200, "{kind}: {answer}");
    answer
}

fn action(kind: &str, data: Json) -> Json {
    json!({ "kind": kind, "head": {}, "data": data })
}

fn callback(awaited: &str, awaiter: &str) -> Json {
    action("promise.register_callback", json!({ "awaited": awaited, "awaiter": awaiter }))
}

fn settle(id: &str) -> Json {
    json!({ "id": id, "state": "resolved" })
}

fn task(id: &str) -> Json {
    json!({ "pid": "w", "ttl": 60_000, "action": action("promise.create", create(id, "poll://any@g")) })
}

fn schedule(id: &str, template: &str) -> Json {
    let tags = json!({ "resonate:target": "poll://any@g" });
    json!({ "id": id, "cron": "* * * * *", "promiseId": template, "promiseTimeout": 1_000, "promiseTags": tags })
}

#[tokio::test]
async fn every_operation_is_refused_for_every_id_beyond_the_prefix_that_it_names() {
    let world = world();
    for id in ["a:1", "b:1"] {
        done(&world, &admin(), "promise.create", create(id, "poll://any@g")).await;
        done(&world, &admin(), "schedule.create", schedule(id, "{{.id}}:{{.timestamp}}")).await;
    }
    let held = done(&world, &of("a:"), "task.create", task("a:2")).await["task"]["version"].clone();
    let fence = |kind: &str, data: Json| json!({ "id": "a:2", "version": held, "action": action(kind, data) });
    let claim = |id: &str| json!({ "id": id, "version": 0 });
    let acquire = json!({ "id": "b:1", "version": 0, "pid": "w", "ttl": 60_000 });
    let fulfill = |id: &str| json!({ "id": id, "version": 0, "action": action("promise.settle", settle(id)) });
    let suspend =
        |id: &str, actions: Json| json!({ "id": id, "version": held, "actions": actions });
    let before = done(&world, &admin(), "promise.search", json!({})).await;
    for (kind, data) in [
        ("promise.get", json!({ "id": "b:1" })),
        ("promise.create", create("b:2", "poll://any@g")),
        ("promise.settle", settle("b:1")),
        ("promise.register_callback", json!({ "awaited": "b:1", "awaiter": "a:1" })),
        ("promise.register_callback", json!({ "awaited": "a:1", "awaiter": "b:1" })),
        ("promise.register_listener", json!({ "awaited": "b:1", "address": "poll://any@g" })),
        ("promise.search", json!({})),
        ("promise.search", json!({ "state": "pending" })),
        ("task.get", json!({ "id": "b:1" })),
        ("task.create", task("b:3")),
        ("task.acquire", acquire),
        ("task.release", claim("b:1")),
        ("task.suspend", suspend("b:1", json!([callback("a:1", "b:1")]))),
        ("task.suspend", suspend("a:2", json!([callback("a:1", "a:2"), callback("b:1", "a:2")]))),
        ("task.fulfill", fulfill("b:1")),
        (
            "task.fence",
            json!({ "id": "b:1", "version": 0, "action": action("promise.settle", settle("a:1")) }),
        ),
        ("task.fence", fence("promise.create", create("b:4", "poll://any@g"))),
        ("task.fence", fence("promise.settle", settle("b:1"))),
        ("task.heartbeat", json!({ "pid": "w", "tasks": [claim("a:2"), claim("b:1")] })),
        ("task.halt", json!({ "id": "b:1" })),
        ("task.continue", json!({ "id": "b:1" })),
        ("task.search", json!({})),
        ("schedule.create", schedule("b:2", "a:{{.timestamp}}")),
        ("schedule.create", schedule("a:2", "b:{{.timestamp}}")),
        ("schedule.create", schedule("a:2", "{{.timestamp}}")),
        ("schedule.get", json!({ "id": "b:1" })),
        ("schedule.delete", json!({ "id": "b:1" })),
        ("schedule.search", json!({})),
        ("debug.snap", json!({})),
        ("debug.reset", json!({})),
    ] {
        let (status, message) = ask(&world, &of("a:"), kind, data.clone()).await;
        assert_eq!(status, 403, "{kind} {data}: {message}");
        assert!(message.as_str().is_some_and(|text| text.contains("`a:`")), "{kind}: {message}");
    }
    assert_eq!(
        done(&world, &admin(), "promise.search", json!({})).await,
        before,
        "nothing was done"
    );
}

#[tokio::test]
async fn what_is_built_into_the_host_is_no_target_of_any_client() {
    let world = world();
    let version =
        done(&world, &of("a:"), "task.create", task("a:0")).await["task"]["version"].clone();
    for target in ["segno:http", "segno:graph", "segno:graph.run", "segno:other"] {
        let create = || create("a:1", target);
        let of_schedule = json!({
            "id": "a:s", "cron": "* * * * *", "promiseId": "{{.id}}:{{.timestamp}}", "promiseTimeout": 1_000,
            "promiseTags": { "resonate:target": target },
        });
        let under = json!({ "id": "a:0", "version": version, "action": action("promise.create", create()) });
        let taken =
            json!({ "pid": "w", "ttl": 60_000, "action": action("promise.create", create()) });
        for token in [of("a:"), admin(), HOST.to_owned()] {
            for (kind, data) in [
                ("promise.create", create()),
                ("task.create", taken.clone()),
                ("task.fence", under.clone()),
                ("schedule.create", of_schedule.clone()),
            ] {
                let (status, said) = ask(&world, &token, kind, data).await;
                assert_eq!(status, 400, "{kind} {target}: {said}");
                let said = said.as_str().expect("a sentence");
                assert!(said.contains("built into the host"), "{kind} {target}: {said}");
            }
        }
    }
}

#[tokio::test]
async fn every_operation_is_done_within_the_prefix() {
    let world = world();
    let token = of("a:");
    let ask = async |kind: &str, data: Json| done(&world, &token, kind, data).await;
    ask("promise.create", create("a:1", "poll://any@g")).await;
    ask("promise.get", json!({ "id": "a:1" })).await;
    ask("promise.register_listener", json!({ "awaited": "a:1", "address": "poll://any@g" })).await;
    let version = ask("task.create", task("a:2")).await["task"]["version"].clone();
    ask("promise.register_callback", json!({ "awaited": "a:1", "awaiter": "a:2" })).await;
    let under = |kind: &str, data: Json| json!({ "id": "a:2", "version": version, "action": action(kind, data) });
    ask("task.fence", under("promise.create", create("a:3", "poll://any@g"))).await;
    ask("task.fence", under("promise.settle", settle("a:3"))).await;
    ask("task.heartbeat", json!({ "pid": "w", "tasks": [{ "id": "a:2", "version": version }] }))
        .await;
    ask(
        "task.suspend",
        json!({ "id": "a:2", "version": version, "actions": [callback("a:1", "a:2")] }),
    )
    .await;
    ask("task.halt", json!({ "id": "a:2" })).await;
    ask("task.continue", json!({ "id": "a:2" })).await;
    ask("task.get", json!({ "id": "a:2" })).await;
    ask("promise.settle", settle("a:1")).await;
    ask("schedule.create", schedule("a:s", "{{.id}}:{{.timestamp}}")).await;
    ask("schedule.create", schedule("a:t", "a:{{.timestamp}}")).await;
    ask("schedule.get", json!({ "id": "a:s" })).await;
    ask("schedule.delete", json!({ "id": "a:s" })).await;
}

#[tokio::test]
async fn admins_empty_prefixes_and_the_token_of_the_host_allow_everything() {
    let world = world();
    for (n, token) in [admin(), of(""), HOST.to_owned()].iter().enumerate() {
        done(&world, token, "promise.create", create(&format!("any{n}"), "poll://any@g")).await;
        let found = done(&world, token, "promise.search", json!({})).await;
        assert_eq!(found["promises"].as_array().map(Vec::len), Some(n + 1));
    }
}

#[tokio::test]
async fn bad_tokens_are_refused_by_name_and_not_repeated() {
    let world = world();
    let claims = json!({ "exp": LATER, "prefix": "a:" });
    let forged = of("a:").replace(".eyJ", ".eyK");
    let unsigned = format!(
        "{}.{}.",
        BASE64_URL_SAFE_NO_PAD.encode("{\"alg\":\"none\"}"),
        BASE64_URL_SAFE_NO_PAD.encode(claims.to_string())
    );
    for (token, status, says) in [
        (String::new(), 401, "malformed"),
        ("hello".to_owned(), 401, "malformed"),
        (forged, 401, "no key of this host verifies"),
        (unsigned, 401, "do not support the algorithm"),
        ("x".repeat(9_000), 401, "longer than 8192 bytes"),
        (token(&json!({ "exp": 1, "prefix": "a:" })), 401, "expired"),
        (token(&json!({ "prefix": "a:" })), 401, "`exp`"),
        (token(&json!({ "exp": LATER })), 403, "neither"),
        (token(&json!({ "exp": LATER, "prefix": null })), 403, "neither"),
    ] {
        let get = json!({ "id": "a:1" });
        let (answered, message) = ask(&world, &token, "promise.get", get.clone()).await;
        let message = message.as_str().expect("a sentence");
        assert_eq!(answered, status, "{message}");
        assert!(message.contains(says), "{says}: {message}");
        assert!(token.is_empty() || !message.contains(&token), "{message}");
        let headers = HeaderMap::from_iter([(
            header::AUTHORIZATION,
            HeaderValue::from_str(&format!("Bearer {token}")).expect("a header"),
        )]);
        let head = json!({ "corrId": "c", "version": "2026-04-01" });
        let request = json!({ "kind": "promise.get", "head": head, "data": get });
        let (by_header, _) = world.post(request.to_string(), headers).await;
        assert_eq!(by_header, status, "{says}");
    }
    let head = json!({ "corrId": "c", "version": "2026-04-01" });
    let request = json!({ "kind": "promise.get", "head": head, "data": { "id": "a:1" } });
    let (status, reply) = world.post(request.to_string(), HeaderMap::new()).await;
    assert_eq!((status, reply["kind"].as_str()), (401, Some("promise.get")), "{reply}");
}

/// Clients choose branches and worker names, so neither gives access to other clients' promises.
#[tokio::test]
async fn tags_and_names_of_workers_give_no_rights() {
    let world = world();
    let secret = json!({ "id": "b:0", "timeoutAt": 9_000_000_000_000_i64, "tags": { "resonate:branch": "b" } });
    done(&world, &of("b:"), "promise.create", secret).await;
    let own = json!({ "id": "a:0", "timeoutAt": 9_000_000_000_000_i64, "tags": { "resonate:branch": "b" } });
    done(&world, &of("a:"), "promise.create", own).await;
    let tags = json!({ "resonate:target": "poll://any@g", "resonate:branch": "b" });
    let spy = json!({ "id": "a:1", "timeoutAt": 9_000_000_000_000_i64, "tags": tags });
    done(&world, &of("a:"), "promise.create", spy.clone()).await;
    let spy = json!({ "pid": "w", "ttl": 60_000, "action": action("promise.create", spy) });
    let taken = done(&world, &of("a:"), "task.create", spy).await;
    let told = taken["preload"].as_array().expect("a list");
    assert_eq!((told.len(), &told[0]["id"]), (1, &json!("a:0")), "{taken}");

    // An empty list extends the worker's claims within the prefix, and no others.
    done(&world, &of("b:"), "task.create", task("b:1")).await;
    let until = async |id: &str| {
        let row =
            world.stores().read().promise(&id.into()).await.expect("a read").expect("a promise");
        row.task.and_then(|task| task.lease().map(|lease| lease.until)).expect("a lease")
    };
    let before = [until("a:1").await, until("b:1").await];
    std::thread::sleep(std::time::Duration::from_millis(5));
    done(&world, &of("a:"), "task.heartbeat", json!({ "pid": "w", "tasks": [] })).await;
    let after = [until("a:1").await, until("b:1").await];
    assert!(after[0] > before[0], "its own");
    assert_eq!(after[1], before[1], "that of others");
}

fn stream_request(path: &str, token: &str) -> Request<Body> {
    let request = Request::get(path).header(header::HOST, "localhost:7766");
    let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    request.body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn streams_ask_for_a_token_and_carry_only_what_it_allows() {
    let world = world();
    let recovery = Recovery::start(&world.host);
    for (token, status) in [
        ("", StatusCode::UNAUTHORIZED),
        ("hello", StatusCode::UNAUTHORIZED),
        (&token(&json!({ "exp": 1, "prefix": "a:" })), StatusCode::UNAUTHORIZED),
        (&token(&json!({ "exp": LATER })), StatusCode::FORBIDDEN),
    ] {
        assert_eq!(world.raw(stream_request("/poll/g/w", token)).await.0, status);
    }
    let mut stream = world.stream_as("/poll/g/w", &of("a:")).await;
    // Both kinds of message, about other clients' promises and about the client's own.
    for id in ["b:1", "a:1"] {
        done(&world, &admin(), "promise.create", create(id, "poll://any@g")).await;
    }
    let listened = |id: &str| json!({ "awaited": id, "address": "poll://any@g" });
    for id in ["b:2", "a:2"] {
        let new = json!({ "id": id, "timeoutAt": 9_000_000_000_000_i64 });
        done(&world, &admin(), "promise.create", new).await;
        done(&world, &admin(), "promise.register_listener", listened(id)).await;
        done(&world, &admin(), "promise.settle", settle(id)).await;
    }
    let mut told = String::new();
    while !(told.contains("a:1") && told.contains("a:2")) {
        let frame = stream.next().await.expect("it is open").expect("a frame");
        told.push_str(std::str::from_utf8(&frame).expect("text"));
    }
    assert!(!told.contains("\"b:"), "{told}");
    let mut of_b = world.stream_as("/poll/g/w", &of("b:")).await;
    let mut told = String::new();
    while !told.contains("b:1") {
        let frame = of_b.next().await.expect("it is open").expect("a frame");
        told.push_str(std::str::from_utf8(&frame).expect("text"));
    }
    assert!(!told.contains("\"a:"), "{told}");
    recovery.stop();
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let world = world();
    let soon = world.host.env.clock.now() + Millis(300);
    let token = token(&json!({ "exp": soon.0 as f64 / 1_000.0, "role": "admin" }));
    let mut stream = world.stream_as("/poll/g/w", &token).await;
    // Waits for the end of the stream; the frames before it are comments.
    while let Some(frame) = stream.next().await {
        assert!(frame.expect("a frame").starts_with(b": "));
    }
    assert!(world.host.env.clock.now() >= soon);
}

/// Any client may open a stream under the name of another client's worker, and close it.
#[tokio::test(start_paused = true)]
async fn a_stranger_s_departure_takes_no_claims_away() {
    let world = signed(ResonateSettings {
        grace: Some(Millis(1_000)),
        ..ResonateSettings::new("http://here")
    });
    done(&world, &of("b:"), "task.create", task("b:1")).await;
    std::thread::sleep(std::time::Duration::from_millis(5));
    let state = async || {
        let task = done(&world, &admin(), "task.get", json!({ "id": "b:1" })).await;
        task["task"]["state"].as_str().expect("a state").to_owned()
    };
    for (token, left) in [(of("a:"), "acquired"), (of("b:"), "pending")] {
        drop(world.stream_as("/poll/g/w", &token).await);
        world.settle_down().await;
        tokio::time::advance(std::time::Duration::from_secs(2)).await;
        world.settle_down().await;
        assert_eq!(state().await, left);
    }
}

#[tokio::test]
async fn what_a_token_has_others_execute_has_the_rights_of_the_token() {
    let world = world();
    let rights = async |id: &str| {
        let row = world.host.store.read().promise(&id.into()).await.expect("a store in memory");
        row.expect("it was made").promise.spec.tags.get(tags::RIGHTS).cloned()
    };
    let given = Some("a:".to_owned());
    done(&world, &of("a:"), "promise.create", create("a:1", "poll://any@g")).await;
    assert_eq!(rights("a:1").await, given);
    let version =
        done(&world, &of("a:"), "task.create", task("a:2")).await["task"]["version"].clone();
    assert_eq!(rights("a:2").await, given);
    let under = json!({ "id": "a:2", "version": version, "action": action("promise.create", create("a:3", "poll://any@g")) });
    done(&world, &of("a:"), "task.fence", under.clone()).await;
    assert_eq!(rights("a:3").await, given);
    // A client cannot grant more rights than it has, but fewer.
    let own = |id: &str, rights: &str| {
        let mut new = create(id, "poll://any@g");
        new["tags"]["segno:rights"] = json!(rights);
        new
    };
    done(&world, &of("a:"), "promise.create", own("a:4", "")).await;
    assert_eq!(rights("a:4").await, given);
    done(&world, &of("a:"), "promise.create", own("a:5", "a:5")).await;
    assert_eq!(rights("a:5").await, Some("a:5".to_owned()));
    done(&world, &of("a:"), "schedule.create", schedule("a:s", "{{.id}}:{{.timestamp}}")).await;
    let schedule =
        world.host.store.read().schedule(&"a:s".into()).await.expect("a store in memory");
    assert_eq!(schedule.expect("it was made").template.tags.get(tags::RIGHTS).cloned(), given);
    // Rights over everything add no header.
    done(&world, &admin(), "promise.create", create("b:1", "poll://any@g")).await;
    assert_eq!(rights("b:1").await, None);
}

#[tokio::test]
async fn an_address_that_only_this_machine_reaches_is_refused_by_every_operation_that_names_one() {
    let api = Native::new().reaching(Reach { private: false }).api;
    let world = ResonateWorld::on(api, ResonateSettings::new("http://here"), |access| access);
    let here = "http://127.0.0.1:9000/x";
    world.done("promise.create", create("held", "poll://any@g")).await;
    let hold = json!({ "id": "held", "version": 0, "pid": "w", "ttl": 60_000 });
    let version = world.done("task.acquire", hold).await["task"]["version"].clone();
    let mut held = task("a");
    held["action"]["data"]["tags"]["resonate:target"] = json!(here);
    let mut planned = schedule("s", "{{.id}}:{{.timestamp}}");
    planned["promiseTags"] = json!({ "resonate:target": here });
    for (kind, data) in [
        ("promise.create", create("a", here)),
        ("task.create", held),
        ("promise.register_listener", json!({ "awaited": "held", "address": here })),
        ("schedule.create", planned),
        (
            "task.fence",
            json!({ "id": "held", "version": version, "action": action("promise.create", create("a", here)) }),
        ),
    ] {
        let (status, refused) = world.ask(kind, data).await;
        assert_eq!(status, 400, "{kind}: {refused}");
        let refused = refused.as_str().unwrap_or_default();
        assert!(refused.contains("--allow-private-targets"), "{kind}: {refused}");
    }
}
