//! Values on real hosts. An accepted value comes back unchanged, by every path and on both stores.
//! Invalid JSON is refused on entry, with its kind and place.

use std::{path::Path, process::Command};

use axum::{Router, body::Bytes, http::header, routing::post};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use segno_core::json;
use segno_demo::{
    payments::PaymentsOptions,
    server::{DemoServer, ServerOptions},
};
use segno_env::Env;
use serde_json::{Value as Json, json};
use tests::{guests, host_group::HostGroup, shell::Shell, test_host::TestHost};
use throwaway_postgres::Cluster;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// Number of random values, in addition to the chosen ones.
const DRAWN: usize = 40;

/// Values of kinds that were once lost or changed.
const CHOSEN: &str = r#"[123456789012345678901234567890, -0.0, 1.0, 1.50, 1e400, -1E-400, 0.1, 18446744073709551616,
    "", "é\u0000\n\u202e\ud83d\ude00", {"": {"": []}}, {"base64": "aGk="}, {"$from": "input"}, {"not_json": "NaN"},
    {"resolved": 1}, {"__type": "error", "code": 1}, {"func": "f", "args": [1]}, [[]], {}, null, "null", "NaN"]"#;

/// JSON with odd texts, long numbers and empty keys.
fn any_json() -> impl Strategy<Value = Json> {
    let number = "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?";
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Json::from),
        number.prop_map(|text| json::parse(&text).expect("a number")),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(8, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

/// One value that contains all tested values: random ones from a fixed seed, chosen ones, and one
/// of the maximum depth.
fn everything() -> Json {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = any_json();
    let mut values = match json::parse(CHOSEN).expect("they are JSON") {
        Json::Array(values) => values,
        _ => unreachable!(),
    };
    values.extend((0..DRAWN).map(|_| strategy.new_tree(&mut runner).expect("a value").current()));
    // Together with the list itself, and the levels that some paths add.
    values.push((0..90).fold(json!("deep"), |inner, _| json!([inner])));
    Json::Array(values)
}

/// Starts a service that echoes the body of the request with the media type of JSON. Returns its
/// address.
async fn service(env: &Env) -> String {
    let repeat = |body: Bytes| async move { ([(header::CONTENT_TYPE, "application/json")], body) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    let router = Router::new().route("/", post(repeat));
    let serving = async move { axum::serve(listener, router).await.expect("it serves") };
    env.runtime.spawn("service", Box::pin(serving));
    format!("http://{address}/")
}

/// A host over plain HTTP, without the client's types.
struct Door {
    server: String,
    http: reqwest::Client,
}

impl Door {
    fn of(server: &DemoServer) -> Self {
        Self { server: format!("http://{}", server.options().listen), http: reqwest::Client::new() }
    }

    /// Sends this text. Returns the status and the body of the answer.
    async fn sent(&self, method: &str, path: &str, body: String) -> (u16, Json) {
        let method = method.parse().expect("a method");
        let request = self.http.request(method, format!("{}{path}", self.server));
        let request = request.header("content-type", "application/json").body(body);
        let answer = request.send().await.expect("the host answers");
        let status = answer.status().as_u16();
        let text = answer.text().await.expect("a text");
        (status, json::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}")))
    }

    async fn post(&self, path: &str, body: Json) -> Json {
        let (status, answer) = self.sent("POST", path, body.to_string()).await;
        assert!((200..300).contains(&status), "{path}: {answer}");
        answer
    }

    async fn get(&self, path: &str) -> Json {
        let (status, answer) = self.sent("GET", path, String::new()).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Waits for the output of an invocation. Returns it.
    async fn output(&self, id: &str) -> Json {
        let waited = self.get(&format!("/v1/invocations/{id}/wait?timeout_ms=60000")).await;
        assert_eq!(waited["state"], "resolved", "{id}: {waited}");
        waited["output"].clone()
    }
}

/// Passes the value through everything, and reads it by every path.
async fn comes_back(host: &DemoServer, env: &Env, value: &Json) {
    let door = Door::of(host);
    let service = service(env).await;
    let same = |way: &str, found: &Json| assert!(found == value, "{way}:\n{found}\n{value}");
    let start = |id: &str, function: &str, input: Json| {
        door.post(
            "/v1/invocations",
            json!({ "id": id, "target": format!("values/{function}"), "input": input }),
        )
    };
    start("tour", "tour", json!({ "value": value, "service": service })).await;
    let mut asked = Json::Null;
    for _ in 0..600 {
        let body = json!({ "input": value }).to_string();
        let (status, answer) = door.sent("POST", "/v1/invocations/tour/queries/shown", body).await;
        asked = answer;
        if status == 200 {
            break;
        }
        env.runtime.sleep(segno_core::time::Millis(50)).await;
    }
    same("query, shared", &asked["value"][0]);
    same("query, input", &asked["value"][1]);
    let update = json!({ "input": value, "timeout_ms": 30_000 });
    let told = door.post("/v1/invocations/tour/updates/told", update).await;
    same("update", &told["output"]);
    door.post("/v1/invocations/tour/signals", json!({ "name": "go", "payload": value })).await;
    let mut given = 404;
    for _ in 0..600 {
        let body = json!({ "value": value }).to_string();
        (given, _) = door.sent("POST", "/v1/promises/tour%2Fp%2Fgiven/resolve", body).await;
        if given == 200 {
            break;
        }
        env.runtime.sleep(segno_core::time::Millis(50)).await;
    }
    assert_eq!(given, 200, "the promise is settled");
    let output = door.output("tour").await;
    let ways = output.as_array().expect("the ways");
    assert_eq!(ways.len(), 10, "{output}");
    for way in ways.iter().filter(|way| way[0] != "sent") {
        same(way[0].as_str().expect("a name"), &way[1]);
    }
    let sent = ways.last().and_then(|way| way[1].as_str()).expect("an id");
    same("send", &door.output(&sent.replace('/', "%2F")).await);

    let shown = door.get("/v1/invocations/tour").await;
    same("the input as it is shown", &shown["input"]["value"]);
    let object = door.get("/v1/objects/values/Shelf/tour").await;
    same("the state of an object", &object["state"]["value"]);
    let state = json!({ "set": { "value": value } }).to_string();
    let (_, object) = door.sent("PATCH", "/v1/objects/values/Shelf/tour", state).await;
    same("the state that is set", &object["state"]["value"]);
    let events = door.get("/v1/events?topic=tours").await;
    same("an event", &events["events"][0]["data"]);
    let resource = json!({ "value": value, "token": 1 }).to_string();
    let (_, resource) = door.sent("PUT", "/v1/resources/shelf", resource).await;
    same("a resource", &resource["value"]);
    let schedule = json!({
        "id": "yearly", "cron": "0 0 1 1 *", "target": "values/echo", "input": value,
    });
    door.post("/v1/schedules", schedule).await;
    same("a schedule", &door.get("/v1/schedules/yearly").await["input"]);

    start("echo", "echo", value.clone()).await;
    same("the output", &door.output("echo").await);
    door.post("/v1/invocations/echo/restart", json!({ "id": "again" })).await;
    same("a restart", &door.output("again").await);
    door.post("/v1/invocations/echo/fork", json!({ "id": "fork", "at": 1 })).await;
    same("a fork", &door.output("fork").await);
    let given = json!({ "id": "given", "at": 2, "set": [{ "command": 0, "value": value }] });
    door.post("/v1/invocations/tour/fork", given).await;
    let journal = door.get("/v1/invocations/given/journal?from=0&limit=10").await;
    let records = journal["records"].as_array().expect("a journal");
    let told = records.iter().find(|it| it["kind"] == "notified" && it["index"] == 0);
    same("a given result", &told.expect("it was told")["outcome"]["value"]);

    let plan = json!({ "nodes": {
        "a": { "call": "echo", "input": { "$from": "input" } },
        "b": { "call": "echo", "needs": ["a"], "input": { "within": { "$from": "a" } } },
    }});
    door.post("/v1/graphs", json!({ "id": "g", "plan": plan, "module": "values", "input": value }))
        .await;
    same("a graph", &door.output("g").await["b"]["within"]);
    let replay = door.post("/v1/invocations/tour/replay", json!({})).await;
    assert_eq!(replay["verdict"], "identical", "{replay}");
}

/// Runs the command. Returns its output.
fn segno(arguments: &[&str]) -> String {
    let ran = Command::new(SEGNO).args(arguments).output().expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{arguments:?}: {told}");
    String::from_utf8(ran.stdout).expect("a text")
}

/// Checks the value in the command line's output, in a bundle and in a moved store.
async fn comes_out(host: DemoServer, folder: &Path, value: &Json) {
    let server = format!("http://{}", host.options().listen);
    let printed = segno(&["--server", &server, "result", "echo", "--json"]);
    let result = json::read(printed.as_bytes()).expect("JSON");
    assert!(result["output"] == *value, "the command line: {printed}");
    let file = folder.join("echo.segno");
    let file = file.to_str().expect("a path");
    segno(&["--server", &server, "bundle", "echo", "--output", file]);
    let inspected = segno(&["inspect", file, "--json"]);
    let inspected = json::read(inspected.as_bytes()).expect("JSON");
    assert!(inspected["output"] == *value && inspected["input"] == *value, "a bundle");
    segno(&["replay", file]);
    let data = host.options().data.clone();
    host.stop().await.expect("it stops");
    let (moved, copy) = (folder.join("moved.segno"), folder.join("copy"));
    let moved = moved.to_str().expect("a path");
    segno(&["export", moved, "--store", data.to_str().expect("a path")]);
    segno(&["import", moved, "--store", copy.to_str().expect("a path")]);
    let options = tests::test_host::options(SEGNO, &folder.join("third"));
    let options = ServerOptions { data: copy, ..options };
    let third = DemoServer::start(options, Env::system()).await.expect("it starts");
    let door = Door::of(&third);
    assert!(door.output("echo").await == *value, "a moved store");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_comes_back_as_it_was_on_sqlite() {
    let folder = tempfile::tempdir().expect("a directory");
    let policy = policy(folder.path());
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--policy", &policy]).await;
    host.deploy("values", guests::component("values")).await;
    let value = everything();
    comes_back(&host.server, &host.env, &value).await;
    let TestHost { server, .. } = host;
    comes_out(server, folder.path(), &value).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_comes_back_as_it_was_on_postgresql() {
    let folder = tempfile::tempdir().expect("a directory");
    let policy = policy(folder.path());
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    let url = database.url();
    let arguments = ["--policy", &*policy];
    let group = HostGroup::start(SEGNO, &url, 1, PaymentsOptions::default(), &arguments).await;
    group.deploy("values", guests::component("values")).await;
    comes_back(&group.hosts[0], &group.env, &everything()).await;
}

fn policy(folder: &Path) -> String {
    let path = folder.join("policy.toml");
    std::fs::write(&path, "[values]\nhttp.allow = [\"http://127.0.0.1:*\"]\n").expect("a file");
    path.to_str().expect("a path").to_owned()
}

/// Texts that are not valid JSON by the rule, with the name of each in the refusal.
fn refused() -> [(String, &'static str); 6] {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    [
        ("NaN".to_owned(), "NaN at column"),
        ("-Infinity".to_owned(), "-Infinity at column"),
        (r#""Ann \ud83d""#.to_owned(), "half of a surrogate pair, which is no character at column"),
        (r#"{"a": 1, "a": 2}"#.to_owned(), "the key `a` a second time at column"),
        (deep(102), "more than 101 levels of lists and objects at column"),
        ("[1,]".to_owned(), "trailing comma at column"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_json_is_refused_where_it_enters() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("values", guests::component("values")).await;
    let door = Door::of(&host.server);
    door.post("/v1/promises", json!({ "id": "p" })).await;
    let before = door.get("/v1/invocations").await;
    for (text, reason) in refused() {
        for (method, path, body) in [
            ("POST", "/v1/invocations", r#"{"target":"values/echo","input":VALUE}"#),
            ("POST", "/v1/invocations/x/signals", r#"{"name":"go","payload":VALUE}"#),
            ("POST", "/v1/invocations/x/queries/shown", r#"{"input":VALUE}"#),
            ("POST", "/v1/invocations/x/updates/told", r#"{"input":VALUE}"#),
            ("POST", "/v1/invocations/x/fork", r#"{"at":1,"set":[{"command":0,"value":VALUE}]}"#),
            ("POST", "/v1/promises/p/resolve", r#"{"value":VALUE}"#),
            (
                "POST",
                "/v1/promises/p/reject",
                r#"{"failure":{"code":1,"message":"","details":VALUE}}"#,
            ),
            ("PATCH", "/v1/objects/values/Shelf/k", r#"{"set":{"value":VALUE}}"#),
            ("PUT", "/v1/resources/r", r#"{"token":1,"value":VALUE}"#),
            (
                "POST",
                "/v1/schedules",
                r#"{"id":"s","cron":"* * * * *","target":"values/echo","input":VALUE}"#,
            ),
            ("POST", "/v1/graphs", r#"{"plan":{"nodes":{}},"input":VALUE}"#),
        ] {
            let (status, problem) = door.sent(method, path, body.replace("VALUE", &text)).await;
            let said = problem["detail"].as_str().unwrap_or_default();
            assert_eq!(
                (status, &problem["code"]),
                (400, &json!("invalid-json")),
                "{path}: {problem}"
            );
            // In a request with a plan, the input is checked separately.
            let is_named = said.contains(reason) || said.contains(&reason.replace("101", "100"));
            assert!(is_named, "{path}: {said}");
        }
        let server = format!("http://{}", host.server.options().listen);
        let ran = Command::new(SEGNO)
            .args(["--server", &server, "start", "values/echo", "--", &text])
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&ran.stderr);
        let reason = reason.replace("101", "100");
        assert!(!ran.status.success() && told.contains(&reason), "{text}: {told}");
    }
    assert_eq!(door.get("/v1/invocations").await["items"], before["items"], "nothing was started");
    assert_eq!(door.get("/v1/promises/p").await["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_hands_over_is_refused_by_the_name_of_its_command() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("values", guests::component("values")).await;
    let half = "is not JSON: half of a surrogate pair, which is no character at column";
    let refusals = [
        ("call", format!("the input of `echo` {half}")),
        ("send", format!("the input of `echo` {half}")),
        ("run", format!("the result of the `run` with index 0 {half}")),
        ("http", format!("the body of the HTTP request to `http://127.0.0.1:1/` {half}")),
        ("publish", format!("the event on topic `tours` {half}")),
        ("settle", format!("the outcome for promise `settle/0` {half}")),
        ("result", format!("the result {half}")),
        ("details", format!("the details of the result {half}")),
        (
            "retry",
            "the call of `send`: its `retry.factor` is inf, and has to be a finite number"
                .to_owned(),
        ),
    ];
    for (way, said) in &refusals {
        host.start_as(way, "values/breaks", json!(way)).await.expect("it starts");
        let halted = |shown: &segno_api::model::Invocation| shown.note.is_some();
        let shown = host.until(way, "refused", halted).await;
        let note = shown.note.expect("a note").message;
        assert!(note.contains(said), "{way}: {note}");
        assert_eq!(shown.output, None, "{way}");
    }
    host.start_as("activity", "values/answers", json!(null)).await.expect("it starts");
    let shown = host.until("activity", "refused", |shown| shown.note.is_some()).await;
    let note = shown.note.expect("a note").message;
    assert!(note.contains(&format!("the result of `answers` {half}")), "{note}");
}

const JAVASCRIPT: &str = r"
import { module } from './segno.js';

const bad = {
  'not a number': { price: NaN },
  infinite: [Infinity],
  big: { count: 10n },
  map: new Map([[1, 2]]),
  half: 'Ann \ud83d',
};

const any = (run) => ({ input: true, run });
export const { functions, messages, objects } = module({
  workflows: {
    echo: any((value) => value),
    tour: { ...any(async (value, ctx) => [
      await ctx.run('own', () => value),
      await ctx.call('echo', value),
      await ctx.call('same', value),
      (await ctx.signal()).value,
    ]), signals: true },
    breaks: any(async (way, ctx) => await ctx.call('echo', bad[way])),
  },
  activities: { same: any((value) => value) },
});
";

const PYTHON: &str = r#"
from segno import Functions, Messages, Objects, activity, workflow

BAD = {
    "not a number": {"price": float("nan")},
    "infinite": [float("inf")],
    "keys": {1: "a", "1": "b"},
    "half": "Ann \ud83d",
    "set": {1, 2},
}


@workflow(input=True)
async def echo(value, segno):
    return value


@workflow(input=True, signals=True)
async def tour(value, segno):
    kept = await segno.run("own", lambda: value)
    called = await segno.call("echo", value)
    acted = await segno.call("same", value)
    _, told = await segno.signal()
    return [kept, called, acted, told]


@workflow(input=True)
async def breaks(way, segno):
    return await segno.call("echo", BAD[way])


@activity(input=True)
def same(value, ctx):
    return value
"#;

/// A language: a project's source file and its text, its manifest and its shim, values that the
/// language supports, and the name of each value in its refusal.
struct Language {
    name: &'static str,
    file: &'static str,
    source: &'static str,
    manifest: (&'static str, &'static str),
    shim: (&'static str, &'static str),
    values: &'static str,
    refusals: &'static [(&'static str, &'static str)],
}

const LANGUAGES: [Language; 2] = [
    Language {
        name: "js",
        file: "workflow.js",
        source: JAVASCRIPT,
        manifest: ("package.json", r#"{"type": "module", "main": "workflow.js"}"#),
        shim: ("segno.js", include_str!("../../examples/other-languages/javascript/segno.js")),
        values: r#"[9007199254740991, -1.5, 0.1, "é\u0000\ud83d\ude00", {"": {"": []}}, {"base64": "aGk="}, [[]], null]"#,
        refusals: &[
            ("not a number", "`price` in the input of `echo` is NaN, which JSON does not have"),
            ("infinite", "`0` in the input of `echo` is Infinity, which JSON does not have"),
            ("big", "`count` in the input of `echo` is the BigInt 10"),
            ("map", "the input of `echo` is a Map, which JSON does not have"),
            ("half", "the input of `echo` has half of a character"),
        ],
    },
    Language {
        name: "py",
        file: "app.py",
        source: PYTHON,
        manifest: ("pyproject.toml", ""),
        shim: ("segno.py", include_str!("../../examples/other-languages/python/segno.py")),
        values: r#"[123456789012345678901234567890, -1.5, 0.1, "é\u0000\ud83d\ude00", {"": {"": []}}, {"base64": "aGk="}, [[]], null]"#,
        refusals: &[
            ("not a number", "the input of `echo` is not JSON: Out of range float values"),
            ("infinite", "the input of `echo` is not JSON: Out of range float values"),
            ("keys", "the input of `echo` is not JSON: two keys of a dict are `1` in JSON"),
            ("half", "the input of `echo` is not JSON: '\\ud83d' is half of a character"),
            ("set", "the input of `echo` is not JSON: Object of type set is not JSON serializable"),
        ],
    },
];

/// Deploys a project in this language to `server`. Returns false if its tools are unavailable.
fn deployed(language: &Language, folder: &Path, server: &str) -> bool {
    let wanted = std::env::var("SEGNO_CLIENTS").unwrap_or_default();
    if wanted.is_empty() {
        eprintln!("skipped: other languages are tried with SEGNO_CLIENTS=1, which installs tools");
        return false;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let shell = Shell::in_folder(folder, SEGNO, &target);
    let project = shell.work().join("odd");
    std::fs::create_dir(&project).expect("there is room");
    for (name, text) in [(language.file, language.source), language.manifest, language.shim] {
        std::fs::write(project.join(name), text).expect("there is room");
    }
    let said = shell.run("odd", &[format!("segno --server {server} deploy . --prepare")]);
    if said[0].exit != Some(0) {
        let cannot = ["could not be installed with", " needs "];
        let is_known = cannot.iter().any(|part| said[0].err.contains(part));
        assert!(is_known && wanted != "required", "{said:#?}");
        return false;
    }
    true
}

async fn other_language(language: &Language) {
    let folder = tempfile::tempdir().expect("a directory");
    let host = TestHost::start(SEGNO).await;
    if !deployed(language, folder.path(), &host.client().server()) {
        return;
    }
    let door = Door::of(&host.server);
    let value = json::parse(language.values).expect("they are JSON");
    let start = json!({ "id": "tour", "target": "odd/tour", "input": value });
    door.post("/v1/invocations", start).await;
    door.post("/v1/invocations/tour/signals", json!({ "name": "go", "payload": value })).await;
    let ways = door.output("tour").await;
    for way in 0..4 {
        assert_eq!(ways[way], value, "way {way} in {}", language.name);
    }
    for (way, said) in language.refusals {
        let id = way.replace(' ', "-");
        host.start_as(&id, "odd/breaks", json!(way)).await.expect("it starts");
        let shown = host.until(&id, "refused", |shown| shown.note.is_some()).await;
        let note = shown.note.expect("a note").message;
        assert!(note.contains(said) && note.contains(language.file), "{way}: {note}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_in_javascript_come_back_or_are_refused_by_name() {
    other_language(&LANGUAGES[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_in_python_come_back_or_are_refused_by_name() {
    other_language(&LANGUAGES[1]).await;
}
