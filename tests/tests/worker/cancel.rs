//! Cancelling, killing, and deadlines.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use segno_core::{
    command::Command,
    promise::{CancelState, NewPromise, TaskStatus, Verdict},
    reply::Reply,
    tags,
    time::Millis,
    value::Tags,
};
use serde_json::json;
use tests::world::{Plan, World, script::Script};

use super::{SECOND, begun, cold, timeout};

fn cancel(id: &str) -> Command {
    Command::Cancel { invocation: id.into() }
}

fn kill(id: &str) -> Command {
    Command::Kill { invocation: id.into() }
}

/// Calls a slow activity, cleans up on cancellation, and sleeps before it ends.
fn tidy() -> Arc<Script> {
    Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let failed = match ctx.done(ctx.call("slow", "1")).await {
                    Ok(done) => return Ok(done),
                    Err(failed) => failed,
                };
                ctx.done(ctx.call("tidy", "1")).await?;
                ctx.done(ctx.sleep(60_000)).await?;
                Err(failed)
            })
            .activity("slow", |attempt| async move {
                attempt.sleep(30_000).await;
                attempt.succeed("1")
            })
            .activity("tidy", |attempt| async move { attempt.succeed("1") }),
    )
}

/// Calls `work`, and cancels the call after 1 s.
fn cancels_its_call() -> Script {
    Script::default().workflow("flow", |ctx| async move {
        let work = ctx.call("work", "1");
        ctx.done(ctx.sleep(1_000)).await?;
        ctx.done(ctx.cancel(work)).await?;
        ctx.done(work).await
    })
}

const TIDIED: [&str; 9] = [
    "started",
    "0 call slow",
    "cancelled",
    "1 call tidy",
    "1: 1",
    "2 sleep",
    "0: 1",
    "2: null",
    "finished failed 499",
];

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_running_workflow_is_told_of_cancellation_at_once_and_goes_on_to_tidy_up() {
    let script = tidy();
    let mut world = begun(&script, Plan::default()).await;
    world.pass(Millis(60)).await;
    assert_eq!(world.task("it").await.status(), TaskStatus::Acquired);
    world.client(cancel("it")).await;
    world.pass(Millis(40)).await;
    assert_eq!(world.story("it").await[2], "cancelled");
    assert_eq!(world.outcome("it").await.0, Verdict::Canceled);
    assert_eq!(world.story("it").await, TIDIED);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_suspended_workflow_is_woken_by_cancellation_and_told_once_in_every_replay_too() {
    for plan in [Plan::default(), cold()] {
        let script = tidy();
        let mut world = begun(&script, plan).await;
        world.stands("it", TaskStatus::Suspended).await;
        world.client(cancel("it")).await;
        world.client(cancel("it")).await;
        world.stands("it", TaskStatus::Suspended).await;
        assert_eq!(world.task("it").await.cancel, CancelState::Delivered);
        world.client(cancel("it")).await;
        assert_eq!(world.outcome("it").await.0, Verdict::Canceled);
        assert_eq!(world.story("it").await, TIDIED);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_cancelled_before_it_began_begins_and_is_told() {
    let script = tidy();
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.client(cancel("it")).await;
    assert_eq!(world.outcome("it").await.0, Verdict::Canceled);
    assert_eq!(world.story("it").await, TIDIED);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_killed_execution_is_interrupted_and_writes_nothing_more() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        ctx.done(ctx.sleep(10)).await?;
        ctx.log("hanging");
        ctx.sleep(1_000);
        ctx.hang().await
    }));
    let mut world = begun(&script, Plan::default()).await;
    world.pass(SECOND).await;
    let before = world.story("it").await;
    let commits = world.faults.commits();
    world.client(kill("it")).await;
    assert_eq!(world.outcome("it").await.0, Verdict::Canceled);
    world.pass(Millis(60_000)).await;
    assert_eq!(world.story("it").await, before);
    assert_eq!(world.task("it").await.status(), TaskStatus::Fulfilled);
    let after: Vec<_> = world.probe.submitted().split_off(usize::try_from(commits).expect("few"));
    let named = |command: &Command| command.name() == "task-heartbeat";
    assert!(!after.iter().flatten().any(named), "the claim is dropped: {after:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_killed_activity_is_dropped_where_it_stands() {
    let ended = Arc::new(AtomicU32::new(0));
    let count = ended.clone();
    let script = Arc::new(Script::default().activity("work", move |attempt| {
        let count = count.clone();
        async move {
            attempt.sleep(10_000).await;
            count.fetch_add(1, Ordering::Relaxed);
            attempt.succeed("1")
        }
    }));
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/work", &json!(null)).await;
    world.pass(SECOND).await;
    world.client(kill("it")).await;
    world.pass(Millis(60_000)).await;
    assert_eq!(ended.load(Ordering::Relaxed), 0);
}

/// Starts `it` with a deadline.
async fn start_within(world: &World, limit: Millis) {
    let new = NewPromise {
        id: "it".into(),
        param: segno_engine::values::param(
            "flow",
            &segno_guest::Payload::Json("null".into()),
            Tags::new(),
        ),
        tags: Tags::from([(tags::TARGET.into(), "wasm://m/flow".into())]),
        timeout_at: segno_env::Clock::now(&*world.clock) + limit,
    };
    world.client(Command::PromiseCreate(new)).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_deadline_of_an_invocation_ends_it_while_it_executes_and_while_it_is_suspended() {
    for hangs in [true, false] {
        let script = Arc::new(
            Script::default()
                .workflow("flow", move |ctx| async move {
                    let child = ctx.call("child", "1");
                    ctx.done(ctx.sleep(10)).await?;
                    if hangs { ctx.hang().await } else { ctx.done(child).await }
                })
                .workflow("child", |ctx| async move { ctx.done(ctx.sleep(60_000)).await }),
        );
        let mut world = World::scripted(&script).await;
        start_within(&world, Millis(5_000)).await;
        assert_eq!(world.outcome("it").await.0, Verdict::TimedOut);
        let promise = world.promise("it").await.expect("it is there");
        let settled = promise.settlement().expect("it is settled");
        assert_eq!(settled.settled_at, promise.spec.timeout_at);
        world.pass(SECOND).await;
        let child = world.promise("it/0").await.expect("it was made");
        assert!(!child.is_pending(), "the child ends with its parent");
        assert!(!world.story("it").await.iter().any(|line| line.starts_with("finished")));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn cancellation_reaches_an_activity_by_its_heartbeat() {
    let script = Arc::new(cancels_its_call().activity("work", |attempt| async move {
        while !attempt.heartbeat("1").await {
            attempt.sleep(500).await;
        }
        attempt.fail(499)
    }));
    let mut world = begun(&script, Plan::default()).await;
    let began = segno_env::Clock::now(&*world.clock);
    assert_eq!(world.outcome("it").await.0, Verdict::Canceled);
    let took = segno_env::Clock::now(&*world.clock).since(began);
    assert!(took < Millis(3_000), "{took:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_cancelled_activity_is_not_tried_again() {
    let attempts = Arc::new(AtomicU32::new(0));
    let count = attempts.clone();
    let script = Arc::new(
        cancels_its_call()
            .activity("work", move |attempt| {
                count.fetch_add(1, Ordering::Relaxed);
                async move { attempt.fail(500) }
            })
            .retry(segno_guest::RetryOptions {
                initial_ms: 3_600_000,
                max_ms: 3_600_000,
                ..super::at_once(None)
            }),
    );
    let mut world = begun(&script, Plan::default()).await;
    let (verdict, value) = world.outcome("it").await;
    assert_eq!((verdict, &value["code"]), (Verdict::Canceled, &json!(499)));
    assert_eq!(attempts.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_call_past_its_timeout_fails_and_its_activity_is_dropped() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                ctx.done(ctx.call_with("work", "1", timeout(2_000))).await
            })
            .activity("work", |attempt| async move {
                attempt.sleep(60_000).await;
                attempt.succeed("1")
            }),
    );
    let mut world = begun(&script, Plan::default()).await;
    let (verdict, value) = world.outcome("it").await;
    assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(408)));
    assert_eq!(world.task("it/0").await.status(), TaskStatus::Fulfilled);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_cancellation_that_comes_while_the_end_is_stored_is_told_before_it() {
    for publishes in [false, true] {
        let script = Arc::new(Script::default().workflow("flow", move |ctx| async move {
            ctx.done(ctx.sleep(1_000)).await?;
            if publishes {
                ctx.publish("news", "1");
            }
            Ok("1".into())
        }));
        let mut world = begun(&script, Plan::default()).await;
        world.probe.slow("task-fulfill", Millis(500));
        world.pass(Millis(1_200)).await;
        world.client(cancel("it")).await;
        assert_eq!(world.outcome("it").await.0, Verdict::Canceled);
        assert_eq!(world.story("it").await[..3], ["started", "0 sleep", "cancelled"]);
        assert_eq!(world.task("it").await.cancel, CancelState::Delivered);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_ends_by_itself_before_it_is_told_says_so() {
    let script = Arc::new(
        Script::default().workflow("at_once", |_| async move { Ok("1".into()) }).activity(
            "work",
            |attempt| async move {
                attempt.sleep(1_000).await;
                attempt.succeed("1")
            },
        ),
    );
    let mut plan = Plan::default();
    plan.worker.speculative_starts = false;
    let mut world = World::with(plan, &script).await;
    world.boot().await;
    for function in ["at_once", "work"] {
        world.probe.slow("task-fulfill", Millis(500));
        world.start(function, &format!("wasm://m/{function}"), &json!(null)).await;
        world.pass(Millis(200)).await;
        let told = world.client(cancel(function)).await;
        assert!(matches!(told, Reply::Promise { changed: true, .. }), "{told:?}");
        assert_eq!(world.outcome(function).await.0, Verdict::Resolved);
        assert_eq!(world.task(function).await.cancel, CancelState::Missed, "{function}");
        let told = world.client(cancel(function)).await;
        assert!(matches!(told, Reply::Promise { changed: false, .. }), "{told:?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_a_killed_workflow_called_ends_at_once_and_is_not_asked() {
    let ended = Arc::new(AtomicU32::new(0));
    let count = ended.clone();
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let (work, child) = (ctx.call("work", "1"), ctx.call("child", "1"));
                ctx.done(work).await?;
                ctx.done(child).await
            })
            .workflow("child", |ctx| async move {
                let failed = ctx.done(ctx.call("work", "1")).await;
                ctx.done(ctx.call("tidy", "1")).await?;
                failed
            })
            .activity("work", move |attempt| {
                let count = count.clone();
                async move {
                    attempt.sleep(60_000).await;
                    count.fetch_add(1, Ordering::Relaxed);
                    attempt.succeed("1")
                }
            })
            .activity("tidy", |attempt| async move { attempt.succeed("1") }),
    );
    let mut world = begun(&script, Plan::default()).await;
    world.stands("it/1/0", TaskStatus::Acquired).await;
    world.client(kill("it")).await;
    world.pass(SECOND).await;
    for id in ["it/0", "it/1", "it/1/0"] {
        let promise = world.promise(id).await.expect("it was made");
        assert!(promise.was_killed(), "{id}: {promise:?}");
    }
    assert!(!world.story("it/1").await.iter().any(|line| line == "cancelled"));
    world.pass(Millis(120_000)).await;
    assert_eq!(ended.load(Ordering::Relaxed), 0, "its attempts were dropped");
}
