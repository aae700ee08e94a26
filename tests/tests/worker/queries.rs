//! Queries. They are answered from committed state, whatever the execution does, and leave no
//! trace.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use segno_core::{command::Command, id::PromiseId, promise::TaskStatus, time::Millis};
use segno_engine::{
    host::Host,
    worker::{self, AskError, Question, QuestionAnswer, ReplayError},
};
use segno_guest::{Outcome, Payload};
use serde_json::json;
use tests::world::{
    Plan, World,
    script::{Failed, Script, ScriptContext},
};

use super::{SECOND, begun, cold};

async fn ask(
    world: &World,
    id: &str,
    name: &str,
    at: Option<u32>,
) -> Result<QuestionAnswer, AskError> {
    ask_at(&world.host(), id, name, at).await
}

/// Sends a query to a host, which may cache earlier queries.
async fn ask_at(
    host: &Host,
    id: &str,
    name: &str,
    at: Option<u32>,
) -> Result<QuestionAnswer, AskError> {
    let input = Payload::Json("null".to_owned());
    let question = Question { validates: false, name: name.to_owned(), input };
    worker::ask(host, &PromiseId::from(id), question, at).await
}

/// Answer to the query `seen`, and the number of records it covers.
async fn seen(world: &World, at: Option<u32>) -> (String, u32) {
    let answered = ask(world, "it", "seen", at).await.expect("an answer");
    match answered.outcome {
        Outcome::Success(Payload::Json(text)) => (text, answered.records),
        other => panic!("{other:?}"),
    }
}

fn answer(ctx: &ScriptContext, name: &str, _: &str) -> Result<String, Failed> {
    match name {
        "seen" => Ok(ctx.shared()),
        "now" => Ok(ctx.now().to_string()),
        "calls" => Ok(ctx.call("work", "1").to_string()),
        _ => Err((404, format!("there is no `{name}`"))),
    }
}

/// Shares its state: before an activity, during a sleep of 10 s, and after it.
fn walker() -> Script {
    let flow = |ctx: ScriptContext| async move {
        ctx.share("\"works\"");
        let work = ctx.call("work", "1");
        ctx.done(work).await?;
        ctx.share("\"sleeps\"");
        let sleep = ctx.sleep(10_000);
        let slept = ctx.done(sleep).await;
        ctx.share("\"slept\"");
        slept
    };
    Script::default()
        .workflow("flow", flow)
        .activity("work", |attempt| async move {
            attempt.sleep(5_000).await;
            attempt.succeed("1")
        })
        .queries(answer)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_query_is_answered_while_it_runs_waits_and_has_ended() {
    for plan in [Plan::default(), cold()] {
        let mut world = begun(&Arc::new(walker()), plan).await;
        world.pass(SECOND).await;
        assert_eq!(seen(&world, None).await.0, "\"works\"");
        world.pass(Millis(7_000)).await;
        let (text, records) = seen(&world, None).await;
        assert_eq!(text, "\"sleeps\"");
        let story = world.story("it").await;
        assert_eq!(records as usize, story.len());
        world.outcome("it").await;
        assert_eq!(seen(&world, None).await.0, "\"slept\"");
        // State at each record. The queries added no record.
        let all = ["works", "works", "sleeps", "sleeps", "slept", "slept"];
        assert_eq!(world.story("it").await.len(), all.len());
        for (record, text) in (1..).zip(all) {
            assert_eq!(seen(&world, Some(record)).await, (format!("\"{text}\""), record));
        }
        let beyond = ask(&world, "it", "seen", Some(7)).await.expect_err("it is shorter");
        assert!(beyond.to_string().contains("has 6 records, and not 7"), "{beyond}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn one_that_was_cancelled_is_asked_like_any_other() {
    let mut world = begun(&Arc::new(walker()), Plan::default()).await;
    world.pass(Millis(7_000)).await;
    world.client(Command::Cancel { invocation: PromiseId::from("it") }).await;
    world.outcome("it").await;
    assert_eq!(seen(&world, None).await.0, "\"slept\"");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_next_question_costs_no_replay() {
    let script = Arc::new(walker());
    let mut world = begun(&script, Plan::default()).await;
    let host = world.host();
    let is = async |text: &str| {
        let answered = ask_at(&host, "it", "seen", None).await.expect("an answer");
        assert_eq!(answered.outcome, Outcome::Success(Payload::Json(format!("\"{text}\""))));
    };
    world.pass(SECOND).await;
    is("works").await;
    let made = script.instances();
    is("works").await;
    world.pass(Millis(7_000)).await;
    is("sleeps").await;
    world.outcome("it").await;
    is("slept").await;
    assert_eq!(script.instances(), made, "the shadow went on with the journal");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_query_that_does_more_than_read_is_refused_and_harms_nothing() {
    let mut world = begun(&Arc::new(walker()), Plan::default()).await;
    world.pass(Millis(7_000)).await;
    let records = world.story("it").await;
    let refused = ask(&world, "it", "calls", None).await.expect_err("it is refused").to_string();
    assert!(refused.contains("the query `calls` issued a command (Call `work`)"), "{refused}");
    let unknown = ask(&world, "it", "other", None).await.expect("an answer").outcome;
    assert!(matches!(unknown, Outcome::Failure(failure) if failure.code == 404));
    assert_eq!(seen(&world, None).await.0, "\"sleeps\"");
    assert_eq!(world.story("it").await, records);
    world.outcome("it").await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_time_of_a_query_is_that_of_the_last_record() {
    let mut world = begun(&Arc::new(walker()), Plan::default()).await;
    world.pass(Millis(7_000)).await;
    let now = async |world: &World| match ask(world, "it", "now", None).await.expect("an answer") {
        QuestionAnswer { outcome: Outcome::Success(Payload::Json(now)), .. } => now,
        other => panic!("{other:?}"),
    };
    let first = now(&world).await;
    world.pass(SECOND).await;
    assert_eq!(now(&world).await, first);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn one_that_was_halted_by_its_code_is_asked_as_it_was_before() {
    let changed = Arc::new(AtomicBool::new(false));
    let is_changed = changed.clone();
    let script = Script::default()
        .workflow("flow", move |ctx| {
            let changed = is_changed.clone();
            async move {
                ctx.share("\"first\"");
                let first = ctx.sleep(1_000);
                ctx.done(first).await?;
                ctx.share("\"second\"");
                let length = if changed.load(Ordering::Relaxed) { 9_000 } else { 5_000 };
                let second = ctx.sleep(length);
                ctx.done(second).await?;
                ctx.share("\"third\"");
                ctx.trap("no further").await
            }
        })
        .queries(answer);
    let mut world = begun(&Arc::new(script), cold()).await;
    world.pass(Millis(2_000)).await;
    assert_eq!(seen(&world, None).await, ("\"second\"".to_owned(), 4));
    // The queried code no longer matches the journal.
    changed.store(true, Ordering::Relaxed);
    let answered = ask(&world, "it", "seen", Some(4)).await.expect("an answer");
    assert_eq!((answered.records, answered.of), (2, 4));
    changed.store(false, Ordering::Relaxed);
    world.stands("it", TaskStatus::Halted).await;
    let answered = ask(&world, "it", "seen", None).await.expect("an answer");
    let Outcome::Success(Payload::Json(text)) = &answered.outcome else { panic!("{answered:?}") };
    // The event at which the workflow traps is not recorded yet, or it is recorded after the
    // records that the answer covers.
    assert_eq!(text, "\"second\"");
    assert_eq!(answered.records, 4);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_cannot_be_asked_is_named() {
    let script = Arc::new(walker());
    let world = World::scripted(&script).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    let early = ask(&world, "it", "seen", None).await;
    assert!(matches!(early, Err(AskError::Replay(ReplayError::NoJournal(..)))), "{early:?}");
    let nobody = ask(&world, "nobody", "seen", None).await;
    assert!(matches!(nobody, Err(AskError::Replay(ReplayError::NotFound(_)))), "{nobody:?}");
    let silent = Script::default().workflow("flow", |ctx| async move {
        let sleep = ctx.sleep(10_000);
        ctx.done(sleep).await
    });
    let mut world = begun(&Arc::new(silent), Plan::default()).await;
    world.pass(SECOND).await;
    let silent = ask(&world, "it", "seen", None).await;
    assert!(matches!(silent, Err(AskError::NoHandlers(_))), "{silent:?}");
}
