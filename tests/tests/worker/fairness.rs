//! Modules and services that use all the resources they can get, next to one that needs little.

use std::{future::pending, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    id::Digest,
    promise::{TaskStatus, Verdict},
};
use segno_engine::worker::WorkerSettings;
use segno_env::Clock as _;
use segno_guest::{Failure, HttpRequest, HttpResponse, Outbound};
use segno_store::Store as _;
use serde_json::json;
use tests::world::{
    Plan, World,
    deployment::{TestConnector, TestDeployment},
    script::{Script, options},
};

use super::SECOND;

/// A few slots, and a host's default number of slots, each with a number of calls that are never
/// answered or compute forever. They would take all slots if they could.
fn sizes() -> [(Plan, usize); 2] {
    [(narrow(), 40), (Plan::default(), 1_100)]
}

fn narrow() -> Plan {
    let worker = WorkerSettings {
        slots: 16,
        requests: Some(16),
        activities: Some(16),
        ..WorkerSettings::default()
    };
    Plan { worker, ..Plan::default() }
}

/// A world in which `m` and `n` run this script.
async fn of_two(plan: Plan, script: Script) -> World {
    let world = World::with(plan, &Arc::new(script)).await;
    let module = Digest::of(b"a script");
    world.client(Command::Deploy { alias: "n".into(), module }).await;
    world
}

/// Starts `number` executions of `greedy`, and checks that each `modest` execution then ends within
/// 1 s. Returns the number of claimed greedy executions.
async fn beside(mut world: World, number: usize, greedy: &str, modest: &[&str]) -> usize {
    let ids: Vec<_> = (0..number).map(|number| format!("greedy-{number}")).collect();
    for id in &ids {
        world.start(id, greedy, &json!(null)).await;
    }
    world.boot().await;
    world.pass(SECOND).await;
    for (round, target) in modest.iter().cycle().take(2 * modest.len()).enumerate() {
        let before = world.clock.now();
        let id = format!("modest-{round}");
        world.start(&id, target, &json!(null)).await;
        assert_eq!(world.outcome(&id).await.0, Verdict::Resolved, "{target}");
        let took = world.clock.now().since(before);
        assert!(took < SECOND, "`{target}` took {took:?} beside `{greedy}`");
    }
    let mut claimed = 0;
    for id in &ids {
        claimed += usize::from(world.task(id).await.status() == TaskStatus::Acquired);
    }
    claimed
}

/// Never answers requests for `/hang`.
struct Hangs;

#[async_trait]
impl Outbound for Hangs {
    async fn send(&self, _: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        if request.url.ends_with("/hang") {
            pending::<()>().await;
        }
        Ok(HttpResponse { status: 200, headers: Vec::new(), body: b"1".to_vec() })
    }

    fn allows(&self, _: &str, _: &str) -> Result<(), Failure> {
        Ok(())
    }
}

fn script() -> Script {
    Script::default()
        .workflow("flow", |_| async move { Ok("1".to_owned()) })
        .workflow("stuck", |ctx| async move { ctx.hang().await })
        .workflow("asks", |ctx| async move {
            ctx.done(ctx.http("POST", "http://it/here", options())).await?;
            ctx.done(ctx.call("quick", "1")).await
        })
        .workflow("asks_in_vain", |ctx| async move {
            ctx.done(ctx.http("POST", "http://it/hang", options())).await
        })
        .activity("quick", |attempt| async move { attempt.succeed("1") })
        .activity("hang", |_| async move { pending().await })
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn activities_that_are_never_answered_leave_room_for_others() {
    for (plan, number) in sizes() {
        let world = of_two(plan, script()).await;
        let modest = ["wasm://n/flow", "wasm://m/flow", "wasm://n/asks"];
        let claimed = beside(world, number, "wasm://m/hang", &modest).await;
        let expected = if number == 40 { 13 } else { 800 };
        assert_eq!(claimed, expected, "the others wait without a claim");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn requests_that_are_never_answered_leave_room_for_others() {
    let world = of_two(Plan { outbound: Some(Arc::new(Hangs)), ..narrow() }, script()).await;
    let modest = ["wasm://n/flow", "wasm://m/flow", "wasm://n/asks"];
    beside(world, 40, "wasm://m/asks_in_vain", &modest).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn workflows_that_never_end_leave_room_for_others() {
    for (plan, number) in sizes() {
        let world = of_two(plan, script()).await;
        let modest = ["wasm://n/flow", "wasm://n/asks"];
        let claimed = beside(world, number, "wasm://m/stuck", &modest).await;
        assert_eq!(claimed, if number == 40 { 13 } else { 800 });
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn services_that_never_answer_leave_room_for_others() {
    for (plan, number) in sizes() {
        let deployment = TestDeployment::default()
            .with("Slow/hang", |_| async move { pending().await })
            .with("Echo/echo", |ctx| async move { Ok(ctx.input()) });
        let connector = Some(Arc::new(TestConnector(Arc::new(deployment))) as _);
        let world = of_two(Plan { connector, ..plan }, script()).await;
        let service = |name: &str, handler: &str| json!({ "name": name, "ty": "SERVICE", "handlers": [{ "name": handler }] });
        let manifest = json!({
            "minProtocolVersion": 5,
            "maxProtocolVersion": 5,
            "services": [service("Slow", "hang"), service("Echo", "echo")],
        });
        world.register(&manifest).await;
        let modest = ["wasm://n/flow", "restate://Echo/echo", "wasm://n/asks"];
        let claimed = beside(world, number, "restate://Slow/hang", &modest).await;
        // By default a host has four times as many slots for requests.
        assert_eq!(
            claimed,
            if number == 40 { 13 } else { number },
            "the others wait without a claim"
        );
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn all_have_their_turn_when_there_is_room_for_few() {
    let script = Script::default().activity("work", |attempt| async move {
        attempt.sleep(100).await;
        attempt.succeed("1")
    });
    let mut world = of_two(narrow(), script).await;
    for number in 0..200 {
        world.start(&format!("m-{number}"), "wasm://m/work", &json!(null)).await;
    }
    for number in 0..10 {
        world.start(&format!("n-{number}"), "wasm://n/work", &json!(null)).await;
    }
    let before = world.clock.now();
    world.boot().await;
    for number in 0..10 {
        world.outcome(&format!("n-{number}")).await;
    }
    let took = world.clock.now().since(before);
    assert!(took < SECOND, "they took {took:?}, behind two hundred others");
    for number in 0..200 {
        assert_eq!(world.outcome(&format!("m-{number}")).await, (Verdict::Resolved, json!(1)));
    }
    let took = world.clock.now().since(before);
    assert!(took.0 < 200 / 13 * 100 + 1_000, "all room is used: {took:?}");
    assert!(world.memory.work_queue().ready(before, None, 1).await.expect("it reads").is_empty());
}
