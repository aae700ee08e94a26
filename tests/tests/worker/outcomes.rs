//! Outcomes of calls that end on the host of their caller: one commit stores an outcome with what
//! follows from it, and claims the next call.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use segno_core::{
    command::{Command, FenceOperation},
    config::Config,
    id::{Digest, PromiseId},
    promise::Verdict,
    time::Millis,
};
use segno_sim::{CommitFault, PlannedFaults};
use serde_json::json;
use tests::world::{
    Plan, World,
    script::{Script, options},
};

use super::{SECOND, ended};

/// Calls in the chain.
const CALLS: u32 = 5;

/// A workflow that calls an activity several times, one call after the other, with the last result.
/// Each attempt returns the number of attempts so far. Returns the number of attempts.
fn chain() -> (Arc<Script>, Arc<AtomicU32>) {
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = attempts.clone();
    let script = Script::default()
        .workflow("flow", |ctx| async move {
            let mut last = "0".to_owned();
            for _ in 0..CALLS {
                last = ctx.done(ctx.call("work", &last)).await?;
            }
            Ok(last)
        })
        .activity("work", move |attempt| {
            let number = counted.fetch_add(1, Ordering::Relaxed) + 1;
            async move { attempt.succeed(number.to_string()) }
        });
    (Arc::new(script), attempts)
}

/// The same, with each outcome committed before the workflow receives it.
fn chain_of_each() -> Arc<Script> {
    let script = Script::default()
        .workflow("flow", |ctx| async move {
            let mut last = "0".to_owned();
            for _ in 0..CALLS {
                last = ctx.done(ctx.call("work", &last)).await?;
            }
            Ok(last)
        })
        .commits_each()
        .activity("work", |attempt| async move { attempt.succeed("1") });
    Arc::new(script)
}

/// The commands of each commit so far, by name, with the fulfillments in a fence.
fn commits(world: &World) -> Vec<Vec<String>> {
    let name = |command: &Command| {
        let ends = command.actions().iter().filter_map(|action| match &action.act {
            FenceOperation::Fulfill(other) => Some(format!(" ends {}", other.claim.id)),
            _ => None,
        });
        std::iter::once(command.name().to_owned()).chain(ends).collect::<String>()
    };
    let commits = world.probe.submitted().into_iter();
    commits.map(|commit| commit.iter().map(name).collect()).collect()
}

fn stores_an_outcome(command: &Command) -> bool {
    let ends = |act: &FenceOperation| matches!(act, FenceOperation::Fulfill(_));
    command.actions().iter().any(|action| ends(&action.act))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_call_of_a_chain_is_one_commit() {
    let (script, _) = chain();
    let (world, verdict, value) = ended(&script, Plan::default()).await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!(CALLS)));
    let commits = commits(&world);
    let of_claims = commits.iter().filter(|commit| commit.iter().any(|it| it.starts_with("task-")));
    let of_claims: Vec<_> = of_claims.map(|commit| commit.join(", ")).collect();
    let expected = [
        "task-acquire",
        "task-fence",
        "task-fence ends it/0",
        "task-fence ends it/1",
        "task-fence ends it/2",
        "task-fence ends it/3",
        "task-fence ends it/4, task-fulfill",
    ];
    assert_eq!(of_claims, expected, "{commits:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_first_call_is_claimed_with_the_birth_of_its_caller() {
    let (script, _) = chain();
    let mut world = World::with(Plan::default(), &script).await;
    world.boot().await;
    world.begin("it", "wasm://m/flow", Digest::of(b"a script"), &json!(null)).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(CALLS)));
    let commits = commits(&world);
    assert!(commits.iter().any(|commit| commit[..] == ["task-begin"]), "{commits:?}");
    assert!(!commits.iter().flatten().any(|command| command == "task-acquire"), "{commits:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn whoever_received_an_outcome_received_the_stored_one() {
    for number in 0.. {
        for fault in CommitFault::ALL {
            let (script, _) = chain();
            let faults = PlannedFaults::at(number, fault);
            let (world, verdict, value) = ended(&script, Plan { faults, ..Plan::default() }).await;
            assert_eq!(verdict, Verdict::Resolved);
            let mut input = json!(0);
            for call in 0..CALLS {
                let promise = world.promise(&format!("it/{call}")).await.expect("it was made");
                let read = |data: &[u8]| -> serde_json::Value {
                    serde_json::from_slice(data).expect("it is JSON")
                };
                let param = read(&promise.spec.param.data);
                assert_eq!(param["args"][0], input, "{fault:?} at {number}: {call}");
                let settlement = promise.settlement().expect("it ended");
                input = read(&settlement.value.as_ref().expect("it has a result").data);
            }
            assert_eq!(value, input, "{fault:?} at {number}");
            if !world.faults.injected() {
                assert!(number > 5, "{number} commits");
                return;
            }
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn nothing_leaves_the_host_before_the_outcome_that_it_depends_on() {
    let (script, attempts) = chain();
    let mut world = World::with(Plan::default(), &script).await;
    world.probe.refuse(stores_an_outcome);
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.pass(SECOND).await;
    assert_eq!(attempts.load(Ordering::Relaxed), 1, "the next call is not begun");
    assert!(world.promise("it/1").await.is_none());
    let stored = world.promise("it/0").await.expect("it was made");
    assert!(!stored.is_pending(), "the called task stored its outcome itself");
    world.probe.relent();
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(CALLS)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_caller_that_received_an_outcome_too_late_is_replayed() {
    // The claim of the call is taken away while its outcome is on its way to the store.
    let (script, attempts) = chain();
    let mut world = World::with(Plan::default(), &script).await;
    world.probe.slow("task-fence", Millis(10));
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.until("the first call", async |world| world.promise("it/0").await.is_some()).await;
    let halt = Command::TaskHalt { id: PromiseId::from("it/0") };
    world.client(halt).await;
    world.pass(SECOND).await;
    assert!(world.promise("it/0").await.expect("it was made").is_pending());
    assert!(world.promise("it/1").await.is_none(), "{:?}", world.story("it").await);
    world.client(Command::TaskContinue { id: PromiseId::from("it/0") }).await;
    let (verdict, value) = world.outcome("it").await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!(CALLS + 1)));
    assert_eq!(attempts.load(Ordering::Relaxed), CALLS + 1);
    assert!(script.instances() > 1, "the caller was replayed");
    assert!(world.metrics().contains("segno_outcomes_not_stored_total 1\n"));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn outcomes_that_do_not_gather_have_commits_of_their_own() {
    let config = Config { run_gather: Millis::ZERO, ..Config::default() };
    let of_host = (chain().0, Plan { config, ..Plan::default() });
    for (script, plan) in [of_host, (chain_of_each(), Plan::default())] {
        let (world, verdict, _) = ended(&script, plan).await;
        assert_eq!(verdict, Verdict::Resolved);
        let submitted = world.probe.submitted();
        assert!(!submitted.iter().flatten().any(stores_an_outcome));
        let ends = submitted.iter().flatten();
        let ends = ends.filter(|command| matches!(command, Command::TaskFulfill { .. })).count();
        assert_eq!(ends, CALLS as usize + 1);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn outcomes_of_a_called_workflow_are_stored_by_its_caller() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let first = ctx.done(ctx.call("inner", "1")).await?;
                ctx.done(ctx.call("inner", &first)).await
            })
            .workflow("inner", |ctx| async move {
                let one = ctx.done(ctx.run("add", || "2".into())).await?;
                Ok(one)
            }),
    );
    let (world, verdict, value) = ended(&script, Plan::default()).await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!(2)));
    assert_eq!(world.story("it/0").await.last().map(String::as_str), Some("finished 2"));
    let stored =
        world.probe.submitted().iter().flatten().filter(|it| stores_an_outcome(it)).count();
    assert_eq!(stored, 2, "{:?}", commits(&world));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn calls_that_end_one_by_one_share_commits() {
    const WIDTH: usize = 40;
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let calls: Vec<_> = (0..WIDTH).map(|n| ctx.call("work", &n.to_string())).collect();
                for call in calls {
                    ctx.done(call).await?;
                }
                Ok("\"all\"".into())
            })
            .activity("work", |attempt| async move { attempt.succeed("1") }),
    );
    let mut world = World::with(Plan::default(), &script).await;
    // While one commit is on its way, other calls end.
    world.probe.slow("task-fence", Millis(5));
    world.start("it", "wasm://m/flow", &json!(null)).await;
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    let fences =
        commits(&world).iter().filter(|it| it.iter().any(|it| it.contains("ends"))).count();
    assert!(fences <= 4, "{fences} commits: {:?}", commits(&world));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_dropped_call_stores_its_own_outcome() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let dropped = ctx.call("work", "1");
                ctx.forget(dropped);
                let sent = ctx.send("work", "2", options());
                ctx.done(sent).await?;
                ctx.done(ctx.sleep(150)).await
            })
            .activity("work", |attempt| async move {
                let input = attempt.input().to_owned();
                attempt.succeed(input)
            }),
    );
    let (world, verdict, _) = ended(&script, Plan::default()).await;
    assert_eq!(verdict, Verdict::Resolved);
    for call in ["it/0", "it/1"] {
        assert!(!world.promise(call).await.expect("it was made").is_pending(), "{call}");
    }
    assert!(!world.probe.submitted().iter().flatten().any(stores_an_outcome));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_call_waits_for_the_commit_of_its_caller_once_that_is_under_way() {
    let (script, _) = chain();
    let mut world = World::with(Plan::default(), &script).await;
    world.probe.slow("task-fence", Millis(40));
    world.start("it", "wasm://m/flow", &json!(null)).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(CALLS)));
    let ends = world.probe.submitted().into_iter().flatten();
    let ends = ends.filter(|command| matches!(command, Command::TaskFulfill { .. })).count();
    assert_eq!(ends, 1, "{:?}", commits(&world));
}
