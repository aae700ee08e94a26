//! `segno rerun`: recorded conversations are run again with other results and other code, and the
//! report says how each of them ends.

use std::process::Command;

use segno_api::model::{
    FunctionName, GivenResult, InvocationState, RerunFilter, RerunRequest, RerunVerdict,
    StartInvocation,
};
use segno_client::ClientError;
use serde_json::{Value, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// Guest of the benchmarks.
const BENCH: &[u8] = include_bytes!("../../host/bench/guest/bench.wasm");
const CONVERSATIONS: [&str; 5] = ["c1", "c2", "c3", "c4", "c5"];

/// Output and exit code of `segno rerun`.
struct Rerun {
    out: String,
    err: String,
    exit: Option<i32>,
}

impl Rerun {
    fn of(host: &TestHost, arguments: &[&str]) -> Self {
        let mut command = Command::new(SEGNO);
        command.arg("rerun").args(arguments).env("SEGNO_SERVER", host.client().server());
        let said = command.env_remove("SEGNO_TOKEN").output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("it says text");
        Self { out: text(said.stdout), err: text(said.stderr), exit: said.status.code() }
    }

    /// The report as JSON, after a run with this exit code.
    fn report(host: &TestHost, arguments: &[&str], exit: i32) -> Value {
        let run = Self::of(host, &[arguments, &["--json"]].concat());
        assert_eq!(run.exit, Some(exit), "{arguments:?}: {}{}", run.out, run.err);
        serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out))
    }
}

/// A host with five conversations that have ended and one that has not, of `tune/play`, and with
/// other code as `tune2`.
async fn recorded() -> TestHost {
    let host = TestHost::start(SEGNO).await;
    host.deploy("tune", guests::component("tune-one")).await;
    host.deploy("tune2", guests::component("tune-two")).await;
    for id in CONVERSATIONS.iter().chain(&["open"]) {
        host.start_as(id, "tune/play", json!(format!("waltz of {id}"))).await.expect("it starts");
    }
    for id in CONVERSATIONS {
        host.until(id, "waiting", |seen| !seen.waits.is_empty() && seen.journal_len > 2).await;
        let promise = format!("{id}/p/go");
        host.client().resolve(&promise, json!(true)).await.expect("it waits for it");
        assert_eq!(host.ended(id).await.state, InvocationState::Resolved);
    }
    host.until("open", "waiting", |seen| seen.state == InvocationState::Suspended).await;
    host
}

/// Ids that `segno list` prints with these arguments.
fn listed(host: &TestHost, arguments: &[&str]) -> String {
    let mut command = Command::new(SEGNO);
    command.args([&["list"], arguments].concat()).env("SEGNO_SERVER", host.client().server());
    let said = command.env_remove("SEGNO_TOKEN").output().expect("it runs");
    let text = String::from_utf8(said.stdout).expect("it says text");
    let ids = text.lines().skip(1).map_while(|line| line.split_whitespace().next());
    ids.collect::<Vec<_>>().join(" ")
}

/// The rows of a report, oldest execution first.
fn rows(report: &Value) -> Vec<&Value> {
    let rows = report["executions"].as_array().expect("there are rows");
    rows.iter().rev().collect()
}

fn counts(report: &Value) -> [u64; 6] {
    ["same", "differs", "failed", "diverged", "unanswered", "skipped"]
        .map(|name| report["sums"][name].as_u64().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_conversations_are_run_again_with_a_change() {
    let host = recorded().await;
    let play = ["--function", "tune/play"];
    let with = |more: &[&'static str]| [&play[..], more].concat();

    // Without a change, and from a later record.
    for arguments in [with(&[]), with(&["--at", "4"])] {
        let report = Rerun::report(&host, &arguments, 0);
        assert_eq!(counts(&report), [5, 0, 0, 0, 0, 1], "{report}");
        assert_eq!(report["sums"]["unanswered_commands"], 0, "{report}");
        let open = rows(&report).pop().expect("it is listed").clone();
        assert_eq!(open["reason"], "it has not ended: it is suspended", "{open}");
    }
    let report = Rerun::report(&host, &play, 0);
    let first = rows(&report)[0].clone();
    assert_eq!((&first["id"], &first["answered"]), (&json!("c1"), &json!(3)), "{first}");
    assert!(first["duration_ms"].as_i64() > Some(0), "{first}");
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(1), "only the one that is skipped");

    // Another result of the last command of each.
    let report = Rerun::report(&host, &with(&["--set", "2=\"fa\""]), 7);
    assert_eq!(counts(&report), [0, 5, 0, 0, 0, 1], "{report}");
    let output = json!({ "path": "$[3]", "before": "mi", "after": "fa" });
    for (row, id) in rows(&report).into_iter().zip(CONVERSATIONS) {
        assert_eq!((&row["id"], &row["output"]), (&json!(id), &output), "{row}");
        assert_eq!(row["after"]["value"][0], format!("waltz of {id}"), "{row}");
    }
    let group = &report["groups"][0];
    assert_eq!(group["difference"], "another outcome at $[3]", "{group}");
    assert_eq!(group["executions"].as_array().map(Vec::len), Some(5), "{group}");
    assert_eq!(report["change"], json!({ "at": 1, "set": [2], "unanswered": "stop" }));
    let said = Rerun::of(&host, &with(&["--set", "2=\"fa\""]));
    assert_eq!(said.exit, Some(7));
    let sums = "6 executions: 5 with another outcome, 1 skipped. Commands: 15 answered from recordings, 0 new.";
    assert!(said.out.contains(sums), "{}", said.out);
    assert!(said.out.contains("$[3]  \"mi\""), "{}", said.out);
    assert!(said.out.contains("and 2 more; --json names all"), "{}", said.out);

    // A failure of a call is the end of each.
    let report = Rerun::report(&host, &with(&["--fail", "2=no sound"]), 7);
    assert_eq!(counts(&report), [0, 0, 5, 0, 0, 1], "{report}");
    assert_eq!(report["groups"][0]["difference"], "failed with 500: no sound", "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_code_asks_for_something_new_and_a_policy_answers() {
    let host = recorded().await;
    let play = ["--function", "tune/play", "--module", "tune2"];
    let with = |more: &[&'static str]| [&play[..], more].concat();

    let report = Rerun::report(&host, &play, 7);
    assert_eq!(counts(&report), [0, 0, 0, 0, 5, 1], "{report}");
    let first = rows(&report)[0].clone();
    assert_eq!(
        (&first["asks"]["command"], &first["asks"]["name"]),
        (&json!("call"), &json!("sound"))
    );
    assert_eq!((&first["answered"], &first["unanswered"]), (&json!(0), &json!(1)), "{first}");
    let reason = first["reason"].as_str().expect("there is one");
    assert!(reason.starts_with("asks for something new: call sound {"), "{reason}");
    assert!(reason.contains("\"re\""), "{reason}");
    assert_eq!(report["groups"][0]["difference"], "asks for something new: call sound");
    assert_eq!(report["change"]["module"], "tune2");

    let report = Rerun::report(&host, &with(&["--unanswered", "fail"]), 7);
    assert_eq!(counts(&report), [0, 0, 5, 0, 0, 1], "{report}");
    let failure = rows(&report)[0]["after"]["failure"].clone();
    assert_eq!(failure["code"], 404, "{failure}");
    let message = failure["message"].as_str().expect("there is one");
    assert!(message.starts_with("the recording has no answer to: call sound {"), "{message}");

    // Null is no text, which the code expects.
    let report = Rerun::report(&host, &with(&["--unanswered", "null"]), 7);
    assert_eq!(counts(&report), [0, 0, 5, 0, 0, 1], "{report}");
    assert_ne!(rows(&report)[0]["after"]["failure"]["code"], 404, "{report}");
    assert_eq!(rows(&report)[0]["unanswered"], 1, "{report}");

    // The given result of a command does not answer another one. A later record is not repeated.
    let report = Rerun::report(&host, &with(&["--set", "0=\"fa\""]), 7);
    assert_eq!(counts(&report), [0, 0, 0, 0, 5, 1], "{report}");
    let report = Rerun::report(&host, &with(&["--at", "4"]), 7);
    assert_eq!(counts(&report), [0, 0, 0, 5, 0, 1], "{report}");
    assert_eq!(report["groups"][0]["executions"].as_array().map(Vec::len), Some(5), "{report}");
    let difference = report["groups"][0]["difference"].as_str().expect("there is one");
    assert!(difference.contains("recorded:") && difference.contains("asked:"), "{difference}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_cannot_be_run_again_is_skipped_with_the_reason() {
    let host = recorded().await;
    host.start_as("short", "tune2/overture", json!("polka")).await.expect("it starts");
    host.ended("short").await;
    let client = host.client();
    client.remove("c5").await.expect("it ended");
    let ids = |ids: &[&'static str]| -> Vec<&'static str> {
        ids.iter().flat_map(|id| ["--id", *id]).collect()
    };

    // One does not have the command, one runs, one is removed, and one has no journal.
    let arguments =
        [&ids(&["c1", "short", "open", "c5", "c2/0"])[..], &["--set", "2=\"fa\""]].concat();
    let report = Rerun::report(&host, &arguments, 7);
    assert_eq!(counts(&report), [0, 1, 0, 0, 0, 4], "{report}");
    let reasons: Vec<&str> = report["executions"]
        .as_array()
        .expect("there are rows")
        .iter()
        .map(|row| row["reason"].as_str().unwrap_or_default())
        .collect();
    for (reason, part) in reasons.iter().zip([
        "another outcome at $[3]",
        "command 2 is not among",
        "it has not ended",
        "c5",
        "c2/0",
    ]) {
        assert!(reason.contains(part), "`{part}` is not in `{reason}`");
    }
    let report = Rerun::report(&host, &ids(&["c5", "open"]), 3);
    assert_eq!(counts(&report), [0, 0, 0, 0, 0, 2], "none was run: {report}");

    // The turn of an object is run again as well.
    host.deploy("bench", BENCH.to_vec()).await;
    host.start_as("turn", "bench/Tally@ada/add", json!(7)).await.expect("it starts");
    host.ended("turn").await;
    let report = Rerun::report(&host, &["--function", "bench/Tally/add"], 0);
    assert_eq!(counts(&report), [1, 0, 0, 0, 0, 0], "{report}");

    // Several labels select what has all of them, as in a listing.
    for (id, kind) in [("ada", "x"), ("eve", "y")] {
        let labels = [("team", "a"), ("kind", kind)];
        let start = StartInvocation {
            id: Some(id.to_owned()),
            target: "tune2/overture".to_owned(),
            input: json!("polka"),
            labels: labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..StartInvocation::default()
        };
        client.start(&start).await.expect("it starts");
        host.ended(id).await;
    }
    for (labels, ids) in [
        (&["--label", "team=a"][..], "eve ada"),
        (&["--label", "team=a", "--label", "kind=x"], "ada"),
    ] {
        let report = Rerun::report(&host, labels, 0);
        let ids_of = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
        let found: Vec<String> = rows(&report).into_iter().rev().map(ids_of).collect();
        assert_eq!(found.join(" "), ids, "{report}");
        assert_eq!(listed(&host, labels), ids);
    }

    for (arguments, exit, part) in [
        (&["--function", "tune/nothing"][..], 3, "no executions match"),
        (&["--label", "customer=42"], 3, "no executions match"),
        (&["--function", "play"], 2, "write it as MODULE/FUNCTION"),
        (&["--state", "never"], 2, "invalid value 'never'"),
        (&["--unanswered", "guess"], 2, "invalid value 'guess'"),
        (&["--id", "c1", "--function", "tune/play"], 2, "cannot be used with"),
        (&["--id", "c1", "--state", "resolved"], 2, "cannot be used with"),
        (&["--id", "c1", "--module", "nothing"], 3, "nothing"),
    ] {
        let said = Rerun::of(&host, arguments);
        assert_eq!(said.exit, Some(exit), "{arguments:?}: {}{}", said.out, said.err);
        assert!(said.err.contains(part), "{arguments:?}: {}", said.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_answers_in_pages_and_stores_nothing() {
    let host = recorded().await;
    let client = host.client();
    let function = FunctionName::parse("tune/play").expect("it is a name");
    let request = RerunRequest {
        filter: RerunFilter { function: Some(function), ..RerunFilter::default() },
        limit: Some(2),
        ..RerunRequest::default()
    };
    let by_ids = RerunRequest {
        ids: Some(["c2", "gone", "c1"].map(str::to_owned).to_vec()),
        limit: Some(2),
        ..RerunRequest::default()
    };
    let before = listed(&host, &["--calls"]);
    for (request, expected) in [
        (&request, [&["open", "c5"][..], &["c4", "c3"], &["c2", "c1"]].as_slice()),
        (&by_ids, &[&["c2", "gone"], &["c1"]]),
    ] {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let asked = RerunRequest { after, ..request.clone() };
            let page = client.rerun(&asked).await.expect("a page");
            for row in &page.items {
                let is_skipped = ["open", "gone"].contains(&row.id.as_str());
                let expected = match is_skipped {
                    true => RerunVerdict::Skipped,
                    false => RerunVerdict::Same,
                };
                assert_eq!(row.verdict, expected, "{row:?}");
            }
            pages.push(page.items.into_iter().map(|row| row.id).collect::<Vec<_>>());
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(pages, expected);
    }
    assert_eq!(listed(&host, &["--calls"]), before);

    // What concerns the request is an error, and no row.
    let given = GivenResult { command: 2, value: Some(json!("fa")), failure: None };
    let wrong = |request: RerunRequest, code: &'static str, part: &'static str| async move {
        let Err(ClientError::Refused(problem)) = client.rerun(&request).await else {
            panic!("{request:?} is refused");
        };
        assert_eq!(problem.code, code, "{problem:?}");
        assert!(problem.detail.contains(part), "{problem:?}");
    };
    let module = Some("nothing".to_owned());
    wrong(RerunRequest { module, ..request.clone() }, "unknown-module", "nothing").await;
    wrong(RerunRequest { at: 0, ..request.clone() }, "invalid-field", "`at`").await;
    let both = GivenResult { value: None, ..given.clone() };
    wrong(RerunRequest { set: vec![both], ..request.clone() }, "invalid-field", "`set`").await;
    let twice = vec![given.clone(), given];
    wrong(RerunRequest { set: twice, ..request.clone() }, "invalid-field", "twice").await;
    let ids = Some(vec!["c1".to_owned()]);
    wrong(RerunRequest { ids, ..request.clone() }, "invalid-field", "`ids`").await;
    let after = Some("x".to_owned());
    wrong(RerunRequest { after, ..request }, "invalid-field", "`after`").await;
}
