//! A session with `segno mcp` on its standard streams.

use std::process::Stdio;

use segno_core::time::Millis;
use segno_env::Env;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use super::SEGNO;

/// Maximum time for an answer.
const PATIENCE: Millis = Millis(60_000);

/// A session; the process ends with it.
pub(super) struct Session {
    process: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    env: Env,
    requests: u64,
    /// Notifications that came before the last answer.
    pub(super) notifications: Vec<Value>,
}

impl Session {
    /// Starts the command for the host at `server`, and begins a session.
    pub(super) async fn begin(server: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(SEGNO);
        command.args(["mcp", "--server", server]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.kill_on_drop(true).spawn().expect("the command starts");
        let stdin = process.stdin.take().expect("it is piped");
        let stdout = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let (env, notifications) = (Env::system(), Vec::new());
        let mut session = Self { process, stdin, stdout, env, requests: 0, notifications };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "suite", "version": "1"},
        });
        let began = session.request("initialize", hello).await;
        assert_eq!(began["result"]["protocolVersion"], "2025-11-25", "{began}");
        session.notify("notifications/initialized", json!({})).await;
        session
    }

    /// Sends a line as it is.
    pub(super) async fn send(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.expect("the command reads");
        self.stdin.flush().await.expect("the command reads");
    }

    pub(super) async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&message.to_string()).await;
    }

    /// Sends a request without waiting for its answer. Returns its id.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&message.to_string()).await;
        id
    }

    /// The next message. Each line of standard output is one.
    pub(super) async fn next(&mut self) -> Value {
        let line = self.env.within(PATIENCE, self.stdout.next_line()).await;
        let line = line.expect("an answer comes in time").expect("a line");
        let line = line.expect("the session goes on");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Sends a request, and returns the whole answer.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.notifications.clear();
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    /// Calls a tool. Returns its text and its typed value.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let answer =
            self.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool}: {answer}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        (text.to_owned(), result["structuredContent"].clone())
    }

    /// Calls a tool that fails. Returns its text.
    pub(super) async fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let answer =
            self.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        answer["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// Ends the session by the end of standard input. Returns true if the command succeeded.
    pub(super) async fn end(self) -> bool {
        let Self { mut process, stdin, env, .. } = self;
        drop(stdin);
        let ended = env.within(PATIENCE, process.wait()).await.expect("the command ends");
        ended.expect("it is waited for").success()
    }
}
