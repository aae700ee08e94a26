//! The example `agent` in three languages, each with a real host and the servers of the example. The
//! host is killed in the middle of an answer and of a tool.
//!
//! TypeScript and Python need tools from npm and PyPI, and run with `SEGNO_CLIENTS=1`, which
//! installs them into Segno's cache.

mod many;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use segno_api::model::{Invocation, InvocationState, ReplayVerdict, StartInvocation};
use segno_core::time::Millis;
use segno_demo::payments::PaymentsOptions;
use serde::Deserialize;
use serde_json::{Value, json};
use tests::{documents::repository, guests, shell::Shell, test_host::TestHost};

use crate::languages::{Course, PYTHON, TYPESCRIPT, has_tools};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Tokens of the answer during which the host is killed.
const TOKENS: usize = 20_000;
/// Answers during which the host is killed, until one of them is interrupted.
const ANSWERS_MAX: u32 = 10;
/// Size of a history, beyond which a turn begins with a summary, as in the example.
const HISTORY_MAX: usize = 4_000;

/// The model and the shop of the example.
struct ExampleServers {
    process: Child,
    model: String,
    shop: String,
}

/// A request that a server has got, by its key.
#[derive(Debug, Deserialize)]
struct CountedCall {
    method: String,
    path: String,
    key: String,
    times: u32,
}

impl ExampleServers {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command.arg(example().join("servers.py")).args(["--model", "0", "--shop", "0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("there is python3");
        let output = process.stdout.take().expect("it has an output");
        let mut lines = BufReader::new(output).lines();
        let mut address = |name: &str| {
            let line = lines.next().expect("it prints its addresses").expect("it can be read");
            line.strip_prefix(name).expect("the name of the server").trim().to_owned()
        };
        let (model, shop) = (address("model "), address("shop "));
        Self { process, model, shop }
    }

    async fn calls(&self, server: &str) -> Vec<CountedCall> {
        let answer = reqwest::get(format!("{server}/calls")).await.expect("it answers");
        answer.json().await.expect("a list of calls")
    }

    /// The only call of the shop with this method and path. `None` if there is none.
    async fn shop_call(&self, method: &str, path: &str) -> Option<CountedCall> {
        let calls = self.calls(&self.shop).await;
        let mut found: Vec<_> =
            calls.into_iter().filter(|call| call.method == method && call.path == path).collect();
        assert!(found.len() <= 1, "{method} {path} has several keys: {found:#?}");
        found.pop()
    }

    async fn model_times(&self, key: &str) -> u32 {
        let calls = self.calls(&self.model).await;
        calls.iter().find(|call| call.key == key).map_or(0, |call| call.times)
    }
}

impl Drop for ExampleServers {
    fn drop(&mut self) {
        // It may have ended by itself, which is not the test's concern any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The modules of the agent and of its tools as files, removed afterwards.
struct BuiltModules {
    agent: PathBuf,
    tools: PathBuf,
    _folder: tempfile::TempDir,
}

/// A host with the agent and its tools.
struct AgentHost {
    host: TestHost,
    servers: ExampleServers,
    _policy: tempfile::TempDir,
}

impl AgentHost {
    async fn start(modules: &BuiltModules) -> Self {
        let servers = ExampleServers::start();
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let [policy, key] = ["policy.toml", "key"].map(|name| folder.path().join(name));
        fs::write(&key, "sk-scripted").expect("there is room");
        let text = fs::read_to_string(example().join("policy.toml")).expect("the example has it");
        let text = text
            .replace("http://127.0.0.1:9100", &servers.model)
            .replace("http://127.0.0.1:9101", &servers.shop)
            .replace(r#"from = "MODEL_KEY""#, &format!("file = {key:?}"));
        fs::write(&policy, text).expect("there is room");
        let policy = policy.to_str().expect("it is text");
        let arguments = ["--policy", policy];
        let host = TestHost::with(SEGNO, PaymentsOptions::default(), &arguments).await;
        for (name, file) in [("agent", &modules.agent), ("tools", &modules.tools)] {
            deploy(&host, name, file);
        }
        Self { host, servers, _policy: folder }
    }

    /// Begins a turn of a conversation.
    async fn begin(&self, id: &str, conversation: &str, text: &str) {
        let target = format!("agent/Conversation@{conversation}/say");
        self.host.start_as(id, &target, json!(text)).await.expect("it starts");
    }

    /// The answer of a turn.
    async fn answer(&self, id: &str) -> String {
        let ended = self.host.ended(id).await;
        assert_eq!(ended.state, InvocationState::Resolved, "{ended:#?}");
        let output = ended.output.expect("it has an answer");
        output.as_str().expect("it is text").to_owned()
    }

    async fn say(&self, id: &str, conversation: &str, text: &str) -> String {
        self.begin(id, conversation, text).await;
        self.answer(id).await
    }

    /// Decides about the tool that the turn asks for.
    async fn decide(&self, id: &str, decision: bool) {
        let approval = format!("{id}/2");
        self.exists(&approval).await;
        let promise = format!("{approval}/p/decision");
        let asks = |seen: &Invocation| seen.waits.iter().any(|wait| wait.id == promise);
        self.host.until(&approval, "waiting for a decision", asks).await;
        self.host.client().resolve(&promise, json!(decision)).await.expect("it is asked for");
    }

    async fn exists(&self, id: &str) {
        let there = async {
            while self.host.client().invocation(id).await.is_err() {
                self.pause().await;
            }
        };
        self.host.env.within(Millis(30_000), there).await.expect("in time");
    }

    async fn pause(&self) {
        self.host.env.runtime.sleep(Millis(20)).await;
    }

    async fn kill(&mut self) {
        self.host.server.kill().unwrap_or_else(|error| panic!("{error}"));
        self.host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Items of the stream `answer`, to its end.
    async fn items(&self, id: &str) -> Vec<Value> {
        let (mut items, mut offset) = (Vec::new(), "-1".to_owned());
        loop {
            let data = self.host.client().stream(id, "answer", &offset, true).await;
            let data = data.unwrap_or_else(|error| panic!("{id}: {error}"));
            if !data.body.is_empty() {
                items.extend(serde_json::from_slice::<Vec<Value>>(&data.body).expect("a list"));
            }
            offset = data.next_offset;
            if data.closed {
                return items;
            }
        }
    }

    async fn history(&self, conversation: &str) -> Vec<Value> {
        let object = ["agent", "Conversation", conversation];
        let object = self.host.client().object(object, None).await.expect("it is there");
        object.state["messages"].as_array().expect("a list of messages").clone()
    }

    async fn replays_are_identical(&self, ids: &[&str]) {
        for id in ids {
            let replay = self.host.client().replay(id, None).await.expect("it can be replayed");
            assert_eq!(replay.verdict, ReplayVerdict::Identical, "{id}: {replay:#?}");
        }
    }
}

fn example() -> PathBuf {
    repository().join("examples/agent")
}

/// Uploads a module with the command, which brings its runtime along.
fn deploy(host: &TestHost, name: &str, file: &Path) {
    let mut command = Command::new(SEGNO);
    command.arg("deploy").arg(file).args(["--as", name, "--server", &host.client().server()]);
    let said = command.output().expect("it runs");
    assert!(said.status.success(), "{name}: {}", String::from_utf8_lossy(&said.stderr));
}

fn rust() -> BuiltModules {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let [agent, tools] = ["agent", "agent-tools"].map(|name| {
        let file = folder.path().join(name).with_extension("wasm");
        fs::write(&file, guests::component(name)).expect("there is room");
        file
    });
    BuiltModules { agent, tools, _folder: folder }
}

/// The modules of the example in a project that `segno new` makes, with the packages that the
/// program carries.
fn project(course: &Course, [folder_of, sources]: [&str; 2]) -> Option<BuiltModules> {
    if !has_tools(course) {
        return None;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let shell = Shell::in_folder(folder.path(), SEGNO, &target);
    let from = example().join(folder_of);
    let from = from.display();
    let lines = [
        format!("segno new agent --lang {}", course.language),
        format!("cp -r {from}/{sources} agent/ && mkdir agent/tools"),
        format!("cp -r {from}/tools/* agent/tools/ && rm -rf agent/tools/build"),
        format!("cd agent && {}", course.install),
        "segno build . --prepare".to_owned(),
        r#"VIRTUAL_ENV="$PWD/.venv" segno build tools --prepare"#.to_owned(),
    ];
    let said = shell.run("", &lines);
    assert!(said.iter().all(|said| said.exit == Some(0)), "{said:#?}");
    let project = shell.work().join("agent");
    let [agent, tools] =
        ["build/agent.module", "tools/build/tools.module"].map(|file| project.join(file));
    Some(BuiltModules { agent, tools, _folder: folder })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_rust_survives() {
    survives(&rust()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_typescript_survives() {
    if let Some(modules) = project(&TYPESCRIPT, ["typescript", "src"]) {
        survives(&modules).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_python_survives() {
    if let Some(modules) = project(&PYTHON, ["python", "*.py"]) {
        survives(&modules).await;
    }
}

async fn survives(modules: &BuiltModules) {
    let mut agent = AgentHost::start(modules).await;
    offers_its_conversation(&agent).await;
    talks(&agent).await;
    streams_tokens_before_the_answer_is_complete(&agent).await;
    answers_once_although_the_host_is_killed(&mut agent).await;
    stops_when_its_budget_is_spent(&agent).await;
    follows_a_tool_that_is_cancelled(&mut agent).await;
    summarises(&agent).await;
}

/// Assistants may have the function `say` as a tool.
async fn offers_its_conversation(agent: &AgentHost) {
    let modules = agent.host.client().modules().await.expect("there are modules").modules;
    let functions = modules.iter().flat_map(|module| &module.description.functions);
    let offered: Vec<_> = functions
        .filter(|function| !function.expose.is_empty())
        .map(|function| (function.name.as_str(), function.expose.as_slice()))
        .collect();
    assert_eq!(offered, [("Conversation/say", &["mcp".to_owned()][..])]);
}

/// A tool, two approvals, and a second agent.
async fn talks(agent: &AgentHost) {
    let found = |result: &str| format!("This is what I found: {result}");
    let answer = agent.say("status", "ada", "Where is order 7?").await;
    assert_eq!(answer, found("it was shipped on Monday"));
    let mut items = agent.items("status").await;
    assert_eq!(items.pop(), Some(json!({ "answer": answer })));
    let text: String = items.iter().filter_map(Value::as_str).collect();
    assert_eq!(text, format!("I look it up. {answer}"));

    for (id, decision, result) in [
        ("refund", true, "2500 cents of order 8 refunded"),
        ("refused", false, "a person refused it"),
    ] {
        agent.begin(id, "ada", "Refund order 8").await;
        agent.decide(id, decision).await;
        assert_eq!(agent.answer(id).await, found(result));
    }
    let page = format!("{}/pages/returns", agent.servers.shop);
    let answer = agent.say("research", "ada", &format!("Research {page}")).await;
    assert_eq!(answer, found(&found("Goods can be returned within 30 days.")));
    // The policy of the tools does not allow the model.
    let secret = format!("{}/calls", agent.servers.model);
    let answer = agent.say("curious", "ada", &format!("Research {secret}")).await;
    assert!(answer.contains(&format!("outbound HTTP to `{secret}` is refused")), "{answer}");

    let calls = agent.servers.calls(&agent.servers.shop).await;
    let made: BTreeSet<_> =
        calls.iter().map(|call| (&*call.method, &*call.path, &*call.key, call.times)).collect();
    let expected = [
        ("GET", "/orders/7", "status/2", 1),
        ("GET", "/pages/returns", "research/2/1", 1),
        ("POST", "/refunds", "refund/3", 1),
    ];
    assert_eq!(made, BTreeSet::from(expected));
    // Every message of the five turns, in the order in which they were said.
    let roles = agent.history("ada").await;
    let roles: Vec<_> = roles.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"].repeat(5));
    let ids = ["status", "refund", "refused", "research", "research/2", "curious"];
    agent.replays_are_identical(&ids).await;
}

/// In the middle of the answer the model waits until the test has read the tokens before it.
async fn streams_tokens_before_the_answer_is_complete(agent: &AgentHost) {
    agent.begin("dictated", "eva", "dictate 8").await;
    let half = async {
        loop {
            let data = agent.host.client().stream("dictated", "answer", "-1", false).await;
            let items = data.map(|data| serde_json::from_slice::<Vec<Value>>(&data.body));
            if let Ok(Ok(items)) = items
                && items.len() >= 4
            {
                return items;
            }
            agent.pause().await;
        }
    };
    let half = agent.host.env.within(Millis(60_000), half).await.expect("in time");
    assert_eq!(half, [json!("1 "), json!("2 "), json!("3 "), json!("4 ")]);
    let asked = agent.host.client().invocation("dictated/1").await.expect("the model is asked");
    assert_eq!(asked.state, InvocationState::Acquired, "{asked:#?}");
    let gone_on = reqwest::Client::new().post(format!("{}/continue", agent.servers.model)).send();
    assert!(gone_on.await.expect("it answers").status().is_success());
    assert_eq!(agent.answer("dictated").await, "1 2 3 4 5 6 7 8");
    assert_eq!(agent.servers.model_times("dictated/1").await, 1);
    agent.replays_are_identical(&["dictated"]).await;
}

/// A turn asks the model once and calls a tool; the second question is beyond the budget.
async fn stops_when_its_budget_is_spent(agent: &AgentHost) {
    let start = StartInvocation {
        id: Some("spender".to_owned()),
        target: "agent/Conversation@spender/say".to_owned(),
        input: json!("Where is order 7?"),
        budget: [("tokens".to_owned(), 5.into())].into(),
        ..StartInvocation::default()
    };
    agent.host.client().start(&start).await.expect("it starts");
    assert_eq!(agent.answer("spender").await, "I have used up my budget.");
    let budget = agent.host.client().budget("spender").await.expect("it has a budget");
    let tokens = &budget.accounts[0].units["tokens"];
    // The call that was in flight cost more than was left, and the next one was refused.
    assert!(tokens.spent.as_u64() > Some(5), "{tokens:?}");
    assert_eq!(agent.servers.model_times("spender/3").await, 0);
    agent.replays_are_identical(&["spender"]).await;
}

async fn answers_once_although_the_host_is_killed(agent: &mut AgentHost) {
    for number in 0..ANSWERS_MAX {
        let id = format!("count-{number}");
        agent.begin(&id, &id, &format!("count to {TOKENS}")).await;
        // The first tokens that a reader gets are durable, and the rest is on its way. A live read
        // ends without them if the machine is busy.
        let first = async {
            while agent.host.client().stream(&id, "answer", "-1", true).await.is_err() {
                agent.pause().await;
            }
        };
        agent.host.env.within(Millis(120_000), first).await.expect("in time");
        agent.kill().await;
        let mut items = agent.items(&id).await;
        let answer = agent.answer(&id).await;
        assert_eq!(items.pop(), Some(json!({ "answer": answer })));
        assert_eq!(items.len(), TOKENS);
        let counted = (1..=TOKENS).zip(&items);
        for (expected, token) in counted {
            let token = token.as_str().map(str::trim_end);
            assert_eq!(token, Some(&*expected.to_string()), "{id}");
        }
        agent.replays_are_identical(&[&id]).await;
        // The model was asked again, under the same key: the kill was in the middle.
        if agent.servers.model_times(&format!("{id}/1")).await > 1 {
            return;
        }
    }
    panic!("{ANSWERS_MAX} answers were complete before the host was killed");
}

async fn follows_a_tool_that_is_cancelled(agent: &mut AgentHost) {
    agent.begin("audit", "ada", "Audit 3000 orders").await;
    let audits = async |agent: &AgentHost, times: u32| {
        let begun = async {
            loop {
                match agent.servers.shop_call("POST", "/audits").await {
                    Some(call) if call.times >= times => return call,
                    _ => agent.pause().await,
                }
            }
        };
        agent.host.env.within(Millis(60_000), begun).await.expect("in time")
    };
    audits(agent, 1).await;
    agent.kill().await;
    // The second attempt follows the same audit, since it has the same key.
    assert_eq!(audits(agent, 2).await.key, "audit/2");
    agent.host.client().cancel("audit/2").await.expect("it runs");
    assert_eq!(agent.answer("audit").await, "This is what I found: cancelled");
    let stopped = agent.servers.shop_call("DELETE", "/audit").await;
    assert_eq!(stopped.map(|call| call.key), Some("audit/2".to_owned()));
    assert_eq!(agent.say("after", "ada", "hello").await, "You said: hello");

    // If the whole turn is cancelled, the model goes on without the tool.
    agent.begin("stopped", "ada", "Refund order 8").await;
    agent.exists("stopped/2").await;
    agent.host.client().cancel("stopped").await.expect("it runs");
    assert_eq!(agent.answer("stopped").await, "This is what I found: cancelled");
    agent.replays_are_identical(&["audit", "after", "stopped"]).await;
}

async fn summarises(agent: &AgentHost) {
    let turn = "count to 500";
    for number in 0..8 {
        let answer = agent.say(&format!("long-{number}"), "eve", turn).await;
        let history = agent.history("eve").await;
        let size = json!(history).to_string().len();
        // Beside the summary there are at most a history that was short enough, and two turns.
        let longest = HISTORY_MAX + 2 * (answer.len() + turn.len() + 200);
        assert!(size < longest, "{size} after {number} turns");
        assert!(history.len() <= 7, "{} messages after {number} turns", history.len());
    }
    let answer = agent.say("remember", "eve", "what do you remember").await;
    assert!(answer.starts_with("I remember: Summary of what was said before: "), "{answer}");
}

/// The page has parts of the example, and no others.
#[test]
fn the_page_about_agents_shows_the_example() {
    let read = |file: &str| fs::read_to_string(repository().join(file)).expect(file);
    let page = read("docs/how-to/agents.md");
    let sources = [
        ("rust", "src/lib.rs src/model.rs src/agents.rs tools/src/lib.rs"),
        (
            "ts",
            "typescript/src/index.ts typescript/src/model.ts typescript/src/agents.ts \
             typescript/tools/src/index.ts",
        ),
        ("python", "python/app.py python/model.py python/agents.py python/tools/app.py"),
        ("toml", "policy.toml"),
        ("js", "page.html"),
    ];
    let mut shown = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("it has lines");
        let Some((_, files)) = sources.iter().find(|(known, _)| *known == language) else {
            assert_eq!(language, "text", "{text}");
            continue;
        };
        let trimmed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
        let files = files.split_whitespace().map(|file| read(&format!("examples/agent/{file}")));
        let is_shown = files.map(|file| trimmed(&file)).any(|file| file.contains(&trimmed(text)));
        assert!(is_shown, "this is not in the example: {text}");
        shown += 1;
    }
    assert!(shown >= 8, "the page shows {shown} parts of the example");
}
