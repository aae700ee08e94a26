//! Generations of a workflow. No signal is lost between them, whatever crashes.

use std::sync::Arc;

use segno_core::{invocation::RecordBody, promise::Verdict, time::Millis};
use serde_json::json;
use tests::world::{
    Plan, World,
    script::{Attempt, Script, ScriptContext},
};

use super::{begun, cold};

/// Adds two signals in each generation, works for half a second and continues as new, until the sum
/// is 21.
fn adder() -> Arc<Script> {
    let flow = |ctx: ScriptContext| async move {
        let mut sum: u64 = ctx.input().parse().unwrap_or(0);
        for _ in 0..2 {
            let (_, payload) = ctx.signal().await;
            sum += payload.parse::<u64>().expect("a number");
        }
        if sum == 21 {
            return Ok(sum.to_string());
        }
        let work = ctx.call("work", "1");
        ctx.done(work).await?;
        ctx.continue_as_new(&sum.to_string()).await
    };
    let work = |attempt: Attempt| async move {
        attempt.sleep(500).await;
        attempt.succeed("1")
    };
    Arc::new(Script::default().workflow("flow", flow).signals().activity("work", work))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_signal_is_lost_between_generations_whenever_the_host_dies() {
    for between in [0, 90, 170, 260, 501] {
        for dies_after in 0..=6 {
            let plan = if dies_after % 2 == 0 { Plan::default() } else { cold() };
            let mut world = begun(&adder(), plan).await;
            for n in 1..=6 {
                world.signal("it", "add", &json!(n)).await;
                world.pass(Millis(between)).await;
                if n == dies_after {
                    world.crash();
                    world.boot().await;
                }
            }
            let case = format!("{between} ms between, dies after {dies_after}");
            assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(21)), "{case}");
            for id in ["it", "it/g/2", "it/g/3"] {
                let journal = world.journal(id).await;
                let last = journal.last().map(|record| &record.body);
                assert!(matches!(last, Some(RecordBody::Finished { .. })), "{case}: {id}");
            }
            assert!(world.promise("it/g/4").await.is_none(), "{case}");
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_input_of_the_next_generation_is_checked_as_any_other() {
    let flow = |ctx: ScriptContext| async move {
        ctx.continue_as_new(if ctx.input() == "1" { "2" } else { r#"{"n": 3}"# }).await
    };
    let script = Script::default().workflow("flow", flow).takes(r#"{"type": "integer"}"#);
    let script = Arc::new(script);
    for plan in [Plan::default(), cold()] {
        let mut world = World::with(plan, &script).await;
        world.start("it", "wasm://m/flow", &json!(1)).await;
        let (verdict, value) = world.outcome("it").await;
        assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(400)), "{value}");
        let message = value["message"].as_str().expect("a message");
        assert!(message.contains("does not fit the schema of `m/flow`"), "{message}");
        assert!(!world.journal("it/g/2").await.is_empty());
        assert!(world.journal("it/g/3").await.is_empty(), "it never began");
    }
}
