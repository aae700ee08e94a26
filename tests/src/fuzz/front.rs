//! Fuzzing of client requests, on a host with a store in memory: the API and the Resonate protocol.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use segno_api::router;
use segno_core::config::Config;
use segno_engine::{host::Host, notifier::CommitNotifier};
use segno_env::Env;
use segno_guest::{HttpClient, HttpGate, HttpLimits, Policy};
use segno_resonate::{Resonate, ResonateSettings};
use segno_store::MemoryStore;
use serde_json::{Value as Json, json};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

use crate::{front::api_of, guests};

/// Requests of released Resonate clients.
const RECORDED: &str = include_str!("../../traces/sdk-ts-0.11.5.ndjson");
/// Number of recorded requests used as seeds.
const SEEDS: usize = 40;

/// A host without a worker. Its rows accumulate across inputs, as in a real host.
struct Front {
    runtime: Runtime,
    api: Router,
    resonate: Router,
}

thread_local! {
    static FRONT: Front = Front::new();
}

/// Sends a request to the API. The first line is the method and path, the rest the body.
pub(super) fn http(bytes: &[u8]) {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let body = bytes.get(line.len() + 1..).unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return };
    let (method, path) = line.split_once(' ').unwrap_or(("POST", line));
    // A request that the HTTP library refuses never reaches a route. Long polls would only wait.
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost:7766")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_vec()));
    let Ok(request) = request else { return };
    if path.contains("wait")
        || path.contains("events")
        || line.contains("wait_ms")
        || body.windows(7).any(|part| part == b"wait_ms")
    {
        return;
    }
    FRONT.with(|front| {
        let (status, answer) = front.ask(front.api.clone(), request);
        assert!(
            !status.is_server_error() || status == StatusCode::SERVICE_UNAVAILABLE,
            "{line}: {status} {answer}"
        );
    });
}

pub(super) fn http_seeds() -> Vec<Vec<u8>> {
    let requests = [
        (
            "POST /v1/invocations",
            json!({ "id": "a", "target": "m/f", "input": [1], "labels": { "l": "v" }, "timeout_ms": 5 }),
        ),
        ("POST /v1/promises", json!({ "id": "p", "timeout_ms": 1_000, "tags": { "a": "b" } })),
        ("POST /v1/promises/p/resolve", json!({ "value": { "deep": [[[]]] } })),
        ("POST /v1/promises/p/reject", json!({ "failure": { "code": 4, "message": "m" } })),
        ("POST /v1/invocations/a/signals", json!({ "name": "n", "payload": 1, "key": "k" })),
        ("POST /v1/invocations/a/replay", json!({ "module": null })),
        (
            "POST /v1/schedules",
            json!({ "id": "s", "cron": "* * * * *", "target": "m/f", "input": 1 }),
        ),
        ("POST /v1/resources/r/lease", json!({ "holder": "h", "ttl_ms": 1_000 })),
        ("PUT /v1/resources/r", json!({ "value": 1, "token": 1 })),
        ("POST /v1/events/ack", json!({ "ids": ["a/1"] })),
        ("GET /v1/invocations?state=pending&prefix=a&label=l%3Dv&limit=3", Json::Null),
        ("GET /v1/promises?tags=a%3Db&after=x", Json::Null),
        ("GET /v1/invocations/a/journal?from=0&limit=5", Json::Null),
        ("GET /v1/tasks?state=halted", Json::Null),
        ("GET /v1/promises/a/tree?depth=3", Json::Null),
        ("DELETE /v1/schedules/s", Json::Null),
    ];
    requests.map(|(line, body)| format!("{line}\n{body}").into_bytes()).to_vec()
}

/// Sends an envelope of the Resonate protocol.
pub(super) fn envelope(bytes: &[u8]) {
    let request = Request::post("/").header(header::HOST, "localhost:7766");
    let request = request.body(Body::from(bytes.to_vec())).expect("a request");
    FRONT.with(|front| {
        let (status, answer) = front.ask(front.resonate.clone(), request);
        assert!(!status.is_server_error(), "{status} {answer}");
        let answer: Json = serde_json::from_str(&answer).expect("an answer is JSON");
        assert!(answer["head"]["corrId"].is_string(), "{answer}");
    });
}

pub(super) fn envelope_seeds() -> Vec<Vec<u8>> {
    let lines = RECORDED.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let requests = lines.filter_map(|mut line| Some(line.get_mut("req")?.take()));
    let mut seeds: Vec<_> = requests.map(|request| request.to_string().into_bytes()).collect();
    seeds.sort();
    seeds.dedup();
    let every = seeds.len().div_ceil(SEEDS);
    seeds.into_iter().step_by(every).collect()
}

impl Front {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let entered = runtime.enter();
        let env = Env::system();
        let (notifier, config) = (Arc::new(CommitNotifier::default()), Config::default());
        let store = MemoryStore::new(config.clone(), env.clone(), notifier.clone());
        let client = HttpClient::new(HttpLimits::default()).expect("a client can be made");
        let host = Host::new(
            env,
            config,
            store,
            guests::engine(&[]),
            Arc::new(HttpGate::new(Policy::default().into(), client)),
            notifier,
        );
        // Components have their own target.
        let api = api_of(&host);
        let settings = ResonateSettings::new("http://localhost:7766");
        let resonate = Resonate::start(&api, settings).expect("nothing is posted here").router();
        drop(entered);
        Self { runtime, api: router(api), resonate }
    }

    fn ask(&self, router: Router, request: Request<Body>) -> (StatusCode, String) {
        self.runtime.block_on(async {
            let response = router.oneshot(request).await.expect("it always answers");
            let status = response.status();
            let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
            (status, String::from_utf8_lossy(&body).into_owned())
        })
    }
}
