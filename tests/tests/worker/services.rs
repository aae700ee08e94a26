//! Services: handlers of a deployment behind a connection that breaks, on a host that crashes.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use segno_core::{
    address::Address,
    command::Command,
    id::{CommandIndex, PromiseId},
    invocation::{Record, RecordBody},
    promise::{TaskStatus, Verdict},
    time::Millis,
    value::Text,
};
use segno_env::Clock as _;
use segno_restate::{
    immutable::NotificationId,
    mutable::{
        AttachInvocation, CancelInvocation, CancelTarget, GetCallInvocationId, InvocationTarget,
        OneWayCall,
    },
    wire::Failure,
};
use segno_services::ids::{HandlerTarget, callee};
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::Store as _;
use serde_json::{Value as Json, json};
use tests::world::{
    Plan, World,
    deployment::{HandlerContext, TestConnector, TestDeployment},
    script::Script,
};

use tower::ServiceExt as _;

use super::SECOND;

/// Manifest of a service, an object and a workflow.
fn manifest(version: u32) -> Json {
    let handler = |name: &str| json!({ "name": name });
    let shared = |name: &str| json!({ "name": name, "ty": "SHARED" });
    json!({
        "minProtocolVersion": version,
        "maxProtocolVersion": version,
        "services": [
            {
                "name": "Order",
                "ty": "SERVICE",
                "handlers": [
                    handler("place"), handler("wait"), handler("fail"), handler("send"),
                    handler("unknown"), handler("cancels"), handler("echo"), handler("runs"),
                    handler("scopes"), handler("limits"), handler("lost"), handler("entries"),
                    handler("undone"), handler("all"), handler("nap"),
                    handler("races"), handler("naps"), handler("works"), handler("holds"),
                    handler("empty"),
                ],
                "retryPolicyMaxAttempts": 3,
            },
            {
                "name": "Stock",
                "ty": "VIRTUAL_OBJECT",
                "handlers": [
                    handler("reserve"), handler("holds"), handler("count"), handler("slow"),
                    shared("left"),
                ],
            },
            { "name": "Plain", "ty": "SERVICE", "handlers": [handler("echo")] },
            {
                "name": "Once",
                "ty": "WORKFLOW",
                "handlers": [json!({ "name": "run", "ty": "WORKFLOW" })],
            },
            {
                "name": "Sign",
                "ty": "WORKFLOW",
                "handlers": [
                    json!({ "name": "run", "ty": "WORKFLOW" }), shared("sign"), shared("status"),
                ],
            },
        ],
    })
}

/// Charges, waits, reserves twice, and waits for an awakeable. Returns all results.
async fn place(ctx: HandlerContext) -> Result<Json, Failure> {
    let charged = ctx.run("charge", Ok(json!({ "charged": ctx.input() }))).await?;
    ctx.sleep_until(1_000).await;
    let first = ctx.call("Stock/tea/reserve", &json!(2)).await?;
    let second = ctx.call("Stock/tea/reserve", &json!(3)).await?;
    let (id, signal) = ctx.awakeable().await;
    ctx.send("Order/send", &json!(id)).await;
    let told = ctx.value(signal).await?;
    Ok(json!([charged, first, second, told]))
}

async fn reserve(ctx: HandlerContext) -> Result<Json, Failure> {
    let before = ctx.state("reserved").await.as_i64().unwrap_or_default();
    let reserved = before + ctx.input().as_i64().unwrap_or_default();
    ctx.set_state("reserved", &json!(reserved)).await;
    ctx.run("book", Ok(json!(null))).await?;
    Ok(json!(reserved))
}

/// Duration of a step, longer than the inactivity timeout of a deployment.
const WORK: Millis = Millis(120_000);
/// Instant of an event after the deployment was asked to suspend and before the step ends, in
/// milliseconds.
const MEANWHILE: u64 = 80_000;

/// Races a long step against another event. Returns the first of both.
async fn races(ctx: HandlerContext) -> Result<Json, Failure> {
    let run = ctx.begin_run("work", WORK, &json!("done")).await;
    let other = match ctx.input().as_str() {
        Some("sleep") => ctx.begin_sleep(MEANWHILE).await,
        Some("call") => ctx.begin_call("Order/naps", &json!(MEANWHILE)).await,
        _ => ctx.awakeable().await.1,
    };
    Ok(json!(["the step", "the other"][ctx.first_of(&[run, other]).await]))
}

fn deployment() -> TestDeployment {
    TestDeployment::default()
        .with("Order/place", place)
        .with("Order/wait", async |ctx: HandlerContext| {
            let (_, signal) = ctx.awakeable().await;
            ctx.value(signal).await
        })
        .with("Order/fail", async |ctx: HandlerContext| {
            ctx.run("fails", Err(Failure::new(402, "no money"))).await
        })
        .with("Order/send", async |ctx: HandlerContext| {
            let id = ctx.input().as_str().unwrap_or_default().to_owned();
            ctx.complete_awakeable(&id, &json!("told")).await;
            Ok(json!(null))
        })
        .with("Order/unknown", async |ctx: HandlerContext| ctx.call("Nobody/is", &json!(1)).await)
        .with("Order/echo", async |ctx: HandlerContext| Ok(ctx.input()))
        .with("Order/races", races)
        .with("Order/empty", async |ctx: HandlerContext| {
            let first = ctx.call("Stock//reserve", &json!(2)).await?;
            Ok(json!([first, ctx.call("Stock//reserve", &json!(3)).await?]))
        })
        .with("Order/naps", async |ctx: HandlerContext| {
            ctx.sleep_until(ctx.input().as_u64().unwrap_or_default()).await;
            Ok(json!(null))
        })
        .with("Order/works", async |ctx: HandlerContext| {
            let done = ctx.begin_run("work", WORK, &json!("done")).await;
            let done = ctx.value(done).await?;
            ctx.sleep_until(1).await;
            Ok(done)
        })
        .with("Order/holds", async |ctx: HandlerContext| {
            ctx.send("Stock/nothing/holds", &json!(1)).await;
            ctx.call("Stock/tea/holds", &json!(1)).await
        })
        .with("Stock/holds", async |ctx: HandlerContext| {
            let (_, signal) = ctx.awakeable().await;
            ctx.value(signal).await
        })
        .with("Order/runs", async |ctx: HandlerContext| ctx.call("Sign/ada/run", &json!(1)).await)
        .with("Order/scopes", async |ctx: HandlerContext| {
            for scope in ["a", "a", "a", "b"] {
                ctx.call_within((scope, None), "Stock/x/reserve", &json!(1)).await?;
            }
            let mut left = Vec::new();
            for scope in ["a", "b", "", "."] {
                left.push(ctx.call_within((scope, None), "Stock/x/left", &json!(null)).await?);
            }
            Ok(json!(left))
        })
        .with("Order/limits", async |ctx: HandlerContext| {
            let (scope, limit_key) = match ctx.input().as_str() {
                Some("limit") => ("a", Some("gold")),
                _ => ("a/b", None),
            };
            ctx.call_within((scope, limit_key), "Order/echo", &json!(1)).await
        })
        .with("Order/lost", async |ctx: HandlerContext| {
            ctx.send("wasm://nowhere/order", &json!(1)).await;
            Ok(json!("sent"))
        })
        .with("Order/entries", async |ctx: HandlerContext| {
            let call_entry_index = ctx
                .enter(OneWayCall {
                    service_name: "Order".to_owned(),
                    handler_name: "echo".to_owned(),
                    parameter: "\"ada\"".into(),
                    ..OneWayCall::default()
                })
                .await;
            let id = GetCallInvocationId { call_entry_index, ..GetCallInvocationId::default() };
            let id = ctx.enter(id).await;
            let id = ctx.value_text(NotificationId::Completion(id)).await;
            let target = Some(InvocationTarget::CallEntryIndex(call_entry_index));
            let attached =
                ctx.enter(AttachInvocation { target, ..AttachInvocation::default() }).await;
            let attached = ctx.value(NotificationId::Completion(attached)).await?;
            let target = Some(CancelTarget::CallEntryIndex(call_entry_index));
            ctx.enter(CancelInvocation { target, ..CancelInvocation::default() }).await;
            Ok(json!([id, attached]))
        })
        .with("Order/undone", async |ctx: HandlerContext| {
            ctx.run_never_done("first").await;
            Ok(json!(format!("{:?}", ctx.run_never_done("second").await)))
        })
        .with("Order/nap", async |ctx: HandlerContext| {
            ctx.sleep_until(ctx.input().as_u64().unwrap_or_default()).await;
            Ok(ctx.input())
        })
        .with("Order/all", async |ctx: HandlerContext| {
            let naps: Vec<Json> = (1..=5).map(|hour| json!(hour * 3_600_000)).collect();
            Ok(json!(ctx.call_all("Order/nap", &naps).await))
        })
        .with("Order/cancels", async |ctx: HandlerContext| {
            let waited = ctx.told(NotificationId::NamedSignal("go".to_owned())).await;
            ctx.run("clean", Ok(json!(1))).await.map(|_| json!(format!("{waited:?}")))
        })
        .with("Stock/reserve", reserve)
        .with("Stock/count", async |ctx: HandlerContext| Ok(ctx.input()))
        .with("Plain/echo", async |ctx: HandlerContext| Ok(ctx.input()))
        .with("Once/run", async |ctx: HandlerContext| Ok(ctx.input()))
        .with("Stock/slow", async |ctx: HandlerContext| {
            let work = ctx.begin_run("work", Millis(1_000), &json!(null)).await;
            ctx.value(work).await?;
            let mut before = ctx.state("names").await.as_array().cloned().unwrap_or_default();
            before.push(ctx.input());
            ctx.set_state("names", &json!(before)).await;
            Ok(json!(before))
        })
        .with("Stock/left", async |ctx: HandlerContext| Ok(ctx.state("reserved").await))
        .with("Sign/run", async |ctx: HandlerContext| {
            ctx.set_state("status", &json!("asked")).await;
            let signed = ctx.promise("signed").await?;
            ctx.set_state("status", &json!("signed")).await;
            Ok(signed)
        })
        .with("Sign/sign", async |ctx: HandlerContext| {
            ctx.complete_promise("signed", &ctx.input()).await
        })
        .with("Sign/status", async |ctx: HandlerContext| Ok(ctx.state("status").await))
}

/// A world whose services speak this version of the protocol.
async fn world(deployment: &Arc<TestDeployment>, version: u32, faults: PlannedFaults) -> World {
    let connector = Some(Arc::new(TestConnector(deployment.clone())) as _);
    let plan = Plan { connector, faults, ..Plan::default() };
    let world = World::with(plan, &Arc::new(Script::default())).await;
    world.register(&manifest(version)).await;
    world
}

/// Begins an invocation of a service without keys, as callers do.
async fn begin(world: &mut World, id: &str, target: &str, input: &Json) {
    let modules = world.memory.modules().list().await.expect("memory answers");
    let is_it = |alias: &String| alias == "restate:Order";
    let deployment = modules.iter().find(|module| module.aliases.iter().any(is_it));
    let deployment = deployment.expect("one is registered").digest;
    world.begin(id, target, deployment, input).await;
}

/// Runs `place`, and checks its result and the invariants afterwards.
async fn placed(world: &mut World, deployment: &TestDeployment) {
    world.start("it", "restate://Order/place", &json!("ada")).await;
    comes_to_its_end(world, deployment).await;
}

/// Does the same for an invocation that begins with the claim.
async fn begun_and_placed(world: &mut World, deployment: &TestDeployment) {
    begin(world, "it", "restate://Order/place", &json!("ada")).await;
    comes_to_its_end(world, deployment).await;
}

async fn comes_to_its_end(world: &mut World, deployment: &TestDeployment) {
    let (verdict, value) = world.outcome("it").await;
    assert_eq!(verdict, Verdict::Resolved, "{value}");
    assert_eq!(value, json!([{ "charged": "ada" }, 2, 5, "told"]));
    let object = Address::parse("restate://Stock/tea/left").expect("an address").object();
    let names = [Text::from("reserved")];
    let state = world.memory.read().object_state(&object.expect("a key"), &names).await;
    let state = state.expect("memory answers");
    assert_eq!(state[&names[0]].as_bytes(), b"5", "each reservation counts once");
    assert!(deployment.done("charge") >= 1 && deployment.done("book") >= 2);
    // One outcome of each run is kept, whatever the number of executions.
    let callee = |index| callee(&PromiseId::from("it"), CommandIndex(index));
    for (id, runs) in [(PromiseId::from("it"), 1), (callee(2), 1), (callee(3), 1)] {
        let journal = world.history(id.as_str()).await;
        let of_runs = journal.iter().filter(|body| {
            matches!(
                body,
                RecordBody::Command { kind: segno_core::invocation::CommandKind::Run, .. }
            )
        });
        assert_eq!(of_runs.count(), runs, "{id}: {journal:#?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn every_version_of_the_protocol_comes_to_the_same() {
    for family in [[1, 2, 3], [5, 6, 7]] {
        let mut journals = Vec::new();
        for (version, whole_requests) in
            family.map(|version| [(version, false), (version, true)]).concat()
        {
            let deployment = Arc::new(deployment().whole(whole_requests));
            let mut world = world(&deployment, version, PlannedFaults::default()).await;
            placed(&mut world, &deployment).await;
            assert_eq!(deployment.done("charge"), 1);
            assert_eq!(deployment.done("book"), 2);
            let more = deployment.attempts() > 4;
            assert_eq!(more, whole_requests, "{} attempts", deployment.attempts());
            let kinds =
                world.history("it").await.iter().map(RecordBody::kind_name).collect::<Vec<_>>();
            journals.push(kinds);
        }
        assert!(journals.windows(2).all(|pair| pair[0].len() == pair[1].len()), "{journals:#?}");
    }
}

/// Breaks the connection at every frame. The journal continues from the stored part.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_connection_that_breaks_at_any_frame_changes_nothing() {
    for (version, whole_requests) in [(1, false), (3, true), (5, false), (7, false), (6, true)] {
        let mut frame = 0;
        loop {
            let deployment = deployment().whole(whole_requests).breaking_at(frame);
            let deployment = Arc::new(deployment);
            let mut world = world(&deployment, version, PlannedFaults::default()).await;
            placed(&mut world, &deployment).await;
            if deployment.frames() <= frame {
                break;
            }
            frame += 1;
        }
        assert!(frame > 30, "{frame} frames");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_host_that_fails_at_any_commit_changes_nothing() {
    for fault in CommitFault::ALL {
        for (version, whole_requests) in [(2, false), (6, false), (6, true)] {
            let mut number = 0;
            loop {
                let deployment = Arc::new(deployment().whole(whole_requests));
                let mut world = world(&deployment, version, PlannedFaults::at(number, fault)).await;
                placed(&mut world, &deployment).await;
                if !world.faults.injected() {
                    break;
                }
                number += 1;
            }
            assert!(number > 20, "{number} commits");
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_call_that_asks_for_nothing_takes_two_commits_and_the_mark_of_its_attempt() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 7, PlannedFaults::default()).await;
    world.boot().await;
    let before = world.probe.submitted().len();
    begin(&mut world, "it", "restate://Order/echo", &json!("ada")).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!("ada")));
    let submitted = world.probe.submitted();
    let submitted: Vec<_> = submitted[before..].iter().flatten().collect();
    // The attempts are limited, so the start of each is stored beforehand.
    let [
        Command::TaskBegin { first, .. },
        Command::TaskHeartbeat { .. },
        Command::TaskFulfill { .. },
    ] = submitted[..]
    else {
        panic!("{submitted:#?}");
    };
    // The `Started` record is stored before the deployment is called. The last record is stored
    // later.
    let [Command::TaskFence { records, .. }] = &first[..] else { panic!("{first:#?}") };
    let [Record { body: RecordBody::Started { .. }, .. }] = &records[..] else {
        panic!("{records:#?}");
    };
}

/// The commands of each commit that a call at the ingress leads to, and its outcome.
async fn called(world: &mut World, path: &str, input: &Json) -> (Vec<Vec<&'static str>>, Json) {
    let before = world.probe.submitted().len();
    let request = Request::post(format!("{path}/send")).header(header::HOST, "localhost");
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(input.to_string())).expect("a request");
    let response = world.ingress().oneshot(request).await.expect("it always answers");
    assert_eq!(response.status(), StatusCode::ACCEPTED, "{path}");
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    let body: Json = serde_json::from_slice(&body).expect("answers are JSON");
    let id = body["invocationId"].as_str().expect("an id");
    let (verdict, value) = world.outcome(id).await;
    assert_eq!(verdict, Verdict::Resolved, "{path}: {value}");
    let commits = world.probe.submitted().split_off(before);
    let names = |commit: &Vec<Command>| commit.iter().map(Command::name).collect();
    (commits.iter().map(names).collect(), value)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_call_over_http_takes_two_commits_with_a_key_and_without() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 7, PlannedFaults::default()).await;
    world.boot().await;
    let two = [["task-begin"], ["task-fulfill"]];
    // The second call finds a key that had a turn before.
    for path in ["/Stock/tea/count", "/Stock/tea/count", "/Plain/echo"] {
        let (commits, value) = called(&mut world, path, &json!(7)).await;
        assert_eq!((commits, value), (two.map(Vec::from).to_vec(), json!(7)), "{path}");
    }
    // The run of a workflow key has a turn as well.
    let (commits, _) = called(&mut world, "/Once/ada/run", &json!(null)).await;
    assert_eq!(commits, two);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_call_of_a_key_that_another_call_has_waits_for_its_turn() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 7, PlannedFaults::default()).await;
    world.boot().await;
    begin(&mut world, "first", "restate://Stock/tea/slow", &json!("first")).await;
    begin(&mut world, "second", "restate://Stock/tea/slow", &json!("second")).await;
    assert_eq!(world.task("first").await.status(), TaskStatus::Acquired);
    assert_eq!(world.task("second").await.status(), TaskStatus::Suspended);
    assert_eq!(world.journal("second").await, [], "nothing of it was recorded");
    let before = world.probe.submitted().len();
    assert_eq!(world.outcome("second").await.1, json!(["first", "second"]));
    // The end of the first one also claims the second one.
    let commits = world.probe.submitted().split_off(before);
    let names = |commit: &Vec<Command>| commit.iter().map(Command::name).collect::<Vec<_>>();
    let commits: Vec<_> = commits.iter().map(names).collect();
    let passed = ["task-fulfill", "task-acquire"];
    assert!(commits.iter().any(|commit| commit.ends_with(&passed)), "{commits:?}");
    let claims = commits.iter().flatten().filter(|name| **name == "task-acquire").count();
    assert_eq!(claims, 1, "{commits:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn calls_of_one_key_take_turns_whatever_fails() {
    for fault in CommitFault::ALL {
        let mut number = 0;
        loop {
            let deployment = Arc::new(deployment());
            let mut world = world(&deployment, 7, PlannedFaults::at(number, fault)).await;
            for id in ["first", "second"] {
                begin(&mut world, id, "restate://Stock/tea/reserve", &json!(2)).await;
            }
            let mut reserved = Vec::new();
            for id in ["first", "second"] {
                reserved.push(world.outcome(id).await.1);
            }
            assert_eq!(reserved, [json!(2), json!(4)], "{fault:?} at {number}");
            if !world.faults.injected() {
                break;
            }
            number += 1;
        }
        assert!(number > 6, "{number} commits");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_call_that_begins_with_its_claim_survives_a_failure_at_any_commit() {
    for fault in CommitFault::ALL {
        let mut number = 0;
        loop {
            let deployment = Arc::new(deployment());
            let mut world = world(&deployment, 7, PlannedFaults::at(number, fault)).await;
            begun_and_placed(&mut world, &deployment).await;
            if !world.faults.injected() {
                break;
            }
            number += 1;
        }
        assert!(number > 20, "{number} commits");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_runs_once_and_its_promise_is_there_before_and_after() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 6, PlannedFaults::default()).await;
    world.start("early", "restate://Sign/bob/sign", &json!("early")).await;
    assert_eq!(world.outcome("early").await.0, Verdict::Resolved);
    world.start("bob", "restate://Sign/bob/run", &json!(null)).await;
    assert_eq!(world.outcome("bob").await, (Verdict::Resolved, json!("early")));
    world.start("late", "restate://Sign/bob/sign", &json!("late")).await;
    let (verdict, failure) = world.outcome("late").await;
    assert_eq!((verdict, &failure["code"]), (Verdict::Rejected, &json!(409)));
    world.start("ada", "restate://Sign/ada/run", &json!(null)).await;
    world.pass(SECOND).await;
    world.start("status", "restate://Sign/ada/status", &json!(null)).await;
    assert_eq!(world.outcome("status").await.1, json!("asked"));
    world.start("sign", "restate://Sign/ada/sign", &json!("ada")).await;
    assert_eq!(world.outcome("ada").await.1, json!("ada"));
}

/// Also holds for the attempt after the one that made the call: it finds a run that another caller
/// began.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_calls_a_run_that_another_began_is_refused_whatever_fails() {
    let key = HandlerTarget { service: "Sign", scope: None, key: Some("ada"), handler: "run" };
    for fault in CommitFault::ALL {
        let mut number = 0;
        loop {
            let deployment = Arc::new(deployment());
            let mut world = world(&deployment, 6, PlannedFaults::at(number, fault)).await;
            world.start(key.run().as_str(), &key.address(), &json!(null)).await;
            world.start("late", "restate://Order/runs", &json!(null)).await;
            let (verdict, failure) = world.outcome("late").await;
            assert_eq!((verdict, &failure["code"]), (Verdict::Rejected, &json!(409)), "{number}");
            if !world.faults.injected() {
                break;
            }
            number += 1;
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_waits_for_long_is_suspended_and_told_what_came_meanwhile() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 6, PlannedFaults::default()).await;
    world.start("it", "restate://Order/wait", &json!(null)).await;
    world.stands("it", TaskStatus::Suspended).await;
    assert!(world.clock.now().0 > 60_000, "it was quiet for a minute");
    world.signal("it", "#17", &json!(7)).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(7)));
    assert_eq!(deployment.attempts(), 2);
    // A signal may arrive before it is awaited, and an awakeable is completed once.
    world.start("early", "restate://Order/wait", &json!(null)).await;
    for value in [1, 2] {
        world.signal("early", "#17", &json!(value)).await;
    }
    assert_eq!(world.outcome("early").await.1, json!(1));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_comes_while_a_step_is_done_comes_before_its_outcome() {
    for (version, whole) in [5, 6, 7].map(|version| [(version, false), (version, true)]).concat() {
        let deployment = Arc::new(deployment().whole(whole));
        let mut world = world(&deployment, version, PlannedFaults::default()).await;
        for beside in ["sleep", "call", "awakeable"] {
            world.start(beside, "restate://Order/races", &json!(beside)).await;
        }
        let meanwhile = Millis(i64::try_from(MEANWHILE).expect("it is short"));
        world.pass(meanwhile).await;
        world.signal("awakeable", "#17", &json!("told")).await;
        for beside in ["sleep", "call", "awakeable"] {
            let outcome = world.outcome(beside).await;
            assert_eq!(outcome, (Verdict::Resolved, json!("the other")), "{beside}, V{version}");
        }
        assert_eq!(deployment.done("work"), 3, "each step is done once");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_is_asked_to_stop_while_a_step_is_done_is_told_before_its_outcome() {
    for (version, whole) in [5, 6, 7].map(|version| [(version, false), (version, true)]).concat() {
        let deployment = Arc::new(deployment().whole(whole));
        let mut world = world(&deployment, version, PlannedFaults::default()).await;
        world.start("it", "restate://Order/works", &json!(null)).await;
        world.pass(Millis(80_000)).await;
        let invocation = PromiseId::from("it");
        world.client(Command::Cancel { invocation }).await;
        assert_eq!(world.outcome("it").await.0, Verdict::Canceled, "V{version}");
        let journal = world.history("it").await;
        let kinds: Vec<_> = journal.iter().map(RecordBody::kind_name).collect();
        assert_eq!(kinds, ["started", "command", "cancelled", "notified", "finished"]);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_is_asked_to_stop_cleans_up_first() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 6, PlannedFaults::default()).await;
    for (id, pause) in [("live", Millis(100)), ("suspended", Millis(100_000))] {
        world.start(id, "restate://Order/cancels", &json!(null)).await;
        world.pass(pause).await;
        let invocation = PromiseId::from(id);
        world.client(segno_core::command::Command::Cancel { invocation }).await;
        let (verdict, value) = world.outcome(id).await;
        assert_eq!(verdict, Verdict::Resolved, "it caught that");
        assert!(value.as_str().is_some_and(|value| value.contains("Cancelled")), "{value}");
    }
    assert_eq!(deployment.done("clean"), 2);
    world.start("it", "restate://Order/wait", &json!(null)).await;
    world.pass(SECOND).await;
    let invocation = PromiseId::from("it");
    world.client(segno_core::command::Command::Cancel { invocation }).await;
    assert_eq!(world.outcome("it").await.0, Verdict::Canceled);
}

/// Also holds if the caller was suspended meanwhile, and whatever fails.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_is_killed_takes_along_whom_it_called_and_not_whom_it_sent() {
    for (version, pause) in [(2, 100), (6, 100), (7, 200_000)] {
        let deployment = Arc::new(deployment());
        let mut world = world(&deployment, version, PlannedFaults::default()).await;
        world.start("it", "restate://Order/holds", &json!(null)).await;
        world.pass(Millis(pause)).await;
        let it = PromiseId::from("it");
        let [sent, called] = [0, 1].map(|index| callee(&it, CommandIndex(index)));
        assert!(world.promise(called.as_str()).await.expect("it was called").is_pending());
        world.client(Command::Kill { invocation: it }).await;
        assert_eq!(world.outcome(called.as_str()).await.0, Verdict::Canceled, "V{version}");
        let killed = world.promise(called.as_str()).await.expect("it was called");
        assert!(killed.was_killed());
        // The key is free for other invocations.
        world.start("next", "restate://Stock/tea/reserve", &json!(2)).await;
        assert_eq!(world.outcome("next").await.1, json!(2));
        assert!(world.promise(sent.as_str()).await.expect("it was sent").is_pending());
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_is_paused_in_the_middle_of_a_step_ends_it_first() {
    for (version, whole) in [(2, false), (6, false), (7, false), (7, true)] {
        let deployment = Arc::new(deployment().whole(whole));
        let mut world = world(&deployment, version, PlannedFaults::default()).await;
        world.start("it", "restate://Order/works", &json!(null)).await;
        world.pass(Millis(10_000)).await;
        let it = PromiseId::from("it");
        assert!(world.pause(&it), "it runs here");
        world.stands("it", TaskStatus::Halted).await;
        assert_eq!(deployment.done("work"), 1);
        assert!(!world.pause(&it), "it does not run any more");
        world.client(Command::TaskContinue { id: it }).await;
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!("done")), "V{version}");
        assert_eq!(deployment.done("work"), 1, "the step was done once");
    }
}

/// A key may be empty, also in a call of a handler.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_empty_key_is_a_key() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 6, PlannedFaults::default()).await;
    world.start("it", "restate://Order/empty", &json!(null)).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!([2, 5])));
    world.start("same", "restate://Stock//reserve", &json!(1)).await;
    assert_eq!(world.outcome("same").await, (Verdict::Resolved, json!(6)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_cannot_be_done_fails_the_attempt_and_then_waits_for_a_person() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 6, PlannedFaults::default()).await;
    world.start("it", "restate://Order/unknown", &json!(null)).await;
    world.stands("it", TaskStatus::Halted).await;
    let task = world.task("it").await;
    let note = task.note.expect("it says why").message;
    assert!(note.contains("3 attempts failed") && note.contains("the service `Nobody`"), "{note}");
    assert_eq!(deployment.attempts(), 3);
    let commands = world.history("it").await;
    assert!(
        !commands.iter().any(|body| matches!(body, RecordBody::Command { .. })),
        "{commands:?}"
    );
    world.start("fails", "restate://Order/fail", &json!(null)).await;
    let (verdict, failure) = world.outcome("fails").await;
    assert_eq!((verdict, &failure["code"]), (Verdict::Rejected, &json!(402)));
}

/// Also holds for a scope that no other invocation has, and for no scope.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn two_scopes_share_no_object() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 7, PlannedFaults::default()).await;
    world.start("it", "restate://Order/scopes", &json!(null)).await;
    let left = json!([3, 1, null, null]);
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, left));
    // The promises and the run of a workflow belong to its scope.
    for scope in ["", ":a", ":b"] {
        let run = format!("restate://Sign{scope}/ada/run");
        world.start(&format!("run{scope}"), &run, &json!(null)).await;
    }
    world.start("sign", "restate://Sign:a/ada/sign", &json!("a")).await;
    assert_eq!(world.outcome("run:a").await.1, json!("a"));
    for scope in ["", ":b"] {
        let status = format!("status{scope}");
        world.start(&status, &format!("restate://Sign{scope}/ada/status"), &json!(null)).await;
        assert_eq!(world.outcome(&status).await.1, json!("asked"), "{scope}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_no_scope_and_every_limit_key_is_refused_by_name() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 7, PlannedFaults::default()).await;
    for (input, why) in [("limit", "the limit key `gold`"), ("scope", "the scope `a/b`")] {
        world.start(input, "restate://Order/limits", &json!(input)).await;
        world.stands(input, TaskStatus::Halted).await;
        let note = world.task(input).await.note.expect("it says why").message;
        assert!(note.contains(why), "{note}");
        let journal = world.history(input).await;
        assert!(!journal.iter().any(|body| matches!(body, RecordBody::Command { .. })));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_one_way_call_that_is_refused_is_not_told_as_begun() {
    for version in [3, 5, 7] {
        let deployment = Arc::new(deployment());
        let mut world = world(&deployment, version, PlannedFaults::default()).await;
        world.start("it", "restate://Order/lost", &json!(null)).await;
        world.stands("it", TaskStatus::Halted).await;
        let note = world.task("it").await.note.expect("it says why").message;
        assert!(note.contains("is refused") && note.contains("nowhere"), "{version}: {note}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn later_entries_name_a_one_way_call_by_its_place() {
    for whole_requests in [false, true] {
        let deployment = Arc::new(deployment().whole(whole_requests));
        let mut world = world(&deployment, 3, PlannedFaults::default()).await;
        world.start("it", "restate://Order/entries", &json!(null)).await;
        let id = callee(&PromiseId::from("it"), CommandIndex(0));
        let (verdict, value) = world.outcome("it").await;
        assert_eq!((verdict, value), (Verdict::Resolved, json!([id.as_str(), "ada"])));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn attempts_that_do_not_get_on_are_counted_and_who_is_asked_to_stop_ends() {
    let deployment = Arc::new(deployment().whole(true));
    let mut world = world(&deployment, 5, PlannedFaults::default()).await;
    world.start("it", "restate://Order/undone", &json!(null)).await;
    world.stands("it", TaskStatus::Halted).await;
    let note = world.task("it").await.note.expect("it says why").message;
    assert!(note.contains("3 attempts failed") && note.contains("issued no command"), "{note}");
    assert!(deployment.attempts() <= 6, "{} attempts", deployment.attempts());
    world.start("stopped", "restate://Order/undone", &json!(null)).await;
    world.pass(Millis(100)).await;
    world.client(Command::Cancel { invocation: PromiseId::from("stopped") }).await;
    assert_eq!(world.outcome("stopped").await.0, Verdict::Canceled);
}

/// The naps of one to five hours each complete separately. The deployment is invoked again only
/// when all have completed.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_wait_for_all_costs_one_attempt() {
    let deployment = Arc::new(deployment().whole(true));
    let mut world = world(&deployment, 7, PlannedFaults::default()).await;
    world.start("it", "restate://Order/all", &json!(null)).await;
    let naps: Vec<Json> = (1..=5).map(|hour| json!(hour * 3_600_000)).collect();
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(naps)));
    // Two attempts of `it`, and two of each nap.
    assert!(deployment.attempts() <= 13, "{} attempts", deployment.attempts());
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_node_of_a_graph_calls_a_handler() {
    let deployment = Arc::new(deployment());
    let mut world = world(&deployment, 5, PlannedFaults::default()).await;
    let nodes = json!({
        "a": { "call": "restate://Order/echo", "input": { "n": 1 } },
        "b": { "call": "restate://Stock/tea/reserve", "needs": ["a"], "input": { "$from": "a", "at": "/n" } },
        "c": { "call": "restate://Order/fail", "needs": ["b"] },
    });
    world.client(tests::graphs::run("g", &json!({ "plan": { "nodes": nodes } }))).await;
    let (_, value) = world.outcome("g").await;
    let failed = &value["details"]["failed"];
    assert_eq!(failed["c"]["code"], 402, "{value}");
    assert_eq!(failed.as_object().map(serde_json::Map::len), Some(1), "{value}");
    let reserved = world.promise("g/n/b/0").await.expect("an attempt");
    let reserved = reserved.settlement().and_then(|settlement| settlement.value.clone());
    assert_eq!(reserved.expect("a value").data.as_slice(), b"1");
}
