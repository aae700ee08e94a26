//! Damage from outside. The slow scan of the running host finds it, repairs it, and shows it in its
//! metrics.

use std::sync::Arc;

use segno_core::{
    delta::Delta,
    promise::{TaskStatus, Verdict},
    time::Millis,
};
use serde_json::json;
use tests::world::{Plan, script::Script};

use super::{SECOND, begun};

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_the_last_round_found_damaged_is_in_the_metrics_until_the_next_finds_nothing() {
    let script = Script::default().workflow("flow", |ctx| async move {
        let (approval, _) = ctx.promise(Some("approval"));
        ctx.done(approval).await
    });
    let mut world = begun(&Arc::new(script), Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    world.pass(SECOND).await;
    let shown = "segno_orphans{class=\"suspended-on-nothing\"}";
    let gauge = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix(shown).map(str::to_owned));
        line.map(|number| number.trim().to_owned())
    };
    assert_eq!(gauge(world.metrics()).as_deref(), Some("0"), "after the round at the beginning");
    // Deletes the row of its callback, as from outside.
    let waits = (("it/p/approval".into(), "it".into()), None);
    let damage = Delta { callbacks: [waits].into(), ..Delta::default() };
    world.memory.write(&damage, Vec::new());
    world.pass(Millis(75_000)).await;
    assert_eq!(gauge(world.metrics()).as_deref(), Some("1"));
    world.stands("it", TaskStatus::Suspended).await;
    world.pass(Millis(65_000)).await;
    assert_eq!(gauge(world.metrics()).as_deref(), Some("0"), "it is mended");
    world.resolve("it/p/approval", &json!("yes")).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!("yes")));
}
