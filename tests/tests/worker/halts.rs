//! The reasons that halt an execution.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use segno_engine::worker::TrapReport;

use segno_core::{
    command::Command,
    promise::{HaltReason, Note, TaskState, TaskStatus, Verdict},
    time::Millis,
};
use serde_json::{Value as Json, json};
use tests::world::{Plan, World, script::Script};

use super::{begun, cold};

async fn halted(world: &mut World, reason: HaltReason) -> Note {
    world.stands("it", TaskStatus::Halted).await;
    let task = world.task("it").await;
    assert_eq!(task.state, TaskState::Halted { reason });
    task.note.expect("a halted task says why")
}

/// Continues `it`, and checks that it then succeeds.
async fn continued(world: &mut World) {
    world.client(Command::TaskContinue { id: "it".into() }).await;
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn three_equal_traps_halt_with_a_note_and_a_continued_execution_tries_again() {
    let mended = Arc::new(AtomicBool::new(false));
    let whether = mended.clone();
    let script = Arc::new(Script::default().workflow("flow", move |ctx| {
        let mended = whether.clone();
        async move {
            ctx.done(ctx.sleep(1_000)).await?;
            if mended.load(Ordering::Relaxed) {
                Ok("1".into())
            } else {
                ctx.trap("out of ink").await
            }
        }
    }));
    let mut world = begun(&script, Plan::default()).await;
    let note = halted(&mut world, HaltReason::Trapped).await;
    assert_eq!((&*note.kind, note.message.contains("out of ink")), ("trap", true), "{note:?}");
    assert_eq!(
        script.instances(),
        3,
        "the trapped instances are gone, and each attempt is a replay"
    );
    assert_eq!(world.story("it").await, ["started", "0 sleep"], "a poll that trapped left nothing");
    mended.store(true, Ordering::Relaxed);
    continued(&mut world).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_was_logged_before_a_trap_is_in_its_note_until_it_is_logged_for_good() {
    let mended = Arc::new(AtomicBool::new(false));
    let whether = mended.clone();
    let script = Arc::new(Script::default().workflow("flow", move |ctx| {
        let mended = whether.clone();
        async move {
            ctx.log("begins");
            ctx.done(ctx.sleep(1_000)).await?;
            ctx.log("dips the pen");
            if mended.load(Ordering::Relaxed) {
                return Ok("1".into());
            }
            ctx.log("no ink");
            ctx.trap("out of ink").await
        }
    }));
    let mut world = begun(&script, Plan::default()).await;
    let note = halted(&mut world, HaltReason::Trapped).await;
    let report = TrapReport::read(&note.details).expect("there is a report");
    let said: Vec<&str> = report.log.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(said, ["dips the pen", "no ink"], "those of the last attempt, once");
    assert_eq!(world.logs("it").await, ["begins"]);
    mended.store(true, Ordering::Relaxed);
    continued(&mut world).await;
    assert_eq!(world.logs("it").await, ["begins", "dips the pen"]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn traps_of_one_cause_are_equal_whatever_the_guest_says_of_them() {
    let said = Arc::new(AtomicU32::new(0));
    let count = said.clone();
    let script = Arc::new(Script::default().workflow("flow", move |ctx| {
        let said = count.clone();
        async move {
            let which = said.fetch_add(1, Ordering::Relaxed);
            ctx.panic("src/lib.rs:3:5", &format!("it is {which} o'clock")).await
        }
    }));
    let mut world = begun(&script, Plan::default()).await;
    let note = halted(&mut world, HaltReason::Trapped).await;
    assert_eq!(&*note.message, "the code failed at src/lib.rs:3:5: it is 2 o'clock");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_trap_that_does_not_come_again_costs_a_retry_only() {
    let once = Arc::new(AtomicBool::new(true));
    let script = Arc::new(Script::default().workflow("flow", move |ctx| {
        let trap = once.swap(false, Ordering::Relaxed);
        async move { if trap { ctx.trap("once").await } else { Ok("1".into()) } }
    }));
    let mut world = begun(&script, Plan::default()).await;
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    assert_eq!(script.instances(), 2);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_replay_that_differs_is_halted_with_a_report_and_appends_nothing() {
    let changed = Arc::new(AtomicBool::new(false));
    let whether = changed.clone();
    let script = Arc::new(Script::default().workflow("flow", move |ctx| {
        let name = if whether.load(Ordering::Relaxed) { "new" } else { "old" };
        async move {
            ctx.done(ctx.run(name, || "1".into())).await?;
            ctx.done(ctx.sleep(1_000)).await
        }
    }));
    let mut world = begun(&script, cold()).await;
    world.stands("it", TaskStatus::Suspended).await;
    changed.store(true, Ordering::Relaxed);
    let before = world.story("it").await;
    let note = halted(&mut world, HaltReason::Reported).await;
    assert_eq!(&*note.kind, "divergence");
    for word in ["old", "new"] {
        assert!(note.message.contains(word), "{note:?}");
    }
    let details: Json = serde_json::from_slice(&note.details).expect("a report for programs");
    assert!(details["divergence"].is_object(), "{details}");
    world.pass(Millis(600_000)).await;
    assert_eq!(script.instances(), 2, "it is never tried again by itself");
    assert_eq!(world.story("it").await, before);
    changed.store(false, Ordering::Relaxed);
    continued(&mut world).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_command_inside_a_run_breaks_the_contract() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let inside = ctx.clone();
        let computed = ctx.run("compute", move || inside.call("work", "1").to_string());
        ctx.done(computed).await
    }));
    let mut world = begun(&script, Plan::default()).await;
    let note = halted(&mut world, HaltReason::Trapped).await;
    assert!(note.message.contains("inside the `run` step `compute`"), "{note:?}");
    assert_eq!(world.story("it").await, [""; 0]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_that_waits_for_nothing_is_halted() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let sleep = ctx.sleep(1_000);
        ctx.forget(sleep);
        ctx.done(sleep).await
    }));
    let mut world = begun(&script, Plan::default()).await;
    let note = halted(&mut world, HaltReason::Reported).await;
    assert_eq!(&*note.kind, "waits-for-nothing");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_function_that_does_not_exist_is_rejected_with_404() {
    let script = Arc::new(Script::default().workflow("flow", |_| async move { Ok("1".into()) }));
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/flaw", &json!(null)).await;
    let (verdict, value) = world.outcome("it").await;
    assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(404)));
    let message = value["message"].as_str().expect("a message");
    assert!(message.contains("`flaw`") && message.contains("it has flow"), "{message}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_execution_whose_module_is_gone_is_halted() {
    let script = Script::default().workflow("flow", |_| async move { Ok("1".into()) }).lost();
    let mut world = begun(&Arc::new(script), Plan::default()).await;
    let note = halted(&mut world, HaltReason::Reported).await;
    assert_eq!(&*note.kind, "module");
}
