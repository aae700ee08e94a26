//! Guests that exceed limits. Each ends with an error that names the limit, and the host continues.

use super::*;
use crate::{Event, JournalCall, Outcome};

#[tokio::test]
async fn an_endless_loop_runs_out_of_time_while_others_run() {
    let endless = Guest::starting("(loop $again (br $again))").component();
    let short =
        Guest::starting("(call $finish-text (local.get $input) (local.get $length))").component();
    let wasm = host(&[&endless, &short]);
    let mut stuck = instantiate(&wasm, &endless).await;
    let mut other = instantiate(&wasm, &short).await;
    let script = Script::default();
    let (ended, ()) = tokio::join!(
        stuck.start(script.shared(), "main", json("1"), context(1)),
        // There is a single thread, so this runs only if the loop yields.
        async {
            other.start(script.shared(), "main", json("2"), context(1)).await.expect("it runs");
        }
    );
    assert!(matches!(ended, Err(GuestError::OutOfTime { limit_ms: 200, .. })), "{ended:?}");
    assert_eq!(script.asked(), [JournalCall::Finish { outcome: Outcome::Success(json("2")) }]);
}

#[tokio::test]
async fn endless_recursion_overflows_the_guest_s_stack_only() {
    let guest = Guest {
        items: "(func $again (param i64) (result i64)
                  (i64.add (i64.const 1) (call $again (i64.add (local.get 0) (i64.const 1)))))"
            .into(),
        ..Guest::starting("(drop (call $again (i64.const 0)))")
    };
    let (_, ended) = start(&guest, "main").await;
    let Err(GuestError::Trap { message, backtrace, .. }) = ended else { panic!("{ended:?}") };
    assert!(message.contains("limits.stack_bytes"), "{message}");
    let frames = backtrace.expect("there are frames");
    assert_eq!(frames.text.lines().count(), 24, "{frames:?}");
}

#[tokio::test]
async fn memory_grows_to_its_limit_and_the_abort_after_it_says_so() {
    // Grows page by page until refused, then aborts, as an allocator does.
    let guest = Guest::starting(
        "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable",
    );
    let (_, ended) = start(&guest, "main").await;
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("4194304 (`limits.memory_bytes`)"), "{message}");
}

#[tokio::test]
async fn growth_within_the_limit_is_given_in_full() {
    // 2 of the 64 pages exist already: the last growth starts at 63 pages.
    let guest = Guest::starting(
        "(block $refused
           (br_if $refused (i32.eq (memory.grow (i32.const 61)) (i32.const -1)))
           (br_if $refused (i32.ne (memory.grow (i32.const 1)) (i32.const 63)))
           (br_if $refused (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))
           (call $finish-text (local.get $input) (local.get $length)))",
    );
    let (script, ended) = start(&guest, "main").await;
    ended.expect("it ends well");
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test]
async fn a_result_above_the_limit_is_refused_by_name() {
    let guest = Guest::starting("(call $finish-text (i32.const 8192) (i32.const 70000))");
    let (script, ended) = start(&guest, "main").await;
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("result has 70000 bytes; the limit is 65536"), "{message}");
    assert_eq!(script.asked(), []);
}

#[tokio::test]
async fn what_crosses_at_once_is_bounded_before_the_host_copies_it() {
    let guest = Guest::starting("(call $finish-text (i32.const 8192) (i32.const 250000))");
    let grown =
        Guest { start: format!("(drop (memory.grow (i32.const 4))) {}", guest.start), ..guest };
    let (_, ended) = start(&grown, "main").await;
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("too much") && message.contains("limits.output_bytes"), "{message}");
}

#[tokio::test]
async fn an_unfair_host_interrupts_nobody_but_still_stops_the_endless() {
    let endless = Guest::starting("(loop $again (br $again))").component();
    let wasm = host_with(&[&endless], |config| config.fair = false);
    let mut instance = instantiate(&wasm, &endless).await;
    let mut call = instance.start(Script::default().shared(), "main", json("1"), context(1));
    let std::task::Poll::Ready(ended) = futures::poll!(&mut call) else { panic!("it yielded") };
    assert!(matches!(ended, Err(GuestError::OutOfTime { .. })), "{ended:?}");
}

#[tokio::test]
async fn without_a_pool_instances_are_made_on_demand() {
    let component =
        Guest::starting("(call $finish-text (local.get $input) (local.get $length))").component();
    let wasm = host_with(&[&component], |config| {
        config.limits.memory_bytes = 4 << 30;
        config.limits.instances = 1_000_000;
    });
    assert!(!wasm.pooled());
    let mut instance = instantiate(&wasm, &component).await;
    let ended = instance.start(Script::default().shared(), "main", json("1"), context(1)).await;
    assert!(ended.is_ok(), "{ended:?}");
}

#[tokio::test]
async fn a_long_log_line_is_cut() {
    let guest = Guest {
        imports: r#"(import "segno:workflow/journal@0.2.0" "log" (func $log (param i32 i32 i32)))"#.into(),
        items: r#"(data (i32.const 20000) "........................................................................................................................")"#.into(),
        ..Guest::starting("(call $log (i32.const 2) (i32.const 20000) (i32.const 120))")
    };
    let (script, ended) = start(&guest, "main").await;
    ended.expect("it ends well");
    let [JournalCall::Log { message, .. }] = &script.asked()[..] else {
        panic!("{:?}", script.asked())
    };
    assert_eq!(message.chars().count(), 101);
}

#[tokio::test]
async fn a_full_pool_makes_the_next_instance_wait() {
    let component = Guest::default().component();
    let wasm = host_with(&[&component], |config| config.limits.instances = 2);
    let first = instantiate(&wasm, &component).await;
    let second = instantiate(&wasm, &component).await;
    let mut third = Box::pin(instantiate(&wasm, &component));
    assert!(futures::poll!(&mut third).is_pending());
    drop(first);
    third.await;
    drop(second);
    assert_eq!(wasm.free_slots(), 2);
}

#[tokio::test]
async fn instances_come_and_go_without_end() {
    let component =
        Guest::starting("(call $finish-text (local.get $input) (local.get $length))").component();
    let wasm = host_with(&[&component], |config| config.limits.instances = 2);
    for round in 0..200 {
        let mut instance = instantiate(&wasm, &component).await;
        let script = Script::default();
        let ended = instance.start(script.shared(), "main", json("1"), context(1)).await;
        assert!(ended.is_ok(), "round {round}: {ended:?}");
    }
}

/// Prints lines of seven bytes without end.
fn printer(stream: &str, function: &str) -> Guest {
    Guest {
        imports: format!(
            r#"(import "wasi:cli/{stream}@0.2.0" "{function}" (func $stream (result i32)))
               (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
                 (func $write (param i32 i32 i32 i32)))"#
        ),
        items: r#"(data (i32.const 20000) "the end\n") (global $handle (mut i32) (i32.const 0))"#
            .into(),
        wasi: true,
        ..Guest::default()
    }
}

const PRINT_FOR_EVER: &str = "(global.set $handle (call $stream))
    (loop $again
      (call $write (global.get $handle) (i32.const 20000) (i32.const 8) (i32.const 30000))
      (br $again))";

fn lines(script: &Script) -> Vec<String> {
    let line = |ask| match ask {
        JournalCall::Log { message, .. } => Some(message),
        _ => None,
    };
    script.asked().into_iter().filter_map(line).collect()
}

fn is_bounded(lines: &[String], text: &str) {
    // 10,000 bytes; each line takes 64 beside its text.
    let (notice, kept) = lines.split_last().expect("something is logged");
    assert_eq!(kept.len(), 10_000 / (64 + text.len()));
    assert!(kept.iter().all(|line| line == text), "{kept:?}");
    assert!(notice.contains("10000 bytes (`limits.log_bytes`)"), "{notice}");
}

#[tokio::test]
async fn output_for_ever_is_kept_up_to_a_limit() {
    for (stream, function) in [("stdout", "get-stdout"), ("stderr", "get-stderr")] {
        let guest = Guest { start: PRINT_FOR_EVER.into(), ..printer(stream, function) };
        let (script, ended) = start(&guest, "main").await;
        assert!(matches!(ended, Err(GuestError::OutOfTime { .. })), "{ended:?}");
        is_bounded(&lines(&script), "the end");
    }
}

#[tokio::test]
async fn log_calls_for_ever_are_kept_up_to_a_limit() {
    let guest = Guest {
        imports: r#"(import "segno:workflow/journal@0.2.0" "log" (func $log (param i32 i32 i32)))"#
            .into(),
        ..Guest::starting(
            "(loop $again (call $log (i32.const 2) (i32.const 20000) (i32.const 0)) (br $again))",
        )
    };
    let (script, ended) = start(&guest, "main").await;
    assert!(matches!(ended, Err(GuestError::OutOfTime { .. })), "{ended:?}");
    is_bounded(&lines(&script), "");
}

#[tokio::test]
async fn a_trap_quotes_last_words_that_were_not_logged_any_more() {
    let guest = Guest {
        start: "(global.set $handle (call $stream))
            (loop $again
              (call $write (global.get $handle) (i32.const 20000) (i32.const 8) (i32.const 30000))
              (local.set $length (i32.add (local.get $length) (i32.const 1)))
              (br_if $again (i32.lt_u (local.get $length) (i32.const 1000))))
            (unreachable)"
            .into(),
        ..printer("stderr", "get-stderr")
    };
    let (script, ended) = start(&guest, "main").await;
    is_bounded(&lines(&script), "the end");
    let message = ended.unwrap_err().to_string();
    assert!(message.ends_with("the end\nthe end"), "{message}");
}

#[tokio::test]
async fn each_call_has_room_for_its_log() {
    let print = "(call $write (call $stream) (i32.const 20000) (i32.const 8) (i32.const 30000))";
    let guest =
        Guest { start: print.into(), resume: print.into(), ..printer("stdout", "get-stdout") };
    let component = guest.component();
    let wasm = host_with(&[&component], |config| config.limits.log_bytes = 100);
    let mut instance = instantiate(&wasm, &component).await;
    let script = Script::default();
    instance.start(script.shared(), "main", json("1"), context(1)).await.expect("it runs");
    for _ in 0..3 {
        instance.resume(script.shared(), Event::Cancelled).await.expect("it runs");
    }
    assert_eq!(lines(&script), ["the end"; 4]);
}

#[tokio::test]
async fn commands_for_ever_are_stopped_by_the_limit_of_a_call() {
    let guest = Guest {
        imports: r#"(import "segno:workflow/journal@0.2.0" "sleep-until" (func $sleep (param i64) (result i32)))
            (import "segno:workflow/journal@0.2.0" "publish"
              (func $publish (param i32 i32 i32 i32 i32) (result i32)))"#
            .into(),
        ..Guest::default()
    };
    let sleep = "(loop $again (drop (call $sleep (i64.const 1))) (br $again))";
    // A payload within the limit, and a topic longer than the payload.
    let publish = "(loop $again
        (drop (call $publish (i32.const 8192) (i32.const 50000) (i32.const 0) (i32.const 8192) (i32.const 10000)))
        (br $again))";
    for (start_with, commands) in [(sleep, 8 * 65_536 / 512), (publish, 8 * 65_536 / 60_512)] {
        let guest =
            Guest { start: start_with.into(), imports: guest.imports.clone(), ..Guest::default() };
        let (script, ended) = start(&guest, "main").await;
        let message = ended.unwrap_err().to_string();
        assert!(
            message.contains("output in one call") && message.contains("the limit is 524288"),
            "{message}"
        );
        assert_eq!(script.asked().len(), commands);
    }
}
