//! Logical time, sleeps, and clocks that jump.

use std::sync::Arc;

use segno_core::{
    promise::{TaskStatus, Verdict},
    time::Millis,
};
use segno_env::Clock;
use serde_json::{Value as Json, json};
use tests::world::{Plan, World, script::Script};

use super::{begun, cold};

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn logical_time_is_constant_in_a_poll_never_falls_and_is_the_same_in_a_replay() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let mut times = vec![ctx.now(), ctx.now()];
                for _ in 0..3 {
                    ctx.done(ctx.call("work", "1")).await?;
                    times.extend([ctx.now(), ctx.now()]);
                    ctx.done(ctx.sleep(10_000)).await?;
                    times.extend([ctx.now(), ctx.now()]);
                }
                assert_eq!(ctx.context().started_at_ms, times[0]);
                Ok(json!(times).to_string())
            })
            .activity("work", |attempt| async move { attempt.succeed("1") }),
    );
    let mut world = begun(&script, cold()).await;
    world.stands("it", TaskStatus::Suspended).await;
    world.clock.jump(Millis(3_600_000));
    let (_, times) = world.outcome("it").await;
    assert!(script.instances() > 3, "it was replayed");
    let times: Vec<i64> =
        times.as_array().expect("times").iter().filter_map(Json::as_i64).collect();
    assert_eq!(times.len(), 14);
    assert!(times.chunks(2).all(|poll| poll[0] == poll[1]), "{times:?}");
    assert!(times.is_sorted(), "{times:?}");
    let journal = world.journal("it").await;
    assert!(journal.is_sorted_by_key(|record| record.at));
    assert_eq!(journal[0].at.0, times[0]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_sleep_ends_when_it_should_whoever_died_meanwhile() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        ctx.done(ctx.sleep(3_600_000)).await?;
        Ok(ctx.now().to_string())
    }));
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    let began = world.clock.now();
    for _ in 0..5 {
        world.pass(Millis(600_000)).await;
        world.boot().await;
    }
    let (verdict, woke) = world.outcome("it").await;
    assert_eq!(verdict, Verdict::Resolved);
    let late = woke.as_i64().expect("a time") - (began.0 + 3_600_000);
    assert!((0..1_000).contains(&late), "{late} ms late");
    assert_eq!(script.instances(), 2);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_sleep_whose_end_has_passed_ends_at_once() {
    let script = Arc::new(
        Script::default().workflow("flow", |ctx| async move { ctx.done(ctx.sleep_until(1)).await }),
    );
    let mut world = begun(&script, Plan::default()).await;
    world.pass(Millis(40)).await;
    assert!(!world.promise("it").await.expect("it is there").is_pending());
}
