//! Guests that take too much. Each ends with an error that names the limit, and the host goes on.

use super::*;
use crate::guest::{Ask, Outcome};

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
        // On the one thread of this test: it runs only because the loop yields.
        async {
            other.start(script.shared(), "main", json("2"), context(1)).await.expect("it runs");
        }
    );
    assert!(matches!(ended, Err(GuestError::OutOfTime { limit_ms: 200, .. })), "{ended:?}");
    assert_eq!(script.asked(), [Ask::Finish { outcome: Outcome::Success(json("2")) }]);
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
    let Err(GuestError::Trap { message, backtrace }) = ended else { panic!("{ended:?}") };
    assert!(message.contains("limits.stack_bytes"), "{message}");
    let frames = backtrace.expect("there are frames");
    assert_eq!(frames.lines().count(), 24, "{frames}");
}

#[tokio::test]
async fn memory_grows_to_its_limit_and_the_abort_after_it_says_so() {
    // Grows page by page until it is refused, then aborts, as an allocator does.
    let guest = Guest::starting(
        "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable",
    );
    let (_, ended) = start(&guest, "main").await;
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("4194304 (`limits.memory_bytes`)"), "{message}");
}

#[tokio::test]
async fn growth_within_the_limit_is_given_in_full() {
    // 2 pages are there, 62 more are allowed: the old size of the last growth is 63 pages.
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
        imports: r#"(import "segno:workflow/journal@0.1.0" "log" (func $log (param i32 i32 i32)))"#.into(),
        items: r#"(data (i32.const 20000) "........................................................................................................................")"#.into(),
        ..Guest::starting("(call $log (i32.const 2) (i32.const 20000) (i32.const 120))")
    };
    let (script, ended) = start(&guest, "main").await;
    ended.expect("it ends well");
    let [Ask::Log { message, .. }] = &script.asked()[..] else { panic!("{:?}", script.asked()) };
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
