//! Signals: kept from the start, delivered once, in order.

use std::sync::Arc;

use segno_core::{
    command::Command,
    promise::{TaskStatus, Verdict},
    reply::{Refusal, Reply},
    time::Millis,
};
use serde_json::json;
use tests::{
    replaying::reruns_from_every_place,
    world::{
        Plan, World,
        script::{Script, ScriptContext},
    },
};

use super::{SECOND, begun, cold, ended};

/// Collects `count` signals. The first call of `work` takes 10 s.
fn collector(count: usize, working: bool) -> Arc<Script> {
    Arc::new(
        Script::default()
            .workflow("flow", move |ctx| async move {
                let work = working.then(|| ctx.call("work", "1"));
                let mut heard = Vec::new();
                while heard.len() < count {
                    let (name, payload) = ctx.signal().await;
                    heard.push(format!("{name}={payload}"));
                }
                if let Some(work) = work {
                    ctx.done(work).await?;
                }
                Ok(json!(heard).to_string())
            })
            .signals()
            .activity("work", |attempt| async move {
                attempt.sleep(10_000).await;
                attempt.succeed("1")
            }),
    )
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn signals_sent_before_the_start_are_told_in_their_order() {
    for plan in [Plan::default(), cold()] {
        let script = collector(3, false);
        let mut world = World::with(plan, &script).await;
        world.start("it", "wasm://m/flow", &json!(null)).await;
        for n in 0..3 {
            assert_eq!(world.signal("it", "s", &json!(n)).await, Reply::signalled("it", n));
        }
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(["s=0", "s=1", "s=2"])));
        assert_eq!(
            world.story("it").await[..4],
            ["started", "signal s 0", "signal s 1", "signal s 2"]
        );
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_signal_reaches_a_workflow_that_is_suspended() {
    for plan in [Plan::default(), cold()] {
        let script = collector(2, false);
        let mut world = begun(&script, plan).await;
        for n in 0..2 {
            world.stands("it", TaskStatus::Suspended).await;
            world.signal("it", "s", &json!(n)).await;
            world.pass(SECOND).await;
        }
        assert_eq!(world.outcome("it").await.1, json!(["s=0", "s=1"]));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_signal_reaches_a_running_workflow_at_once() {
    let script = collector(2, true);
    let mut world = begun(&script, Plan::default()).await;
    world.pass(Millis(60)).await;
    assert_eq!(world.task("it").await.status(), TaskStatus::Acquired, "it waits warm for the call");
    world.signal("it", "s", &json!(0)).await;
    world.signal("it", "s", &json!(1)).await;
    world.pass(Millis(40)).await;
    assert_eq!(script.told().len(), 2, "both were told within the same warm wait");
    assert_eq!(world.outcome("it").await.1, json!(["s=0", "s=1"]));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_signal_with_a_known_key_is_taken_once() {
    let script = collector(2, false);
    let mut world = begun(&script, Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    let signal = |payload: u32, key: &str| Command::Signal {
        invocation: "it".into(),
        name: "s".into(),
        payload: segno_core::value::Value::of(payload.to_string().into_bytes()),
        key: Some(key.into()),
    };
    assert_eq!(world.client(signal(1, "a")).await, Reply::signalled("it", 0));
    world.pass(SECOND).await;
    assert_eq!(world.client(signal(1, "a")).await, Reply::signalled("it", 0));
    let other = world.client(signal(2, "a")).await;
    assert!(matches!(&other, Reply::Refused(Refusal::Conflict(_))), "{other:?}");
    world.pass(SECOND).await;
    assert_eq!(world.client(signal(3, "b")).await, Reply::signalled("it", 1));
    assert_eq!(world.outcome("it").await.1, json!(["s=1", "s=3"]));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_function_without_signals_is_not_told_of_them() {
    let script = Arc::new(
        Script::default().workflow("flow", |ctx| async move { ctx.done(ctx.sleep(10_000)).await }),
    );
    let mut world = begun(&script, Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    world.signal("it", "s", &json!(1)).await;
    world.pass(SECOND).await;
    assert_eq!(world.task("it").await.status(), TaskStatus::Suspended);
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    assert_eq!(script.told().len(), 1);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_function_with_signals_waits_for_them_alone() {
    let script = collector(1, false);
    let mut world = begun(&script, cold()).await;
    world.pass(Millis(60 * 60_000)).await;
    assert_eq!(world.task("it").await.status(), TaskStatus::Suspended);
    world.signal("it", "s", &json!(1)).await;
    assert_eq!(world.outcome("it").await.1, json!(["s=1"]));
    let (_, verdict, _) = {
        let quiet = collector(0, false);
        ended(&quiet, Plan::default()).await
    };
    assert_eq!(verdict, Verdict::Resolved);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_signal_of_a_workflow_is_checked_as_one_of_a_client_is() {
    let script = Script::default()
        .workflow("deaf", async |ctx: ScriptContext| {
            let slept = ctx.sleep(5_000);
            ctx.done(slept).await
        })
        .workflow("hears", async |ctx: ScriptContext| Ok(ctx.signal().await.1))
        .signals()
        .workflow("sends", async |ctx: ScriptContext| {
            let mut said = Vec::new();
            for (to, name, payload) in [
                ("deaf", "go", "1"),
                ("hears", "gone", "1"),
                ("hears", "go", "\"soon\""),
                ("nobody", "go", "1"),
                ("hears", "go", "7"),
            ] {
                let sent = ctx.send_signal(to, name, payload);
                said.push(match ctx.done(sent).await {
                    Ok(value) => serde_json::from_str(&value).expect("JSON"),
                    Err((code, message)) => json!([code, message]),
                });
            }
            // The last of these signals is not awaited, and the workflow waits for something else.
            ctx.forget(ctx.send_signal("deaf", "go", "1"));
            let slept = ctx.sleep(1_000);
            ctx.done(slept).await?;
            Ok(json!(said).to_string())
        });
    let script = Arc::new(script);
    let go = json!({ "kind": "signal", "name": "go", "schema": { "type": "integer" } });
    let functions = json!([
        { "name": "deaf", "kind": "workflow" },
        { "name": "hears", "kind": "workflow", "signals": true, "messages": [go] },
        { "name": "sends", "kind": "workflow" },
    ]);
    let description = json!({ "functions": functions, "imports": [], "exports": [] }).to_string();
    for plan in [Plan::default(), cold()] {
        let plan = Plan { description: description.clone(), ..plan };
        let mut world = World::with(plan, &script).await;
        world.boot().await;
        for id in ["deaf", "hears", "sends"] {
            world.start(id, &format!("wasm://m/{id}"), &json!(null)).await;
        }
        let (verdict, said) = world.outcome("sends").await;
        assert_eq!(verdict, Verdict::Resolved, "{said}");
        let codes: Vec<_> = said.as_array().expect("a list").iter().map(|one| &one[0]).collect();
        let null = json!(null);
        assert_eq!(codes, [&json!(422), &json!(422), &json!(422), &json!(404), &null], "{said}");
        for (place, words) in [
            (0, "`deaf` of `deaf` does not take the signal `go`: it takes none"),
            (1, "does not take the signal `gone`: it takes go"),
            (2, "does not fit its schema: \"soon\" is not of type \"integer\""),
        ] {
            let message = said[place][1].as_str().expect("a message");
            assert!(message.contains(words), "{message}");
        }
        assert_eq!(world.outcome("hears").await, (Verdict::Resolved, json!(7)));
        assert_eq!(world.outcome("deaf").await.0, Verdict::Resolved);
        assert_eq!(world.task("deaf").await.signals, 0);
        reruns_from_every_place(&*script, &world, "sends").await;
    }
}
