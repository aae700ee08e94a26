//! WASI in workflows: the same in every replay, or refused when called.

use super::*;
use crate::{JournalCall, Level, Outcome, tests::journal::NOW};

/// A guest that imports one function of WASI and calls it in `start`.
fn calling(interface: &str, function: &str, signature: &str, start: &str) -> Guest {
    Guest {
        imports: format!(
            r#"(import "wasi:{interface}@0.2.0" "{function}" (func $wasi {signature}))"#
        ),
        wasi: true,
        ..Guest::starting(start)
    }
}

/// The outcome of the guest's `start`.
async fn finished(guest: &Guest, seed: u8) -> Vec<u8> {
    let component = guest.component();
    let wasm = host(&[&component]);
    let mut instance = instantiate(&wasm, &component).await;
    let script = Script::default();
    instance.start(script.shared(), "main", json("1"), context(seed)).await.expect("it runs");
    let Some(JournalCall::Finish { outcome: Outcome::Success(Payload::Bytes(bytes)) }) =
        script.asked().pop()
    else {
        panic!("{:?}", script.asked());
    };
    bytes
}

/// Finishes with `length` bytes from offset 30000.
fn finish_bytes(length: u32) -> String {
    format!(
        "(call $finish (i32.const 0) (i32.const 1) (i32.const 30000) (i32.const {length})
           (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
    )
}

async fn refusal(guest: &Guest) -> String {
    let (_, ended) = start(guest, "main").await;
    let Err(GuestError::Trap { message, .. }) = ended else { panic!("{ended:?}") };
    message
}

#[tokio::test]
async fn clocks_tell_logical_time() {
    let store = |call: &str| format!("(i64.store (i32.const 30000) {call}) {}", finish_bytes(8));
    let monotonic =
        calling("clocks/monotonic-clock", "now", "(result i64)", &store("(call $wasi)"));
    let wall = calling(
        "clocks/wall-clock",
        "now",
        "(param i32)",
        &format!("(call $wasi (i32.const 30000)) {}", finish_bytes(12)),
    );
    assert_eq!(finished(&monotonic, 1).await, (NOW * 1_000_000).to_le_bytes());
    let told = finished(&wall, 1).await;
    assert_eq!(told[..8], (NOW / 1_000).to_le_bytes());
    assert_eq!(told[8..], ((NOW % 1_000) as u32 * 1_000_000).to_le_bytes());
}

#[tokio::test]
async fn random_numbers_come_from_the_seed() {
    let random = calling(
        "random/random",
        "get-random-u64",
        "(result i64)",
        &format!("(i64.store (i32.const 30000) (call $wasi)) {}", finish_bytes(8)),
    );
    let seed = calling(
        "random/insecure-seed",
        "insecure-seed",
        "(param i32)",
        &format!("(call $wasi (i32.const 30000)) {}", finish_bytes(16)),
    );
    for guest in [random, seed] {
        assert_eq!(finished(&guest, 1).await, finished(&guest, 1).await);
        assert_ne!(finished(&guest, 1).await, finished(&guest, 2).await);
    }
}

#[tokio::test]
async fn numbers_of_a_run_do_not_move_those_after_it() {
    let drawing = |draws: bool| {
        let in_run = match draws {
            true => "(i64.store (i32.const 30008) (call $wasi))",
            false => "",
        };
        let run = format!(
            "(call $run (i32.const 20000) (i32.const 1) (i32.const 30100))
             {in_run}
             (call $run-done (i32.load (i32.const 30104)) (i32.const 0) (i32.const 0) (i32.const 20000)
               (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
             (i64.store (i32.const 30000) (call $wasi)) {}",
            finish_bytes(16)
        );
        let mut guest = calling("random/random", "get-random-u64", "(result i64)", &run);
        guest.imports += r#"
            (import "segno:workflow/journal@0.2.0" "run" (func $run (param i32 i32 i32)))
            (import "segno:workflow/journal@0.2.0" "run-done"
              (func $run-done (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#;
        guest.items = r#"(data (i32.const 20000) "1")"#.into();
        guest
    };
    let (executed, replayed) =
        (finished(&drawing(true), 1).await, finished(&drawing(false), 1).await);
    assert_eq!(executed[..8], replayed[..8], "what is drawn after the run");
    assert_ne!(executed[8..], executed[..8], "the run has numbers of its own");
    assert_ne!(executed[8..], finished(&drawing(true), 2).await[8..], "which come from the seed");
}

#[tokio::test]
async fn the_environment_is_empty() {
    let guest = calling(
        "cli/environment",
        "get-environment",
        "(param i32)",
        &format!("(call $wasi (i32.const 30000)) {}", finish_bytes(8)),
    );
    assert_eq!(finished(&guest, 1).await[4..], 0_u32.to_le_bytes());
}

#[tokio::test]
async fn what_is_printed_is_logged_by_lines() {
    let guest = Guest {
        imports: r#"
            (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
            (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
              (func $write (param i32 i32 i32 i32)))"#
            .into(),
        items: r#"(data (i32.const 20000) "one\ntwo")"#.into(),
        wasi: true,
        ..Guest::starting(
            "(call $write (call $stdout) (i32.const 20000) (i32.const 7) (i32.const 30000))",
        )
    };
    let (script, ended) = start(&guest, "main").await;
    ended.expect("it ends well");
    let line = |message: &str| JournalCall::Log { level: Level::Info, message: message.into() };
    assert_eq!(script.asked(), [line("one"), line("two")]);
}

#[tokio::test]
async fn a_trap_quotes_what_the_guest_said_before_it() {
    let guest = Guest {
        imports: r#"
            (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
            (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
              (func $write (param i32 i32 i32 i32)))"#
            .into(),
        items: r#"(data (i32.const 20000) "the reason\nand where")"#.into(),
        wasi: true,
        ..Guest::starting(
            "(call $write (call $stderr) (i32.const 20000) (i32.const 20) (i32.const 30000))
             (unreachable)",
        )
    };
    let (_, ended) = start(&guest, "main").await;
    let error = ended.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the guest trapped: it panicked or aborted (`unreachable`); it wrote to standard error: the reason\nand where"
    );
    assert_eq!(error.cause(), "the guest trapped: it panicked or aborted (`unreachable`)");
}

#[tokio::test]
async fn opening_a_file_is_refused_by_name() {
    // Like the C library: first the directories, then their types, then the file in the first of
    // them.
    let guest = Guest {
        imports: r#"
            (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))
            (import "wasi:filesystem/types@0.2.0" "[method]descriptor.get-type"
              (func $type (param i32 i32)))
            (import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at"
              (func $open (param i32 i32 i32 i32 i32 i32 i32)))"#
            .into(),
        items: "(global $directory (mut i32) (i32.const 0))".into(),
        wasi: true,
        ..Guest::starting(
            "(call $directories (i32.const 30000))
             (if (i32.ne (i32.load (i32.const 30004)) (i32.const 1)) (then unreachable))
             (global.set $directory (i32.load (i32.load (i32.const 30000))))
             (call $type (global.get $directory) (i32.const 30016))
             (if (i32.ne (i32.load8_u (i32.const 30017)) (i32.const 3)) (then unreachable))
             (call $open (global.get $directory) (i32.const 0) (i32.const 8192) (i32.const 4)
               (i32.const 0) (i32.const 1) (i32.const 30032))",
        )
    };
    let message = refusal(&guest).await;
    assert!(
        message.contains("wasi:filesystem/types@0.2.0: [method]descriptor.open-at"),
        "{message}"
    );
    assert!(message.contains("activity") && message.contains("`main`"), "{message}");
}

#[tokio::test]
async fn what_a_runtime_looks_for_is_not_there() {
    // A directory of any name, the script's own source, and the name of code that is in no file:
    // all return `no-entry` (20), as an empty directory does.
    for (path, flags) in [("data", 2), ("app.py", 0), ("<string>", 0), ("/<unknown>", 0)] {
        let guest = Guest {
            imports: r#"
                (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))
                (import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at"
                  (func $open (param i32 i32 i32 i32 i32 i32 i32)))"#
                .into(),
            items: format!(r#"(data (i32.const 20000) "{path}")"#),
            wasi: true,
            ..Guest::starting(&format!(
                "(call $directories (i32.const 30000))
                 (call $open (i32.load (i32.load (i32.const 30000))) (i32.const 0) (i32.const 20000)
                   (i32.const {}) (i32.const {flags}) (i32.const 1) (i32.const 30000))
                 {}",
                path.len(),
                finish_bytes(5)
            ))
        };
        let answer = finished(&guest, 1).await;
        assert_eq!((answer[0], answer[4]), (1, 20), "{path}");
    }
}

#[tokio::test]
async fn sockets_http_sleep_and_exit_are_refused_by_name() {
    let drop = "(drop (call $wasi))";
    for (interface, function, signature, start, instead) in [
        ("sockets/instance-network", "instance-network", "(result i32)", drop, "ctx.http"),
        ("http/types", "[constructor]fields", "(result i32)", drop, "ctx.http"),
        (
            "clocks/monotonic-clock",
            "subscribe-duration",
            "(param i64) (result i32)",
            "(drop (call $wasi (i64.const 1)))",
            "ctx.sleep",
        ),
        ("cli/exit", "exit", "(param i32)", "(call $wasi (i32.const 0))", "return"),
    ] {
        let message = refusal(&calling(interface, function, signature, start)).await;
        assert!(message.contains(function) && message.contains(instead), "{message}");
    }
}
