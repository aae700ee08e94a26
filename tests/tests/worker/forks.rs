//! Forks: from any record of an execution another one continues, under its own id, and completes
//! the remaining work.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use segno_core::{
    command::Command,
    fork::{Fork, ForkOrigin, ForkPositionError},
    id::{Digest, PromiseId},
    invocation::RecordBody,
    promise::{TaskStatus, Verdict},
    reply::{Refusal, Reply},
    time::Millis,
};
use segno_engine::host::Host;
use segno_engine::worker::fork::{
    AnswerSource, DryRun, DryRunEnd, ForkError, ForkPrefix, ForkedInvocation, GivenOutcome,
    MissingAnswer, ReplayedFork, forward,
};
use segno_guest::{Failure, Outcome, Payload};
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::Store;
use serde_json::json;
use tests::world::{Plan, World, script::Script};

use super::{SECOND, begun, cold, ended};

/// Number of runs of each activity, by name and input.
type Performed = Arc<Mutex<BTreeMap<String, u32>>>;

fn module() -> Digest {
    Digest::of(b"a script")
}

async fn prefix(host: &Host, id: &str, at: u32) -> Result<ForkPrefix, ForkError> {
    ForkPrefix::read(host, &PromiseId::from(id), at).await
}

async fn rehearse(host: &Host, prefix: &ForkPrefix, id: &str) -> Result<ReplayedFork, ForkError> {
    let (promise, now) = (&prefix.row.promise, host.env.clock.now());
    let origin = ForkedInvocation::of(promise, PromiseId::from(id), module(), None, now);
    ReplayedFork::new(host, prefix, origin).await
}

/// Builds the fork `new` of the first `at` records of `id`, with these results.
async fn fork(
    world: &World,
    id: &str,
    at: u32,
    new: &str,
    given: &[(u32, Outcome)],
) -> Result<Fork, ForkError> {
    let host = world.host();
    let mut prefix = prefix(&host, id, at).await?;
    for (command, outcome) in given {
        prefix.give(&GivenOutcome { command: *command, outcome: outcome.clone() })?;
    }
    rehearse(&host, &prefix, new).await?.into_fork(&host, &prefix).await
}

pub(super) async fn forks(world: &World, id: &str, at: u32, new: &str, given: &[(u32, Outcome)]) {
    let fork = fork(world, id, at, new, given).await.expect("it can be forked there");
    let reply = world.client(Command::InvocationFork(Box::new(fork))).await;
    assert!(matches!(reply, Reply::Promise { changed: true, .. }), "{reply:?}");
}

pub(super) async fn dry_run(world: &World, id: &str, at: u32, given: &[(u32, Outcome)]) -> DryRun {
    dry_run_with(world, id, at, given, MissingAnswer::Stop).await
}

async fn dry_run_with(
    world: &World,
    id: &str,
    at: u32,
    given: &[(u32, Outcome)],
    missing: MissingAnswer,
) -> DryRun {
    let host = world.host();
    let prefix = ForkPrefix::for_dry_run(&host, &PromiseId::from(id), at).await;
    let mut prefix = prefix.expect("it can be forked there");
    for (command, outcome) in given {
        prefix
            .give(&GivenOutcome { command: *command, outcome: outcome.clone() })
            .expect("it fits");
    }
    let rehearsed = rehearse(&host, &prefix, "dry").await.expect("it repeats the records");
    let before = world.memory.read().dump().await.expect("memory answers");
    let run = forward(&host, &prefix, rehearsed, missing).await.expect("streams are readable");
    let after = world.memory.read().dump().await.expect("memory answers");
    assert_eq!(before, after, "nothing is stored");
    run
}

pub(super) fn value(json: &str) -> Outcome {
    Outcome::Success(Payload::Json(json.to_owned()))
}

/// A workflow that uses everything: it calls, sleeps, passes on the id of a promise, receives a
/// signal, computes, publishes, and drops the slower of two calls.
fn journey(performed: &Performed) -> Arc<Script> {
    let performed = performed.clone();
    let flow = |ctx: tests::world::script::ScriptContext| async move {
        let (approval, id) = ctx.promise(Some("approval"));
        ctx.done(ctx.call("work", &json!({ "mail": id }).to_string())).await?;
        let nap = ctx.sleep(5_000);
        let quick = ctx.call("work", "1");
        let slow = ctx.call("slow", "2");
        let (mut ended, mut left) = (Vec::new(), vec![nap, quick]);
        while !left.is_empty() {
            let done = ctx.any().await;
            left.retain(|open| *open != done);
            ended.push(done);
        }
        ctx.forget(slow);
        let drawn = ctx.done(ctx.run("draw", || "7".to_owned())).await?;
        ctx.done(ctx.publish("news", "1")).await?;
        let (name, heard) = ctx.signal().await;
        let large = ctx.done(ctx.call("large", "3")).await?;
        let approved = ctx.done(approval).await?;
        ctx.log("approved");
        Ok(json!([drawn, name, heard, large.len(), approved]).to_string())
    };
    let script = Script::default().workflow("flow", flow).signals();
    let count = move |what: String| {
        let mut performed = performed.lock().unwrap_or_else(PoisonError::into_inner);
        *performed.entry(what).or_default() += 1;
    };
    let (work, slow, large) = (count.clone(), count.clone(), count);
    Arc::new(
        script
            .activity("work", move |attempt| {
                work(format!("work {}", attempt.input()));
                async move { attempt.succeed("\"done\"") }
            })
            .activity("slow", move |attempt| {
                slow("slow".to_owned());
                async move {
                    attempt.sleep(3_600_000).await;
                    attempt.succeed("1")
                }
            })
            .activity("large", move |attempt| {
                large("large".to_owned());
                async move { attempt.succeed(json!("x".repeat(9_000)).to_string()) }
            }),
    )
}

/// Brings a journey to its end, whatever it waits for.
async fn to_its_end(world: &mut World, id: &str, signals: u32) -> (Verdict, serde_json::Value) {
    world.pass(Millis(10_000)).await;
    if signals == 0 {
        world.signal(id, "go", &json!("on")).await;
    }
    world.pass(SECOND).await;
    let approval = format!("{id}/p/approval");
    world.until(&approval, async |world| world.promise(&approval).await.is_some()).await;
    world.resolve(&approval, &json!(true)).await;
    world.pass(SECOND).await;
    world.outcome(id).await
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_fork_at_every_record_goes_on_to_the_same_end_and_repeats_nothing() {
    for plan in [Plan::default, cold] {
        let performed = Performed::default();
        let script = journey(&performed);
        let mut world = World::with(plan(), &script).await;
        world.start("it", "wasm://m/flow", &json!(null)).await;
        let expected = to_its_end(&mut world, "it", 0).await;
        assert_eq!(expected.0, Verdict::Resolved);
        let journal = world.journal("it").await;
        assert!(journal.len() > 15, "{:?}", world.story("it").await);
        for at in 1..journal.len() {
            performed.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let id = format!("it-{at}");
            forks(&world, "it", at as u32, &id, &[]).await;
            let told = &journal[..at];
            let signals = told.iter().filter(|it| matches!(it.body, RecordBody::Signal { .. }));
            let signals = signals.count() as u32;
            assert_eq!(world.task(&id).await.signals, signals);
            assert_eq!(to_its_end(&mut world, &id, signals).await, expected, "at {at}");
            let story = world.story(&id).await;
            assert_eq!(
                story[..at],
                world.story("it").await[..at]
                    .iter()
                    .map(|line| line.replace("own", &large(&story, line)))
                    .collect::<Vec<_>>()[..],
                "at {at}"
            );
            // The fork runs each step once, unless the records contain its outcome.
            let again = performed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let ends = |command: u32| {
                told.iter().any(|record| {
                    matches!(&record.body, RecordBody::Notified { index, .. } if index.0 == command)
                })
            };
            let mail = format!("work {}", json!({ "mail": format!("{id}/p/approval") }));
            assert_eq!(!again.contains_key(&mail), ends(1), "at {at}: {again:?}");
            assert_eq!(!again.contains_key("work 1"), ends(3), "at {at}: {again:?}");
            assert!(again.values().all(|times| *times == 1), "at {at}: {again:?}");
            let promise = world.promise(&id).await.expect("it ended");
            let from = ForkOrigin { of: "it".to_owned(), records: at as u32, set: Vec::new() };
            assert_eq!(ForkOrigin::of(&promise.spec.tags), Some(from));
            assert_eq!(world.logs(&id).await, ["approved"]);
        }
        assert_eq!(world.outcome("it").await, expected, "the other stays as it was");
        assert_eq!(world.journal("it").await, journal);
    }
}

/// The fork's form of a value that the other journal stored in a promise.
fn large(story: &[String], line: &str) -> String {
    let lead = line.trim_end_matches("own");
    let found = story.iter().find(|it| it.starts_with(lead) && line.ends_with("own"));
    found.map_or_else(|| "own".to_owned(), |it| it[lead.len()..].to_owned())
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_fork_that_is_interrupted_anywhere_comes_to_the_same_end() {
    for fault in CommitFault::ALL {
        for commit in 0.. {
            let performed = Performed::default();
            let script = journey(&performed);
            let mut world = World::scripted(&script).await;
            world.start("it", "wasm://m/flow", &json!(null)).await;
            let expected = to_its_end(&mut world, "it", 0).await;
            let done = world.faults.commits();
            drop(world);
            let plan = Plan { faults: PlannedFaults::at(done + commit, fault), ..Plan::default() };
            let mut world = World::with(plan, &journey(&performed)).await;
            world.start("it", "wasm://m/flow", &json!(null)).await;
            assert_eq!(to_its_end(&mut world, "it", 0).await, expected);
            // The fork itself is a commit of this host.
            let made = fork(&world, "it", 7, "f", &[]).await.expect("it can be forked there");
            let command = || Command::InvocationFork(Box::new(made.clone()));
            let host = world.host();
            let died = world.faults.crash.notified();
            let replies = tokio::select! {
                biased;
                () = died => None,
                replies = host.store.execute(vec![command()]) => replies.ok(),
            };
            if replies.is_none() || world.promise("f").await.is_none() {
                let again = world.client(command()).await;
                assert!(matches!(again, Reply::Promise { .. }), "{again:?}");
            }
            let again = world.client(command()).await;
            assert!(matches!(again, Reply::Promise { changed: false, .. }), "{again:?}");
            assert_eq!(to_its_end(&mut world, "f", 0).await, expected, "{fault:?} at {commit}");
            if !world.faults.injected() {
                assert!(commit > 4, "{commit}");
                break;
            }
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_fork_goes_on_with_results_of_ones_choice() {
    let flow = |ctx: tests::world::script::ScriptContext| async move {
        let stock = ctx.done(ctx.call("stock", "1")).await?;
        if stock == "0" {
            return Ok("\"sold out\"".to_owned());
        }
        let paid = ctx.done(ctx.call("pay", &stock)).await;
        Ok(json!(paid.is_ok()).to_string())
    };
    let script = Arc::new(
        Script::default()
            .workflow("flow", flow)
            .activity("stock", |attempt| async move { attempt.succeed("4") })
            .activity("pay", |attempt| async move { attempt.succeed("1") }),
    );
    let (mut world, ..) = ended(&script, Plan::default()).await;
    forks(&world, "it", 3, "sold-out", &[(0, value("0"))]).await;
    assert_eq!(world.outcome("sold-out").await.1, json!("sold out"));
    let no = Failure { code: 402, message: "declined".to_owned(), details: None };
    forks(&world, "it", 5, "declined", &[(1, Outcome::Failure(no))]).await;
    assert_eq!(world.outcome("declined").await.1, json!(false));
    // A command that was open at that record can be given a result as well.
    forks(&world, "it", 2, "early", &[(0, value("0"))]).await;
    assert_eq!(world.story("early").await[..3], ["started", "0 call stock", "0: 0"]);
    assert_eq!(world.outcome("early").await.1, json!("sold out"));
    let tags = world.promise("early").await.expect("it ended").spec.tags.clone();
    let from = ForkOrigin { of: "it".to_owned(), records: 3, set: vec![0] };
    assert_eq!(ForkOrigin::of(&tags), Some(from));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_place_where_no_fork_can_begin_is_refused_by_name() {
    let script = Arc::new(Script::default().workflow("flow", |ctx| async move {
        ctx.done(ctx.sleep(1_000)).await?;
        Ok("1".to_owned())
    }));
    let (world, ..) = ended(&script, Plan::default()).await;
    let before = world.memory.read().dump().await.expect("memory answers");
    let refused = async |at: u32, given: &[(u32, Outcome)]| {
        fork(&world, "it", at, "f", given).await.map(drop).expect_err("it is refused")
    };
    let error = refused(0, &[]).await;
    assert!(matches!(error, ForkError::Impossible(ForkPositionError::AtTheStart(_))), "{error}");
    let error = refused(4, &[]).await;
    assert!(
        matches!(error, ForkError::Impossible(ForkPositionError::AfterTheEnd { records: 4, .. })),
        "{error}"
    );
    let error = refused(9, &[]).await.to_string();
    assert_eq!(error, "the journal of `it` has 4 records, and not 9");
    let error = refused(2, &[(1, value("1"))]).await;
    assert!(matches!(error, ForkError::NoSuchCommand { command: 1, commands: 1, .. }), "{error}");
    let error = refused(3, &[(0, value("1"))]).await;
    assert!(matches!(error, ForkError::CannotHave { command: 0, .. }), "{error}");
    let error = refused(3, &[(0, value("null")), (0, value("null"))]).await;
    assert!(matches!(error, ForkError::GivenTwice(0)), "{error}");
    let nobody = fork(&world, "nobody", 1, "f", &[]).await.map(drop).expect_err("there is none");
    assert_eq!(nobody.to_string(), "there is no invocation `nobody`");
    let taken = fork(&world, "it", 3, "it", &[]).await.expect("it repeats the records");
    let reply = world.client(Command::InvocationFork(Box::new(taken))).await;
    let Reply::Refused(Refusal::Conflict(conflict)) = reply else { panic!("{reply:?}") };
    let told = conflict.to_string();
    assert!(told.contains("`it` was used for another request: another origin"), "{told}");
    let after = world.memory.read().dump().await.expect("memory answers");
    assert_eq!(before, after, "nothing was changed");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_fork_whose_records_are_not_repeated_is_refused_with_the_difference() {
    let is_new = Arc::new(AtomicBool::new(false));
    let seen = is_new.clone();
    let script = Script::default().workflow("flow", move |ctx| {
        let is_new = seen.load(Ordering::Relaxed);
        async move {
            ctx.done(ctx.call(if is_new { "buy" } else { "pay" }, "1")).await?;
            Ok("1".to_owned())
        }
    });
    let script = Arc::new(script.activity("pay", |attempt| async move { attempt.succeed("1") }));
    let (world, ..) = ended(&script, Plan::default()).await;
    is_new.store(true, Ordering::Relaxed);
    let refused = fork(&world, "it", 3, "f", &[]).await.map(drop).expect_err("it differs");
    let said = refused.to_string();
    assert!(
        said.starts_with("the module does not repeat the first 3 records of `it`: at record 1"),
        "{said}"
    );
    assert!(said.contains("pay") && said.contains("buy"), "{said}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_was_open_has_its_time_from_the_beginning_of_the_fork_on() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let work = ctx.call_with("work", "1", super::timeout(60_000));
                ctx.done(work).await
            })
            .activity("work", |attempt| async move {
                attempt.sleep(10_000).await;
                attempt.succeed("1")
            }),
    );
    let (mut world, ..) = ended(&script, Plan::default()).await;
    world.pass(Millis(3_600_000)).await;
    forks(&world, "it", 2, "f", &[]).await;
    assert_eq!(world.outcome("f").await, (Verdict::Resolved, json!(1)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_update_that_is_not_answered_and_a_turn_are_no_places_for_a_fork() {
    use segno_core::{fork::impossible, invocation::Record, update, value::Text};
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let (_, told) = ctx.signal().await;
                let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
                let answer = told["promise"].as_str().expect("an id").to_owned();
                ctx.done(ctx.sleep(1_000)).await?;
                ctx.done(ctx.settle(&answer, "1")).await?;
                Ok("1".to_owned())
            })
            .signals(),
    );
    let mut world = begun(&script, Plan::default()).await;
    world.stands("it", TaskStatus::Suspended).await;
    let records = world.journal("it").await.len() as u32;
    let (name, input, key) = (Text::from("add"), Text::from("1"), None);
    let invocation = PromiseId::from("it");
    let update = Command::Update { invocation, name, input, key, records, signals: 0 };
    assert_eq!(world.client(update).await, Reply::signalled("it", 0));
    world.outcome("it").await;
    let journal = world.journal("it").await;
    let promise = world.promise("it").await.expect("it ended");
    let settles = |record: &Record| matches!(&record.body, RecordBody::Command { name, .. } if name.contains("/a/"));
    let answered = journal.iter().position(settles).expect("it answers") + 1;
    let told = journal.iter().position(|it| matches!(&it.body, RecordBody::Signal { name, .. } if name.starts_with(update::SIGNAL)));
    let told = told.expect("it was told") + 1;
    for at in 1..journal.len() {
        let is_open = (told..answered).contains(&at);
        let found = impossible(&promise, &journal[..at]);
        assert_eq!(
            matches!(found, Some(ForkPositionError::InUpdate { .. })),
            is_open,
            "{at}: {found:?}"
        );
    }
    assert!(fork(&world, "it", told as u32, "f", &[]).await.is_err());
    forks(&world, "it", answered as u32, "f", &[]).await;
    assert_eq!(world.outcome("f").await.0, Verdict::Resolved);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_dry_run_ends_as_the_journal_says_from_every_record() {
    let performed = Performed::default();
    let script = journey(&performed);
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    to_its_end(&mut world, "it", 0).await;
    let len = world.journal("it").await.len() as u32;
    performed.lock().unwrap_or_else(PoisonError::into_inner).clear();
    for at in 1..len {
        let run = dry_run(&world, "it", at, &[]).await;
        assert!(run.ends_as_recorded(), "at {at}: {run:?}");
        assert!(run.left_out.is_empty(), "at {at}: {:?}", run.left_out);
        assert!(run.steps.iter().all(|step| step.is_recorded), "at {at}: {:?}", run.steps);
    }
    assert!(performed.lock().unwrap_or_else(PoisonError::into_inner).is_empty());
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_dry_run_stops_where_nothing_answers_and_says_what_is_left_out() {
    let flow = |ctx: tests::world::script::ScriptContext| async move {
        let ok = ctx.done(ctx.call("check", "1")).await?;
        ctx.done(ctx.publish("checked", &ok)).await?;
        if ok == "true" {
            ctx.done(ctx.call("pay", "1")).await?;
            return Ok("\"paid\"".to_owned());
        }
        ctx.done(ctx.sleep(60_000)).await?;
        ctx.done(ctx.call("pay", "1")).await?;
        ctx.done(ctx.call("apologise", "1")).await?;
        Ok("\"sorry\"".to_owned())
    };
    let succeed = |attempt: tests::world::script::Attempt| async move { attempt.succeed("true") };
    let script = Script::default().workflow("flow", flow);
    let script = script.activity("check", succeed).activity("pay", succeed);
    let (world, ..) =
        ended(&Arc::new(script.activity("apologise", succeed)), Plan::default()).await;
    let run = dry_run(&world, "it", 3, &[(0, value("false"))]).await;
    assert!(matches!(run.end, DryRunEnd::Waits), "{run:?}");
    assert_eq!(run.recorded_end, Some(value("\"paid\"")));
    let steps: Vec<_> = run
        .steps
        .iter()
        .map(|step| (step.asked.kind.name(), step.answered.as_ref().map(|(by, _)| *by)))
        .collect();
    let recorded = |index| Some(AnswerSource::Recorded(segno_core::id::CommandIndex(index)));
    assert_eq!(
        steps,
        [
            ("publish", Some(AnswerSource::LeftOut)),
            ("sleep", Some(AnswerSource::Clock)),
            ("call", recorded(2)),
            ("call", None),
        ]
    );
    let left: Vec<_> =
        run.left_out.iter().map(|(index, asked)| (index.0, asked.kind.name())).collect();
    assert_eq!(left, [(1, "publish")]);
    // It is the same with a result for a command that is open where it begins.
    let open = dry_run(&world, "it", 2, &[(0, value("false"))]).await;
    assert_eq!(open.steps.len(), run.steps.len(), "{open:?}");
    // The result of a later command is given, and a policy answers the one that is new.
    let given = [(0, value("false"))];
    let failed = dry_run_with(&world, "it", 1, &given, MissingAnswer::Fail).await;
    let DryRunEnd::Ended(Outcome::Failure(failure)) = &failed.end else { panic!("{failed:?}") };
    assert_eq!(failure.code, 404);
    assert!(failure.message.contains("no answer to: call apologise"), "{failure:?}");
    let run = dry_run_with(&world, "it", 1, &given, MissingAnswer::Null).await;
    let DryRunEnd::Ended(ended) = &run.end else { panic!("{run:?}") };
    assert_eq!(*ended, value("\"sorry\""));
    let last = run.steps.last().expect("there are some");
    assert!(!last.is_known && !last.is_recorded, "{last:?}");
    assert_eq!(last.answered, Some((AnswerSource::Policy, value("null"))));
}
