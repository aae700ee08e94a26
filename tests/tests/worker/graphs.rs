//! Runs of graphs: order, conditions, failures, signals, and crashes.

use std::{collections::BTreeMap, sync::Arc};

use segno_core::{
    command::Command,
    delta::Delta,
    graph::{NodeEvent, NodeState},
    id::PromiseId,
    promise::{TaskStatus, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::Millis,
    value::Value,
};
use segno_env::Clock as _;
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::Store as _;
use serde_json::{Value as Json, json};
use tests::{
    graphs::{Begun, begun_of, functions, run, twenty},
    world::{Plan, World},
};

use super::{SECOND, cold};

/// A world in which `g` runs the plan with these nodes.
async fn world(start: &Json, plan: Plan) -> (World, Begun) {
    let (script, begun) = functions(1_000);
    let mut world = World::with(plan, &script).await;
    world.client(run("g", start)).await;
    world.boot().await;
    (world, begun)
}

/// A start with a plan of these nodes only.
fn nodes(nodes: Json) -> Json {
    json!({ "plan": { "nodes": nodes }, "input": { "n": 1 } })
}

async fn ended(start: &Json) -> (World, Begun, Verdict, Json) {
    let (mut world, begun) = world(start, Plan::default()).await;
    let (verdict, value) = world.outcome("g").await;
    (world, begun, verdict, value)
}

async fn states(world: &World, id: &str) -> BTreeMap<String, NodeState> {
    let rows = world.memory.read().graph_nodes(&PromiseId::from(id)).await.expect("memory answers");
    rows.into_iter().map(|(node, row)| (node.to_string(), row.state)).collect()
}

fn signal(id: &str, name: &str, payload: &Json) -> Command {
    Command::Signal {
        invocation: id.into(),
        name: name.into(),
        payload: Value::of(payload.to_string().as_bytes()),
        key: None,
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn outputs_flow_along_the_edges() {
    let (world, begun, verdict, value) = ended(&nodes(json!({
        "a": { "call": "echo", "input": { "got": { "$from": "input", "at": "/n" } } },
        "b": { "call": "lap", "needs": ["a"] },
        "c": { "call": "echo", "needs": ["a"], "input": { "$from": "a", "at": "/got" } },
        "d": { "call": "echo", "needs": ["b", "c"] },
    })))
    .await;
    assert_eq!(verdict, Verdict::Resolved);
    assert_eq!(value, json!({ "d": { "b": { "a": { "got": 1 } }, "c": 1 } }));
    assert!(states(&world, "g").await.values().all(|state| *state == NodeState::Completed));
    assert_eq!(begun_of(&begun).values().max(), Some(&1));
    let param = world.promise("g/n/c/0").await.expect("an attempt").spec.param.data.clone();
    assert_eq!(param.as_slice(), br#"{"func":"echo","args":[1]}"#, "frozen at dispatch");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_condition_leaves_a_node_out_and_what_follows_goes_on() {
    let (world, _, verdict, value) = ended(&nodes(json!({
        "a": { "call": "echo" },
        "b": { "call": "echo", "needs": ["a"], "when": { "from": "a", "at": "/n", "above": 1 } },
        "c": { "call": "echo", "needs": ["b"], "input": [{ "$from": "b" }] },
    })))
    .await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!({ "c": [null] })));
    assert_eq!(states(&world, "g").await["b"], NodeState::Skipped);
    assert!(world.promise("g/n/b/0").await.is_none(), "nothing was made for it");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_failure_closes_what_depends_on_it_and_the_rest_goes_on() {
    let start = nodes(json!({
        "a": { "call": "fail" },
        "b": { "call": "echo", "needs": ["a"] },
        "c": { "call": "slow" },
        "d": { "call": "echo", "needs": ["c"] },
    }));
    let (world, _, verdict, value) = ended(&start).await;
    assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(500)));
    assert_eq!(value["message"], "node `a` failed: attempt 2 failed");
    assert_eq!(value["details"]["not_run"], json!(["b"]));
    assert_eq!(value["details"]["failed"]["a"]["code"], 503);
    let states = states(&world, "g").await;
    assert_eq!((states["a"], states["d"]), (NodeState::Failed, NodeState::Completed));
    assert!(!states.contains_key("b"), "what follows from the plan is not written");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn failing_fast_ends_the_run_and_stops_what_runs() {
    let mut start = nodes(json!({
        "a": { "call": "fail" }, "c": { "promise": true }, "d": { "call": "echo", "needs": ["c"] },
    }));
    start["plan"]["on_failure"] = json!("fail-fast");
    let (mut world, _, verdict, value) = ended(&start).await;
    assert_eq!(verdict, Verdict::Rejected);
    assert_eq!(value["details"]["not_run"], json!(["c", "d"]));
    world.pass(SECOND).await;
    let cancelled = world.promise("g/n/c/0").await.expect("it was made");
    assert_eq!(cancelled.settlement().map(|it| it.verdict), Some(Verdict::Canceled));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_more_nodes_run_at_once_than_the_plan_says() {
    let mut start = nodes((0..7).map(|n| (format!("n{n}"), json!({ "call": "slow" }))).collect());
    start["plan"]["max_parallel"] = json!(3);
    let (mut world, _) = world(&start, Plan::default()).await;
    world.pass(Millis(1_000)).await;
    let running = states(&world, "g").await;
    assert_eq!(running.len(), 3, "{running:?}");
    world.pass(Millis(5_000)).await;
    assert_eq!(states(&world, "g").await.len(), 6);
    let began = world.clock.now();
    assert_eq!(world.outcome("g").await.0, Verdict::Resolved);
    assert!(world.clock.now() - Millis(10_000) < began);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_that_fails_is_repeated_as_the_plan_says() {
    let start = nodes(json!({
        "a": { "call": "trip", "retry": { "max_attempts": 3, "initial": "10s", "factor": 1.0 } },
    }));
    let (world, begun, verdict, _) = ended(&start).await;
    assert_eq!(verdict, Verdict::Rejected);
    // Each attempt is a separate invocation, whose own call has two attempts.
    let expected = ["g/n/a/0/0", "g/n/a/1/0", "g/n/a/2/0"].map(|id| (id.to_owned(), 2));
    assert_eq!(begun_of(&begun), BTreeMap::from(expected));
    let mut waits = Vec::new();
    for attempt in 0..3 {
        let made = world.promise(&format!("g/n/a/{attempt}")).await.expect("an attempt");
        let begins = tags::delay(&made.spec.tags).unwrap_or(made.spec.created_at);
        waits.push(begins.0 - made.spec.created_at.0);
    }
    assert_eq!(waits[0], 0);
    assert!(waits[1..].iter().all(|wait| (8_000..=10_000).contains(wait)), "{waits:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_activity_is_repeated_by_the_host_and_no_more() {
    let retry = json!({ "max_attempts": 3, "initial": "1s" });
    let start = nodes(json!({ "a": { "call": "fail", "retry": retry } }));
    let (_, begun, verdict, _) = ended(&start).await;
    assert_eq!(verdict, Verdict::Rejected);
    assert_eq!(begun_of(&begun), BTreeMap::from([("g/n/a/0".to_owned(), 3)]));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_signal_is_heard_whenever_it_comes_and_by_all_who_wait() {
    for early in [true, false] {
        let start = nodes(json!({
            "a": { "call": "slow" },
            "b": { "signal": "go", "needs": ["a"] },
            "c": { "signal": "go" },
            "d": { "call": "echo", "needs": ["b", "c"] },
        }));
        let (mut world, _) = world(&start, Plan::default()).await;
        if !early {
            world.pass(Millis(20_000)).await;
            let states = states(&world, "g").await;
            assert_eq!((states["b"], states["c"]), (NodeState::Waiting, NodeState::Waiting));
            assert_eq!(world.task("g").await.status(), TaskStatus::Suspended);
        }
        world.client(signal("g", "go", &json!("yes"))).await;
        let (verdict, value) = world.outcome("g").await;
        assert_eq!(verdict, Verdict::Resolved, "{value}");
        assert_eq!(value, json!({ "d": { "b": "yes", "c": "yes" } }), "early: {early}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn timers_people_and_deadlines() {
    let start = nodes(json!({
        "nap": { "sleep": "1h" },
        "ask": { "promise": true, "input": { "may we?": { "$from": "input", "at": "/n" } }, "needs": ["nap"] },
        "never": { "signal": "s", "timeout": "2h" },
        "d": { "call": "echo", "needs": ["ask", "nap"] },
    }));
    let (mut world, _) = world(&start, Plan::default()).await;
    world.pass(Millis(3_700_000)).await;
    let asked = world.promise("g/n/ask/0").await.expect("a promise for a person");
    assert_eq!(asked.spec.param.data.as_slice(), br#"{"may we?":1}"#);
    world.resolve("g/n/ask/0", &json!("of course")).await;
    let (verdict, value) = world.outcome("g").await;
    assert_eq!(verdict, Verdict::Rejected);
    assert_eq!(
        value["details"]["failed"],
        json!({ "never": { "code": 408, "message": "timed out" } })
    );
    let done = world.promise("g/n/d/0").await.expect("an attempt");
    assert_eq!(
        done.spec.param.data.as_slice(),
        br#"{"func":"echo","args":[{"ask":"of course","nap":null}]}"#
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn graphs_lie_in_graphs() {
    let inner =
        json!({ "nodes": { "x": { "call": "echo" }, "y": { "call": "lap", "needs": ["x"] } } });
    let (_, _, verdict, value) = ended(&nodes(json!({
        "a": { "graph": inner, "input": { "deep": true } },
        "b": { "graph": "lap", "needs": ["a"], "input": { "$from": "a", "at": "/y/x/deep" } },
    })))
    .await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!({ "b": true })));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_cancelled_run_stops_its_nodes() {
    let start = nodes(json!({ "a": { "call": "slow" }, "b": { "signal": "never" } }));
    for suspended in [false, true] {
        let (mut world, _) = world(&start, Plan::default()).await;
        world.pass(Millis(if suspended { 60_000 } else { 1_000 })).await;
        world.client(Command::Cancel { invocation: "g".into() }).await;
        assert_eq!(world.outcome("g").await.0, Verdict::Canceled);
        world.pass(Millis(10_000)).await;
        let waited = world.promise("g/sig/never").await.expect("it was waited for");
        assert_eq!(waited.settlement().map(|it| it.verdict), Some(Verdict::Canceled));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_attempt_that_was_cancelled_is_made_again_but_not_for_ever() {
    let start = nodes(json!({ "a": { "promise": true } }));
    let (mut world, _) = world(&start, Plan::default()).await;
    for attempt in 0..11 {
        assert!(world.promise("g").await.is_some_and(|run| run.is_pending()), "attempt {attempt}");
        world.pass(SECOND).await;
        world.settle(&format!("g/n/a/{attempt}"), Verdict::Canceled, &json!(null)).await;
        // The next incarnation of the host knows the counted attempts.
        world.crash();
        world.boot().await;
    }
    let (verdict, value) = world.outcome("g").await;
    assert_eq!(
        (verdict, &value["details"]["failed"]["a"]["code"]),
        (Verdict::Rejected, &json!(499))
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_cancellation_is_no_failed_attempt_and_a_failed_attempt_no_cancellation() {
    let retry = json!({ "max_attempts": 14, "initial": "10ms", "factor": 1.0 });
    let start = nodes(json!({ "a": { "call": "poll://any@g", "function": "f", "retry": retry } }));
    let (mut world, _) = world(&start, Plan::default()).await;
    let failed = json!({ "code": 500, "message": "no" });
    for attempt in 0..14 {
        let verdict = if attempt == 12 { Verdict::Canceled } else { Verdict::Rejected };
        world
            .until("the attempt", async |world| {
                world.promise(&format!("g/n/a/{attempt}")).await.is_some()
            })
            .await;
        world.settle(&format!("g/n/a/{attempt}"), verdict, &failed).await;
    }
    // Thirteen failures and a cancellation leave one attempt.
    world.until("the last", async |world| world.promise("g/n/a/14").await.is_some()).await;
    world.settle("g/n/a/14", Verdict::Rejected, &failed).await;
    let (verdict, value) = world.outcome("g").await;
    assert_eq!(
        (verdict, &value["details"]["failed"]["a"]["code"]),
        (Verdict::Rejected, &json!(500))
    );
}

/// History of a run, as text.
async fn history(world: &World, id: &str) -> Vec<String> {
    let read = world.memory.read().graph_history(&PromiseId::from(id)).await;
    let mut history = read.expect("memory answers");
    history.sort_by_key(|event| event.fact.at);
    let line = |event: &NodeEvent| {
        format!("{} {} {}", event.node, event.row.attempt, event.row.state.name())
    };
    history.iter().map(line).collect()
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn every_kind_of_node_runs_on_a_host() {
    let inner =
        json!({ "nodes": { "x": { "call": "echo" }, "y": { "call": "lap", "needs": ["x"] } } });
    let start = json!({ "plan": { "nodes": {
        "own": { "call": "echo", "input": 1 },
        "other": { "call": "wasm://m/echo", "input": 2 },
        "workflow": { "call": "lap", "input": 3 },
        "worker": { "call": "poll://any@g", "function": "f", "input": 4 },
        "request": { "http": {
            "method": "POST", "url": { "$from": "input", "at": "/url" },
            "headers": { "x-shop": { "$from": "input", "at": "/shop" } },
            "body": { "amount": { "$from": "own" }, "base64": "AA==" },
        }, "needs": ["own"] },
        "look": { "http": { "url": "http://pay/charges" } },
        "nap": { "sleep": "1s" },
        "person": { "promise": true },
        "told": { "signal": "go" },
        "inner": { "graph": inner, "input": 5 },
        "offered": { "graph": "lap", "input": 6 },
        "left_out": { "call": "fail", "when": { "from": "input", "at": "/url", "exists": false } },
        "end": { "call": "echo", "needs": ["request"], "input": { "$from": "request", "at": "/status" } },
        "bad": { "http": { "url": { "$from": "own" } }, "needs": ["own"] },
    } }, "input": { "url": "http://pay/charges", "shop": "north" } });
    let (mut world, _) = world(&start, Plan::default()).await;
    world
        .until("a task for a worker", async |world| world.promise("g/n/worker/0").await.is_some())
        .await;
    assert_eq!(world.promise("g/n/worker/0").await.expect("it").target(), Some("poll://any@g"));
    world.resolve("g/n/worker/0", &json!("worked")).await;
    world.resolve("g/n/person/0", &json!("yes")).await;
    world.client(signal("g", "go", &json!("gone"))).await;
    let (verdict, value) = world.outcome("g").await;
    assert_eq!(verdict, Verdict::Rejected, "{value}");
    assert_eq!(
        value["details"]["failed"],
        json!({ "bad": { "code": 400, "message": "the url of the request is no text: 1" } })
    );
    let states = states(&world, "g").await;
    for (node, state) in states {
        let expected = match &*node {
            "bad" => NodeState::Failed,
            "left_out" => NodeState::Skipped,
            _ => NodeState::Completed,
        };
        assert_eq!(state, expected, "{node}");
    }
    let lines = world.ledger.lines();
    let asked = &lines["g/n/request/0"];
    assert_eq!((&*asked.path, asked.requests), ("/charges", 1));
    assert_eq!(asked.body, json!({ "amount": 1, "base64": "AA==" }));
    assert!(lines.contains_key("g/n/look/0"));
    let end = world.promise("g/n/end/0").await.expect("an attempt");
    assert_eq!(end.spec.param.data.as_slice(), br#"{"func":"echo","args":[200]}"#);
    let inner = history(&world, "g/n/inner/0").await;
    assert_eq!(inner, ["x 0 running", "x 0 completed", "y 0 running", "y 0 completed"]);
}

/// Command that starts a run without a module.
fn run_of_no_module(id: &str, start: &Json) -> Command {
    let Command::PromiseCreate(mut new) = run(id, start) else {
        unreachable!("it makes a promise")
    };
    new.tags.remove(tags::MODULE);
    Command::PromiseCreate(new)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_run_without_a_module_does_what_needs_none() {
    let (script, _) = functions(1_000);
    let mut world = World::scripted(&script).await;
    let start = nodes(json!({
        "nap": { "sleep": "1s" },
        "other": { "call": "wasm://m/echo", "needs": ["nap"], "input": 1 },
        "person": { "promise": true, "needs": ["other"] },
        "own": { "call": "echo" },
        "request": { "http": { "url": "http://pay/charges" } },
    }));
    world.client(run_of_no_module("g", &start)).await;
    world.until("it asks", async |world| world.promise("g/n/person/0").await.is_some()).await;
    world.resolve("g/n/person/0", &json!(1)).await;
    let (_, value) = world.outcome("g").await;
    let failed = &value["details"]["failed"];
    let told = failed["own"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("names no module") || told.contains("module"), "{told}");
    let told = failed["request"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("start the run with one"), "{told}");
    assert_eq!(failed.as_object().map(serde_json::Map::len), Some(2), "{failed}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_run_halts_at_a_promise_of_somebody_else_with_a_module_or_without() {
    for run in [run, run_of_no_module] {
        let (script, _) = functions(1_000);
        let mut world = World::scripted(&script).await;
        let stranger = run("g", &nodes(json!({ "x": { "promise": true } })));
        world.client(stranger).await;
        let mut taken = run("g/n/x/0", &json!(null));
        if let Command::PromiseCreate(new) = &mut taken {
            new.tags.clear();
        }
        world.client(taken).await;
        world.stands("g", TaskStatus::Halted).await;
        world.resolve("g/n/x/0", &json!("not mine")).await;
        world.pass(SECOND).await;
        assert_eq!(world.task("g").await.status(), TaskStatus::Halted);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_plan_of_who_has_rights_over_some_ids_sends_no_requests() {
    let (script, _) = functions(1_000);
    let mut world = World::scripted(&script).await;
    let request = json!({ "http": { "url": "http://pay/charges" } });
    let inner = json!({ "nodes": { "x": request } });
    let start = nodes(json!({ "a": request, "b": { "graph": inner }, "c": { "call": "echo" } }));
    let Command::PromiseCreate(mut new) = run("g", &start) else { unreachable!("a promise") };
    new.tags.insert(tags::RIGHTS.to_owned(), "g".to_owned());
    world.client(Command::PromiseCreate(new)).await;
    let (_, value) = world.outcome("g").await;
    let failed = &value["details"]["failed"];
    assert_eq!(failed["a"]["code"], 403, "{value}");
    assert!(
        failed["b"]["message"].as_str().is_some_and(|told| told.contains("rights over some ids"))
    );
    assert_eq!(
        (failed.as_object().map(serde_json::Map::len), world.ledger.lines().len()),
        (Some(2), 0)
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn one_by_one_a_run_ends_between_two_facts_and_in_a_wave_after_them() {
    for (persist, b) in [("each", NodeState::Running), ("wave", NodeState::Completed)] {
        let mut start = nodes(json!({ "a": { "promise": true }, "b": { "promise": true } }));
        start["plan"]["on_failure"] = json!("fail-fast");
        start["persist"] = json!(persist);
        let (mut world, _) = world(&start, Plan::default()).await;
        world.pass(SECOND).await;
        world.crash();
        world.settle("g/n/a/0", Verdict::Rejected, &json!({ "code": 500, "message": "no" })).await;
        world.resolve("g/n/b/0", &json!(1)).await;
        assert_eq!(world.outcome("g").await.0, Verdict::Rejected);
        let states = states(&world, "g").await;
        assert_eq!((states["a"], states["b"]), (NodeState::Failed, b), "{persist}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_host_that_comes_back_looks_at_what_settled_before_it_begins_anything() {
    let mut start = nodes(json!({
        "x": { "promise": true }, "f": { "promise": true }, "b": { "call": "echo", "needs": ["x"] },
    }));
    start["plan"]["on_failure"] = json!("fail-fast");
    let (script, begun) = functions(1_000);
    let mut world = World::with(Plan::default(), &script).await;
    world.client(run("g", &start)).await;
    world.boot().await;
    world.pass(SECOND).await;
    world.crash();
    world.resolve("g/n/x/0", &json!(1)).await;
    let failure = json!({ "code": 1, "message": "no" });
    world.settle("g/n/f/0", Verdict::Rejected, &failure).await;
    world.boot().await;
    assert_eq!(world.outcome("g").await.0, Verdict::Rejected);
    assert_eq!(begun_of(&begun), BTreeMap::new());
    assert!(world.promise("g/n/b/0").await.is_none());
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_pause_before_a_repetition_survives_a_crash() {
    let retry = json!({ "max_attempts": 2, "initial": "1h", "max": "1h", "factor": 1.0 });
    let mut start = nodes(json!({
        "a": { "promise": true, "needs": ["s"] },
        "s": { "signal": "go" },
        "z": { "call": "poll://any@g", "function": "f", "retry": retry },
    }));
    start["plan"]["max_parallel"] = json!(1);
    let (mut world, _) = world(&start, Plan::default()).await;
    world.pass(SECOND).await;
    world.crash();
    // Both events are present at the restart: `a` becomes ready and takes the place of `z`, which
    // fails.
    world.client(signal("g", "go", &json!(1))).await;
    world.settle("g/n/z/0", Verdict::Rejected, &json!({ "code": 500, "message": "no" })).await;
    world.boot().await;
    world.pass(SECOND).await;
    let now = states(&world, "g").await;
    assert_eq!((now["a"], now["z"]), (NodeState::Running, NodeState::Pending));
    world.crash();
    world.boot().await;
    world.resolve("g/n/a/0", &json!(1)).await;
    world.until("the repetition", async |world| world.promise("g/n/z/1").await.is_some()).await;
    let again = world.promise("g/n/z/1").await.expect("an attempt");
    let pause = tags::delay(&again.spec.tags).map(|begins| begins.0 - again.spec.created_at.0);
    assert!(pause.is_some_and(|pause| pause > 2_000_000), "{pause:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_begun_once_is_not_begun_again_when_its_host_dies() {
    for (once, verdict) in [(json!(true), Verdict::Rejected), (json!("output"), Verdict::Resolved)]
    {
        let start = nodes(json!({
            "pay": { "call": "slow", "once": once },
            "ask": {
                "call": "echo", "needs": ["pay"], "input": { "$from": "pay", "at": "/unknown" },
                "when": { "from": "pay", "at": "/unknown", "exists": true },
            },
        }));
        let (mut world, begun) = world(&start, Plan::default()).await;
        world.pass(SECOND).await;
        assert_eq!(begun_of(&begun), BTreeMap::from([("g/n/pay/0".to_owned(), 1)]));
        world.crash();
        let (ended, value) = world.outcome("g").await;
        assert_eq!(ended, verdict, "{value}");
        assert_eq!(begun_of(&begun).get("g/n/pay/0"), Some(&1), "it was begun once");
        let told = match verdict {
            Verdict::Resolved => &value["ask"],
            _ => &value["details"]["failed"]["pay"]["message"],
        };
        assert!(
            told.as_str().is_some_and(|it| it.contains("it may or may not have acted")),
            "{value}"
        );
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn parts_of_large_outputs_are_taken_one_output_after_the_other() {
    let (script, _) = functions(1_000);
    let mut world = World::scripted(&script).await;
    let mut plan: serde_json::Map<String, Json> =
        (0..4).map(|n| (format!("l{n}"), json!({ "call": "large" }))).collect();
    let needs: Vec<String> = plan.keys().cloned().collect();
    let [none, other] = ["l0", "l2"].map(|from| json!({ "$from": from, "at": "/none" }));
    let one = json!({ "$from": "l1" });
    plan.insert(
        "little".into(),
        json!({ "call": "echo", "needs": needs, "input": [none, other, 1] }),
    );
    plan.insert("one".into(), json!({ "call": "slow", "needs": needs, "input": one }));
    plan.insert("whole".into(), json!({ "call": "echo", "needs": needs }));
    plan.insert("end".into(), json!({ "call": "echo", "needs": ["one"], "input": 7 }));
    let outputs = json!(["end", "little"]);
    world.client(run("g", &json!({ "plan": { "nodes": plan, "outputs": outputs } }))).await;
    let (_, value) = world.outcome("g").await;
    let failed = value["details"]["failed"].as_object().expect("failures");
    assert_eq!(failed.keys().collect::<Vec<_>>(), ["whole"], "{failed:?}");
    assert_eq!(failed["whole"]["code"], 413);
    let little = world.promise("g/n/little/0").await.expect("an attempt");
    assert_eq!(little.spec.param.data.as_slice(), br#"{"func":"echo","args":[[null,null,1]]}"#);
    let most = world.probe.largest_read();
    assert!(most < 30 << 20, "{most} bytes were read at once");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_run_reads_no_promise_whose_row_came_with_the_notice_of_its_settlement() {
    let (script, _) = functions(10);
    let mut world = World::with(Plan::default(), &script).await;
    let chain = nodes(json!({
        "a": { "call": "echo", "input": 1 },
        "b": { "call": "echo", "needs": ["a"], "input": 2 },
        "c": { "call": "echo", "needs": ["b"], "input": 3 },
    }));
    world.client(run("g", &chain)).await;
    assert_eq!(world.outcome("g").await.0, Verdict::Resolved);
    assert_eq!(world.probe.settled_reads(), 0);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_node_that_cannot_begin_fails_by_name() {
    let (_, _, verdict, value) = ended(&nodes(json!({
        "a": { "call": "wasm://nowhere/f" },
        "b": { "call": "nothing" },
        "c": { "call": "echo" },
    })))
    .await;
    assert_eq!(verdict, Verdict::Rejected);
    let failed = &value["details"]["failed"];
    assert_eq!(failed["a"]["message"], "the module `nowhere` is not deployed; deploy it first");
    assert_eq!(failed["b"]["code"], 404);
    assert_eq!(failed.as_object().map(serde_json::Map::len), Some(2));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_input_that_is_too_large_fails_its_node_and_says_what_to_do() {
    let (_, _, verdict, value) = ended(&nodes(json!({
        "a": { "call": "large" },
        "b": { "call": "large" },
        "c": { "call": "echo", "needs": ["a", "b"] },
    })))
    .await;
    assert_eq!(verdict, Verdict::Rejected);
    let failed = &value["details"]["failed"]["c"];
    assert_eq!(failed["code"], 413);
    let told = failed["message"].as_str().unwrap_or_default();
    assert!(told.contains("16777216 are the most: take parts of the outputs"), "{told}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_no_plan_is_refused_in_its_own_words() {
    for (start, message) in [
        (json!({}), "the input of a graph run is an object of `plan` and `input`"),
        (
            nodes(json!({ "a": { "call": "x", "needs": ["a"] } })),
            "nodes.a.needs: the node needs itself",
        ),
        (
            json!({ "plan": { "nodes": { "a": { "call": "echo" } } }, "digest": "00" }),
            "the plan has the digest ",
        ),
        (
            json!({ "plan": { "nodes": { "a": { "call": "echo" } } }, "continues": "gone" }),
            "the run to continue, `gone`, does not exist",
        ),
    ] {
        let (world, _, verdict, value) = ended(&start).await;
        assert_eq!(verdict, Verdict::Rejected);
        let told = value["message"].as_str().unwrap_or_default();
        assert!(told.contains(message), "{told}");
        assert!(states(&world, "g").await.is_empty(), "nothing was started");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_new_run_takes_over_what_is_completed() {
    let plan = json!({
        "a": { "call": "echo" },
        "s": { "signal": "go" },
        "k": { "call": "echo", "when": { "from": "input", "at": "/n", "is": 2 } },
        "b": { "promise": true, "needs": ["a", "s", "k"] },
        "c": { "call": "echo", "needs": ["b", "a", "s"] },
    });
    let mut start = nodes(plan.clone());
    let (mut world, begun) = world(&start, Plan::default()).await;
    world.client(signal("g", "go", &json!(7))).await;
    world.pass(SECOND).await;
    start["continues"] = json!("g");
    world.client(run("too-soon", &start)).await;
    let (_, refused) = world.outcome("too-soon").await;
    assert_eq!(refused["message"], "`g` has not ended: wait for it, or cancel it");
    world.settle("g/n/b/0", Verdict::Rejected, &json!({ "code": 422, "message": "no" })).await;
    assert_eq!(world.outcome("g").await.0, Verdict::Rejected);
    world.client(run("h", &start)).await;
    world.pass(SECOND).await;
    world.resolve("h/n/b/0", &json!("now")).await;
    let (verdict, value) = world.outcome("h").await;
    assert_eq!(verdict, Verdict::Resolved, "{value}");
    assert_eq!(value, json!({ "c": { "a": { "n": 1 }, "b": "now", "s": 7 } }));
    let ran: Vec<String> = begun_of(&begun).into_keys().collect();
    assert_eq!(ran, ["g/n/a/0", "h/n/c/0"]);
    let mut other = nodes(json!({ "a": { "call": "echo" } }));
    other["continues"] = json!("g");
    world.client(run("other", &other)).await;
    let (_, refused) = world.outcome("other").await;
    assert_eq!(refused["message"], "`g` ran another plan: continue it with its own");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn only_the_holder_of_the_claim_writes() {
    let start = nodes(json!({ "a": { "promise": true } }));
    let (mut world, _) = world(&start, Plan::default()).await;
    world.pass(SECOND).await;
    let claim = segno_core::id::Claim { id: "g".into(), version: world.task("g").await.version };
    let row = segno_core::graph::NodeRow { state: NodeState::Skipped, attempt: 0 };
    let act = segno_core::command::FenceOperation::Node { node: "a".into(), row, reset: None };
    let action = segno_core::command::FenceAction { index: segno_core::id::CommandIndex(0), act };
    let (records, logs) = (Vec::new(), Vec::new());
    let refused =
        world.client(Command::TaskFence { claim, records, logs, actions: vec![action] }).await;
    assert!(matches!(refused, Reply::Refused(Refusal::Conflict(_))), "{refused:?}");
}

/// Outcome, states, and the number of times that each effect was accepted.
async fn twenty_with(faults: PlannedFaults, persist: &str, plan: Plan) -> (String, World) {
    let (script, _) = functions(1_000);
    let mut world = World::with(Plan { faults, ..plan }, &script).await;
    let start = json!({
        "plan": { "nodes": twenty(1_000), "max_parallel": 4 }, "input": { "n": 1 }, "persist": persist,
    });
    world.client(run("g", &start)).await;
    world
        .until("it waits for the signal", async |world| {
            states(world, "g").await.get("d1") == Some(&NodeState::Waiting)
        })
        .await;
    world.client(signal("g", "go", &json!("yes"))).await;
    let (verdict, value) = world.outcome("g").await;
    world.pass(Millis(5_000)).await;
    let mut seen = format!("{verdict:?} {value}\n{:?}\n", states(&world, "g").await);
    // Each output is that of one promise, and was accepted once.
    let promises: Vec<String> = {
        let rows = world.memory.read().dump().await.expect("memory answers");
        let told = rows.promises.values().map(|promise| {
            let settled = promise.settlement().map(|it| (it.verdict, it.value.clone()));
            format!("{} {settled:?}", promise.id())
        });
        told.collect()
    };
    seen.push_str(&promises.join("\n"));
    // The number of an activity's last attempt depends on the crashes.
    for attempt in 1..5 {
        seen = seen.replace(&format!("attempt {attempt} failed"), "failed");
    }
    (seen, world)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn twenty_nodes_survive_every_fault_at_every_commit() {
    let (expected, undisturbed) =
        twenty_with(PlannedFaults::default(), "wave", Plan::default()).await;
    assert!(expected.starts_with("Rejected"), "{expected}");
    let commits = undisturbed.faults.commits();
    assert!((60..400).contains(&commits), "{commits}");
    for commit in 0..commits {
        // The fault that leaves the host with the least knowledge, and one of the others.
        let others =
            [CommitFault::CrashBefore, CommitFault::UnknownButDone, CommitFault::UnknownAndLost];
        for fault in [CommitFault::CrashAfter, others[commit as usize % 3]] {
            let (seen, world) =
                twenty_with(PlannedFaults::at(commit, fault), "wave", Plan::default()).await;
            assert_eq!(seen, expected, "{fault:?} at commit {commit}");
            assert!(world.faults.injected() || commit + 20 > commits, "{fault:?} at {commit}");
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn each_fact_by_itself_ends_as_a_wave_at_once() {
    let (expected, _) = twenty_with(PlannedFaults::default(), "wave", Plan::default()).await;
    let (each, world) = twenty_with(PlannedFaults::default(), "each", cold()).await;
    assert_eq!(each, expected);
    let commits = world.faults.commits();
    for commit in (0..commits).step_by(4) {
        let faults = PlannedFaults::at(commit, CommitFault::CrashAfter);
        let (seen, _) = twenty_with(faults, "each", cold()).await;
        assert_eq!(seen, expected, "a crash after commit {commit}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_run_whose_plan_was_changed_in_the_store_is_halted_and_not_ended() {
    let started = nodes(json!({
        "a": { "call": "echo" },
        "p": { "promise": true, "needs": ["a"] },
        "b": { "call": "echo", "needs": ["p"] },
    }));
    let mut another = started.clone();
    another["digest"] = json!("sha256:00");
    for written in [another, nodes(json!({}))] {
        let (mut world, _) = world(&started, cold()).await;
        world.until("it waits", async |world| world.promise("g/n/p/0").await.is_some()).await;
        world.stands("g", TaskStatus::Suspended).await;
        world.crash();
        // The start of the run is overwritten, as from outside.
        let mut promise = world.promise("g").await.expect("it is there");
        let Command::PromiseCreate(new) = run("g", &written) else { panic!("it is started so") };
        Arc::make_mut(&mut promise.spec).param = new.param;
        let damage = Delta { promises: [("g".into(), promise)].into(), ..Delta::default() };
        world.memory.write(&damage, Vec::new());
        world.boot().await;
        world.resolve("g/n/p/0", &json!(1)).await;
        world.stands("g", TaskStatus::Halted).await;
        let note = world.task("g").await.note.expect("it says why");
        assert_eq!(note.kind.as_str(), "damaged");
        let says = "the plan of the run has changed";
        assert!(note.message.contains(says), "{}", note.message);
        assert!(world.promise("g").await.expect("it is there").is_pending());
        assert!(world.promise("g/n/b/0").await.is_none(), "nothing of it was begun");
    }
}
