//! A host with canned answers, and a session of the protocol with it, in one process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use rmcp::ServiceExt as _;
use segno_client::{Client, LocalHost};
use segno_env::Env;
use serde_json::{Number, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
    duplex, split,
};

use crate::{CommandOutput, McpOptions, McpServer, SegnoCommand, WritePermission};

/// A host with one module and one execution, which waits for a promise.
#[derive(Default)]
pub(super) struct FakeHost {
    /// Method, path and body of each request.
    pub(super) requests: Mutex<Vec<(String, Value)>>,
}

impl FakeHost {
    /// The requests that begin with this method and path, with their bodies.
    pub(super) fn requests(&self, begin: &str) -> Vec<(String, Value)> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.iter().filter(|(line, _)| line.starts_with(begin)).cloned().collect()
    }

    /// Number of requests that change something.
    pub(super) fn writes(&self) -> usize {
        self.requests("POST ").len() + self.requests("DELETE ").len()
    }
}

fn summary() -> Value {
    json!({
        "id": "order-1001", "target": "wasm://shop/order", "function": "order",
        "state": "suspended", "attempt": 0, "journal_len": 3, "created_at_ms": 1_000,
    })
}

fn invocation() -> Value {
    let mut invocation = summary();
    for (name, value) in json!({
        "version": 1, "cancel": "none", "signals": 0, "waits_count": 1,
        "waits": [{"id": "order-1001/p/approved", "kind": "promise"}],
        "awaited_by": [], "children": [], "labels": {},
        "budget": [{"id": "order-1001", "units": {
            "tokens": {"limit": 100, "spent": 75, "remaining": 25},
        }}],
        "input": {"order": "x".repeat(5_000)},
    })
    .as_object()
    .expect("an object")
    {
        invocation[name] = value.clone();
    }
    invocation
}

fn outcome() -> Value {
    json!({
        "id": "order-1001", "target": "wasm://shop/order", "state": "suspended", "attempt": 0,
        "created_at_ms": 1_000,
    })
}

fn modules() -> Value {
    json!({"modules": [{
        "digest": "00", "size": 1, "created_at_ms": 1, "aliases": ["shop"], "in_use": 1,
        "imports": [], "exports": [],
        "functions": [{
            "name": "order", "kind": "workflow", "summary": "Sells.",
            "input_schema": {"type": "object", "properties": {"order": {"type": "string"}}},
        }],
    }]})
}

fn problem(status: u16, code: &str, detail: &str) -> (u16, Value) {
    let body = json!({
        "type": format!("urn:segno:problem:{code}"), "title": "Refused", "status": status,
        "detail": detail, "code": code,
    });
    (status, body)
}

/// The answer to a request.
fn answer(method: &str, path: &str) -> (u16, Value) {
    let page = |items: Value| json!({ "items": items });
    let answer = match (method, path) {
        ("GET", "/health") => json!({"status": "ok", "version": "0.1.0"}),
        ("GET", "/ready") => json!({"status": "ready"}),
        ("GET", "/v1/modules") => modules(),
        ("GET", "/v1/modules/shop") => modules()["modules"][0].clone(),
        ("GET", "/v1/schedules" | "/v1/objects") => page(json!([])),
        ("GET", "/v1/promises") => page(json!([{
            "id": "order-1001/p/approved", "state": "pending", "tags": {}, "created_at_ms": 1_000,
            "made_by": "order-1001",
        }])),
        ("GET", "/v1/invocations") => {
            let mut list = page(json!([summary()]));
            list["counts"] = json!({"states": {"suspended": 1}, "newest_only": false});
            list
        }
        ("POST", "/v1/invocations") => {
            json!({"id": "order-1001", "created": true, "invocation": outcome()})
        }
        ("GET", "/v1/invocations/order-1001") => invocation(),
        ("GET", "/v1/invocations/order-1001/wait") => outcome(),
        ("GET", "/v1/invocations/order-1001/why") => json!({"chain": [{
            "id": "order-1001", "target": "wasm://shop/order", "state": "suspended",
            "reason": "promise", "on": "order-1001/p/approved", "others": 0,
            "created_at_ms": 1_000, "attempt": 0,
            "commands": ["segno resolve order-1001/p/approved JSON"],
        }]}),
        ("GET", "/v1/invocations/order-1001/journal") => {
            json!({"id": "order-1001", "next": 1, "records": [
                {"seq": 0, "at_ms": 1_000, "kind": "started", "request": {"order": "x".repeat(5_000)}},
            ]})
        }
        ("GET", "/v1/invocations/order-1001/logs") => json!({"id": "order-1001", "lines": []}),
        ("GET", "/v1/promises/order-1001/tree") => {
            json!({"id": "order-1001", "path": [], "nodes": [
                {"id": "order-1001", "depth": 0, "kind": "call", "state": "suspended", "children": 0,
                 "created_at_ms": 1_000},
            ]})
        }
        ("POST", "/v1/invocations/order-1001/replay") => {
            json!({"id": "order-1001", "module": "00", "verdict": "identical", "matched": 3,
                   "journal_len": 3})
        }
        ("POST", "/v1/invocations/order-1001/fork") => {
            json!({"id": "order-1001-f1", "forked_from": {"id": "order-1001", "records": 1},
                   "module": "00", "created": false,
                   "dry_run": {"steps": [], "end": "waits", "same_end": false}})
        }
        ("POST", "/v1/rerun") => page(json!([{
            "id": "order-1001", "function": "shop/order", "verdict": "differs", "answered": 3,
            "unanswered": 0, "left_out": 0, "recorded_cost": {"tokens": 7}, "cost": {"tokens": 5},
            "duration_ms": 2_000, "difference": "another outcome at $.total",
            "reason": "another outcome at $.total",
            "output": {"path": "$.total", "before": 120, "after": 80},
        }])),
        ("POST", "/v1/modules/shop/check") => json!({"candidate": "11", "items": [], "ended": 0}),
        ("POST", "/v1/promises/order-1001%2Fp%2Fapproved/resolve") => {
            json!({"id": "order-1001/p/approved", "state": "resolved", "value": true, "tags": {},
                   "awaited_by": [], "created_at_ms": 1_000, "changed": true})
        }
        ("POST", "/v1/invocations/order-1001/signals") => json!({"id": "order-1001", "signal": 0}),
        ("POST", "/v1/invocations/order-1001/cancel" | "/v1/invocations/order-1001/continue") => {
            json!({"id": "order-1001", "changed": true})
        }
        ("POST", "/v1/invocations/order-1001/restart") => {
            json!({"id": "order-1002", "created": true, "invocation": outcome()})
        }
        ("GET", path) if path.starts_with("/v1/objects/") => {
            json!({"object": "shop/Cart@ada", "names": {"goods": 3}, "state": {"goods": [1]}})
        }
        (_, path) if path.starts_with("/v1/invocations/") => {
            return problem(404, "unknown-invocation", "there is no invocation with this id");
        }
        _ => return problem(404, "unknown-route", path),
    };
    (200, answer)
}

#[async_trait]
impl LocalHost for FakeHost {
    async fn answer(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, String> {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let body = serde_json::from_slice(request.body()).unwrap_or(Value::Null);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push((format!("{method} {path}"), body));
        let (status, body) = answer(method, path);
        let kind = if status == 200 { "application/json" } else { "application/problem+json" };
        http::Response::builder()
            .status(status)
            .header("content-type", kind)
            .body(body.to_string().into_bytes())
            .map_err(|error| error.to_string())
    }
}

/// A command that says what it was given.
struct EchoingCommand;

#[async_trait]
impl SegnoCommand for EchoingCommand {
    async fn run(&self, arguments: &[String]) -> Result<CommandOutput, String> {
        let report = json!({
            "runs": 7, "outcomes": {"\"shipped\"": 7},
            "failures": [{
                "kind": "lost-effect", "text": arguments.join(" "), "advice": "a", "schedule": "s",
            }],
        });
        Ok(CommandOutput { exit: Some(10), stdout: report.to_string(), stderr: String::new() })
    }
}

/// A session with a server for a fake host.
pub(super) struct McpSession {
    pub(super) host: Arc<FakeHost>,
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    requests: u64,
}

impl McpSession {
    /// Begins a session, up to the end of the handshake.
    pub(super) async fn begin(permission: WritePermission, exposed: &[&str]) -> Self {
        let host = Arc::new(FakeHost::default());
        let client = Client::local(host.clone()).expect("a client");
        let exposed = exposed.iter().map(|text| text.parse().expect("a pattern")).collect();
        let budget = BTreeMap::from([("tokens".to_owned(), Number::from(900))]);
        let options = McpOptions { permission, exposed, budget };
        let env = Env::system();
        let server = McpServer::new(client, env.clone(), Arc::new(EchoingCommand), options);
        let (ours, theirs) = duplex(1 << 20);
        let serving = async move {
            if let Ok(session) = server.serve(split(theirs)).await {
                let _ = session.waiting().await;
            }
        };
        env.runtime.spawn("session", Box::pin(serving));
        let (read, write) = split(ours);
        let mut session = Self { host, write, lines: BufReader::new(read).lines(), requests: 0 };
        let began = session
            .request(
                "initialize",
                json!({
                    "protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "test", "version": "1"},
                }),
            )
            .await;
        assert_eq!(began["result"]["serverInfo"]["name"], "segno", "{began}");
        session
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())
            .await;
        session
    }

    /// Sends a line as it is.
    pub(super) async fn send(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.expect("the server reads");
    }

    /// Sends a request without waiting for the answer. Returns its id.
    pub(super) async fn begin_request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string()).await;
        id
    }

    /// The next message of the server.
    pub(super) async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("a line").expect("the session goes on");
        serde_json::from_str(&line).expect("a message is JSON")
    }

    /// Sends a request, and returns the whole answer.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin_request(method, params).await;
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool, and returns the whole answer.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }
}

/// The text of the result of a call.
pub(super) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}
