//! Commands: created with their commit, refused one by one, completed once.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{
    command::Command,
    promise::{HaltReason, NewPromise, TaskState, TaskStatus, Verdict},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::values;
use segno_guest::{Failure, HttpRequest, HttpResponse, Outbound, Payload, Policy, policy::Grants};
use segno_sim::{CommitFault, PlannedFaults};
use serde_json::json;
use tests::world::{
    Plan, World,
    script::{Script, options},
};

use super::{SECOND, begun, cold, ended};

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_needs_no_promise_completes_with_its_commit() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let (promise, id) = ctx.promise(Some("mine"));
                let sent = ctx.send("work", "1", options());
                let published = ctx.publish("topic", "{}");
                let settled = ctx.settle(&id, "7");
                let (other, _) = ctx.promise(None);
                let cancelled = ctx.cancel(other);
                let sent = ctx.done(sent).await?;
                ctx.done(published).await?;
                ctx.done(settled).await?;
                ctx.done(cancelled).await?;
                let value = ctx.done(promise).await?;
                let code = ctx.done(other).await.expect_err("it was cancelled").0;
                Ok(format!("[{sent},{value},{code}]"))
            })
            .activity("work", |attempt| async move { attempt.succeed("1") }),
    );
    let (world, _, value) = ended(&script, Plan::default()).await;
    assert_eq!(value, json!(["it/1", 7, 499]));
    let commits: Vec<_> = world.probe.submitted();
    let fences = commits.iter().flatten().filter(|command| command.name() == "task-fence");
    assert_eq!(fences.count(), 1, "all of it is one commit: {commits:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_refusal_is_its_commands_failure_and_leaves_the_others_standing() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let nowhere = ctx.call("wasm://nowhere/work", "1");
                let nobody = ctx.settle("nobody", "1");
                let computed = ctx.run("compute", || "1".into());
                let cancelled = ctx.cancel(computed);
                let good = ctx.call("work", "1");
                let mut codes = Vec::new();
                for command in [nowhere, nobody, cancelled] {
                    codes.push(ctx.done(command).await.expect_err("it is refused").0);
                }
                let good = ctx.done(good).await?;
                Ok(format!("[{},{},{},{good}]", codes[0], codes[1], codes[2]))
            })
            .activity("work", |attempt| async move { attempt.succeed("1") }),
    );
    for plan in [Plan::default(), cold()] {
        let (_, verdict, value) = ended(&script, plan).await;
        assert_eq!((verdict, value), (Verdict::Resolved, json!([422, 404, 404, 1])));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn settling_what_is_settled_changes_nothing() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let (promise, id) = ctx.promise(Some("mine"));
        ctx.done(ctx.settle(&id, "1")).await?;
        ctx.done(ctx.settle(&id, "2")).await?;
        ctx.done(promise).await
    }));
    let (_, verdict, value) = ended(&script, Plan::default()).await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!(1)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_id_that_somebody_else_took_is_never_adopted_and_halts_with_a_report() {
    // The command is awaited, or is the last before the end.
    for waits in [true, false] {
        let script = Arc::new(Script::default().workflow("flow", move |ctx| async move {
            let sleep = ctx.sleep(60_000);
            if waits { ctx.done(sleep).await } else { Ok("1".into()) }
        }));
        let mut world = World::scripted(&script).await;
        let taken = NewPromise {
            id: "it/0".into(),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: Timestamp::NEVER,
        };
        world.client(Command::PromiseCreate(taken)).await;
        world.start("it", "wasm://m/flow", &json!(null)).await;
        world.stands("it", TaskStatus::Halted).await;
        let task = world.task("it").await;
        assert_eq!(task.state, TaskState::Halted { reason: HaltReason::Reported });
        let note = task.note.expect("a halted task says why");
        assert!(note.message.contains("`it/0` is taken"), "{note:?}");
        assert_eq!(world.story("it").await, [""; 0]);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_id_that_somebody_else_took_halts_at_once_whatever_else_is_waited_for() {
    // The call is forgotten in the poll that issues it. The awaited promise comes from an earlier
    // poll, or from the same one.
    for (earlier, in_this) in [(true, false), (false, true)] {
        let script = Arc::new(Script::default().workflow("flow", move |ctx| async move {
            let (before, _) = ctx.promise(Some("before"));
            if earlier {
                ctx.done(ctx.run("step", || "1".into())).await?;
            }
            let call = ctx.call("poll://any@packers#pack", "1");
            ctx.forget(call);
            let waited = if in_this { ctx.promise(Some("late")).0 } else { before };
            ctx.done(waited).await
        }));
        let mut world = World::scripted(&script).await;
        let id = if earlier { "it/2" } else { "it/1" };
        let taken = NewPromise {
            id: id.into(),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: Timestamp::NEVER,
        };
        world.client(Command::PromiseCreate(taken)).await;
        world.start("it", "wasm://m/flow", &json!(null)).await;
        world.pass(Millis(5_000)).await;
        let task = world.task("it").await;
        assert_eq!(task.state, TaskState::Halted { reason: HaltReason::Reported }, "{id}");
        let note = task.note.expect("a halted task says why");
        assert!(note.message.contains(&format!("`{id}` is taken")), "{note:?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_named_promise_is_settled_by_its_name_and_completes_every_command_that_names_it() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let (forgotten, _) = ctx.promise(Some("approval"));
        let (first, id) = ctx.promise(Some("approval"));
        let (second, same) = ctx.promise(Some("approval"));
        assert_eq!((id.as_str(), &id), ("it/p/approval", &same));
        ctx.forget(forgotten);
        let first = ctx.done(first).await?;
        let second = ctx.done(second).await?;
        Ok(format!("[{first},{second}]"))
    }));
    for plan in [Plan::default(), cold()] {
        let mut world = begun(&script, plan).await;
        world.stands("it", TaskStatus::Suspended).await;
        world.resolve("it/p/approval", &json!(true)).await;
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!([true, true])));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_named_promise_can_be_cancelled() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let (promise, _) = ctx.promise(Some("approval"));
        ctx.done(ctx.cancel(promise)).await?;
        ctx.done(promise).await
    }));
    let (_, verdict, value) = ended(&script, Plan::default()).await;
    assert_eq!((verdict, &value["code"]), (Verdict::Canceled, &json!(499)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_promise_settled_before_it_is_awaited_is_told_when_it_settles() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let (promise, _) = ctx.promise(Some("early"));
        ctx.done(ctx.sleep(60_000)).await?;
        ctx.done(promise).await
    }));
    let mut world = begun(&script, Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    world.resolve("it/p/early", &json!(1)).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(1)));
    assert_eq!(
        world.story("it").await,
        ["started", "0 promise early", "1 sleep", "0: 1", "1: null", "finished 1"]
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn children_end_with_their_parent_but_what_was_sent_lives_on() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                ctx.call("child", "1");
                let sent = ctx.send("child", "2", options());
                ctx.done(sent).await?;
                ctx.done(ctx.sleep(1_000)).await
            })
            .workflow("child", |ctx| async move {
                match ctx.done(ctx.sleep(60_000)).await {
                    Ok(_) => Ok("\"finished\"".into()),
                    Err((code, _)) => Err((code, "told to stop".into())),
                }
            }),
    );
    let (mut world, verdict, _) = ended(&script, Plan::default()).await;
    assert_eq!(verdict, Verdict::Resolved);
    world.pass(SECOND).await;
    let (verdict, value) = world.outcome("it/0").await;
    assert_eq!((verdict, &value["message"]), (Verdict::Canceled, &json!("told to stop")));
    assert!(world.promise("it/1").await.expect("it was sent").is_pending());
    assert_eq!(world.outcome("it/1").await, (Verdict::Resolved, json!("finished")));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_child_runs_the_module_of_its_caller_under_its_callers_name() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let own = ctx.call("work", "1");
                let named = ctx.call("wasm://m/work", "1");
                let own = ctx.done(own).await?;
                let named = ctx.done(named).await?;
                Ok(format!("[{own},{named}]"))
            })
            .activity("work", |attempt| async move {
                attempt.succeed(json!(attempt.module).to_string())
            }),
    );
    let (_, _, value) = ended(&script, Plan::default()).await;
    assert_eq!(value, json!(["m", "m"]));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_settles_no_id_of_its_input_that_its_starter_may_not() {
    let script = Script::default().workflow("flow", |ctx| async move {
        let id: String = serde_json::from_str(&ctx.input()).expect("an id");
        let code = ctx.done(ctx.settle(&id, "1")).await.err().map_or(0, |failure| failure.0);
        Ok(code.to_string())
    });
    let mut world = World::scripted(&Arc::new(script)).await;
    for id in ["a/mine", "b/theirs"] {
        let new = NewPromise {
            id: id.into(),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: Timestamp::NEVER,
        };
        world.client(Command::PromiseCreate(new)).await;
    }
    for (started, rights, settles, code) in [
        ("a/1", Some("a/"), "b/theirs", 422),
        ("a/2", Some("a/"), "a/mine", 0),
        ("a/3", None, "b/theirs", 0),
    ] {
        let mut tags = Tags::from([(tags::TARGET.to_owned(), "wasm://m/flow".to_owned())]);
        tags.extend(rights.map(|rights| (tags::RIGHTS.to_owned(), rights.to_owned())));
        let input = Payload::Json(json!(settles).to_string());
        let new = NewPromise {
            id: started.into(),
            param: values::param("flow", &input, Tags::new()),
            tags,
            timeout_at: Timestamp::NEVER,
        };
        world.client(Command::PromiseCreate(new)).await;
        assert_eq!(world.outcome(started).await, (Verdict::Resolved, json!(code)), "{started}");
        let settled = !world.promise(settles).await.expect("it is there").is_pending();
        assert_eq!(settled, code == 0, "{started}");
    }
}

/// An outbound whose policy is checked, but that never sends a request.
struct Policed(Policy);

#[async_trait]
impl Outbound for Policed {
    async fn send(&self, _module: &str, _request: HttpRequest) -> Result<HttpResponse, Failure> {
        unreachable!("no workflow sends a request")
    }

    fn allows(&self, module: &str, url: &str) -> Result<(), Failure> {
        Ok(self.0.allows_http(module, url)?)
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn calls_of_servers_are_asked_about_as_http_steps_are_whatever_fails() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let refused = [
            ctx.call("https://elsewhere.example/work#add", "[1,2]"),
            ctx.send("http://workers.example/other", "1", options()),
        ];
        let allowed = ctx.call("http://workers.example/work#add", "[1,2]");
        let mut codes = Vec::new();
        for command in refused {
            let (code, message) = ctx.done(command).await.expect_err("it is refused");
            assert!(message.contains("`http.allow` of `[m]`"), "{message}");
            codes.push(code);
        }
        let sum = ctx.done(allowed).await?;
        Ok(format!("[{codes:?},{sum}]"))
    }));
    let allow = vec!["http://workers.example/work".parse().expect("a pattern")];
    let mut grants = Grants::default();
    grants.http.allow = allow;
    let plan = |faults| {
        let outbound = Policed(Policy::default().with("m", grants.clone()));
        Plan { outbound: Some(Arc::new(outbound)), faults, ..cold() }
    };
    for fault in CommitFault::ALL {
        for commit in 0.. {
            let mut world = begun(&script, plan(PlannedFaults::at(commit, fault))).await;
            world.until("it is called", async |world| world.promise("it/2").await.is_some()).await;
            world.pass(SECOND).await;
            world.resolve("it/2", &json!(3)).await;
            let ended = world.outcome("it").await;
            assert_eq!(ended, (Verdict::Resolved, json!([[403, 403], 3])), "{fault:?} {commit}");
            for refused in ["it/0", "it/1"] {
                assert!(world.promise(refused).await.is_none(), "{refused}: {fault:?} {commit}");
            }
            if !world.faults.injected() {
                break;
            }
        }
    }
}
