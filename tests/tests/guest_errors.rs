//! Guests that panic, and guests that use features that components lack. Their authors get the
//! message and its place in the source.

use std::process::Command;

use segno_api::model::{Invocation, InvocationState};
use segno_demo::payments::PaymentsOptions;
use serde_json::json;
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// Source file of the functions, relative to their workspace.
const FILE: &str = "tests/guests/gaps/src/lib.rs";

/// A host with the module `gaps`.
async fn host(arguments: &[&str]) -> TestHost {
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), arguments).await;
    host.deploy("gaps", guests::component("gaps")).await;
    host
}

/// Waits until `id` is halted.
async fn halted(host: &TestHost, id: &str) -> Invocation {
    let is_halted = |seen: &Invocation| seen.state == InvocationState::Halted;
    host.until(id, "halted", is_halted).await
}

/// Message of `id`'s note once it is halted.
async fn reason(host: &TestHost, id: &str) -> String {
    halted(host, id).await.note.expect("it is halted for a reason").message
}

/// Combined output of the command, on both streams.
fn said(host: &TestHost, arguments: &[&str]) -> String {
    let server = ["--server", &host.client().server()];
    let output = Command::new(SEGNO).args(server).args(arguments).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Number of the fixture's line that contains `text`.
fn line_of(text: &str) -> usize {
    let source = include_str!("../guests/gaps/src/lib.rs");
    source.lines().position(|line| line.contains(text)).expect("it is there") + 1
}

#[test]
fn the_compilers_warnings_are_shown_also_when_the_build_succeeds() {
    guests::component("gaps");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/guests/gaps");
    let built = |arguments: &[&str]| {
        let build = Command::new(SEGNO).args(["build", path, "--prepare"]).args(arguments).output();
        let output = build.expect("it runs");
        assert!(output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let [out, err] = built(&[]);
    assert!(out.starts_with("gaps  "), "{out}");
    let place = format!("{FILE}:{}", line_of("ctx.call(slip"));
    assert!(err.contains("a call is issued when it is awaited") && err.contains(&place), "{err}");
    assert!(!err.contains("Finished") && !err.contains("Compiling"), "{err}");
    let [out, err] = built(&["--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).expect("a document");
    let warnings = document["warnings"].as_str().expect("a text");
    assert!(warnings.contains(&place), "{warnings}");
    assert_eq!(err, "", "what a program reads there is an error");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_shown_with_its_message_its_place_and_the_authors_frames() {
    let host = host(&[]).await;
    host.start_as("it", "gaps/stumble", json!("expect")).await.expect("it starts");
    let seen = halted(&host, "it").await;

    let place = format!("{FILE}:{}", line_of("a must be over 100"));
    let note = seen.note.expect("it is halted for a reason");
    assert_eq!(note.kind, "trap");
    assert!(
        note.message.starts_with(&format!("the code failed at {place}:"))
            && note.message.ends_with(": a must be over 100"),
        "{}",
        note.message
    );
    let details = note.details.expect("there is a backtrace");
    let frames: Vec<String> = details["frames"]
        .as_array()
        .expect("there are frames")
        .iter()
        .map(|frame| {
            let text = |name: &str| frame[name].as_str().unwrap_or_default();
            format!("{}:{} {}", text("file"), frame["line"], text("function"))
        })
        .collect();
    let caller = format!("{FILE}:{}", line_of("Ok(stumbled(&how))"));
    assert_eq!(frames, [format!("{place} stumbled"), format!("{caller} stumble")]);
    let whole = details["backtrace"].as_str().expect("a text");
    assert!(whole.contains("expect_failed") && whole.contains("poll_until_idle"), "{whole}");

    let inspected = said(&host, &["inspect", "it"]);
    for part in ["trap: the code failed at", "a must be over 100"] {
        assert!(inspected.contains(part), "{inspected}");
    }
    let own = format!("    {place} in stumbled\n    {caller} in stumble\n");
    assert!(inspected.contains(&own) && !inspected.contains("expect_failed"), "{inspected}");
    let result = said(&host, &["result", "it"]);
    assert!(result.contains(&place) && result.contains("a must be over 100"), "{result}");
    let replay = said(&host, &["replay", "it"]);
    assert!(replay.contains("no record yet") && replay.contains("a must be over 100"), "{replay}");
    // Three attempts were made, and the log has each line once.
    let logs = said(&host, &["logs", "it"]);
    for line in ["stumbles by expect", "any moment now", "panicked at", "a must be over 100"] {
        assert_eq!(logs.matches(line).count(), 1, "{line}: {logs}");
    }
    let errors = said(&host, &["logs", "it", "--level", "error"]);
    assert_eq!((errors.contains("panicked"), errors.contains("any moment")), (true, false));
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_after_records_is_shown_by_a_replay_that_repeats_them() {
    let host = host(&[]).await;
    host.start_as("later", "gaps/stumble_later", json!("index")).await.expect("it starts");
    halted(&host, "later").await;
    let replay = said(&host, &["replay", "later"]);
    let place = format!("{FILE}:{}", line_of("numbers[how.len()]"));
    for part in ["identical: 2 records", "its last attempt failed", &place, "in stumble_later"] {
        assert!(replay.contains(part), "{part}: {replay}");
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_panic_names_its_line_and_its_words() {
    let host = host(&[]).await;
    let kinds = [
        ("unwrap", "how.parse().unwrap()", "InvalidDigit"),
        ("index", "numbers[how.len()]", "the len is 3 but the index is 5"),
        ("overflow", "numbers[0] - how", "attempt to subtract with overflow"),
        ("division", "numbers[0] / (how", "attempt to divide by zero"),
        ("unreachable", "unreachable!(\"nobody", "nobody comes here"),
        ("borrow", "*cell.borrow_mut()", "already borrowed"),
        ("long", "\"ž\".repeat", "žžž…"),
    ];
    for (how, _, _) in kinds {
        host.start_as(how, "gaps/stumble", json!(how)).await.expect("it starts");
        let id = format!("{how}-in-activity");
        host.start_as(&id, "gaps/slip", json!(how)).await.expect("it starts");
    }
    for (how, code, words) in kinds {
        let place = format!("failed at {FILE}:{}:", line_of(code));
        for id in [how.to_owned(), format!("{how}-in-activity")] {
            let reason = reason(&host, &id).await;
            assert!(reason.contains(&place) && reason.contains(words), "{how}: {reason}");
            assert!(reason.len() < 5_000, "{how}: {} bytes", reason.len());
        }
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn control_characters_in_a_panic_reach_no_terminal() {
    let host = host(&[]).await;
    host.start_as("it", "gaps/stumble", json!("lines")).await.expect("it starts");
    halted(&host, "it").await;
    for command in ["inspect", "result", "logs", "replay"] {
        let said = said(&host, &[command, "it"]);
        assert!(said.contains("one ") && said.contains("[31mline"), "{command}: {said}");
        assert!(!said.contains('\u{1b}'), "{command}: {said:?}");
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_told_when_the_log_is_full() {
    let host = host(&["--limit", "log_bytes=4000"]).await;
    host.start_as("it", "gaps/chatter", json!(1_000)).await.expect("it starts");
    assert!(reason(&host, "it").await.ends_with(": it has said everything"));
    let logs = said(&host, &["logs", "it"]);
    assert!(logs.contains("limits.log_bytes") && logs.contains("it has said everything"), "{logs}");
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_uses_what_a_component_lacks_is_told_what_to_use() {
    let host = host(&[]).await;
    let lacks = [
        ("SystemTime::now", "`ctx.now()`", "`ctx.started_at()`"),
        ("Instant::now", "`ctx.now()`", "`ctx.started_at()`"),
        ("thread::sleep", "`ctx.sleep(…).await`", "retry policy"),
        ("thread::spawn", "`segno::join`", "several activities"),
        ("thread::scope", "`segno::join`", "several activities"),
        ("env::var", "put the value into its input", "use `ctx.env`"),
        ("env::vars", "put the value into its input", "use `ctx.env`"),
        ("env::temp_dir", "`ctx.files()`", "use `ctx.files()`"),
        ("env::current_dir", "call an activity", "`ctx.http`"),
        ("fs::read", "call an activity", "use `ctx.files()`"),
        ("fs::write", "call an activity", "use `ctx.files()`"),
        ("net::connect", "call an activity", "`ctx.http`"),
        ("process::id", "not a process", "not a process"),
        ("process::Command", "call an activity", "`ctx.http`"),
    ];
    let ids = |what: &str| ["reach", "touch"].map(|function| format!("{function}-{what}"));
    for (what, _, _) in lacks {
        let [reach, touch] = ids(what);
        host.start_as(&reach, "gaps/reach", json!(what)).await.expect("it starts");
        host.start_as(&touch, "gaps/touch", json!(what)).await.expect("it starts");
    }
    for (what, in_workflow, in_activity) in lacks {
        for (id, advice) in ids(what).into_iter().zip([in_workflow, in_activity]) {
            let reason = reason(&host, &id).await;
            assert!(reason.contains(advice), "{id}: {reason}");
            assert!(reason.contains(&format!("failed at {FILE}:")), "{id}: {reason}");
        }
    }
    // The seed of the map's order is the same in every replay.
    host.start_as("map", "gaps/reach", json!("HashMap")).await.expect("it starts");
    assert_eq!(host.ended("map").await.output, Some(json!(6)));
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_rules_quotes_what_authors_are_told() {
    let page = include_str!("../../docs/concepts/rules.md");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let host = host(&[]).await;
    host.deploy("hostile", guests::component("hostile")).await;
    let quotes = [
        (
            "gaps/reach",
            json!("SystemTime::now"),
            "time not implemented on this platform; use `ctx.now()`, which a replay repeats, in place of `SystemTime` and `Instant`",
        ),
        ("gaps/reach", json!("fs::read"), "operation not supported on this platform"),
        ("gaps/stumble", json!("overflow"), "attempt to subtract with overflow"),
        (
            "gaps/idle",
            json!(null),
            "the workflow neither ended nor waits for anything: every command it issued has completed or was dropped, and it takes no signals",
        ),
        (
            "hostile/recurse",
            json!(0),
            "it reached beyond its memory: endless or very deep recursion, or unsafe code gone astray",
        ),
        ("hostile/hoard", json!(null), "the limit is 268435456 (`limits.memory_bytes`)"),
        (
            "hostile/shout",
            json!(9 << 20),
            "the guest's result has 9437186 bytes; the limit is 8388608 (`limits.output_bytes`)",
        ),
    ];
    for (n, (target, input, _)) in quotes.iter().enumerate() {
        host.start_as(&n.to_string(), target, input.clone()).await.expect("it starts");
    }
    for (n, (target, _, quote)) in quotes.iter().enumerate() {
        let reason = reason(&host, &n.to_string()).await;
        assert!(reason.contains(quote), "{target}: {reason}");
        assert!(page.contains(quote), "the page does not say {quote:?}");
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}
