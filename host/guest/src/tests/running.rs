//! `start`, `resume`, and their results.

use super::*;
use crate::{
    Completion, Event, FunctionKind, JournalCall, Outcome, StopReason, commands::SleepCommand,
    tests::journal::NOW,
};

/// Sleeps for one second, then finishes with its input, which it keeps in memory.
fn sleeper() -> Guest {
    Guest {
        imports: r#"
            (import "segno:workflow/journal@0.2.0" "now" (func $now (result i64)))
            (import "segno:workflow/journal@0.2.0" "sleep-until" (func $sleep (param i64) (result i32)))"#
            .into(),
        items: "(global $at (mut i32) (i32.const 0)) (global $size (mut i32) (i32.const 0))".into(),
        start: "(global.set $at (local.get $input))
                (global.set $size (local.get $length))
                (drop (call $sleep (i64.add (call $now) (i64.const 1000))))"
            .into(),
        resume: "(call $finish-text (global.get $at) (global.get $size))".into(),
        ..Guest::default()
    }
}

fn completed(command: u32) -> Event {
    Event::Completed(Completion { command, outcome: Outcome::Success(json("null")) })
}

#[tokio::test]
async fn a_workflow_sleeps_and_finishes() {
    let component = sleeper().component();
    let wasm = host(&[&component]);
    let mut instance = instantiate(&wasm, &component).await;
    let script = Script::default();
    instance
        .start(script.shared(), "main", json("\"hello\""), context(1))
        .await
        .expect("it starts");
    assert_eq!(script.asked(), [JournalCall::from(SleepCommand { until_ms: NOW + 1_000 })]);
    instance.resume(script.shared(), completed(0)).await.expect("it goes on");
    let finished = JournalCall::Finish { outcome: Outcome::Success(json("\"hello\"")) };
    assert_eq!(script.asked().last(), Some(&finished));
    assert!(instance.footprint() >= 2 << 16);
}

#[tokio::test]
async fn two_instances_share_nothing() {
    let component = sleeper().component();
    let wasm = host(&[&component]);
    let mut first = instantiate(&wasm, &component).await;
    let mut second = instantiate(&wasm, &component).await;
    let script = Script::default();
    first.start(script.shared(), "main", json("1"), context(1)).await.expect("it starts");
    second.start(script.shared(), "main", json("2"), context(1)).await.expect("it starts");
    first.resume(script.shared(), completed(0)).await.expect("it goes on");
    let finished = JournalCall::Finish { outcome: Outcome::Success(json("1")) };
    assert_eq!(script.asked().last(), Some(&finished));
}

#[tokio::test]
async fn a_module_describes_its_functions() {
    let component = sleeper().component();
    let wasm = host(&[&component]);
    let functions = wasm.describe(Digest::of(&component)).await.expect("it describes itself");
    let named: Vec<_> = functions.iter().map(|function| (&*function.name, function.kind)).collect();
    assert_eq!(named, [("main", FunctionKind::Workflow), ("work", FunctionKind::Activity)]);
}

#[tokio::test]
async fn an_unknown_function_and_an_unknown_module_are_named() {
    let (_, ended) = start(&sleeper(), "mian").await;
    let message = ended.unwrap_err().to_string();
    assert_eq!(message, "the module has no workflow `mian`; it has `main`");

    let digest = Digest::of(b"nothing");
    let error = host(&[]).instantiate(digest, None).await.err().expect("there is no such module");
    assert!(matches!(error, GuestError::NoSuchModule(found) if found == digest), "{error}");
}

#[tokio::test]
async fn a_stop_of_the_journal_reaches_the_worker_and_ends_the_instance() {
    let component = sleeper().component();
    let wasm = host(&[&component]);
    let mut instance = instantiate(&wasm, &component).await;
    let script = Script { stop: Some(StopReason::Divergence), ..Script::default() };
    let error = instance.start(script.shared(), "main", json("1"), context(1)).await.unwrap_err();
    let GuestError::Stopped { stop: StopReason::Divergence, backtrace } = error else {
        panic!("{error}");
    };
    let frames = backtrace.expect("there are frames");
    assert!(frames.text.contains("start"), "{frames:?}");
    let again = instance.resume(script.shared(), completed(0)).await.unwrap_err();
    assert!(matches!(again, GuestError::Host(_)), "{again}");
}

#[tokio::test]
async fn a_trap_names_itself_and_shows_where() {
    let guest =
        Guest { items: "(func $deep (unreachable))".into(), ..Guest::starting("(call $deep)") };
    let (_, ended) = start(&guest, "main").await;
    let Err(GuestError::Trap { message, backtrace, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(message, "it panicked or aborted (`unreachable`)");
    assert!(backtrace.is_some_and(|frames| frames.text.contains("deep")));
}

/// A guest whose `start` logs `line` as an error, then does `then`.
fn saying(line: &str, then: &str) -> Guest {
    let (length, escaped) = (line.len(), line.replace('\n', "\\0a"));
    Guest {
        imports: r#"(import "segno:workflow/journal@0.2.0" "log"
            (func $log (param i32 i32 i32)))"#
            .into(),
        items: format!(r#"(data (i32.const 16384) "{escaped}")"#),
        ..Guest::starting(&format!(
            "(call $log (i32.const 4) (i32.const 16384) (i32.const {length})) {then}"
        ))
    }
}

#[tokio::test]
async fn a_panic_that_was_logged_is_the_reason_of_the_trap_that_follows() {
    let line = "panicked at src/lib.rs:3:5:\nno stock\nof 7 hats";
    let (script, ended) = start(&saying(line, "unreachable"), "main").await;
    let error = ended.unwrap_err();
    assert_eq!(error.to_string(), "the code failed at src/lib.rs:3:5: no stock\nof 7 hats");
    assert_eq!(error.cause(), "the code failed at src/lib.rs:3:5");
    assert!(error.backtrace().is_some());
    assert_eq!(
        script.asked(),
        [JournalCall::Log { level: crate::Level::Error, message: line.into() }]
    );

    // The guest continued, and trapped for another reason.
    let later = "(drop (i32.div_u (i32.const 1) (i32.const 0)))";
    let (_, ended) = start(&saying(line, later), "main").await;
    let Err(GuestError::Trap { message, .. }) = ended else { panic!("{ended:?}") };
    assert!(message.contains("divide by zero"), "{message}");
}

#[tokio::test]
async fn a_workflow_that_uses_an_import_for_activities_is_told_what_to_use() {
    let guest = Guest {
        imports: r#"(import "segno:workflow/activity@0.2.0" "heartbeat"
            (func $heartbeat (param i32 i32 i32 i32) (result i32)))"#
            .into(),
        ..Guest::starting(
            "(drop (call $heartbeat (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))",
        )
    };
    let (_, ended) = start(&guest, "main").await;
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("`segno:workflow/activity.heartbeat` is for activities"), "{message}");
}
