//! Keys that run once, and the promises of their objects: awaited, read and settled before the run
//! awaits them, while it waits, and after its end. Also the effect of crashes.

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::{ObjectId, PromiseId},
    object::ModuleFacts,
    promise::{NewPromise, TaskStatus, Verdict},
    reply::{Conflict, PruneResult, Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
};
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::Store as _;
use serde_json::{Value as Json, json};
use tests::{
    replaying::reruns_from_every_place,
    world::{
        Plan, World,
        script::{Script, ScriptContext, options},
    },
};

use super::cold;

/// Waits until the address is confirmed, and stores the confirmation.
async fn run(ctx: ScriptContext) -> Result<String, (u32, String)> {
    ctx.set("mail", &ctx.input());
    let slept = ctx.sleep(1_000);
    ctx.done(slept).await?;
    let confirmed = ctx.wait_object_promise("confirmed");
    let by = ctx.done(confirmed).await?;
    ctx.set("by", &by);
    Ok(by)
}

/// Settles the promise. Returns the result, and the state of the promise before and after.
async fn confirm(ctx: ScriptContext) -> Result<String, (u32, String)> {
    let before = ctx.peek_object_promise("confirmed");
    let settled = ctx.resolve_object_promise("confirmed", &ctx.input());
    let before = ctx.done(before).await?;
    let settled = match ctx.done(settled).await {
        Ok(settled) => settled,
        Err((code, _)) => code.to_string(),
    };
    let after = ctx.peek_object_promise("confirmed");
    let after = ctx.done(after).await?;
    Ok(format!("[{before},{settled},{after}]"))
}

fn script() -> Arc<Script> {
    let script = Script::default()
        .workflow("Signup/run", run)
        .workflow("Signup/confirm", confirm)
        .workflow("Signup/reject", async |ctx: ScriptContext| {
            let settled = ctx.reject_object_promise("confirmed", 422, "no such address");
            ctx.done(settled).await
        })
        .workflow("Signup/status", async |ctx: ScriptContext| {
            let standing = ctx.peek_object_promise("confirmed");
            ctx.done(standing).await
        })
        .workflow("Signup/wait", async |ctx: ScriptContext| {
            let confirmed = ctx.wait_object_promise("confirmed");
            ctx.done(confirmed).await
        })
        .workflow("twice", async |ctx: ScriptContext| {
            let call = ctx.call("Signup@bob/run", "7");
            let sent = ctx.send("Signup@bob/confirm", "8", options());
            ctx.done(sent).await?;
            let first = ctx.done(call).await?;
            let again = ctx.call("Signup@bob/run", "9");
            match ctx.done(again).await {
                Ok(second) => Ok(format!("[{first},{second}]")),
                Err((code, message)) => Ok(json!([first, code, message]).to_string()),
            }
        })
        .workflow("plain", async |ctx: ScriptContext| {
            let confirmed = ctx.wait_object_promise("confirmed");
            ctx.done(confirmed).await
        });
    Arc::new(script)
}

fn plan(faults: PlannedFaults) -> Plan {
    let shared = ["Signup/confirm", "Signup/reject", "Signup/status", "Signup/wait"];
    let facts = ModuleFacts {
        shared: shared.map(Text::from).into(),
        runs: ["Signup/run".into()].into(),
        ..ModuleFacts::default()
    };
    Plan { faults, facts, ..Plan::default() }
}

async fn world() -> World {
    World::with(plan(PlannedFaults::default()), &script()).await
}

fn ada() -> ObjectId {
    ObjectId::from("m/Signup@ada")
}

/// Settles the promise as a client does: creates it if it does not exist.
async fn settle(world: &World, verdict: Verdict, json: &str) -> bool {
    let id = ada().promise("confirmed");
    world
        .client(Command::PromiseCreate(NewPromise {
            id: id.clone(),
            param: Value::default(),
            tags: [(tags::OBJECT.to_owned(), ada().to_string())].into(),
            timeout_at: Timestamp::NEVER,
        }))
        .await;
    let value = Value::of(json.as_bytes());
    match world.client(Command::PromiseSettle { id, verdict, value }).await {
        Reply::Promise { changed, .. } => changed,
        other => panic!("{other:?}"),
    }
}

async fn call(world: &mut World, id: &str, function: &str, input: Json) -> (Verdict, Json) {
    world.start(id, &format!("wasm://m/Signup@ada/{function}"), &input).await;
    world.outcome(id).await
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_promise_is_settled_before_the_run_asks_for_it() {
    let mut world = world().await;
    world.boot().await;
    assert!(settle(&world, Verdict::Resolved, "1").await, "before there is a run at all");
    world.start("run", "wasm://m/Signup@ada/run", &json!("ada@example.org")).await;
    let status = call(&mut world, "status", "status", Json::Null).await;
    assert_eq!(status, (Verdict::Resolved, json!({ "resolved": 1 })));
    assert_eq!(world.outcome("run").await, (Verdict::Resolved, json!(1)));
    let story = [
        "started",
        "0 setstate mail",
        "1 sleep",
        "1: null",
        "2 waitobjectpromise confirmed",
        "2: 1",
        "3 setstate by",
        "finished 1",
    ];
    assert_eq!(world.story("run").await, story);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_promise_is_settled_while_the_run_waits_and_stays_when_it_has_ended() {
    let mut world = world().await;
    world.start("run", "wasm://m/Signup@ada/run", &json!("ada@example.org")).await;
    world.boot().await;
    world.until("it waits", async |world| world.journal("run").await.len() > 4).await;
    world.stands("run", TaskStatus::Suspended).await;
    let status = call(&mut world, "early", "status", Json::Null).await;
    assert_eq!(status, (Verdict::Resolved, Json::Null), "nobody has settled it");
    world.start("waits", "wasm://m/Signup@ada/wait", &Json::Null).await;
    world.stands("waits", TaskStatus::Suspended).await;
    let confirmed = call(&mut world, "confirm", "confirm", json!(7)).await;
    assert_eq!(confirmed, (Verdict::Resolved, json!([null, true, { "resolved": 7 }])));
    for id in ["run", "waits"] {
        assert_eq!(world.outcome(id).await, (Verdict::Resolved, json!(7)), "{id}");
    }
    // After the end of the run.
    let again = call(&mut world, "again", "confirm", json!(8)).await;
    let standing = json!({ "resolved": 7 });
    assert_eq!(again, (Verdict::Resolved, json!([standing, 409, standing])));
    let late = call(&mut world, "late", "wait", Json::Null).await;
    assert_eq!(late, (Verdict::Resolved, json!(7)));
    assert!(!settle(&world, Verdict::Resolved, "9").await);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_promise_that_is_rejected_fails_who_waits_and_is_read_as_it_is() {
    let mut world = world().await;
    world.start("run", "wasm://m/Signup@ada/run", &json!("ada@example.org")).await;
    world.boot().await;
    assert_eq!(
        call(&mut world, "no", "reject", Json::Null).await,
        (Verdict::Resolved, json!(true))
    );
    let (verdict, failure) = world.outcome("run").await;
    assert_eq!((verdict, &failure["code"]), (Verdict::Rejected, &json!(422)), "{failure}");
    let (_, status) = call(&mut world, "status", "status", Json::Null).await;
    let rejected = json!({ "code": 422, "message": "no such address", "details": null });
    assert_eq!(status, json!({ "rejected": rejected }));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_run_that_is_cancelled_leaves_its_promises_to_others() {
    let mut world = world().await;
    world.start("run", "wasm://m/Signup@ada/run", &json!("ada@example.org")).await;
    world.boot().await;
    world.until("it waits", async |world| world.journal("run").await.len() > 4).await;
    world.client(Command::Cancel { invocation: PromiseId::from("run") }).await;
    assert_eq!(world.outcome("run").await.0, Verdict::Canceled);
    let (_, confirmed) = call(&mut world, "confirm", "confirm", json!(7)).await;
    assert_eq!(confirmed, json!([null, true, { "resolved": 7 }]));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_key_runs_once_until_its_run_is_removed_with_all_that_it_left() {
    let mut world = world().await;
    world.start("run", "wasm://m/Signup@ada/run", &json!("ada@example.org")).await;
    world.boot().await;
    let second = Command::PromiseCreate(NewPromise {
        id: PromiseId::from("second"),
        param: Value::default(),
        tags: [(tags::TARGET.to_owned(), "wasm://m/Signup@ada/run".to_owned())].into(),
        timeout_at: Timestamp::NEVER,
    });
    let refused = world.client(second.clone()).await;
    let ran = Conflict::RanAlready { object: ada(), run: PromiseId::from("run") };
    assert_eq!(refused, Reply::Refused(Refusal::from(ran)));
    settle(&world, Verdict::Resolved, "1").await;
    world.outcome("run").await;
    world.start("w", "wasm://m/twice", &Json::Null).await;
    let (verdict, told) = world.outcome("w").await;
    assert_eq!((verdict, &told[0], &told[1]), (Verdict::Resolved, &json!("8"), &json!(409)));
    let message = told[2].as_str().expect("a message");
    assert!(
        message.contains("`m/Signup@bob` has had its run") && message.contains("`w/0`"),
        "{message}"
    );
    let prune = Command::Prune {
        top: PromiseId::from("run"),
        before: Timestamp::NEVER,
        part: false,
        state: false,
    };
    // The run, its sleep, and the promise of its object.
    assert_eq!(world.client(prune).await, Reply::Pruned(PruneResult::Gone { promises: 3 }));
    let rows = world.memory.read().dump().await.expect("memory answers");
    assert!(!rows.state.keys().any(|(object, _)| *object == ada()));
    assert!(matches!(world.client(second).await, Reply::Promise { changed: true, .. }));
    let status = call(&mut world, "status", "status", Json::Null).await;
    assert_eq!(status, (Verdict::Resolved, Json::Null), "the next run begins with nothing");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_function_of_no_object_has_no_promises_of_one() {
    let mut world = world().await;
    world.start("plain", "wasm://m/plain", &Json::Null).await;
    world.boot().await;
    // A wasm guest is stopped earlier.
    world.stands("plain", TaskStatus::Halted).await;
}

/// Outcomes of all executions in order, and the state of the object: one run, two concurrent
/// confirmations, one that waits, one that reads, and a workflow that runs another key twice.
async fn all_with(faults: PlannedFaults, plan: Plan) -> (String, World) {
    let mut world = World::with(Plan { faults, ..plan }, &script()).await;
    world.start("run", "wasm://m/Signup@ada/run", &json!("ada@example.org")).await;
    world.start("waits", "wasm://m/Signup@ada/wait", &Json::Null).await;
    world.start("w", "wasm://m/twice", &Json::Null).await;
    world.pass(Millis(3_000)).await;
    let mut seen = String::new();
    let mut settled = Vec::new();
    for (id, number) in [("one", 1), ("two", 2)] {
        world.start(id, "wasm://m/Signup@ada/confirm", &json!(number)).await;
        let (_, told) = world.outcome(id).await;
        settled.push(told[1].clone());
        seen.push_str(&format!("{id} {told}\n"));
    }
    assert_eq!(settled, [json!(true), json!(409)], "{seen}");
    for id in ["run", "waits", "w"] {
        let (verdict, value) = world.outcome(id).await;
        seen.push_str(&format!("{id} {verdict:?} {value}\n"));
    }
    world.start("status", "wasm://m/Signup@ada/status", &Json::Null).await;
    seen.push_str(&format!("status {}\n", world.outcome("status").await.1));
    let rows = world.memory.read().dump().await.expect("memory answers");
    let promises =
        rows.promises.values().filter(|promise| tags::object(&promise.spec.tags).is_some());
    for promise in promises {
        seen.push_str(&format!(
            "{} {:?}\n",
            promise.id(),
            promise.settlement().map(|it| it.verdict)
        ));
    }
    (seen, world)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn runs_and_promises_survive_every_fault_at_every_commit() {
    let warm = || plan(PlannedFaults::default());
    let cold = || Plan { facts: warm().facts, ..cold() };
    for settings in [&warm as &dyn Fn() -> Plan, &cold] {
        let (expected, undisturbed) = all_with(PlannedFaults::default(), settings()).await;
        assert!(expected.contains("run Resolved 1"), "{expected}");
        assert!(expected.contains("one [null,true,{\"resolved\":1}]"), "{expected}");
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
    for id in ["run", "waits", "one", "two", "status", "w"] {
        reruns_from_every_place(&*script(), &world, id).await;
    }
}
