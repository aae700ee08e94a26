//! Streamable HTTP.

use std::{path::Path, process::Stdio};

use reqwest::{Response, StatusCode, header};
use segno_env::{Proxies, http_client};
use serde_json::{Value, json};
use tests::test_host::TestHost;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use super::{SEGNO, host};

/// `segno mcp --http`; the process ends with it.
pub(super) struct HttpServer {
    process: Child,
    pub(super) url: String,
    http: reqwest::Client,
}

/// A session over HTTP.
struct HttpSession<'a> {
    server: &'a HttpServer,
    id: String,
}

impl HttpServer {
    pub(super) async fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(SEGNO);
        command.args(["mcp", "--http", "127.0.0.1:0"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.kill_on_drop(true).spawn().expect("the command starts");
        let stdout = process.stdout.take().expect("it is piped");
        let line = BufReader::new(stdout).lines().next_line().await.expect("a line");
        let line = line.expect("the command says its address");
        let url = line.rsplit_once(' ').expect("an address").1.to_owned();
        let http = http_client(Proxies::None).build().expect("there is a client");
        Self { process, url, http }
    }

    /// Posts a message with further headers.
    async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Response {
        let mut request = self
            .http
            .post(&self.url)
            .header(header::ACCEPT, "application/json, text/event-stream")
            .json(message);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.expect("an answer")
    }

    async fn begin(&self, headers: &[(&str, &str)]) -> Response {
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "suite", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
        self.post(&message, headers).await
    }

    async fn session(&self) -> HttpSession<'_> {
        let began = self.begin(&[]).await;
        assert_eq!(began.status(), StatusCode::OK);
        let id = began.headers()["mcp-session-id"].to_str().expect("a text").to_owned();
        let session = HttpSession { server: self, id };
        let told =
            session.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(told.status(), StatusCode::ACCEPTED);
        session
    }
}

impl HttpSession<'_> {
    async fn send(&self, message: Value) -> Response {
        let headers =
            [("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", "2025-11-25")];
        self.server.post(&message, &headers).await
    }

    /// Sends a request. Returns all messages of its stream; the answer is the last one.
    async fn request(&self, id: u32, method: &str, params: Value) -> Vec<Value> {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.send(message).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let body = answer.text().await.expect("a text");
        let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        let data = data.map(str::trim).filter(|data| !data.is_empty());
        data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_over_http_calls_tools_and_exposed_functions() {
    let host = host().await;
    let server = host.client().server();
    let server = HttpServer::start(&["--server", &server, "--expose", "hello/hello"]).await;
    let session = server.session().await;
    let call = json!({"name": "why_execution", "arguments": {"id": "report-1"}});
    let answers = session.request(1, "tools/call", call).await;
    let answer = answers.last().expect("an answer");
    assert_eq!(answer["result"]["structuredContent"]["chain"][0]["reason"], "promise", "{answer}");
    let call = json!({
        "name": "hello_hello", "arguments": {"input": "Ada"},
        "_meta": {"progressToken": 5, "segno/idempotency-key": "k"},
    });
    let answers = session.request(2, "tools/call", call).await;
    assert_eq!(answers[0]["params"]["message"], "started as mcp-hello_hello-k", "{answers:?}");
    let answer = answers.last().expect("an answer");
    assert_eq!(answer["result"]["structuredContent"]["output"], "Hello, Ada!", "{answer}");
    // Sessions are apart from each other, and one that is not known is refused.
    let other = server.session().await;
    assert_ne!(other.id, session.id);
    let unknown = HttpSession { server: &server, id: "unknown-session".to_owned() };
    let refused = unknown.send(json!({"jsonrpc": "2.0", "id": 3, "method": "ping"})).await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_and_strangers_are_refused() {
    let token = "a-token-of-the-mcp-suite";
    let server = HttpServer::start(&["--token", token, "--name", "mcp.example.org"]).await;
    let bearer = format!("Bearer {token}");
    let mine = ("authorization", bearer.as_str());
    for (headers, status) in [
        (vec![], StatusCode::UNAUTHORIZED),
        (vec![("authorization", "Bearer another")], StatusCode::UNAUTHORIZED),
        (vec![mine], StatusCode::OK),
        (vec![mine, ("host", "mcp.example.org")], StatusCode::OK),
        (vec![mine, ("host", "evil.example")], StatusCode::FORBIDDEN),
        (vec![mine, ("origin", "http://evil.example")], StatusCode::FORBIDDEN),
    ] {
        let answer = server.begin(&headers).await;
        assert_eq!(answer.status(), status, "{headers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_this_machine_a_token_is_needed() {
    let mut command = Command::new(SEGNO);
    command.args(["mcp", "--http", "0.0.0.0:0"]).env_remove("SEGNO_TOKEN");
    let output = command.stdin(Stdio::null()).output().await.expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("can be reached from other machines"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_server_ends_with_open_sessions() {
    let host = TestHost::start(SEGNO).await;
    let mut server = HttpServer::start(&["--server", &host.client().server()]).await;
    let session = server.session().await;
    let answers = session.request(1, "tools/list", json!({})).await;
    assert!(answers.last().is_some_and(|answer| answer["result"]["tools"].is_array()));
    let pid = server.process.id().expect("it runs");
    let killed = Command::new("kill").arg(pid.to_string()).status().await.expect("it is sent");
    assert!(killed.success() && Path::new(SEGNO).exists());
    let ended = host.env.within(segno_core::time::Millis(20_000), server.process.wait()).await;
    assert!(ended.expect("it ends").expect("it is waited for").success());
}
