//! Executions that are reported because nothing can resume them.

use std::sync::Arc;

use segno_core::{promise::TaskStatus, time::Millis};
use segno_engine::stuck::{self, StuckReason};
use segno_env::Clock;
use segno_store::InvocationFilter;
use serde_json::json;
use tests::world::{World, script::Script};

const HOUR: u64 = 3_600_000;

/// Ids of the reported executions, with the reasons.
async fn reported(world: &World) -> Vec<(String, StuckReason)> {
    let filter = InvocationFilter { limit: 100, ..InvocationFilter::default() };
    let store = world.host().store;
    let rows = store.read().list(&filter).await.expect("the store answers").items;
    let found = stuck::look(&*store, &rows, world.clock.now()).await;
    let found = found.expect("the store answers");
    let reported = rows
        .iter()
        .zip(found)
        .filter_map(|(row, found)| Some((row.promise.id().as_str().to_owned(), found?.reason)));
    reported.collect()
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_waits_a_day_for_a_promise_without_owner_is_reported_unless_a_timer_is_among_many() {
    let script = Arc::new(
        Script::default()
            .workflow("lone", |ctx| async move {
                let (approval, _) = ctx.promise(Some("approval"));
                ctx.done(approval).await?;
                Ok("1".to_owned())
            })
            .workflow("many", |ctx| async move {
                for number in 0..20 {
                    ctx.promise(Some(&format!("approval-{number}")));
                }
                ctx.sleep(48 * HOUR);
                ctx.any().await;
                Ok("1".to_owned())
            }),
    );
    let mut world = World::scripted(&script).await;
    world.start("lone", "wasm://m/lone", &json!(null)).await;
    world.start("many", "wasm://m/many", &json!(null)).await;
    world.stands("lone", TaskStatus::Suspended).await;
    world.stands("many", TaskStatus::Suspended).await;
    assert_eq!(reported(&world).await, []);
    world.clock.jump(Millis(25 * 3_600_000));
    assert_eq!(reported(&world).await, [("lone".to_owned(), StuckReason::Unsettled)]);
}
