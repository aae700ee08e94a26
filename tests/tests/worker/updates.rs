//! Updates: delivered once, in order, and answered by the host that runs the workflow, whatever
//! crashes.

use std::sync::Arc;

use segno_core::{
    command::Command, id::PromiseId, promise::Verdict, reply::Reply, time::Millis, value::Text,
};
use segno_engine::worker::{self, Question};
use segno_guest::{Outcome, Payload};
use serde_json::{Value as Json, json};
use tests::world::{
    Plan, World,
    script::{Script, ScriptContext},
};

use super::{SECOND, begun, cold};

/// Adds up its updates until the sum is 10. Answers each update with the sum.
fn adder() -> Arc<Script> {
    let flow = |ctx: ScriptContext| async move {
        let mut sum = 0;
        while sum < 10 {
            let (name, payload) = ctx.signal().await;
            assert_eq!(name, "segno:update/add");
            let told: Json = serde_json::from_str(&payload).expect("it is JSON");
            sum += told["input"].as_u64().expect("a number");
            ctx.share(&sum.to_string());
            let work = ctx.call("work", "1");
            ctx.done(work).await?;
            let promise = told["promise"].as_str().expect("a promise");
            let settled = ctx.settle(promise, &sum.to_string());
            ctx.forget(settled);
        }
        Ok(sum.to_string())
    };
    let work = |attempt: tests::world::script::Attempt| async move {
        attempt.sleep(500).await;
        attempt.succeed("1")
    };
    let script = Script::default().workflow("flow", flow).signals().activity("work", work);
    Arc::new(script.validates(|ctx, _, input| match (ctx.shared().as_str(), input) {
        ("null", _) => Ok("null".to_owned()),
        (sum, input) => {
            let sum: u64 = sum.parse().expect("a number");
            let after = sum + input.parse::<u64>().expect("a number");
            if after > 10 { Err((422, format!("{after} is too much"))) } else { Ok("null".into()) }
        }
    }))
}

/// Validates an update, and sends it. `None` if the workflow refused it.
async fn update(world: &World, number: u64, key: &str) -> Option<Reply> {
    let (id, name) = (PromiseId::from("it"), "add".to_owned());
    let question = Question { validates: true, name, input: Payload::Json(number.to_string()) };
    let asked = worker::ask(&world.host(), &id, question, None).await.expect("an answer");
    let Outcome::Success(_) = asked.outcome else { return None };
    let command = Command::Update {
        invocation: id,
        name: Text::from("add"),
        input: Text::from(number.to_string()),
        key: Some(Text::from(key)),
        records: asked.records,
        signals: asked.signals,
    };
    Some(world.client(command).await)
}

async fn answer(world: &World, n: u32) -> Option<(Verdict, Json)> {
    let promise = world.promise(&format!("it/a/{n}")).await?;
    let settlement = promise.settlement()?;
    let value = settlement.value.as_ref().map(|value| value.data.to_vec()).unwrap_or_default();
    Some((settlement.verdict, serde_json::from_slice(&value).unwrap_or_default()))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn updates_are_answered_in_order_and_one_that_is_refused_leaves_no_trace() {
    for plan in [Plan::default(), cold()] {
        let mut world = begun(&adder(), plan).await;
        world.pass(SECOND).await;
        assert_eq!(update(&world, 4, "a").await, Some(Reply::signalled("it", 0)));
        assert_eq!(answer(&world, 0).await, None);
        world.pass(SECOND).await;
        assert_eq!(answer(&world, 0).await, Some((Verdict::Resolved, json!(4))));
        let before = world.story("it").await;
        assert_eq!(update(&world, 7, "b").await, None);
        world.pass(SECOND).await;
        assert_eq!(world.story("it").await, before);
        assert_eq!(update(&world, 6, "c").await, Some(Reply::signalled("it", 1)));
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(10)));
        assert_eq!(answer(&world, 1).await, Some((Verdict::Resolved, json!(10))));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_accepted_update_is_answered_after_a_crash_at_any_time() {
    for wait in [0, 1, 100, 499, 501, 700] {
        let mut world = begun(&adder(), Plan::default()).await;
        world.pass(SECOND).await;
        assert_eq!(update(&world, 10, "a").await, Some(Reply::signalled("it", 0)));
        world.pass(Millis(wait)).await;
        world.crash();
        world.boot().await;
        // A caller without an answer repeats the request with the same key.
        let again = Command::Update {
            invocation: PromiseId::from("it"),
            name: Text::from("add"),
            input: Text::from("10"),
            key: Some(Text::from("a")),
            records: 0,
            signals: 0,
        };
        assert_eq!(world.client(again).await, Reply::signalled("it", 0));
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(10)), "after {wait} ms");
        assert_eq!(answer(&world, 0).await, Some((Verdict::Resolved, json!(10))));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_update_that_nobody_answered_ends_with_its_workflow() {
    let script = Script::default()
        .workflow("flow", |ctx| async move {
            ctx.signal().await;
            Ok("1".to_owned())
        })
        .signals()
        .validates(|_, _, _| Ok("null".to_owned()));
    let mut world = begun(&Arc::new(script), Plan::default()).await;
    world.pass(SECOND).await;
    assert_eq!(update(&world, 1, "a").await, Some(Reply::signalled("it", 0)));
    world.outcome("it").await;
    world.pass(SECOND).await;
    assert_eq!(answer(&world, 0).await.map(|(verdict, _)| verdict), Some(Verdict::Canceled));
}
