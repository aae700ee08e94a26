//! Executions as files. A bundle made from any store replays identically anywhere, without a host,
//! and new code is checked against it. `tests/bundles` has the bundles of every released version.

mod golden;
mod shown;
mod streams;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use segno_api::model::{FailureView, InvocationState, SendSignal, StartGraph, StartInvocation};
use segno_bundle::{BundleItem, BundleReader, BundleRole};
use segno_client::Client;
use segno_core::{
    invocation::{Outcome, RecordBody},
    time::Millis,
};
use segno_env::Env;
use serde_json::{Value, json};
use tests::{guests, host_group::HostGroup, test_host::TestHost};
use throwaway_postgres::Cluster;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// Guest of the benchmarks, about 500 KB.
const BENCH: &[u8] = include_bytes!("../../../host/bench/guest/bench.wasm");
/// Length beyond which a journal no longer repeats a value.
const LONG: usize = 10_000;

/// Output and exit code of `segno` with these arguments. No host is reachable at its address.
fn segno(arguments: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(SEGNO);
    command.args(arguments).env("SEGNO_SERVER", "http://127.0.0.1:1").env_remove("SEGNO_TOKEN");
    let said = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("it says text");
    (text(said.stdout), text(said.stderr), said.status.code())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

/// Makes a bundle from the data of a host.
fn bundled(client: &Client, folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let file = folder.join(format!("{name}.segno-bundle"));
    let _ = fs::remove_file(&file);
    let server = client.server();
    let arguments = [&["bundle", "--server", &server, "-o", text(&file)], arguments].concat();
    let (out, err, exit) = segno(&arguments);
    assert_eq!(exit, Some(0), "{out}{err}");
    assert!(out.contains("  seal "), "{out}");
    file
}

/// Runs one execution of every kind, ended and in flight.
async fn run(client: &Client, payments: &str, env: &Env) {
    for (name, component) in [
        ("bench", BENCH.to_vec()),
        ("flows", guests::component("flows")),
        ("bridge", guests::component("bridge")),
        ("order", guests::component("trip")),
    ] {
        client
            .deploy(component, Some(name))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let trip = json!({ "traveller": "Ada", "city": "Atlantis", "nights": 3, "payments": payments });
    for (id, target, input) in [
        ("fan", "bench/fan", json!({ "children": 3 })),
        ("steps", "bench/steps", json!({ "steps": 50, "result_bytes": 300 })),
        ("tally", "bench/Tally@ada/add", json!(7)),
        ("ask", "flows/ask", Value::Null),
        ("notes", "flows/collect", json!(3)),
        ("remote", "bridge/remote_sum", json!([1, 2])),
        ("failing", "bridge/remote_failure", json!("it")),
        ("saga", "order/trip", trip),
    ] {
        let (id, target) = (Some(id.to_owned()), target.to_owned());
        let start = StartInvocation { id, target, input, ..StartInvocation::default() };
        client
            .start(&start)
            .await
            .unwrap_or_else(|error| panic!("{target}: {error}", target = start.target));
    }
    // A graph run over two modules.
    let graph = StartGraph {
        id: Some("graph".to_owned()),
        plan: json!({ "nodes": {
            "count": { "call": "wasm://flows/announce", "input": 2 },
            "leaf": { "call": "wasm://bench/steps", "input": { "steps": 2, "result_bytes": 9 }, "needs": ["count"] },
        } }),
        ..StartGraph::default()
    };
    client.start_graph(&graph).await.unwrap_or_else(|error| panic!("{error}"));
    for id in ["ask", "notes", "remote", "failing"] {
        until(client, env, id, InvocationState::Suspended).await;
    }
    let note = SendSignal { name: "note".to_owned(), payload: json!(5), ..SendSignal::default() };
    client.signal("notes", &note).await.expect("it takes signals");
    let failure =
        |message: &str| FailureView { code: 409, message: message.to_owned(), details: None };
    client.reject("ask/p/answer", failure("no")).await.expect("it is waited for");
    // The journal of this one records only that the outcome exists. The same holds for its end.
    client.reject("failing/0", failure(&"no! ".repeat(LONG / 4))).await.expect("it is waited for");
    for id in ["fan", "steps", "tally", "ask", "failing", "saga", "graph"] {
        client.wait(id, std::time::Duration::from_secs(60)).await.expect("it ends");
    }
    until(client, env, "notes", InvocationState::Suspended).await;
}

async fn until(client: &Client, env: &Env, id: &str, state: InvocationState) {
    for _ in 0..1_500 {
        if client.invocation(id).await.expect("it was started").state == state {
            return;
        }
        env.runtime.sleep(Millis(20)).await;
    }
    panic!("`{id}` is never {state:?}");
}

/// Executions that have a journal.
const REPLAYED: [&str; 8] = ["fan", "steps", "tally", "ask", "failing", "notes", "remote", "saga"];

/// Compares a host's report of each replay with the report on the bundle.
async fn replays_alike(client: &Client, folder: &Path) {
    let server = client.server();
    for id in REPLAYED {
        let file = bundled(client, folder, id, &[id]);
        for arguments in [&[][..], &["--json"], &["--quiet"], &["--at", "2"]] {
            let (there, _, exit) =
                segno(&[&["replay", "--server", &server, id], arguments].concat());
            assert_eq!(exit, Some(0), "{id} {arguments:?}: {there}");
            let (here, err, exit) = segno(&[&["replay", text(&file)], arguments].concat());
            assert_eq!((exit, err.as_str()), (Some(0), ""), "{id} {arguments:?}: {here}");
            assert_eq!(here, there, "{id} {arguments:?}");
        }
        let so_far = ["notes", "remote"].contains(&id);
        let (said, ..) = segno(&["replay", text(&file), "--quiet"]);
        assert_eq!(said.contains("so far"), so_far, "{said}");
    }
    // A tree: each member replays by its id. Members without a journal are included and not
    // replayed.
    let tree = bundled(client, folder, "tree", &["graph", "--tree"]);
    let parts = parts(&tree);
    let with_journals: Vec<&String> =
        parts.iter().filter(|part| part.records > 0).map(|part| &part.id).collect();
    assert_eq!(with_journals.len(), 2, "two nodes of the graph, in two modules: {parts:#?}");
    for id in with_journals {
        let (said, err, exit) = segno(&["replay", text(&tree), id]);
        assert_eq!(exit, Some(0), "{said}{err}");
        assert!(said.contains("identical: "), "{said}");
    }
    let (_, err, exit) = segno(&["replay", text(&tree)]);
    assert_eq!(exit, Some(1), "{err}");
    assert!(err.contains("has no journal to replay"), "{err}");
    let remote = bundled(client, folder, "remote-tree", &["remote", "--tree"]);
    let (_, err, exit) = segno(&["replay", text(&remote), "remote/0"]);
    assert_eq!(exit, Some(1), "{err}");
    assert!(err.contains("it is not run by a module"), "{err}");
}

/// An execution in a bundle.
#[derive(Debug)]
struct Part {
    id: String,
    role: BundleRole,
    records: usize,
    /// Number of outcomes that are stored in promises.
    own: usize,
}

fn parts(file: &Path) -> Vec<Part> {
    let bytes = fs::read(file).expect("it was written");
    let mut reader = BundleReader::begin(&bytes[..]).expect("it is a bundle");
    let mut parts: Vec<Part> = Vec::new();
    while let Some(item) = reader.next_item().expect("it is whole") {
        match item {
            BundleItem::Execution(execution) => parts.push(Part {
                id: execution.id().to_string(),
                role: execution.role,
                records: 0,
                own: 0,
            }),
            BundleItem::Record(record) => {
                let part = parts.last_mut().expect("an execution comes first");
                part.records += 1;
                let is_own = matches!(
                    record.body,
                    RecordBody::Notified { outcome: Outcome::Own, .. }
                        | RecordBody::Finished { outcome: Outcome::Own }
                );
                part.own += usize::from(is_own);
            }
            BundleItem::Line(_)
            | BundleItem::Stream(_)
            | BundleItem::StreamItems(_)
            | BundleItem::Module(_)
            | BundleItem::Component(_)
            | BundleItem::Blob(_)
            | BundleItem::BlobPiece(_) => {}
        }
    }
    parts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_a_data_directory_replays_alike_anywhere() {
    let host = TestHost::start(SEGNO).await;
    run(host.client(), host.payments.address(), &host.env).await;
    replays_alike(host.client(), host.folder()).await;
    values_beside_the_journal_come_along(&host);
    without_its_code_it_is_given(&host);
    hidden_values_are_hidden(&host);
    a_candidate_is_checked_without_a_host(&host);
    // A second bundle of the same execution differs only in its instant, because everything is read
    // as of one instant.
    let [one, two] =
        ["one", "two"].map(|name| bundled(host.client(), host.folder(), name, &["fan"]));
    assert_eq!(format!("{:?}", parts(&one)), format!("{:?}", parts(&two)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_a_postgresql_database_replays_alike_anywhere() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    let group = HostGroup::start(SEGNO, &database.url(), 1, Default::default(), &[]).await;
    run(group.client(0), group.payments.address(), &group.env).await;
    replays_alike(group.client(0), group.folder.path()).await;
}

/// A bundle without a tree has exactly the promises that its journal refers to.
fn values_beside_the_journal_come_along(host: &TestHost) {
    let file = bundled(host.client(), host.folder(), "long", &["failing"]);
    let parts = parts(&file);
    let found: Vec<_> = parts.iter().map(|part| (part.id.as_str(), part.role)).collect();
    assert_eq!(found, [("failing", BundleRole::Asked), ("failing/0", BundleRole::Value)]);
    assert_eq!(parts[0].own, 2, "what it was told, and its end");
    let (_, err, exit) = segno(&["replay", text(&file), "failing/0"]);
    assert_eq!(exit, Some(1));
    assert!(err.contains("has only the value of `failing/0`"), "{err}");
    let (_, err, exit) = segno(&["replay", text(&file), "nobody"]);
    assert_eq!(exit, Some(1));
    assert!(err.contains("`nobody` is not in the bundle; it has `failing`"), "{err}");
}

fn without_its_code_it_is_given(host: &TestHost) {
    let file = bundled(host.client(), host.folder(), "no-code", &["fan", "--without-modules"]);
    let (_, err, exit) = segno(&["replay", text(&file)]);
    assert_eq!(exit, Some(1));
    assert!(err.contains("does not hold the code of `fan`") && err.contains("--module"), "{err}");
    let code = host.folder().join("bench.wasm");
    fs::write(&code, BENCH).expect("there is room");
    let (out, err, exit) = segno(&["replay", text(&file), "--module", text(&code)]);
    assert_eq!(exit, Some(0), "{out}{err}");
    assert!(out.contains("identical: "), "{out}");
    let size = |file: &Path| fs::metadata(file).expect("it was written").len();
    assert!(
        size(&file) < 20_000
            && size(&bundled(host.client(), host.folder(), "code", &["fan"])) > 100_000
    );
}

fn hidden_values_are_hidden(host: &TestHost) {
    let secret = "Atlantis";
    let open =
        bundled(host.client(), host.folder(), "open", &["saga", "--tree", "--without-modules"]);
    let hidden = ["saga", "--tree", "--without-modules", "--redact"];
    let hidden = bundled(host.client(), host.folder(), "hidden", &hidden);
    let says = |file: &Path| {
        let bytes = fs::read(file).expect("it was written");
        let mut reader = BundleReader::begin(&bytes[..]).expect("it is a bundle");
        let (head, mut items) = (format!("{:?}", reader.head()), String::new());
        while let Some(item) = reader.next_item().expect("it is whole") {
            items += &format!("{item:?}");
        }
        (head, items)
    };
    assert!(says(&open).1.contains(secret), "it is there to be hidden");
    let (head, items) = says(&hidden);
    assert!(!items.contains(secret) && items.contains("xxxxxxxx"), "{items}");
    assert!(items.contains("book_flight"), "names stay: {items}");
    assert!(head.contains("values are hidden"), "{head}");
    let count = |file: &Path| parts(file).iter().map(|part| part.records).sum::<usize>();
    assert_eq!(count(&hidden), count(&open));
    // Every message of the replay says so.
    let plain = bundled(host.client(), host.folder(), "plain", &["ask", "--redact"]);
    let (out, err, exit) = segno(&["replay", text(&plain)]);
    assert_eq!(exit, Some(0), "{out}{err}");
    assert!(err.contains("the bundle is redacted: values are hidden"), "{err}");
}

fn a_candidate_is_checked_without_a_host(host: &TestHost) {
    let folder = host.folder().join("in-flight");
    fs::create_dir(&folder).expect("there is room");
    let flows = bundled(host.client(), &folder, "flows", &["--in-flight", "flows"]);
    assert_eq!(parts(&flows).len(), 1, "`notes` has not ended, and nothing else");
    let candidate = host.folder().join("candidate.wasm");
    let same = guests::component("flows");
    // A custom section: id, length, length of the name, and name.
    let same = [&same[..], &[0, 5, 4], b"anew"].concat();
    let check = |name: &str, component: &[u8], bundle: &Path| {
        fs::write(&candidate, component).expect("there is room");
        let arguments =
            ["deploy", text(&candidate), "--as", name, "--check", "--bundle", text(bundle)];
        let (out, err, exit) = segno(&arguments);
        let (json, _, exit_json) = segno(&[&arguments[..], &["--json"]].concat());
        assert_eq!(exit, exit_json, "{out}{err}");
        let json: Value = serde_json::from_str(&json).unwrap_or(Value::Null);
        (out + &err, json, exit)
    };
    let (said, report, exit) = check("flows", &same, &folder);
    assert_eq!((exit, &report["in_flight"]), (Some(0), &json!({ "same": 1 })), "{said}");
    // The host's report on the same candidate.
    let server = host.client().server();
    fs::write(&candidate, &same).expect("there is room");
    let there = [
        "deploy",
        text(&candidate),
        "--as",
        "flows",
        "--check",
        "--ended",
        "0",
        "--json",
        "--server",
        &server,
    ];
    let there: Value = serde_json::from_str(&segno(&there).0).expect("it is JSON");
    assert_eq!(report["executions"], there["executions"]);
    // Code that lacks the function.
    let (said, report, exit) = check("flows", BENCH, &folder);
    assert_eq!((exit, &report["in_flight"]), (Some(7), &json!({ "fails": 1 })), "{said}");
    let ended = bundled(host.client(), host.folder(), "ended", &["ask"]);
    let (said, report, exit) = check("flows", &same, &ended);
    assert_eq!((exit, &report["ended"]), (Some(0), &json!({ "same": 1 })), "{said}");
    let (said, _, exit) = check("other", &same, &folder);
    assert_eq!(exit, Some(3), "{said}");
    assert!(said.contains("other") && said.contains("flows"), "it names what there is: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_bundles_are_refused_and_nothing_is_left_of_half_ones() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("bench", BENCH.to_vec()).await;
    host.start_as("fan", "bench/fan", json!({ "children": 2 })).await.expect("it starts");
    host.ended("fan").await;
    let file = bundled(host.client(), host.folder(), "fan", &["fan"]);
    let bytes = fs::read(&file).expect("it was written");
    let damaged = host.folder().join("damaged.segno-bundle");
    let says = |bytes: &[u8]| {
        fs::write(&damaged, bytes).expect("there is room");
        let (out, err, exit) = segno(&["replay", text(&damaged)]);
        assert_eq!((out.as_str(), exit), ("", Some(9)), "{err}");
        err
    };
    let middle = bytes.len() / 2;
    let mut changed = bytes.clone();
    changed[middle] ^= 1;
    let said = says(&changed);
    assert!(said.contains("damaged.segno-bundle: the bundle is damaged at bytes"), "{said}");
    assert!(said.contains("the component of a module"), "{said}");
    assert!(says(&bytes[..middle]).contains("the file ends in the middle"));
    let newer = [b"SEGNO BUNDLE 7\n", &bytes[15..]].concat();
    assert!(says(&newer).contains("format 7, and this segno knows formats up to 1"));
    assert!(says(b"not at all").contains("this is not a bundle"));
    let (_, err, exit) = segno(&["replay", "nowhere.segno-bundle"]);
    assert_eq!(exit, Some(1), "{err}");
    assert!(err.contains("cannot read nowhere.segno-bundle"), "{err}");

    // No file is overwritten, and no partial file is left behind.
    let server = host.client().server();
    let (_, err, exit) = segno(&["bundle", "fan", "-o", text(&file), "--server", &server]);
    assert_eq!(exit, Some(2), "{err}");
    let none = host.folder().join("none.segno-bundle");
    let (_, err, exit) = segno(&["bundle", "nobody", "-o", text(&none), "--server", &server]);
    assert_eq!(exit, Some(3), "{err}");
    let left = fs::read_dir(host.folder()).expect("it is there");
    let left = left.filter(|entry| {
        let name = entry.as_ref().expect("it can be read").file_name();
        name.to_string_lossy().contains("none.segno-bundle")
    });
    assert_eq!(left.count(), 0);
}
