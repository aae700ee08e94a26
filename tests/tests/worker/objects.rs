//! Functions of objects: the order of their turns, their reads and writes, and the effect of
//! crashes.

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::{ObjectId, PromiseId},
    object::{ModuleFacts, StateWrite},
    promise::{TaskStatus, Verdict},
    reply::{Conflict, Refusal, Reply},
    time::Millis,
    value::{Payload, Text},
};
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::Store as _;
use serde_json::{Value as Json, json};
use tests::{
    replaying::reruns_from_every_place,
    world::{
        Plan, World,
        script::{Script, ScriptContext},
    },
};

use super::cold;

/// Adds to the total, which takes 1 s, and returns it.
async fn add(ctx: ScriptContext) -> Result<String, (u32, String)> {
    let number: i64 = ctx.input().parse().expect("a number");
    let read = ctx.get("total");
    let total: i64 = ctx.done(read).await?.parse().unwrap_or_default();
    let slept = ctx.sleep(1_000);
    ctx.done(slept).await?;
    ctx.set("total", &(total + number).to_string());
    ctx.set(&format!("last/{}", ctx.key().expect("a function of an object has a key")), "1");
    let again = ctx.get("total");
    ctx.done(again).await
}

fn script() -> Arc<Script> {
    let script = Script::default()
        .workflow("Cart/add", add)
        .workflow("Cart/total", async |ctx: ScriptContext| {
            let read = ctx.get("total");
            ctx.done(read).await
        })
        .workflow("Cart/steal", async |ctx: ScriptContext| {
            ctx.set("total", "0");
            let slept = ctx.sleep(10);
            ctx.done(slept).await
        })
        .workflow("Cart/twist", async |ctx: ScriptContext| {
            let before = ctx.get("total");
            ctx.set("total", "5");
            ctx.set("gone", "1");
            let after = ctx.get("total");
            ctx.clear("gone");
            let names = ctx.names();
            ctx.clear_all();
            ctx.set("new", "1");
            let left = ctx.names();
            let mut told = Vec::new();
            for read in [before, after, names, left] {
                told.push(ctx.done(read).await?);
            }
            Ok(format!("[{}]", told.join(",")))
        })
        .workflow("twice", async |ctx: ScriptContext| {
            let calls = ["Cart@ada/add", "wasm://m/Cart@ada/add"].map(|name| ctx.call(name, "1"));
            let sums = [ctx.done(calls[0]).await?, ctx.done(calls[1]).await?];
            let sent = ctx.send("Cart@bob/add", "7", tests::world::script::options());
            ctx.done(sent).await?;
            Ok(format!("[{}]", sums.join(",")))
        })
        .workflow("Cart/inward", async |ctx: ScriptContext| {
            let call = ctx.call("Cart@ada/add", "1");
            ctx.done(call).await
        });
    Arc::new(script)
}

fn plan(faults: PlannedFaults) -> Plan {
    let shared = ["Cart/total", "Cart/steal"].map(Text::from).into();
    Plan { faults, facts: ModuleFacts { shared, ..ModuleFacts::default() }, ..Plan::default() }
}

async fn world() -> World {
    World::with(plan(PlannedFaults::default()), &script()).await
}

fn ada() -> ObjectId {
    ObjectId::from("m/Cart@ada")
}

async fn state(world: &World, object: &ObjectId) -> Vec<(String, String)> {
    let rows = world.memory.read().dump().await.expect("memory answers");
    let of_object = rows.state.into_iter().filter(|((of, _), _)| of == object);
    let shown = of_object.map(|((_, name), value)| match value {
        Payload::Json(text) => (name.to_string(), text.to_string()),
        Payload::Bytes(bytes) => (name.to_string(), format!("{} bytes", bytes.as_slice().len())),
    });
    shown.collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn executions_of_one_key_take_turns_and_others_wait_for_nobody() {
    let mut world = world().await;
    for (id, key) in [("a", "ada"), ("b", "ada"), ("c", "ada"), ("x", "b/o b"), ("d", "ada")] {
        world.start(id, &format!("wasm://m/Cart@{key}/add"), &json!(1)).await;
    }
    world.boot().await;
    for (place, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        assert_eq!(world.outcome(id).await, (Verdict::Resolved, json!(place + 1)), "{id}");
        if place == 0 {
            assert_eq!(world.outcome("x").await, (Verdict::Resolved, json!(1)));
            assert!(world.journal("c").await.is_empty(), "it is not its turn");
        }
    }
    let expected = pairs(&[("last/ada", "1"), ("total", "4")]);
    assert_eq!(state(&world, &ada()).await, expected);
    let story = [
        "started",
        "0 getstate total",
        "0: 3",
        "1 sleep",
        "1: null",
        "2 setstate total",
        "3 setstate last/ada",
        "4 getstate total",
        "4: 4",
        "finished 4",
    ];
    assert_eq!(world.story("d").await, story);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_read_sees_what_was_written_before_it_in_the_same_poll_and_not_after() {
    let mut world = world().await;
    world.start("a", "wasm://m/Cart@ada/add", &json!(3)).await;
    world.start("t", "wasm://m/Cart@ada/twist", &Json::Null).await;
    world.boot().await;
    let (_, told) = world.outcome("t").await;
    assert_eq!(told, json!([3, 5, ["last/ada", "total"], ["new"]]));
    assert_eq!(state(&world, &ada()).await, pairs(&[("new", "1")]));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn shared_functions_see_what_is_committed_at_once_and_write_nothing() {
    let mut world = world().await;
    world.start("a", "wasm://m/Cart@ada/add", &json!(3)).await;
    world.boot().await;
    world.until("it sleeps", async |world| world.journal("a").await.len() > 2).await;
    world.start("early", "wasm://m/Cart@ada/total", &Json::Null).await;
    assert_eq!(world.outcome("early").await, (Verdict::Resolved, Json::Null));
    assert!(world.promise("a").await.expect("it is there").is_pending(), "it waited for nobody");
    world.outcome("a").await;
    world.start("late", "wasm://m/Cart@ada/total", &Json::Null).await;
    assert_eq!(world.outcome("late").await, (Verdict::Resolved, json!(3)));
    // A wasm guest is stopped earlier. The engine refuses this as well.
    world.start("thief", "wasm://m/Cart@ada/steal", &Json::Null).await;
    world.stands("thief", TaskStatus::Halted).await;
    let total = ("total".to_owned(), "3".to_owned());
    assert!(state(&world, &ada()).await.contains(&total));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn operators_change_state_while_nobody_has_the_turn() {
    let mut world = world().await;
    let write = |name: &str, value: &str| Command::ObjectWrite {
        object: ada(),
        write: StateWrite {
            clears: false,
            entries: vec![(name.into(), Some(Payload::Json(value.into())))],
        },
    };
    assert_eq!(world.client(write("total", "40")).await, Reply::Done);
    world.start("a", "wasm://m/Cart@ada/add", &json!(2)).await;
    let refused = world.client(write("total", "0")).await;
    let busy = Conflict::ObjectBusy { object: ada(), holder: PromiseId::from("a") };
    assert_eq!(refused, Reply::Refused(Refusal::from(busy)));
    world.boot().await;
    assert_eq!(world.outcome("a").await, (Verdict::Resolved, json!(42)));
    assert_eq!(world.client(write("total", "0")).await, Reply::Done);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_calls_objects_of_its_module_by_their_names() {
    let mut world = world().await;
    world.start("w", "wasm://m/twice", &Json::Null).await;
    world.boot().await;
    assert_eq!(world.outcome("w").await, (Verdict::Resolved, json!([1, 2])));
    world.pass(Millis(5_000)).await;
    let bob = state(&world, &ObjectId::from("m/Cart@bob")).await;
    assert_eq!(bob, pairs(&[("last/bob", "1"), ("total", "7")]));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_object_that_calls_itself_waits_until_one_of_both_is_ended() {
    let mut world = world().await;
    world.start("w", "wasm://m/Cart@ada/inward", &Json::Null).await;
    world.boot().await;
    world.stands("w", TaskStatus::Suspended).await;
    world.stands("w/0", TaskStatus::Suspended).await;
    world.pass(Millis(60_000)).await;
    assert!(world.promise("w").await.expect("it is there").is_pending());
    world.client(Command::Kill { invocation: PromiseId::from("w/0") }).await;
    assert_eq!(
        world.outcome("w").await.0,
        Verdict::Canceled,
        "it hands on what became of its call"
    );
}

/// Outcomes of all executions in order, and the state: three executions of one key, one of another,
/// and a workflow that calls.
async fn all_with(faults: PlannedFaults, plan: Plan) -> (String, World) {
    let mut world = World::with(Plan { faults, ..plan }, &script()).await;
    for (id, number) in [("a", 1), ("b", 10), ("c", 100)] {
        world.start(id, "wasm://m/Cart@ada/add", &json!(number)).await;
    }
    world.start("t", "wasm://m/Cart@eve/twist", &Json::Null).await;
    world.start("w", "wasm://m/twice", &Json::Null).await;
    let mut seen = String::new();
    for id in ["a", "b", "c", "t", "w"] {
        let (verdict, value) = world.outcome(id).await;
        seen.push_str(&format!("{id} {verdict:?} {value}\n"));
    }
    world.pass(Millis(10_000)).await;
    for object in ["ada", "bob", "eve"] {
        let object = ObjectId::new(format!("m/Cart@{object}"));
        seen.push_str(&format!("{object} {:?}\n", state(&world, &object).await));
    }
    (seen, world)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn turns_and_state_survive_every_fault_at_every_commit() {
    let warm = || plan(PlannedFaults::default());
    let cold = || Plan { facts: warm().facts, ..cold() };
    for settings in [&warm as &dyn Fn() -> Plan, &cold] {
        let (expected, undisturbed) = all_with(PlannedFaults::default(), settings()).await;
        assert!(expected.contains("c Resolved 111"), "{expected}");
        assert!(expected.contains("t Resolved [null,5,[\"total\"],[\"new\"]]"), "{expected}");
        let commits = undisturbed.faults.commits();
        assert!((15..400).contains(&commits), "{commits}");
        for commit in 0..commits {
            for fault in CommitFault::ALL {
                let (seen, world) = all_with(PlannedFaults::at(commit, fault), settings()).await;
                assert_eq!(seen, expected, "{fault:?} at commit {commit}");
                assert!(world.faults.injected() || commit + 10 > commits, "{fault:?} at {commit}");
            }
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_execution_goes_on_from_every_record_byte_for_byte() {
    let (_, world) = all_with(PlannedFaults::default(), plan(PlannedFaults::default())).await;
    for id in ["a", "c", "t", "w"] {
        reruns_from_every_place(&*script(), &world, id).await;
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_node_of_a_graph_calls_a_function_of_an_object() {
    let mut world = world().await;
    let nodes = json!({
        "own": { "call": "Cart@ada/add", "input": 2 },
        "named": { "call": "wasm://m/Cart@ada/add", "input": 3, "needs": ["own"] },
        "total": { "call": "Cart@ada/total", "needs": ["named"] },
    });
    world.client(tests::graphs::run("g", &json!({ "plan": { "nodes": nodes } }))).await;
    let ended = world.outcome("g").await;
    assert_eq!(ended, (Verdict::Resolved, json!({ "total": 5 })));
}
