//! Timers that end while their workflow waits on the host: one commit settles the timer and stores
//! what follows.

use std::sync::Arc;

use segno_core::{
    command::{Command, FenceOperation},
    promise::Verdict,
};
use segno_sim::{CommitFault, PlannedFaults};
use serde_json::json;
use tests::world::{Plan, World, script::Script};

use super::{SECOND, ended};

/// Number of sleeps.
const SLEEPS: u32 = 3;

/// A workflow that sleeps several times. Each result of a `run` says which sleep has ended.
fn sleeper(length_ms: u64) -> Script {
    Script::default().workflow("flow", move |ctx| async move {
        for number in 0..SLEEPS {
            ctx.done(ctx.sleep(length_ms)).await?;
            ctx.done(ctx.run("slept", || number.to_string())).await?;
        }
        Ok(SLEEPS.to_string())
    })
}

/// The commands of each commit so far that has a command of a task, by name.
fn commits(world: &World) -> Vec<String> {
    let commits = world.probe.submitted().into_iter();
    let commits = commits.filter(|commit| commit.iter().any(|it| it.name().starts_with("task-")));
    let names = |commit: Vec<Command>| commit.iter().map(Command::name).collect::<Vec<_>>();
    commits.map(|commit| names(commit).join(", ")).collect()
}

fn stores_a_timer(command: &Command) -> bool {
    let elapsed = |act: &FenceOperation| matches!(act, FenceOperation::Elapsed { .. });
    command.actions().iter().any(|action| elapsed(&action.act))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_short_timer_ends_in_the_commit_of_what_follows() {
    let (world, verdict, value) = ended(&Arc::new(sleeper(50)), Plan::default()).await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!(SLEEPS)));
    let expected =
        ["task-acquire", "task-fence", "task-fence", "task-fence", "task-fence, task-fulfill"];
    assert_eq!(commits(&world), expected);
    let due = world.probe.submitted().into_iter().flatten();
    assert_eq!(due.filter(|command| command.name() == "promise-due").count(), 0);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_that_commits_each_result_has_the_end_of_a_timer_stored_first() {
    for length_ms in [50, 10_000] {
        let script = Arc::new(sleeper(length_ms).commits_each());
        let (world, verdict, _) = ended(&script, Plan::default()).await;
        assert_eq!(verdict, Verdict::Resolved);
        let submitted = world.probe.submitted();
        assert!(!submitted.iter().flatten().any(stores_a_timer));
        let alone = |commit: &&Vec<Command>| {
            commit.iter().any(|command| command.name() == "promise-due")
                && !commit.iter().any(|command| command.name() == "task-fence")
        };
        assert_eq!(submitted.iter().filter(alone).count(), SLEEPS as usize);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn sleeps_come_to_the_same_whatever_fails() {
    for length_ms in [50, 10_000] {
        let mut number = 0;
        loop {
            let mut injected = false;
            for fault in CommitFault::ALL {
                let faults = PlannedFaults::at(number, fault);
                let script = Arc::new(sleeper(length_ms));
                let (world, verdict, value) =
                    ended(&script, Plan { faults, ..Plan::default() }).await;
                assert_eq!((verdict, value), (Verdict::Resolved, json!(SLEEPS)));
                let story = world.story("it").await;
                let slept = |number: u32| story.contains(&format!("{}: {number}", 2 * number + 1));
                assert!((0..SLEEPS).all(slept), "{fault:?} at {number}: {story:?}");
                for number in 0..SLEEPS {
                    let timer = world.promise(&format!("it/{}", 2 * number)).await;
                    let timer = timer.expect("it was made");
                    assert_eq!(timer.settlement(), Some(&timer.deadline_settlement()));
                }
                injected |= world.faults.injected();
            }
            if !injected {
                break;
            }
            number += 1;
        }
        assert!(number > 3, "{number} commits");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn nothing_leaves_the_host_before_the_timer_that_it_depends_on() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                ctx.done(ctx.sleep(50)).await?;
                ctx.done(ctx.call("work", "1")).await
            })
            .activity("work", |attempt| async move { attempt.succeed("2") }),
    );
    let mut world = World::with(Plan::default(), &script).await;
    world.probe.refuse(stores_a_timer);
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.pass(SECOND).await;
    assert!(world.promise("it/1").await.is_none(), "{:?}", world.story("it").await);
    world.probe.relent();
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(2)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_timer_that_was_cancelled_meanwhile_is_not_received_as_ended() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        Ok(match ctx.done(ctx.sleep(150)).await {
            Ok(_) => "\"slept\"".into(),
            Err((code, _)) => code.to_string(),
        })
    }));
    // Nothing tells the host that the timer was cancelled.
    let mut world = World::with(Plan { deaf: true, ..Plan::default() }, &script).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.until("the sleep", async |world| world.promise("it/0").await.is_some()).await;
    world.settle("it/0", Verdict::Canceled, &json!(null)).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(499)));
    assert!(script.instances() > 1, "the workflow was replayed");
    assert!(world.metrics().contains("segno_outcomes_not_stored_total 1\n"));
}
