//! The number of executions that run concurrently.

use std::sync::Arc;

use segno_core::{promise::Verdict, time::Millis};
use segno_engine::worker::WorkerSettings;
use segno_env::Clock as _;
use serde_json::json;
use tests::world::{Plan, World, script::Script};

/// More executions than one processor runs concurrently.
const MANY: usize = 120;
/// Time after which a stalled queue admits more executions. No test here may depend on it.
const STANDSTILL: Millis = Millis(50);
/// Duration of an activity in these tests.
const WORK: Millis = Millis(1_000);

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_waits_for_a_child_is_in_nobodys_way() {
    let script = Script::default()
        .workflow("flow", |ctx| async move { ctx.done(ctx.call("child", "1")).await })
        .workflow("child", |_| async move { Ok("1".to_owned()) });
    let worker = WorkerSettings { processors: 1, ..WorkerSettings::default() };
    let mut world = World::with(Plan { worker, ..Plan::default() }, &Arc::new(script)).await;
    let ids: Vec<_> = (0..MANY).map(|number| format!("it-{number}")).collect();
    for id in &ids {
        world.start(id, "wasm://m/flow", &json!(null)).await;
    }
    let before = world.clock.now();
    world.boot().await;
    for id in &ids {
        assert_eq!(world.outcome(id).await, (Verdict::Resolved, json!(1)), "{id}");
    }
    let took = world.clock.now().since(before);
    assert!(took < STANDSTILL, "the line stood still: {took:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_activity_is_in_nobodys_way() {
    let script = Script::default()
        .activity("work", |attempt| async move {
            attempt.sleep(WORK.0).await;
            attempt.succeed("1")
        })
        .workflow("flow", |_| async move { Ok("2".to_owned()) });
    let worker = WorkerSettings { processors: 1, ..WorkerSettings::default() };
    let mut world = World::with(Plan { worker, ..Plan::default() }, &Arc::new(script)).await;
    let ids: Vec<_> = (0..MANY).map(|number| format!("work-{number}")).collect();
    for id in &ids {
        world.start(id, "wasm://m/work", &json!(null)).await;
    }
    world.start("flow", "wasm://m/flow", &json!(null)).await;
    let before = world.clock.now();
    world.boot().await;
    assert_eq!(world.outcome("flow").await, (Verdict::Resolved, json!(2)));
    let took = world.clock.now().since(before);
    assert!(took < STANDSTILL, "it waited in line: {took:?}");
    for id in &ids {
        assert_eq!(world.outcome(id).await, (Verdict::Resolved, json!(1)), "{id}");
    }
    let took = world.clock.now().since(before);
    assert!(took < WORK + STANDSTILL, "they waited in line: {took:?}");
}
