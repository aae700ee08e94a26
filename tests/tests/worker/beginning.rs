//! Invocations that run before they are stored.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use segno_core::{
    command::Command,
    id::Digest,
    promise::{TaskStatus, Verdict},
    reply::{Reply, TaskReply},
    time::Timestamp,
};
use segno_engine::worker::WorkerSettings;
use segno_store::NewModule;
use serde_json::{Value as Json, json};
use tests::world::{Plan, World, script::Script};

use super::SECOND;

/// Digest of the module of every scripted world.
fn module() -> Digest {
    Digest::of(b"a script")
}

/// A world with a running host.
async fn up(script: &Arc<Script>) -> World {
    let mut world = World::with(Plan::default(), script).await;
    world.boot().await;
    world
}

/// Answer to a start of the workflow `flow`.
async fn told(world: &mut World, module: Digest) -> (TaskReply, bool) {
    told_of(world, "it", module).await
}

/// The same for another id.
async fn told_of(world: &mut World, id: &str, module: Digest) -> (TaskReply, bool) {
    let mut told = world.try_begin(id, "wasm://m/flow", module, &json!(null)).expect("it is up");
    let mut reply = None;
    world
        .until("the answer", async |_| {
            reply = told.try_recv().ok();
            reply.is_some()
        })
        .await;
    match reply {
        Some(Ok(Reply::Begun { task, first })) => (*task, first.is_some()),
        other => panic!("{other:?}"),
    }
}

/// Names of the commands that the host committed for invocations, in order. Its own start is left
/// out.
fn committed(world: &World) -> Vec<Vec<&'static str>> {
    let names = |commands: &Vec<Command>| commands.iter().map(Command::name).collect::<Vec<_>>();
    let submitted = world.probe.submitted();
    submitted.iter().map(names).filter(|names| names[0] != "host-start").collect()
}

fn one(value: &'static str) -> Arc<Script> {
    Arc::new(Script::default().workflow("flow", move |_| async move { Ok(value.into()) }))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_ends_at_once_takes_one_commit() {
    let mut world = up(&one("7")).await;
    let (task, began) = told(&mut world, module()).await;
    assert!(began && task.created);
    assert_eq!(task.task.status(), TaskStatus::Fulfilled);
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(7)));
    assert_eq!(committed(&world), [["task-begin"]]);
    assert_eq!(world.journal("it").await.len(), 2);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn without_speculative_starts_an_invocation_is_stored_before_it_runs() {
    let worker = WorkerSettings { speculative_starts: false, ..WorkerSettings::default() };
    let mut stored_first = World::with(Plan { worker, ..Plan::default() }, &one("7")).await;
    stored_first.boot().await;
    let (task, began) = told(&mut stored_first, module()).await;
    assert!(began && task.created);
    assert_eq!(task.task.status(), TaskStatus::Acquired, "the guest has not run");
    assert_eq!(stored_first.outcome("it").await, (Verdict::Resolved, json!(7)));
    assert_eq!(committed(&stored_first), [["task-begin"], ["task-fulfill"]]);
    let mut speculative = up(&one("7")).await;
    told(&mut speculative, module()).await;
    assert_eq!(stored_first.journal("it").await, speculative.journal("it").await);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn after_a_removal_one_start_takes_the_longer_way_and_those_after_it_do_not() {
    let mut world = up(&one("7")).await;
    assert!(told(&mut world, module()).await.1);
    let old = world.task("it").await.version;
    let before = Timestamp(i64::MAX);
    world.client(Command::Prune { top: "it".into(), before, part: false, state: false }).await;
    for (id, begins_ahead) in [("it", false), ("next", true)] {
        let (task, began) = told_of(&mut world, id, module()).await;
        assert!(task.created && task.task.version > old, "{task:?}");
        assert_eq!(began, begins_ahead, "{id}");
        assert_eq!(world.outcome(id).await, (Verdict::Resolved, json!(7)));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn steps_and_the_first_wait_come_with_the_birth() {
    let stepping = Script::default().workflow("flow", |ctx| async move {
        ctx.done(ctx.run("one", || "1".into())).await?;
        ctx.done(ctx.run("two", || "2".into())).await?;
        ctx.done(ctx.sleep(60_000)).await
    });
    let waiting =
        Script::default().workflow("flow", |ctx| async move { ctx.done(ctx.sleep(60_000)).await });
    for script in [stepping, waiting] {
        let mut world = up(&Arc::new(script)).await;
        let (task, began) = told(&mut world, module()).await;
        assert!(began);
        assert_eq!(task.task.status(), TaskStatus::Suspended);
        assert_eq!(committed(&world), [["task-begin"]]);
        assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_id_that_is_taken_is_left_to_whoever_runs_it() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let script = Script::default().workflow("flow", move |ctx| {
        let run = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            ctx.done(ctx.run("which", move || run.to_string())).await?;
            ctx.done(ctx.sleep(100)).await?;
            Ok(run.to_string())
        }
    });
    let mut world = up(&Arc::new(script)).await;
    assert!(told(&mut world, module()).await.1);
    let (task, began) = told(&mut world, module()).await;
    assert!(!began && !task.created, "{task:?}");
    assert_eq!(runs.load(Ordering::Relaxed), 2, "the second ran for nothing");
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(0)), "the first goes on");
    let (task, _) = told(&mut world, module()).await;
    assert_eq!((task.created, task.task.status()), (false, TaskStatus::Fulfilled));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_module_that_was_replaced_meanwhile_runs_as_it_is_stored() {
    let mut world = up(&one("7")).await;
    let older: Arc<[u8]> = Arc::from(&b"an older script"[..]);
    let digest = Digest::of(&older);
    let kept = world.memory.clone();
    let now = segno_env::Clock::now(&*world.clock);
    segno_store::Modules::put(&*kept, NewModule::plain(digest, older, now))
        .await
        .expect("memory takes everything");
    let (task, began) = told(&mut world, digest).await;
    assert_eq!((task.created, began, task.task.module), (true, false, Some(module())));
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(7)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_traps_at_first_is_stored_and_tried_again() {
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    let script = Script::default().workflow("flow", move |ctx| {
        let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            match first {
                true => ctx.trap("unreachable").await,
                false => Ok("2".into()),
            }
        }
    });
    let mut world = up(&Arc::new(script)).await;
    let (task, began) = told(&mut world, module()).await;
    assert!(task.created && began);
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(2)));
    assert_eq!(tries.load(Ordering::Relaxed), 2);
    assert_eq!(committed(&world)[..2], [["task-begin"], ["task-release"]]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_refused_at_first_is_refused_as_always() {
    let script = Script::default().workflow("flow", |ctx| async move {
        ctx.done(ctx.call("wasm://nowhere/work", "1")).await
    });
    let mut world = up(&Arc::new(script)).await;
    let (task, _) = told(&mut world, module()).await;
    assert!(task.created);
    let begun = world.outcome("it").await;
    assert_eq!(begun.0, Verdict::Rejected);
    let message = begun.1["message"].as_str().unwrap_or_default();
    assert!(message.contains("`nowhere` is not deployed"), "{}", begun.1);
    let mut plain = World::with(
        Plan::default(),
        &Arc::new(Script::default().workflow("flow", |ctx| async move {
            ctx.done(ctx.call("wasm://nowhere/work", "1")).await
        })),
    )
    .await;
    plain.start("it", "wasm://m/flow", &Json::Null).await;
    assert_eq!(begun, plain.outcome("it").await, "however it was started");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_runs_for_long_is_stored_before_it_has_ended() {
    let script = Script::default()
        .activity("flow", |attempt| async move {
            attempt.sleep(10_000).await;
            attempt.succeed("1")
        })
        .workflow("other", |_| async { Ok("0".into()) });
    let mut world = up(&Arc::new(script)).await;
    let (task, began) = told(&mut world, module()).await;
    assert!(task.created && began);
    assert_eq!(task.task.status(), TaskStatus::Acquired);
    assert!(world.promise("it").await.expect("it is there").is_pending());
    world.pass(SECOND).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(1)));
    assert_eq!(committed(&world)[0], ["task-begin"]);
}
