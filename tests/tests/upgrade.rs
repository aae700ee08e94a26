//! Another module under the same name. Executions in flight end on the code on which they began.

use std::process::Command;

use segno_api::model::{CheckRequest, CheckVerdict, ReplayVerdict, ShadowRequest};
use serde_json::{Value as Json, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

#[tokio::test(flavor = "multi_thread")]
async fn executions_end_on_the_code_they_began_with_and_new_ones_use_the_new() {
    let mut host = TestHost::start(SEGNO).await;
    let one = host.deploy("tune", guests::component("tune-one")).await;
    host.start_as("old", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&host, "old").await;

    let replaced = host.client().deploy(guests::component("tune-two"), Some("tune")).await;
    let replaced = replaced.expect("it is deployed");
    assert_eq!(replaced.replaces.as_deref(), Some(one.as_str()));
    let two = replaced.module.digest;
    host.start_as("new", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&host, "new").await;

    // The code of a pinned execution is on disk, not in the process.
    host.server.kill().expect("it was alive");
    host.server.restart().await.expect("it comes back");
    for id in ["old", "new"] {
        let promise = format!("{id}/p/go");
        host.client().resolve(&promise, json!(true)).await.expect("it waits for it");
    }
    let (old, new) = (host.ended("old").await, host.ended("new").await);
    assert_eq!(old.output, Some(json!(["waltz", "one", "do", "mi"])));
    assert_eq!(old.module.as_deref(), Some(one.as_str()));
    assert_eq!(new.output, Some(json!(["waltz", "two", "re", "mi"])));
    assert_eq!(new.module.as_deref(), Some(two.as_str()));

    replays_name_the_first_difference(&host, &one).await;
}

async fn replays_name_the_first_difference(host: &TestHost, one: &str) {
    let client = host.client();
    let own = client.replay("old", None).await.expect("it can be replayed");
    assert_eq!((own.verdict, own.module.as_str()), (ReplayVerdict::Identical, one));
    assert_eq!(own.matched, own.journal_len);

    let other = client.replay("old", Some("tune")).await.expect("it can be replayed");
    assert_eq!(other.verdict, ReplayVerdict::Diverged);
    let divergence = other.divergence.expect("it says where");
    assert_eq!(divergence.index, Some(0), "the first command differs: {divergence:#?}");
    let field = divergence.fields.iter().find(|field| field.recorded.contains("do"));
    let field = field.unwrap_or_else(|| panic!("no field shows what is recorded: {divergence:#?}"));
    assert!(field.asked.contains("re"), "{field:?}");

    // The check changed nothing.
    assert_eq!(
        client.invocation("old").await.expect("it is there").output,
        host.ended("old").await.output
    );
}

/// The same code with another digest, as another compiler or another dependency produces it.
fn compiled_anew(component: &[u8]) -> Vec<u8> {
    // A custom section: id, length, length of the name, and name.
    [component, &[0, 5, 4], b"anew"].concat()
}

/// Output and exit code of `segno deploy` for a component.
fn deploy(host: &TestHost, component: &[u8], arguments: &[&str]) -> (String, Option<i32>) {
    let file = host.folder().join("candidate.wasm");
    std::fs::write(&file, component).expect("there is room");
    let mut command = Command::new(SEGNO);
    command.args(["--server", &host.client().server(), "deploy"]).arg(file).args(["--as", "tune"]);
    let output = command.args(arguments).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).expect("it says text"), output.status.code())
}

/// Counts of a verdict: executions in flight, and ended ones.
fn counts<'a>(said: &'a str, verdict: &str) -> Vec<&'a str> {
    let line = said.lines().find_map(|line| line.strip_prefix(verdict));
    line.unwrap_or_default().split_whitespace().take(2).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn code_is_checked_before_it_is_deployed_and_what_repeats_its_journal_is_moved() {
    let mut host = TestHost::start(SEGNO).await;
    let one = guests::component("tune-one");
    let same = compiled_anew(&one);
    let first = host.deploy("tune", one).await;
    for id in ["a", "b", "ended"] {
        host.start_as(id, "tune/play", json!("waltz")).await.expect("it starts");
        waiting(&host, id).await;
    }
    host.client().resolve("ended/p/go", json!(true)).await.expect("it waits for it");
    host.ended("ended").await;

    let (said, exit) = deploy(&host, &guests::component("tune-two"), &["--check", "--ended", "1"]);
    assert_eq!(exit, Some(7), "{said}");
    assert_eq!(counts(&said, "diverges"), ["2", "1"], "{said}");
    for part in ["at record", "do", "re", "proves the past only"] {
        assert!(said.contains(part), "`{part}` is missing: {said}");
    }
    let (said, exit) = deploy(&host, &same, &["--check"]);
    assert_eq!(exit, Some(0), "{said}");
    assert_eq!(counts(&said, "same so far"), ["2", "1"], "{said}");
    // The code only differs in its digest, so the costs are the same.
    let costs = said.lines().find(|line| line.starts_with("instructions")).expect(&said);
    let cells: Vec<&str> =
        costs.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!((cells.len(), cells[1], cells[3]), (4, cells[2], "none"), "{said}");
    assert!(cells[1].contains(' '), "some thousands: {said}");
    // The check activates nothing and moves nothing.
    let named = host.client().module("tune").await.expect("it is known").digest;
    assert_eq!((&named, pinned(&host, "a").await), (&first, Some(first.clone())));

    let (said, exit) = deploy(&host, &same, &["--migrate", "same", "--json"]);
    assert_eq!(exit, Some(0), "{said}");
    let report: Json = serde_json::from_str(&said).expect("it says JSON");
    assert_eq!(report["moved"], json!({ "done": ["b", "a"], "left": {} }));
    let second = host.client().module("tune").await.expect("it is known").digest;
    assert_ne!(second, first);
    assert_eq!(pinned(&host, "a").await, Some(second.clone()));
    assert_eq!(pinned(&host, "ended").await, Some(first));

    host.server.kill().expect("it was alive");
    host.server.restart().await.expect("it comes back");
    for id in ["a", "b"] {
        waiting(&host, id).await;
        host.client().resolve(&format!("{id}/p/go"), json!(true)).await.expect("it waits for it");
        let ended = host.ended(id).await;
        assert_eq!(ended.output, Some(json!(["waltz", "one", "do", "mi"])));
        assert_eq!(ended.module, Some(second.clone()));
        let replay = host.client().replay(id, None).await.expect("it can be replayed");
        assert_eq!(replay.verdict, ReplayVerdict::Identical, "{replay:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_runs_beside_live_executions_and_the_first_difference_is_told() {
    let host = TestHost::start(SEGNO).await;
    let one = guests::component("tune-one");
    let same = compiled_anew(&one);
    let old = host.deploy("tune", one).await;
    host.start_as("before", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&host, "before").await;

    // While the candidate runs in the shadow, one execution continues to its end, and another
    // begins and ends.
    let live = async {
        host.start_as("meanwhile", "tune/play", json!("waltz")).await.expect("it starts");
        for id in ["before", "meanwhile"] {
            waiting(&host, id).await;
            host.client().resolve(&format!("{id}/p/go"), json!(true)).await.expect("it waits");
            host.ended(id).await;
        }
    };
    let beside = async |component: Vec<u8>| {
        let candidate = host.client().deploy(component, None).await.expect("it is taken").module;
        let request = ShadowRequest {
            candidate: candidate.digest,
            wait_ms: 4_000,
            ..ShadowRequest::default()
        };
        host.client().shadow("tune", &request).await.expect("it follows")
    };
    let (followed, ()) = tokio::join!(beside(same.clone()), live);
    assert_eq!((followed.executions, followed.differences), (2, Vec::new()));
    let mut records = 0;
    for id in ["before", "meanwhile"] {
        records += u64::from(host.client().invocation(id).await.expect("it is there").journal_len);
    }
    assert_eq!(followed.records, records, "to their ends, each record once");

    let differs = beside(guests::component("tune-two")).await;
    let ids: Vec<_> = differs.differences.iter().map(|execution| execution.id.as_str()).collect();
    assert_eq!(ids, ["before", "meanwhile"]);
    let (said, exit) = deploy(&host, &guests::component("tune-two"), &["--shadow", "1s"]);
    assert_eq!(exit, Some(7), "{said}");
    for part in ["runs without effects, for 1.0 s", "do", "re", "2 of 2 executions differ"] {
        assert!(said.contains(part), "`{part}` is missing: {said}");
    }
    let (said, exit) = deploy(&host, &same, &["--shadow", "1s", "--json"]);
    let report: Json = serde_json::from_str(&said).expect("it says JSON");
    assert_eq!((exit, &report["differences"]), (Some(0), &json!([])), "{said}");
    let named = host.client().module("tune").await.expect("it is known").digest;
    assert_eq!(named, old, "nothing is activated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_goes_through_all_that_is_in_flight_in_pages() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("tune", guests::component("tune-one")).await;
    for number in 0..7 {
        let id = format!("t{number}");
        host.start_as(&id, "tune/play", json!("waltz")).await.expect("it starts");
        waiting(&host, &id).await;
    }
    let other = host.deploy("other", guests::component("tune-two")).await;
    let mut request = CheckRequest { candidate: other, limit: Some(3), ..CheckRequest::default() };
    let mut seen = Vec::new();
    for _ in 0..9 {
        let page = host.client().check("tune", &request).await.expect("it is checked");
        assert!(page.items.iter().all(|item| item.verdict == CheckVerdict::Diverges));
        seen.extend(page.items.into_iter().map(|item| item.id));
        request.after = page.next;
        if request.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
    let unknown =
        host.client().check("nothing", &request).await.expect_err("there is no such name");
    assert_eq!(unknown.code(), "unknown-module");
    host.client().kill("t0").await.expect("it is there");
    let ended = host.client().relocate("t0", "other").await.expect_err("it has ended");
    assert_eq!(ended.code(), "already-settled");
    let differs = host.client().relocate("t1", "other").await.expect_err("it diverges");
    assert_eq!(differs.code(), "diverges");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_is_seen_as_it_was_at_a_record() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("tune", guests::component("tune-one")).await;
    host.start_as("old", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&host, "old").await;
    host.client().resolve("old/p/go", json!(true)).await.expect("it waits for it");
    let whole = host.ended("old").await.journal_len;
    let journal = host.client().whole_journal("old").await.expect("it is there");
    let gate = journal.iter().find(|record| record.command.as_deref() == Some("promise"));
    let at = gate.expect("it made one").seq + 1;
    let replay = host.client().replay_to("old", None, Some(at)).await.expect("it is replayed");
    assert_eq!((replay.verdict, replay.matched), (ReplayVerdict::Identical, at));
    let mut command = Command::new(SEGNO);
    command.args(["--server", &host.client().server(), "replay", "old", "--at", &at.to_string()]);
    let output = command.output().expect("it runs");
    let said = String::from_utf8(output.stdout).expect("it says text");
    let (records, then) = said.split_once("open at this place").expect("it says what was open");
    assert!(records.contains(&format!("identical: {at} records")), "{said}");
    assert!(then.contains("promise go") && !then.contains("call sound"), "{said}");
    let beyond = host.client().replay_to("old", None, Some(whole + 1)).await;
    assert_eq!(beyond.expect_err("there are not so many").code(), "no-such-record");
}

/// Digest of the module on which an execution runs.
async fn pinned(host: &TestHost, id: &str) -> Option<String> {
    host.client().invocation(id).await.expect("it is there").module
}

async fn waiting(host: &TestHost, id: &str) {
    let promise = format!("{id}/p/go");
    host.until(id, "waiting for its promise", |seen| {
        seen.waits.iter().any(|wait| wait.id == promise)
    })
    .await;
}
