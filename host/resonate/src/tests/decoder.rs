//! Any bytes are answered within the protocol: without a panic or an internal error, with a
//! sentence, and with the kind and the correlation id of the request if they are readable.

use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value as Json, json};
use tokio::runtime::{Builder, Runtime};

use super::{
    has_null,
    world::{ResonateWorld, TestStore},
};

const TYPESCRIPT: &str = include_str!("../../../../tests/traces/sdk-ts-0.11.5.ndjson");
const PYTHON: &str = include_str!("../../../../tests/traces/sdk-py-0.8.1.ndjson");

/// A host on one thread, with debugging allowed, so that every operation is reachable.
fn host() -> (Runtime, ResonateWorld) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let world = runtime.block_on(ResonateWorld::over(&TestStore::Memory, Default::default()));
    (runtime, world)
}

/// Requests recorded from released clients.
fn recorded() -> Vec<Json> {
    let lines = TYPESCRIPT.lines().chain(PYTHON.lines());
    let lines = lines.map(|line| serde_json::from_str::<Json>(line).expect("a line is JSON"));
    lines.filter_map(|mut line| Some(line.get_mut("req")?.take())).collect()
}

/// One request of every operation with all of its fields, in an order in which most of them
/// succeed.
fn complete() -> Vec<Json> {
    let value = json!({ "headers": { "a": "b" }, "data": "NA==" });
    let tags = json!({ "resonate:target": "poll://any@g", "colour": "red" });
    let promise = |id: &str| json!({ "id": id, "timeoutAt": 9_000_000_000_000_i64, "param": value, "tags": tags });
    let settle = |id: &str| json!({ "id": id, "state": "resolved", "value": value });
    let action = |kind: &str, data: Json| json!({ "kind": kind, "head": {}, "data": data });
    let search =
        json!({ "state": "pending", "tags": { "colour": "red" }, "limit": 3, "cursor": "a" });
    let wait = action("promise.register_callback", json!({ "awaited": "p", "awaiter": "t" }));
    let all = [
        ("promise.create", promise("p")),
        ("promise.get", json!({ "id": "p" })),
        (
            "task.create",
            json!({ "pid": "w", "ttl": 60_000, "action": action("promise.create", promise("t")) }),
        ),
        ("task.get", json!({ "id": "t" })),
        ("task.heartbeat", json!({ "pid": "w", "tasks": [{ "id": "t", "version": 1 }] })),
        (
            "task.fence",
            json!({ "id": "t", "version": 1, "action": action("promise.create", promise("q")) }),
        ),
        (
            "task.fence",
            json!({ "id": "t", "version": 1, "action": action("promise.settle", settle("q")) }),
        ),
        ("promise.register_callback", json!({ "awaited": "p", "awaiter": "t" })),
        ("promise.register_listener", json!({ "awaited": "p", "address": "poll://any@g" })),
        ("task.suspend", json!({ "id": "t", "version": 1, "actions": [wait] })),
        ("promise.settle", settle("p")),
        ("task.acquire", json!({ "id": "t", "version": 1, "pid": "w", "ttl": 60_000 })),
        ("task.release", json!({ "id": "t", "version": 2 })),
        ("task.halt", json!({ "id": "t" })),
        ("task.continue", json!({ "id": "t" })),
        (
            "task.fulfill",
            json!({ "id": "t", "version": 3, "action": action("promise.settle", settle("t")) }),
        ),
        ("promise.search", search.clone()),
        ("task.search", search.clone()),
        (
            "schedule.create",
            json!({
                "id": "s", "cron": "* * * * *", "promiseId": "{{.id}}", "promiseTimeout": 1,
                "promiseParam": value, "promiseTags": tags,
            }),
        ),
        ("schedule.get", json!({ "id": "s" })),
        ("schedule.search", json!({ "tags": { "colour": "red" }, "limit": 3, "cursor": "a" })),
        ("schedule.delete", json!({ "id": "s" })),
        ("debug.tick", json!({ "time": 1_795_000_000_000_i64 })),
        ("debug.snap", json!({})),
        ("debug.start", json!({})),
        ("debug.stop", json!({})),
        ("debug.reset", json!({})),
    ];
    let head = json!({ "corrId": "c", "version": "2026-04-01", "auth": "t", "resonate:debug_time": 1_795_000_000_000_i64 });
    all.into_iter()
        .map(|(kind, data)| json!({ "kind": kind, "head": head, "data": data }))
        .collect()
}

/// Sends a body and checks the answer. Returns the sentence of a refusal.
fn ask(
    runtime: &Runtime,
    world: &ResonateWorld,
    body: &[u8],
) -> Result<Option<String>, TestCaseError> {
    let (status, answer) = runtime.block_on(world.post(body.to_vec(), Default::default()));
    let known = [200, 300, 400, 404, 409, 422];
    prop_assert!(known.contains(&status), "{status}: {answer}");
    prop_assert!(answer["kind"].is_string() && answer["head"]["corrId"].is_string(), "{answer}");
    prop_assert_eq!(&answer["head"]["version"], &json!("2026-04-01"));
    prop_assert!(!has_null(&answer), "{}", answer);
    prop_assert_eq!(answer["data"].is_string(), status >= 400, "{}", answer);
    if let Ok(request) = serde_json::from_slice::<Json>(body) {
        for (path, or) in [("/kind", "unknown"), ("/head/corrId", "0")] {
            let sent = request.pointer(path).and_then(Json::as_str);
            let sent = sent.filter(|text| path != "/kind" || !text.is_empty());
            let echo = answer.pointer(path).and_then(Json::as_str);
            prop_assert_eq!(echo, Some(sent.unwrap_or(or)), "{}", request);
        }
    }
    Ok(answer["data"].as_str().map(str::to_owned))
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        r#"[\[\]{}",:0-9a-z\\u .eE+-]{0,120}"#.prop_map(String::into_bytes),
        // Text that begins like an envelope.
        (r#"[a-z._]{0,12}"#, r#"[\PC\[\]{}",:]{0,60}"#).prop_map(|(kind, rest)| {
            format!(
                r#"{{"kind":"{kind}","head":{{"corrId":"c","version":"2026-04-01"}},"data":{rest}"#
            )
            .into_bytes()
        }),
    ]
}

#[test]
fn any_bytes_are_answered() {
    let (runtime, world) = host();
    let asked = |bytes: Vec<u8>| ask(&runtime, &world, &bytes).map(drop);
    TestRunner::new(cases(2_000)).run(&any_bytes(), asked).expect("every answer is one");
}

/// Damage to a request, by transmission errors or by an attacker.
#[derive(Debug, Clone)]
enum RequestDamage {
    Put(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Cut(prop::sample::Index, usize),
    End(prop::sample::Index),
    Twice(prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = RequestDamage> {
    let place = any::<prop::sample::Index>;
    let odd = prop_oneof![
        Just(b"null".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"1e999".to_vec()),
        Just(br"\ud800".to_vec()),
        Just(b"[[[[[[[[[[[[[[[[[[[[".to_vec()),
        Just(br#"","":"#.to_vec()),
        Just(vec![0xff, 0]),
        Just(b"18446744073709551616".to_vec()),
    ];
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| RequestDamage::Put(at, byte)),
        (place(), r#"["{}\[\],:0-9]"#)
            .prop_map(|(at, text)| RequestDamage::Put(at, text.as_bytes()[0])),
        (place(), odd).prop_map(|(at, bytes)| RequestDamage::Insert(at, bytes)),
        (place(), 1..40_usize).prop_map(|(at, length)| RequestDamage::Cut(at, length)),
        place().prop_map(RequestDamage::End),
        (place(), 1..80_usize).prop_map(|(at, length)| RequestDamage::Twice(at, length)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[RequestDamage]) -> Vec<u8> {
    for change in changes.iter().filter(|_| !bytes.is_empty()).cloned().collect::<Vec<_>>() {
        if bytes.is_empty() {
            break;
        }
        let len = bytes.len();
        match change {
            RequestDamage::Put(at, byte) => bytes[at.index(len)] = byte,
            RequestDamage::Insert(at, odd) => {
                let at = at.index(len);
                bytes.splice(at..at, odd);
            }
            RequestDamage::Cut(at, length) => {
                let at = at.index(len);
                bytes.drain(at..(at + length).min(len));
            }
            RequestDamage::End(at) => bytes.truncate(at.index(len)),
            RequestDamage::Twice(at, length) => {
                let at = at.index(len);
                let again = bytes[at..(at + length).min(len)].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

#[test]
fn recorded_requests_are_answered_however_they_are_changed() {
    let (runtime, world) = host();
    let requests: Vec<Vec<u8>> = (recorded().into_iter().chain(complete()))
        .map(|request| request.to_string().into_bytes())
        .collect();
    let some = (prop::sample::select(requests), proptest::collection::vec(change(), 0..4));
    let asked = |(request, changes): (Vec<u8>, Vec<RequestDamage>)| {
        ask(&runtime, &world, &changed(request, &changes)).map(drop)
    };
    TestRunner::new(cases(4_000)).run(&some, asked).expect("every answer is one");
}

/// Exhaustive, not random: every field of every operation, with a value of every wrong type.
#[test]
fn a_field_of_the_wrong_type_is_refused_by_its_name() {
    let odd = [
        json!(null),
        json!(true),
        json!(7),
        json!(-7),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("odd"),
        json!("a\0"),
        json!([]),
        json!([7]),
        json!({}),
        json!({ "odd": 7 }),
    ];
    let mut asked = 0;
    for request in complete() {
        // Puts the host in a state in which the unchanged operation would succeed.
        let (runtime, world) = host();
        for earlier in complete().iter().take_while(|earlier| **earlier != request) {
            ask(&runtime, &world, earlier.to_string().as_bytes()).expect("an answer");
        }
        let mut paths = Vec::new();
        collect(&request, String::new(), &mut paths);
        for path in &paths {
            let field = path.split('/').rfind(|name| name.parse::<usize>().is_err());
            let field = field.expect("a path names a field");
            let was = request.pointer(path).expect("the path was found there");
            for value in odd.iter().filter(|value| **value != *was) {
                let mut spoiled = request.clone();
                *spoiled.pointer_mut(path).expect("the path was found there") = value.clone();
                let refused = ask(&runtime, &world, spoiled.to_string().as_bytes());
                let refused = refused.unwrap_or_else(|wrong| panic!("{spoiled}: {wrong}"));
                asked += 1;
                // An optional field may be null, and tags and headers may have any name.
                let of_another_type = std::mem::discriminant(value) != std::mem::discriminant(was);
                let ignored = path == "/head/auth" && value.is_null()
                    || path.contains("/action/head")
                    || path.contains("/actions/0/head");
                if of_another_type && !value.is_null() && !ignored {
                    let sentence = refused.unwrap_or_else(|| panic!("this was done: {spoiled}"));
                    let named = sentence.contains(field);
                    assert!(named, "`{field}` is not named: {sentence}\n{spoiled}");
                }
            }
            let Some((parent, name)) = path.rsplit_once('/') else { continue };
            let mut without = request.clone();
            if let Some(Json::Object(fields)) = without.pointer_mut(parent) {
                fields.remove(&name.replace("~1", "/"));
                ask(&runtime, &world, without.to_string().as_bytes()).expect("an answer");
            }
        }
    }
    assert!(asked > 3_000, "{asked} requests were made");
}

fn collect(json: &Json, path: String, paths: &mut Vec<String>) {
    let inner: Vec<(String, &Json)> = match json {
        Json::Object(fields) => {
            fields.iter().map(|(name, value)| (name.replace('/', "~1"), value)).collect()
        }
        Json::Array(items) => {
            items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return,
    };
    for (name, value) in inner {
        let path = format!("{path}/{name}");
        paths.push(path.clone());
        collect(value, path, paths);
    }
}
