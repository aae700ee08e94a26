//! Budgets of calls that leave the host: services, external workers and HTTP requests.

use std::sync::Arc;

use segno_core::{
    budget::CALLS,
    command::{ClaimRequest, Command},
    id::{Claim, Holder, PromiseId},
    promise::Verdict,
    reply::Reply,
    tags,
    time::Millis,
    value::Value,
};
use segno_restate::wire::Failure;
use segno_store::Store as _;
use serde_json::{Value as Json, json};
use tests::world::{
    Plan, World,
    deployment::{HandlerContext, TestConnector, TestDeployment},
    invocation,
    script::{Script, ScriptContext, options},
};

/// Starts `target` with this number of calls.
async fn start(world: &World, target: &str, calls: u32) {
    let mut new = invocation("it", target, &json!(null));
    new.tags.insert(tags::BUDGET.to_owned(), format!("{CALLS}={calls}"));
    world.client(Command::PromiseCreate(new)).await;
}

/// Number of calls that are counted.
async fn counted(world: &World) -> String {
    let budget = world.memory.read().budget(&PromiseId::from("it")).await;
    budget.expect("memory answers").expect("it has a budget").units[CALLS].spent.to_string()
}

/// Calls another handler three times, and returns the outputs, or the code of the failure.
async fn calls(ctx: HandlerContext) -> Result<Json, Failure> {
    let mut outputs = Vec::new();
    for number in 0..3 {
        let output = ctx.call("Order/echo", &json!(number)).await;
        outputs.push(output.unwrap_or_else(|failure| json!(failure.code)));
    }
    Ok(json!(outputs))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_service_is_called_within_the_budget_and_goes_on_after_its_waits() {
    called_within_the_budget(|_| ()).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_heartbeat_that_overtakes_a_charge_counts_nothing() {
    called_within_the_budget(|world| world.probe.slow("budget-charge", Millis(8_000))).await;
}

/// A service that calls another three times, with a budget for two of these calls.
async fn called_within_the_budget(obstruct: impl FnOnce(&World)) {
    let deployment = TestDeployment::default()
        .with("Order/calls", calls)
        .with("Order/echo", async |ctx: HandlerContext| Ok(ctx.input()));
    let connector = Some(Arc::new(TestConnector(Arc::new(deployment))) as _);
    let plan = Plan { connector, ..Plan::default() };
    let mut world = World::with(plan, &Arc::new(Script::default())).await;
    let handlers = json!([{ "name": "calls" }, { "name": "echo" }]);
    let order = json!({ "name": "Order", "ty": "SERVICE", "handlers": handlers });
    let versions = json!({ "minProtocolVersion": 5, "maxProtocolVersion": 5, "services": [order] });
    world.register(&versions).await;
    obstruct(&world);
    // One for `calls` itself, which waits three times, and two for `echo`.
    start(&world, "restate://Order/calls", 3).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!([0, 1, 402])));
    assert_eq!(counted(&world).await, "3");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_service_is_not_called_when_the_budget_is_spent() {
    let deployment = TestDeployment::default().with("Order/echo", async |_: HandlerContext| {
        Err(Failure::new(500, "it is called although nothing is left"))
    });
    let connector = Some(Arc::new(TestConnector(Arc::new(deployment))) as _);
    let plan = Plan { connector, ..Plan::default() };
    let mut world = World::with(plan, &Arc::new(Script::default())).await;
    let order = json!({ "name": "Order", "ty": "SERVICE", "handlers": [{ "name": "echo" }] });
    let versions = json!({ "minProtocolVersion": 5, "maxProtocolVersion": 5, "services": [order] });
    world.register(&versions).await;
    start(&world, "restate://Order/echo", 0).await;
    let (verdict, value) = world.outcome("it").await;
    assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(402)));
    assert_eq!(value["details"]["account"], "it", "{value}");
    assert_eq!(counted(&world).await, "0");
}

/// Calls `make` twice. Returns the codes of the failures, or 0.
async fn twice(
    ctx: ScriptContext,
    make: impl Fn(&ScriptContext) -> u32,
) -> Result<String, (u32, String)> {
    let mut codes = Vec::new();
    for _ in 0..2 {
        let call = make(&ctx);
        codes.push(ctx.done(call).await.map_or_else(|(code, _)| code, |_| 0));
    }
    Ok(format!("{codes:?}"))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_request_is_sent_within_the_budget() {
    let script = Script::default().workflow("flow", async |ctx: ScriptContext| {
        twice(ctx, |ctx| ctx.http("POST", "http://pay/charges", options())).await
    });
    let mut world = World::scripted(&Arc::new(script)).await;
    start(&world, "wasm://m/flow", 1).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!([0, 402])));
    assert_eq!((counted(&world).await, world.ledger.lines().len()), ("1".to_owned(), 1));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_heartbeat_that_overtakes_the_charge_of_a_request_counts_nothing() {
    let script = Script::default().workflow("flow", async |ctx: ScriptContext| {
        twice(ctx, |ctx| ctx.http("POST", "http://pay/charges", options())).await
    });
    let mut world = World::scripted(&Arc::new(script)).await;
    world.probe.slow("budget-charge", Millis(8_000));
    start(&world, "wasm://m/flow", 1).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!([0, 402])));
    assert_eq!((counted(&world).await, world.ledger.lines().len()), ("1".to_owned(), 1));
    let heartbeats = world.probe.submitted().concat();
    let heartbeats = heartbeats.iter().filter(|it| matches!(it, Command::TaskHeartbeat { .. }));
    assert!(heartbeats.count() > 0, "no heartbeat came between");
}

/// Takes the call with this id, as an external worker does.
async fn take(world: &World, id: &str) -> (Claim, Reply) {
    let version = world.task(id).await.version;
    let claim = Claim { id: id.into(), version };
    let holder = Holder { node: "worker".into(), incarnation: 1 };
    let request = ClaimRequest { holder, nonce: 1, ttl: Millis(60_000) };
    let acquire = Command::TaskAcquire { claim: claim.clone(), request, stall_limit: None };
    (Claim { version: version.next(), ..claim }, world.client(acquire).await)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_external_worker_takes_calls_within_the_budget() {
    for target in ["poll://any@packers", "https://packers.example/"] {
        let script = Script::default().workflow("flow", move |ctx| async move {
            twice(ctx, |ctx| ctx.call(&format!("{target}#pack"), "1")).await
        });
        let mut world = World::scripted(&Arc::new(script)).await;
        start(&world, "wasm://m/flow", 1).await;
        world.until("a call", async |world| world.promise("it/0").await.is_some()).await;
        let (claim, taken) = take(&world, "it/0").await;
        assert!(matches!(taken, Reply::Task(_)), "{taken:?}");
        let (verdict, value) = (Verdict::Resolved, Value::of(&b"1"[..]));
        let (records, logs) = (Vec::new(), Vec::new());
        world.client(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
        world.until("another", async |world| world.promise("it/1").await.is_some()).await;
        let (_, refused) = take(&world, "it/1").await;
        assert_eq!(refused, Reply::Parked { behind: None });
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!([0, 402])));
        assert_eq!(counted(&world).await, "1");
    }
}
