//! Checks on entry: inputs by the schema of their function, and names.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    id::{Claim, CommandIndex, Holder, HostName, PromiseId},
    invocation::{Record, RecordBody},
    promise::{NewPromise, NewSchedule, Overlap, PromiseTemplate, TaskStatus, Verdict, Zone},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};
use serde_json::{Value as Json, json};
use tests::{
    graphs::run,
    replaying::reruns_from_every_place,
    world::{
        Plan, World,
        script::{Script, ScriptContext, options},
    },
};

use super::{SECOND, cold, ended};

const NUMBER: &str =
    r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;

/// A workflow, an activity and an object function that take a number, and callers of all of them.
fn numbers(begun: &Arc<AtomicUsize>) -> Arc<Script> {
    let count = |begun: &Arc<AtomicUsize>| {
        let begun = begun.clone();
        move || begun.fetch_add(1, Ordering::Relaxed)
    };
    let [flow, work, object] = [count(begun), count(begun), count(begun)];
    let script = Script::default()
        .workflow("typed", move |_| {
            flow();
            async { Ok("1".into()) }
        })
        .takes(NUMBER)
        .activity("work", move |attempt| {
            work();
            async move { attempt.succeed("1") }
        })
        .takes(NUMBER)
        .workflow("Box/put", move |_| {
            object();
            async { Ok("1".into()) }
        })
        .takes(NUMBER)
        .workflow("calls", async |ctx: ScriptContext| {
            let [function, input]: [String; 2] = serde_json::from_str::<[Json; 2]>(&ctx.input())
                .expect("two")
                .map(|part| match part {
                    Json::String(text) => text,
                    other => other.to_string(),
                });
            let called = ctx.call(&function, &input);
            match ctx.done(called).await {
                Ok(value) => Ok(value),
                Err((code, message)) => Ok(json!([code, message]).to_string()),
            }
        })
        .workflow("sends", async |ctx: ScriptContext| {
            let sent = ctx.send("typed", &ctx.input(), options());
            ctx.done(sent).await
        });
    Arc::new(script)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_input_that_does_not_fit_is_refused_at_every_door_before_the_function_begins() {
    let begun = Arc::new(AtomicUsize::new(0));
    let script = numbers(&begun);
    let mut world = World::scripted(&script).await;
    world.boot().await;
    let said = |target: &str, place: &str| {
        format!("the input does not fit the schema of `{target}`: {place}")
    };
    let missing = "\"n\" is a required property";
    let wrong = "at /n: \"x\" is not of type \"integer\"";

    // The check does not depend on the creator of the promise: a client over any protocol, or a run
    // that this host begins directly.
    for (id, target, input, place) in [
        ("client", "m/typed", json!({}), missing),
        ("activity", "m/work", json!({ "n": "x" }), wrong),
        ("object", "m/Box@a/put", json!({ "n": "x" }), wrong),
    ] {
        world.start(id, &format!("wasm://{target}"), &input).await;
        let (verdict, value) = world.outcome(id).await;
        assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(400)), "{id}: {value}");
        assert_eq!(value["message"], json!(said(target, place)), "{id}");
        assert!(world.journal(id).await.is_empty(), "{id} never began");
    }
    let module = world.task("client").await.module.expect("it has a module");
    world.begin("at-once", "wasm://m/typed", module, &json!([])).await;
    let (verdict, value) = world.outcome("at-once").await;
    assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(400)), "{value}");

    // Calls by guests: of their own functions, of functions of any module, and of object functions.
    for (n, (function, target)) in [
        ("typed", "m/typed"),
        ("work", "m/work"),
        ("wasm://m/typed", "m/typed"),
        ("wasm://m/work", "m/work"),
        ("Box@a/put", "m/Box@a/put"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("call-{n}");
        world.start(&id, "wasm://m/calls", &json!([function, { "n": "x" }])).await;
        let (verdict, value) = world.outcome(&id).await;
        assert_eq!((verdict, value), (Verdict::Resolved, json!([400, said(target, wrong)])));
    }
    world.start("sender", "wasm://m/sends", &json!({})).await;
    world.outcome("sender").await;
    let (verdict, value) = world.outcome("sender/0").await;
    assert_eq!((verdict, &value["message"]), (Verdict::Rejected, &json!(said("m/typed", missing))));

    // An occurrence of a schedule, and a node of a graph.
    let template = PromiseTemplate {
        id: Text::from("tick@{{.timestamp}}"),
        param: Value::of(&br#"{"func":"typed","args":[{}]}"#[..]),
        tags: Tags::from([(tags::TARGET.to_owned(), "wasm://m/typed".to_owned())]),
        timeout: Millis::seconds(600),
    };
    let (id, cron) = ("tick".into(), Text::from("* * * * * *"));
    let (zone, jitter, overlap) = (Zone::UTC, Millis(0), Overlap::Allow);
    let new = NewSchedule { id, cron, zone, jitter, template, overlap };
    let Reply::Schedule { schedule, .. } = world.client(Command::ScheduleCreate(new)).await else {
        panic!("it is made")
    };
    world.pass(Millis(2 * SECOND.0)).await;
    let (verdict, value) = world.outcome(&format!("tick@{}", schedule.next_at.0)).await;
    assert_eq!((verdict, &value["message"]), (Verdict::Rejected, &json!(said("m/typed", missing))));
    world.client(Command::ScheduleDelete { id: schedule.id.clone() }).await;
    let nodes = json!({ "plan": { "nodes": { "a": { "call": "work", "input": { "n": "x" } } } }, "input": null });
    world.client(run("g", &nodes)).await;
    let (verdict, _) = world.outcome("g").await;
    assert_eq!(verdict, Verdict::Rejected);
    let (_, value) = world.outcome("g/n/a/0").await;
    assert_eq!(value["message"], json!(said("m/work", wrong)));

    assert_eq!(begun.load(Ordering::Relaxed), 0, "nothing of it was begun");
    world.start("fits", "wasm://m/calls", &json!(["Box@a/put", { "n": 7 }])).await;
    assert_eq!(world.outcome("fits").await, (Verdict::Resolved, json!(1)));
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_command_with_a_name_that_cannot_be_addressed_fails_and_the_workflow_goes_on() {
    let script = Arc::new(Script::default().workflow("flow", async |ctx: ScriptContext| {
        let label = vec![("\t".to_owned(), "x".to_owned())];
        let labelled = segno_guest::CallOptions { labels: label, ..options() };
        let commands = [
            ctx.promise(Some("ok\nnow")).0,
            ctx.promise(Some("\u{200b}")).0,
            ctx.publish("", "1"),
            ctx.call_with("flow", "1", labelled),
            ctx.call("Box@ /put", "1"),
        ];
        let mut said = Vec::new();
        for command in commands {
            let (code, message) = ctx.done(command).await.expect_err("it is refused");
            said.push(json!([code, message.split('`').nth(1)]));
        }
        let run = ctx.run("\u{0}", || "1".into());
        said.push(json!(ctx.done(run).await.expect_err("it is refused").0));
        let (good, id) = ctx.promise(Some("fine"));
        ctx.done(ctx.settle(&id, "7")).await?;
        said.push(serde_json::from_str(&ctx.done(good).await?).expect("JSON"));
        Ok(json!(said).to_string())
    }));
    for plan in [Plan::default(), cold()] {
        let (world, verdict, value) = ended(&script, plan).await;
        let names = ["ok\\nnow", "\\u{200b}", "", "\\t", " "];
        let mut expected: Vec<Json> = names.map(|name| json!([400, name])).into();
        expected.extend([json!(400), json!(7)]);
        assert_eq!((verdict, value), (Verdict::Resolved, json!(expected)));
        assert!(world.promise("it/p/ok\nnow").await.is_none(), "nothing of it was made");
    }
    let one = Arc::new(Script::default().workflow("flow", async |ctx: ScriptContext| {
        let (promise, _) = ctx.promise(Some("ok\nnow"));
        Ok(ctx.done(promise).await.expect_err("it is refused").0.to_string())
    }));
    let (world, _, value) = ended(&one, Plan::default()).await;
    assert_eq!(value, json!(400));
    reruns_from_every_place(&*one, &world, "it").await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_name_of_the_state_that_cannot_be_addressed_ends_the_execution_and_not_the_turn() {
    let script = Script::default()
        .workflow("Box/bad", async |ctx: ScriptContext| {
            let name: String = serde_json::from_str(&ctx.input()).expect("a name");
            ctx.set("kept", "1");
            ctx.set(&name, "2");
            ctx.set("lost", "3");
            let slept = ctx.sleep(1_000);
            ctx.done(slept).await
        })
        .workflow("Box/names", async |ctx: ScriptContext| {
            let names = ctx.names();
            ctx.done(names).await
        })
        .workflow("Box/get", async |ctx: ScriptContext| {
            let empty = ctx.get("");
            let (code, _) = ctx.done(empty).await.expect_err("it is no name");
            Ok(code.to_string())
        });
    let script = Arc::new(script);
    let mut world = World::scripted(&script).await;
    world.boot().await;
    for (n, name) in ["", "a\nb", "\u{2060}"].into_iter().enumerate() {
        let id = format!("bad-{n}");
        world.start(&id, "wasm://m/Box@a/bad", &json!(name)).await;
        let (verdict, value) = world.outcome(&id).await;
        assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(400)), "{value}");
        let message = value["message"].as_str().expect("a message");
        let begins =
            format!("the name of a part of the state `{}` is refused", name.escape_debug());
        assert!(message.starts_with(&begins), "{message}");
        let story = world.story(&id).await;
        assert_eq!(story[..2], ["started", "0 setstate kept"], "{story:?}");
        assert_eq!(story.len(), 3, "{story:?}");
        reruns_from_every_place(&*script, &world, &id).await;
    }
    world.start("names", "wasm://m/Box@a/names", &json!(null)).await;
    assert_eq!(world.outcome("names").await, (Verdict::Resolved, json!(["kept"])));
    world.start("get", "wasm://m/Box@a/get", &json!(null)).await;
    assert_eq!(world.outcome("get").await, (Verdict::Resolved, json!(400)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_an_earlier_version_recorded_under_such_a_name_goes_on() {
    let script = Arc::new(Script::default().workflow("flow", async |ctx: ScriptContext| {
        let (promise, _) = ctx.promise(Some("ok\nnow"));
        ctx.done(promise).await
    }));
    let mut world = World::scripted(&script).await;
    // The state that the earlier version left: a record, its promise, and a released claim.
    let recorded = Arc::new(Script::default().workflow("flow", async |ctx: ScriptContext| {
        let (promise, _) = ctx.promise(Some("other"));
        ctx.done(promise).await
    }));
    let mut other = World::scripted(&recorded).await;
    other.start("it", "wasm://m/flow", &json!(null)).await;
    other.stands("it", TaskStatus::Suspended).await;
    let mut records = other.journal("it").await;
    let Some(Record { body: RecordBody::Command { name, .. }, .. }) = records.last_mut() else {
        panic!("the promise is recorded last")
    };
    *name = Text::from("ok\nnow");
    world.start("it", "wasm://m/flow", &json!(null)).await;
    let offered = Claim { id: "it".into(), version: world.task("it").await.version };
    let holder = Holder { node: HostName::from("other"), incarnation: 1 };
    let request = ClaimRequest { holder, nonce: 9, ttl: Millis(60_000) };
    let acquire = Command::TaskAcquire { claim: offered, request, stall_limit: None };
    let Reply::Task(acquired) = world.client(acquire).await else { panic!("it is acquired") };
    let claim = Claim { id: "it".into(), version: acquired.task.version };
    let id = PromiseId::from("it").named("ok\nnow");
    let new = NewPromise {
        id: id.clone(),
        param: Value::default(),
        tags: Tags::new(),
        timeout_at: Timestamp::NEVER,
    };
    let actions = vec![FenceAction {
        index: CommandIndex(0),
        act: FenceOperation::Create { new, request: None },
    }];
    let awaits = [id.clone()].into();
    world.client(Command::TaskFence { claim: claim.clone(), records, logs: vec![], actions }).await;
    world.client(Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits }).await;
    world.resolve(id.as_str(), &json!("told")).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!("told")));
}
