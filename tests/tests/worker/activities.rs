//! Attempts of activities and HTTP steps.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use segno_core::{
    promise::{HaltReason, TaskState, TaskStatus, Verdict},
    time::{Millis, Timestamp},
};
use segno_env::Clock;
use segno_guest::{CallOptions, Failure, HttpRequest, HttpResponse, Level, Outbound, RetryOptions};
use segno_sim::{CommitFault, PlannedFaults};
use serde_json::json;
use tests::world::{
    Plan, World,
    script::{Script, options},
};

use super::{at_once, begun, ended};

/// Runs an activity that fails with these codes in turn, and then succeeds. Returns the start time
/// of each attempt, and the outcome.
async fn attempts(codes: &[u32], retry: RetryOptions) -> (Vec<i64>, Verdict, serde_json::Value) {
    let begun: Arc<Mutex<Vec<i64>>> = Arc::default();
    let (seen, codes) = (begun.clone(), codes.to_vec());
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move { ctx.done(ctx.call("work", "1")).await })
            .activity("work", move |attempt| {
                let at = i64::try_from(attempt.context.started_at_ms).expect("a time");
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                let code = codes.get(seen.len()).copied();
                assert_eq!(attempt.context.attempt as usize, seen.len() + 1);
                assert_eq!(attempt.context.idempotency_key, "it/0");
                seen.push(at);
                async move {
                    match code {
                        Some(code) => attempt.fail(code),
                        None => attempt.succeed("1"),
                    }
                }
            })
            .retry(retry),
    );
    let (_, verdict, value) = ended(&script, Plan::default()).await;
    let times = begun.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (times, verdict, value)
}

fn retry(initial_ms: u64, factor: f64, max_ms: u64, jitter: f64) -> RetryOptions {
    RetryOptions { initial_ms, factor, max_ms, jitter, ..at_once(None) }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_waits_between_attempts_grow_as_the_policy_says() {
    let (times, verdict, _) = attempts(&[500; 4], retry(1_000, 3.0, 5_000, 0.0)).await;
    assert_eq!(verdict, Verdict::Resolved);
    let waits: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits, [1_000, 3_000, 5_000, 5_000]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn jitter_shortens_a_wait_and_is_the_same_in_every_run() {
    let (times, ..) = attempts(&[500; 3], retry(10_000, 1.0, 10_000, 0.5)).await;
    let waits: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.iter().all(|wait| (5_000..10_000).contains(wait)), "{waits:?}");
    assert!(waits[0] != waits[1], "{waits:?}");
    assert_eq!(attempts(&[500; 3], retry(10_000, 1.0, 10_000, 0.5)).await.0, times);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_final_is_not_tried_again() {
    let limited = at_once(Some(3));
    let named = RetryOptions { non_retryable: vec![503], ..at_once(None) };
    for (codes, policy, expected) in [
        (&[500, 500, 500][..], limited, 3),
        (&[404], at_once(None), 1),
        (&[503], named, 1),
        (&[408, 425, 429, 422], at_once(None), 4),
    ] {
        let (times, verdict, value) = attempts(codes, policy).await;
        assert_eq!((times.len(), verdict), (expected, Verdict::Rejected), "{codes:?}");
        assert_eq!(Some(&value["code"]), codes.last().map(|code| json!(code)).as_ref());
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn progress_is_handed_to_the_next_attempt_however_the_last_one_ended() {
    for traps in [false, true] {
        let script = Arc::new(Script::default().activity("work", move |attempt| async move {
            match attempt.last_progress().map(str::to_owned) {
                None => {
                    attempt.heartbeat("1").await;
                    attempt.heartbeat("\"half\"").await;
                    if traps { attempt.trap("oh") } else { attempt.fail(500) }
                }
                Some(progress) => attempt.succeed(progress),
            }
        }));
        let mut world = World::scripted(&script).await;
        world.start("it", "wasm://m/work", &json!(null)).await;
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!("half")));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn progress_of_a_host_that_died_is_handed_on_as_far_as_it_was_heard() {
    let script = Arc::new(Script::default().activity("work", |attempt| async move {
        match attempt.last_progress().map(str::to_owned) {
            None => {
                attempt.heartbeat("\"early\"").await;
                attempt.sleep(60_000).await;
                attempt.succeed("\"never\"")
            }
            Some(progress) => attempt.succeed(progress),
        }
    }));
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/work", &json!(null)).await;
    world.pass(Millis(10_000)).await;
    world.boot().await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!("early")));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_activity_that_traps_alike_three_times_is_halted_and_can_be_continued() {
    let script = Arc::new(
        Script::default().activity("work", |attempt| async move { attempt.trap("always") }),
    );
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/work", &json!(null)).await;
    world.stands("it", TaskStatus::Halted).await;
    let task = world.task("it").await;
    assert_eq!(task.state, TaskState::Halted { reason: HaltReason::Trapped });
    assert!(task.note.expect("it says why").message.contains("always"));
    assert_eq!(task.attempt, 3);
}

/// A service that answers with these statuses in turn, and records the idempotency keys.
#[derive(Default)]
struct Service {
    statuses: Mutex<VecDeque<u16>>,
    keys: Mutex<Vec<String>>,
}

#[async_trait]
impl Outbound for Service {
    async fn send(&self, module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        assert_eq!(module, "m");
        let key = request.headers.iter().find(|(name, _)| name == "idempotency-key");
        let key = key.map(|(_, key)| key.clone()).unwrap_or_default();
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).push(key);
        let status = self.statuses.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let status = status.unwrap_or(200);
        Ok(HttpResponse { status, headers: Vec::new(), body: b"hello".to_vec() })
    }

    fn allows(&self, _module: &str, _url: &str) -> Result<(), Failure> {
        Ok(())
    }
}

async fn requested(
    statuses: &[u16],
    max_attempts: u32,
) -> (Vec<String>, Verdict, serde_json::Value) {
    let script = Arc::new(Script::default().workflow("flow", move |ctx| async move {
        let mut options = options();
        options.retry = Some(at_once(Some(max_attempts)));
        ctx.done(ctx.http("GET", "http://service/", options)).await
    }));
    let service = Arc::new(Service::default());
    service.statuses.lock().unwrap_or_else(PoisonError::into_inner).extend(statuses);
    let plan = Plan { outbound: Some(service.clone()), ..Plan::default() };
    let (_, verdict, value) = ended(&script, plan).await;
    let keys = service.keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (keys, verdict, value)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_http_answer_is_a_success_whatever_it_says_unless_it_asks_for_patience() {
    for status in [200, 204, 301, 400, 402, 404, 422] {
        let (keys, verdict, value) = requested(&[status], 5).await;
        assert_eq!((keys.len(), verdict), (1, Verdict::Resolved), "{status}");
        assert_eq!((&value["status"], &value["body"]), (&json!(status), &json!("hello")));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_step_of_a_saga_whose_server_declined_did_not_act() {
    use segno_core::saga::{StepEnd, step_end};

    for (status, in_doubt, end) in [
        (201, false, StepEnd::Acted),
        (302, false, StepEnd::Acted),
        (402, false, StepEnd::Failed),
        (402, true, StepEnd::Acted),
    ] {
        let script = Arc::new(Script::default().workflow("flow", move |ctx| async move {
            ctx.done(ctx.http_step("http://service/", in_doubt, options())).await
        }));
        let service = Arc::new(Service::default());
        service.statuses.lock().unwrap_or_else(PoisonError::into_inner).push_back(status);
        let plan = Plan { outbound: Some(service), ..Plan::default() };
        let (world, verdict, value) = ended(&script, plan).await;
        assert_eq!((verdict, &value["status"]), (Verdict::Resolved, &json!(status)));
        let step = world.promise("it/0").await;
        assert_eq!(step_end(step.as_ref()), end, "{status}, in doubt: {in_doubt}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_request_that_is_repeated_keeps_its_idempotency_key() {
    let (keys, verdict, value) = requested(&[408, 425, 429, 500, 503], 9).await;
    assert_eq!(keys, ["it/0"; 6]);
    assert_eq!((verdict, &value["status"]), (Verdict::Resolved, &json!(200)));
    let (keys, verdict, value) = requested(&[503; 9], 2).await;
    assert_eq!((keys.len(), verdict, &value["code"]), (2, Verdict::Rejected, &json!(503)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_send_with_a_start_is_not_begun_before() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let mut options = options();
                options.start_at_ms = Some(ctx.now() + 3_600_000);
                ctx.done(ctx.send("work", "1", options)).await
            })
            .activity("work", |attempt| async move {
                attempt.succeed(attempt.context.started_at_ms.to_string())
            }),
    );
    let mut world = begun(&script, Plan::default()).await;
    let began = world.clock.now();
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!("it/0")));
    world.boot().await;
    let (_, started) = world.outcome("it/0").await;
    let started = Timestamp(started.as_i64().expect("a time"));
    let waited = started.since(began);
    assert!((3_599_900..3_601_000).contains(&waited.0), "{waited:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_an_attempt_logged_is_kept_once_whatever_answer_gets_lost() {
    for number in 0.. {
        let script = Arc::new(Script::default().activity("work", |attempt| async move {
            attempt.host.log(Level::Info, format!("attempt {}", attempt.context.attempt));
            attempt.heartbeat("1").await;
            if attempt.context.attempt < 3 { attempt.fail(500) } else { attempt.succeed("1") }
        }));
        let faults = PlannedFaults::at(number, CommitFault::UnknownButDone);
        let mut world = World::with(Plan { faults, ..Plan::default() }, &script).await;
        world.start("it", "wasm://m/work", &json!(null)).await;
        assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
        let logs = world.logs("it").await;
        let once: BTreeSet<&String> = logs.iter().collect();
        assert!(logs.len() > 1 && once.len() == logs.len(), "commit {number}: {logs:?}");
        if !world.faults.injected() {
            assert!(number > 4, "{number} commits");
            return;
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn claims_that_are_lost_before_the_attempt_begins_use_up_no_attempts() {
    for (bounded, begins) in [(true, false), (true, true), (false, true)] {
        let seen: Arc<Mutex<Vec<u32>>> = Arc::default();
        let attempts = seen.clone();
        let script = Arc::new(
            Script::default()
                .workflow("flow", |ctx| async move { ctx.done(ctx.call("work", "1")).await })
                .activity("work", move |attempt| {
                    let mut seen = attempts.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.push(attempt.context.attempt);
                    async move {
                        attempt.sleep(10_000).await;
                        if attempt.context.attempt < 3 {
                            attempt.fail(503)
                        } else {
                            attempt.succeed("1")
                        }
                    }
                })
                .retry(at_once(bounded.then_some(3))),
        );
        let mut world = begun(&script, Plan::default()).await;
        if !begins {
            world.probe.slow("task-heartbeat", Millis(60_000));
        }
        for _ in 0..3 {
            world.stands("it/0", TaskStatus::Acquired).await;
            world.pass(Millis(500)).await;
            world.boot().await;
        }
        world.probe.slow("none", Millis(0));
        world.boot().await;
        let (verdict, _) = world.outcome("it").await;
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match begins {
            false => assert_eq!((verdict, &seen[..]), (Verdict::Resolved, &[1, 2, 3][..])),
            true => assert_eq!(seen[..4], [1, 2, 3, 4], "bounded: {bounded}"),
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_attempt_that_takes_too_long_is_dropped_and_tried_again() {
    let labels = |ms: &str| vec![("segno:attempt-timeout-ms".to_owned(), ms.to_owned())];
    for (ms, expected) in
        [("2000", (Verdict::Resolved, json!(2))), ("60000", (Verdict::Resolved, json!(1)))]
    {
        let options =
            CallOptions { labels: labels(ms), retry: Some(at_once(Some(3))), ..options() };
        let script = Arc::new(
            Script::default()
                .workflow("flow", move |ctx| {
                    let options = options.clone();
                    async move { ctx.done(ctx.call_with("work", "1", options)).await }
                })
                .activity("work", |attempt| async move {
                    if attempt.context.attempt == 1 {
                        attempt.sleep(30_000).await;
                    }
                    attempt.succeed(attempt.context.attempt.to_string())
                }),
        );
        let (world, verdict, value) = ended(&script, Plan::default()).await;
        assert_eq!((verdict, value), expected, "{ms}");
        let promise = world.promise("it/0").await.expect("it was made");
        assert!(!promise.spec.tags.keys().any(|tag| tag.starts_with("label:")), "it is no label");
    }
    // A node of a graph has the same option.
    let script = Script::default().activity("work", |attempt| async move {
        if attempt.context.attempt == 1 {
            attempt.sleep(30_000).await;
        }
        attempt.succeed(attempt.context.attempt.to_string())
    });
    let mut world = World::scripted(&Arc::new(script)).await;
    let node = json!({ "call": "work", "attempt_timeout": "2s", "retry": { "initial": "10ms" } });
    let plan = json!({ "plan": { "nodes": { "a": node } }, "input": null });
    world.client(tests::graphs::run("g", &plan)).await;
    assert_eq!(world.outcome("g").await, (Verdict::Resolved, json!({ "a": 2 })));

    let options = CallOptions { labels: labels("soon"), ..options() };
    let script = Arc::new(
        Script::default()
            .workflow("flow", move |ctx| {
                let options = options.clone();
                async move { ctx.done(ctx.call_with("work", "1", options)).await }
            })
            .activity("work", |attempt| async move { attempt.succeed("1") }),
    );
    let (_, verdict, value) = ended(&script, Plan::default()).await;
    assert_eq!((verdict, &value["code"]), (Verdict::Rejected, &json!(400)), "{value}");
}
