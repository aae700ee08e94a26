//! The content and places of records, and the way of a replay through them.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    config::Config,
    id::{Claim, Holder, HostName, PromiseId, Version},
    invocation::{CommandKind, Outcome as Stored, Record, RecordBody},
    promise::{NewPromise, ReleaseReason, TaskStatus, Verdict},
    reply::Reply,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::worker;
use segno_guest::Event;
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::Store as _;
use serde_json::json;
use tests::world::{
    Plan, World,
    script::{Script, options},
};

use super::{SECOND, begun, cold, ended};

/// Counts computations.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl Count {
    fn up(&self) -> String {
        (self.0.fetch_add(1, Ordering::Relaxed) + 1).to_string()
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Two `run`s in one poll, with the number of computations of each.
fn two_runs() -> (Arc<Script>, Count, Count) {
    let (first, second) = (Count::default(), Count::default());
    let (a, b) = (first.clone(), second.clone());
    let script = Script::default().workflow("flow", move |ctx| {
        let (a, b) = (a.clone(), b.clone());
        async move {
            let one = ctx.run("a", || a.up());
            let two = ctx.run("b", || b.up());
            ctx.done(one).await?;
            ctx.done(two).await?;
            Ok("\"both\"".into())
        }
    });
    (Arc::new(script), first, second)
}

const TWO_RUNS: [&str; 6] = ["started", "0 run a", "1 run b", "0: 1", "1: 1", "finished \"both\""];

/// Each result of a `run` is committed before the guest receives it.
fn one_by_one() -> Plan {
    let config = Config { run_gather: Millis::ZERO, ..Config::default() };
    Plan { config, ..Plan::default() }
}

/// Three `run`s, a call with their sum, and a `run` on its result; with the number of computations.
fn runs_around_a_call() -> (Arc<Script>, Count) {
    let count = Count::default();
    let computed = count.clone();
    let script = Script::default()
        .workflow("flow", move |ctx| {
            let computed = computed.clone();
            async move {
                for name in ["a", "b", "c"] {
                    ctx.done(ctx.run(name, || computed.up())).await?;
                }
                let sum = ctx.done(ctx.run("sum", || computed.up())).await?;
                let work = ctx.done(ctx.call("work", &sum)).await?;
                ctx.done(ctx.run("last", || work)).await
            }
        })
        .activity("work", |attempt| async move {
            let input = attempt.input().to_owned();
            attempt.succeed(input)
        });
    (Arc::new(script), count)
}

/// Records that each commit appended to `it`.
fn appended(world: &World) -> Vec<Vec<Record>> {
    let records = |command: &Command| match command {
        Command::TaskFence { claim, records, .. }
        | Command::TaskSuspend { claim, records, .. }
        | Command::TaskFulfill { claim, records, .. }
            if claim.id.as_str() == "it" =>
        {
            records.clone()
        }
        _ => Vec::new(),
    };
    let commits = world.probe.submitted().into_iter();
    let commits = commits.map(|commit| commit.iter().flat_map(records).collect::<Vec<_>>());
    commits.filter(|records| !records.is_empty()).collect()
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn two_runs_in_one_poll_are_recorded_one_a_batch() {
    let (script, ..) = two_runs();
    let (world, verdict, _) = ended(&script, one_by_one()).await;
    assert_eq!(verdict, Verdict::Resolved);
    assert_eq!(world.story("it").await, TWO_RUNS);
    let is_result = |record: &&Record| matches!(record.body, RecordBody::Notified { .. });
    for records in appended(&world) {
        let results = records.iter().filter(is_result).count();
        assert!(results <= 1, "{records:?}");
        assert!(results == 0 || records.last().as_ref().is_some_and(is_result), "{records:?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn results_of_runs_gather_until_something_leaves_the_host() {
    let (script, count) = runs_around_a_call();
    let (world, verdict, value) = ended(&script, Plan::default()).await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!(4)));
    assert_eq!(count.get(), 4);
    let commits = appended(&world);
    let lengths: Vec<_> = commits.iter().map(Vec::len).collect();
    // The start, four `run`s with their results, and the call. Then its result, the last `run` with
    // its result, and the end.
    assert_eq!(lengths, [10, 4], "{commits:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn nothing_leaves_the_host_before_the_runs_that_it_depends_on() {
    let (script, count) = runs_around_a_call();
    let mut world = World::with(Plan::default(), &script).await;
    world.probe.refuse(|command| matches!(command, Command::TaskFence { .. }));
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.pass(SECOND).await;
    assert_eq!(count.get() % 4, 0, "all of them were computed, in each attempt");
    let computed = count.get();
    assert!(computed > 0);
    assert_eq!(world.story("it").await, [""; 0]);
    let call = world.memory.read().promise(&"it/0".into()).await;
    assert!(matches!(call, Ok(None)), "{call:?}");
    world.probe.relent();
    // A result that never left the host may have another value when it is computed again.
    let expected = json!(computed + 4);
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, expected));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn whoever_received_a_result_of_runs_received_the_recorded_one() {
    for number in 0.. {
        for fault in CommitFault::ALL {
            let (script, _) = runs_around_a_call();
            let faults = PlannedFaults::at(number, fault);
            let (world, verdict, value) = ended(&script, Plan { faults, ..Plan::default() }).await;
            assert_eq!(verdict, Verdict::Resolved);
            let story = world.story("it").await;
            assert!(story.contains(&format!("3: {value}")), "{fault:?} at {number}: {story:?}");
            if !world.faults.injected() {
                assert!(number > 2, "{number} commits");
                return;
            }
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_run_result_that_does_not_gather_is_durable_before_the_guest_sees_it() {
    let (script, first, _) = two_runs();
    let mut world = World::with(one_by_one(), &script).await;
    world.probe.refuse(|command| matches!(command, Command::TaskFence { .. }));
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.pass(SECOND).await;
    assert_eq!(first.get(), 1, "it was computed");
    assert_eq!(script.told(), [], "and nothing was told");
    assert_eq!(world.story("it").await, [""; 0]);
    world.probe.relent();
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    assert_eq!(first.get(), 2, "it was computed again");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_may_have_each_result_committed_before_it_receives_it() {
    let computing = |script: Script, name: &'static str| {
        script.workflow(name, |ctx| async move {
            for step in ["a", "b", "c"] {
                ctx.done(ctx.run(step, || "1".into())).await?;
            }
            Ok("3".into())
        })
    };
    let script = computing(computing(Script::default(), "gathered"), "each").commits_each();
    let script = Arc::new(script);
    for (function, commits) in [("gathered", 1), ("each", 4)] {
        let mut world = World::with(Plan::default(), &script).await;
        world.start("it", &format!("wasm://m/{function}"), &json!(null)).await;
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(3)));
        let appended = appended(&world);
        assert_eq!(appended.len(), commits, "{function}: {appended:?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_open_run_at_the_end_of_a_replay_is_executed_again_and_its_result_held() {
    let (script, ..) = two_runs();
    let (world, ..) = ended(&script, one_by_one()).await;
    // The first batch, which has only the result of `a`.
    let is_batch = |command: &Command| matches!(command, Command::TaskFence { .. });
    let batch = world.probe.submitted().iter().position(|commit| commit.iter().any(is_batch));
    let batch = batch.expect("it has one") as u64;

    let (script, first, second) = two_runs();
    let faults = PlannedFaults::at(batch, CommitFault::CrashAfter);
    let (world, ..) = ended(&script, Plan { faults, ..one_by_one() }).await;
    assert_eq!(world.lives(), 2);
    assert_eq!((first.get(), second.get()), (1, 2));
    let mut story = TWO_RUNS;
    story[4] = "1: 2";
    assert_eq!(world.story("it").await, story);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_forgotten_command_is_neither_told_nor_awaited() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let slow = ctx.call("work", "1");
                ctx.forget(slow);
                ctx.done(ctx.sleep(60_000)).await
            })
            .activity("work", |attempt| async move {
                attempt.sleep(1_000).await;
                attempt.succeed("1")
            }),
    );
    let mut world = begun(&script, Plan::default()).await;
    world.pass(Millis(30_000)).await;
    assert!(!world.promise("it/0").await.expect("it was made").is_pending());
    assert_eq!(script.told(), []);
    assert_eq!(world.task("it").await.status(), TaskStatus::Suspended);
    assert_eq!(world.task("it").await.version, Version(1), "nothing woke it");
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    assert_eq!(
        world.story("it").await,
        ["started", "0 call work", "1 sleep", "1: null", "finished null"]
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_forgotten_run_is_told_neither_live_nor_in_a_replay() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let forgotten = ctx.run("a", || "1".into());
        ctx.forget(forgotten);
        ctx.done(ctx.sleep(60_000)).await?;
        ctx.done(ctx.sleep(60_000)).await
    }));
    let (world, verdict, _) = ended(&script, cold()).await;
    assert_eq!(verdict, Verdict::Resolved);
    assert_eq!(script.instances(), 3, "two of them replayed");
    let of_the_run =
        |event: &Event| matches!(event, Event::Completed(completed) if completed.command == 0);
    assert!(!script.told().iter().any(of_the_run), "{:?}", script.told());
    assert!(!world.story("it").await.iter().any(|line| line.starts_with("0: ")));
}

/// A mix of commands, for journals with many kinds of records.
fn medley() -> Arc<Script> {
    Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let work = ctx.call("work", "1");
                let (approval, _) = ctx.promise(Some("approval"));
                let computed = ctx.run("compute", || "7".into());
                ctx.done(computed).await?;
                let sent = ctx.send("work", "2", options());
                ctx.log("sent");
                ctx.done(sent).await?;
                ctx.done(work).await?;
                let published = ctx.publish("topic", "{}");
                let missing = ctx.settle("nobody", "1");
                ctx.done(published).await?;
                let refused = ctx.done(missing).await.expect_err("there is no such promise");
                ctx.done(ctx.sleep(5_000)).await?;
                let approved = ctx.done(approval).await?;
                let long = ctx.done(ctx.call("long", "1")).await?;
                Ok(format!("[{approved},{},{}]", refused.0, long.len()))
            })
            .activity("work", |attempt| async move {
                let input = attempt.input().to_owned();
                attempt.succeed(input)
            })
            .activity("long", |attempt| async move {
                attempt.succeed(format!("\"{}\"", "x".repeat(5_000)))
            }),
    )
}

async fn play_medley(world: &mut World) {
    let asks = async |world: &World| world.promise("it/p/approval").await.is_some();
    let ends = async |world: &World| world.promise("it").await.is_some_and(|it| !it.is_pending());
    world.until("the approval", async |world| asks(world).await || ends(world).await).await;
    world.resolve("it/p/approval", &json!(true)).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!([true, 404, 5_002])));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_replay_of_every_prefix_goes_on_live_even_in_the_middle_of_a_poll() {
    let script = medley();
    let mut world = begun(&script, Plan::default()).await;
    play_medley(&mut world).await;
    let journal = world.journal("it").await;
    assert!(journal.len() > 15, "{}", journal.len());
    for cut in 1..journal.len() {
        let mut world = World::scripted(&script).await;
        world.start("it", "wasm://m/flow", &json!(null)).await;
        plant(&world, &journal[..cut]).await;
        play_medley(&mut world).await;
        let again = world.journal("it").await;
        assert_eq!(again[..cut], journal[..cut], "after {cut}");
        let mut lines = world.story("it").await;
        let mut expected = tests::world::story(&journal);
        // The order of several events is decided again where it was not recorded.
        lines.sort();
        expected.sort();
        assert_eq!(lines, expected, "after {cut}");
    }
}

/// Gives `it` the beginning of a journal, as an earlier host could have left it. Outcomes in the
/// journal are settled. The other objects of its commands are missing, as if their creation had
/// left nothing behind.
async fn plant(world: &World, records: &[Record]) {
    let id = PromiseId::from("it");
    let request = ClaimRequest {
        holder: Holder { node: HostName::from("before"), incarnation: 1 },
        nonce: 1,
        ttl: Millis(60_000),
    };
    let offered = Claim { id: id.clone(), version: Version(0) };
    let acquired =
        world.client(Command::TaskAcquire { claim: offered, request, stall_limit: None }).await;
    let Reply::Task(task) = acquired else { panic!("{acquired:?}") };
    let claim = Claim { id, version: task.task.version };
    let own = records.iter().find_map(|record| match &record.body {
        RecordBody::Notified { index, outcome: Stored::Own } => Some(*index),
        _ => None,
    });
    // Only this outcome is stored in its promise.
    let create = own.map(|index| {
        let new = NewPromise {
            id: claim.id.command(index),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: Timestamp::NEVER,
        };
        FenceAction { index, act: FenceOperation::Create { new, request: None } }
    });
    let fence = Command::TaskFence {
        claim: claim.clone(),
        records: records.to_vec(),
        logs: Vec::new(),
        actions: create.into_iter().collect(),
    };
    let fenced = world.client(fence).await;
    assert!(matches!(fenced, Reply::Fenced { .. }), "{fenced:?}");
    if let Some(index) = own {
        world.resolve(&format!("it/{}", index.0), &json!("x".repeat(5_000))).await;
    }
    world.client(Command::TaskRelease { claim, reason: ReleaseReason::Yield }).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn running_again_from_every_place_gives_the_same_journal_byte_for_byte() {
    let script = medley();
    let mut world = begun(&script, Plan::default()).await;
    play_medley(&mut world).await;
    tests::replaying::reruns_from_every_place(&*script, &world, "it").await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_long_outcome_lies_in_its_promise_and_is_replayed_from_there() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let long = ctx.done(ctx.call("long", "1")).await?;
                ctx.done(ctx.sleep(60_000)).await?;
                Ok(long)
            })
            .activity("long", |attempt| async move {
                attempt.succeed(format!("\"{}\"", "x".repeat(5_000)))
            }),
    );
    let (world, verdict, value) = ended(&script, cold()).await;
    assert_eq!((verdict, value), (Verdict::Resolved, json!("x".repeat(5_000))));
    assert!(script.instances() > 1, "it was replayed");
    assert_eq!(
        world.story("it").await,
        ["started", "0 call long", "0: own", "1 sleep", "1: null", "finished own"]
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_line_is_logged_once_however_often_its_workflow_is_replayed() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        ctx.log("before the first command");
        let sleep = ctx.sleep(60_000);
        ctx.log("after the last command of a poll");
        ctx.done(sleep).await?;
        let computed = ctx.run("compute", || "1".into());
        ctx.done(computed).await?;
        ctx.log("after a run");
        let sleep = ctx.sleep(60_000);
        ctx.log("before waiting");
        ctx.done(sleep).await
    }));
    let (world, ..) = ended(&script, cold()).await;
    assert_eq!(script.instances(), 3);
    assert_eq!(
        world.logs("it").await,
        [
            "before the first command",
            "after the last command of a poll",
            "after a run",
            "before waiting"
        ]
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_thousand_calls_are_one_commit() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let calls: Vec<u32> = (0..1_000).map(|_| ctx.call("poll://outside/work", "1")).collect();
        for call in calls {
            ctx.done(call).await?;
        }
        Ok("1000".into())
    }));
    let mut world = begun(&script, Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    let is_call = |record: &Record| {
        matches!(record.body, RecordBody::Command { kind: CommandKind::Call, .. })
    };
    let commits: Vec<usize> = appended(&world)
        .iter()
        .map(|records| records.iter().filter(|record| is_call(record)).count())
        .collect();
    assert_eq!(commits, [1_000]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_instance_that_nobody_else_touched_is_used_again_without_a_replay() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        ctx.done(ctx.sleep(60_000)).await?;
        ctx.done(ctx.sleep(60_000)).await
    }));
    let (_, verdict, _) = ended(&script, Plan::default()).await;
    assert_eq!((verdict, script.instances()), (Verdict::Resolved, 1));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_instance_is_replayed_when_somebody_else_had_the_claim_meanwhile() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        let (promise, _) = ctx.promise(Some("go"));
        ctx.done(promise).await
    }));
    let mut world = begun(&script, Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    // Another host claims the task when it wakes, does nothing, and releases it.
    let id = PromiseId::from("it");
    world.probe.refuse(|command| matches!(command, Command::TaskAcquire { .. }));
    world.resolve("it/p/go", &json!(1)).await;
    let claim = Claim { id: id.clone(), version: world.task("it").await.version };
    let request = ClaimRequest {
        holder: Holder { node: HostName::from("other"), incarnation: 1 },
        nonce: 9,
        ttl: Millis(60_000),
    };
    world.client(Command::TaskAcquire { claim, request, stall_limit: None }).await;
    let claim = Claim { id, version: world.task("it").await.version };
    world.client(Command::TaskRelease { claim, reason: ReleaseReason::Yield }).await;
    world.probe.relent();
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(1)));
    assert_eq!(script.instances(), 2);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_replay_of_what_still_runs_is_one_of_the_records_it_had_at_the_beginning() {
    // More than a page of a journal.
    const PROMISES: u32 = 2_060;
    let script = Script::default().workflow("flow", |ctx| async move {
        for _ in 0..PROMISES {
            ctx.promise(None);
        }
        for _ in 0..20 {
            ctx.done(ctx.sleep(10)).await?;
        }
        let (approval, _) = ctx.promise(Some("approval"));
        ctx.done(approval).await
    });
    let mut world = begun(&Arc::new(script), Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    world.pass(SECOND).await;
    let whole = u32::try_from(world.journal("it").await.len()).expect("it is short");
    assert!(whole > PROMISES + 40, "{whole}");
    let host = world.host();
    // In the first page, at its end, in the middle of a poll, before and after an event, at the
    // end.
    for len in [1, 5, 2_047, 2_048, 2_049, 2_055, 2_062, 2_063, 2_064, whole - 1, whole] {
        world.probe.journals_grow_from(len);
        let report = worker::replay(&host, &"it".into(), None).await.expect("it can be replayed");
        assert!(report.is_identical() && report.running && !report.finished, "{report:?}");
        assert_eq!(report.matched, report.records, "from {len}");
        // After a full page the next one is read.
        let looks = u32::from(len >= 2_048);
        assert_eq!(report.records, whole.min(len + looks), "from {len}");
    }
    world.resolve("it/p/approval", &json!(1)).await;
    world.outcome("it").await;
    let report = worker::replay(&host, &"it".into(), None).await.expect("it can be replayed");
    assert!(report.is_identical() && report.finished && !report.running, "{report:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_line_without_a_record_is_kept_once_whatever_answer_gets_lost() {
    for number in 0.. {
        let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
            // Short enough for the host to wait, so that the line after the result waits alone.
            let nap = ctx.sleep(100);
            ctx.done(ctx.run("a", || "1".into())).await?;
            ctx.log("after the run");
            ctx.done(nap).await?;
            ctx.log("after the nap");
            Ok("1".into())
        }));
        let faults = PlannedFaults::at(number, CommitFault::UnknownButDone);
        let (world, verdict, _) = ended(&script, Plan { faults, ..Plan::default() }).await;
        assert_eq!(verdict, Verdict::Resolved);
        assert_eq!(world.logs("it").await, ["after the run", "after the nap"], "commit {number}");
        if !world.faults.injected() {
            assert!(number > 3, "{number} commits");
            return;
        }
    }
}
