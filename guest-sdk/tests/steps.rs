//! Each command of a workflow, in a separate test.

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use segno::{
    ActivityContext, Context, Error, Result, RetryPolicy, Timestamp,
    http::{Request, Response},
    serde_json::Value,
    testing::Test,
};

const SECOND: Duration = Duration::from_secs(1);

#[segno::activity(retry(initial = "1s", factor = 2, max = "1m", max_attempts = 4, non_retryable = [503]))]
async fn double(ctx: ActivityContext, number: u32) -> Result<u32> {
    if ctx.attempt() < 3 && number == 13 {
        return Err(Error::retryable("bad luck"));
    }
    Ok(number * 2)
}

#[segno::workflow]
async fn quadruple(ctx: Context, number: u32) -> Result<u32> {
    let once = ctx.call(double, &number).await?;
    ctx.call(double, &once).await
}

#[test]
fn a_call_gives_what_the_function_returned() {
    let mut test = Test::new();
    assert_eq!(test.run(quadruple, &5).unwrap(), 20);
    assert_eq!(test.calls(double), [5, 10]);
    test.replay_check();
}

#[test]
fn an_activity_is_tried_again_after_waits_that_grow() {
    let mut test = Test::new();
    assert_eq!(test.run(quadruple, &13).unwrap(), 52);
    assert_eq!(test.elapsed(), 3 * SECOND, "one second, then two");
}

#[test]
fn attempts_end_with_the_policy_and_with_final_errors() {
    for (code, attempts) in [(500, 4), (429, 4), (503, 1), (402, 1)] {
        let count = Arc::new(AtomicU32::new(0));
        let counted = count.clone();
        let mut test = Test::new();
        test.on(double, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Err(Error::with_code(code, "no"))
        });
        assert_eq!(test.run(quadruple, &1).unwrap_err().code(), code);
        assert_eq!(count.load(Ordering::Relaxed), attempts, "code {code}");
    }
}

#[test]
fn a_workflow_can_call_a_workflow() {
    #[segno::workflow]
    async fn outer(ctx: Context, number: u32) -> Result<u32> {
        Ok(ctx.call(quadruple, &number).await? + 1)
    }
    let mut test = Test::new();
    assert_eq!(test.run(outer, &2).unwrap(), 9);
    assert_eq!(test.calls(double), [2, 4]);
    test.replay_check();
}

#[test]
fn calls_by_name_are_answered_by_stand_ins() {
    #[segno::workflow]
    async fn elsewhere(ctx: Context, _: ()) -> Result<String> {
        ctx.call_named::<_, String>("wasm://payments/charge", &5)
            .timeout(SECOND)
            .label("k", "v")
            .await
    }
    let mut test = Test::new();
    test.on_named("wasm://payments/charge", |cents: u32| Ok(format!("{cents} charged")));
    assert_eq!(test.run(elsewhere, &()).unwrap(), "5 charged");
    assert_eq!(test.calls_named("wasm://payments/charge"), [5]);
}

#[test]
fn what_is_wrong_with_an_input_is_said() {
    let error = Test::new().run_json(quadruple, &serde_json::json!("five")).unwrap_err();
    assert_eq!(error.code(), 400);
    assert!(
        error
            .message()
            .starts_with("the input of `quadruple` does not fit: at the top: invalid type"),
        "{error}"
    );
}

#[test]
fn a_call_is_given_up_at_its_deadline() {
    #[segno::workflow]
    async fn impatient(ctx: Context, limit_s: u64) -> Result<u32> {
        ctx.call(double, &13).timeout(Duration::from_secs(limit_s)).await
    }
    let mut test = Test::new();
    assert!(test.run(impatient, &2).unwrap_err().is_timed_out());
    assert_eq!(test.run(impatient, &4).unwrap(), 26);
}

#[test]
fn sleeps_take_virtual_time_only() {
    #[segno::workflow]
    async fn patient(ctx: Context) -> Result<(Timestamp, Timestamp)> {
        let before = ctx.now();
        ctx.sleep(Duration::from_secs(365 * 24 * 60 * 60)).await?;
        ctx.sleep_until(ctx.now() + SECOND).await?;
        Ok((before, ctx.now()))
    }
    let mut test = Test::new();
    test.start_at(Timestamp::from_millis(1_000));
    let (before, after) = test.run(patient, &()).unwrap();
    assert_eq!(before, Timestamp::from_millis(1_000));
    assert_eq!(after.since(before), Duration::from_secs(365 * 24 * 60 * 60 + 1));
}

#[test]
fn sends_outlive_the_sender_and_may_be_delayed() {
    #[segno::workflow]
    async fn sender(ctx: Context) -> Result<[String; 2]> {
        let later = ctx.send(double, &1).after(SECOND).await?;
        let at = ctx.send(double, &2).at(ctx.started_at() + 2 * SECOND).await?;
        Ok([later, at])
    }
    let mut test = Test::new();
    test.invocation("s").start_at(Timestamp::from_millis(0));
    assert_eq!(test.run(sender, &()).unwrap(), ["s/0", "s/1"]);
    let at = |ms| Some(Timestamp::from_millis(ms));
    assert_eq!(test.sent(double), [(1, at(1_000)), (2, at(2_000))]);
}

#[test]
fn a_run_is_executed_once_and_recorded() {
    static EXECUTED: AtomicU32 = AtomicU32::new(0);
    #[segno::workflow]
    async fn computing(ctx: Context) -> Result<(u32, u64, u64)> {
        let plain: u32 = ctx.run("plain", || EXECUTED.fetch_add(1, Ordering::Relaxed)).await?;
        let inside = ctx.clone();
        let drawn = ctx.run("drawn", move || Ok::<_, Error>(inside.random().u64())).await?;
        Ok((plain, drawn, ctx.random().u64()))
    }
    let mut test = Test::new();
    let (plain, drawn, after) = test.run(computing, &()).unwrap();
    assert_eq!(plain, 0);
    assert_ne!(drawn, after);
    // The closures are not executed, yet the numbers drawn after them are the same.
    test.replay_check();
    assert_eq!(EXECUTED.load(Ordering::Relaxed), 1);
}

#[test]
fn an_error_of_a_run_is_its_result() {
    #[segno::workflow]
    async fn failing(ctx: Context) -> Result<u32> {
        ctx.run("parse", || "x".parse::<u32>()).await
    }
    let error = Test::new().run(failing, &()).unwrap_err();
    assert_eq!((error.code(), error.message()), (500, "invalid digit found in string"));
}

#[test]
#[should_panic(expected = "call of `double` inside the closure of run `sly`")]
fn a_closure_cannot_issue_commands() {
    #[segno::workflow]
    async fn sly(ctx: Context) -> Result<()> {
        let inside = ctx.clone();
        ctx.run("sly", move || drop(inside.call(double, &1).start())).await
    }
    let _ = Test::new().run(sly, &());
}

#[segno::workflow]
async fn promising(ctx: Context) -> Result<(String, u32, u32)> {
    let unnamed = ctx.promise::<u32>();
    let id = unnamed.id();
    let named = ctx.named_promise::<u32>("n").timeout(10 * SECOND);
    let (unnamed, named) = segno::try_join(unnamed, named).await?;
    Ok((id, unnamed, named))
}

#[test]
fn promises_are_settled_from_outside() {
    let mut test = Test::new();
    test.unnamed_promise(0).resolve(&1);
    test.promise("n").after(SECOND).settle_with(|id| {
        assert_eq!(id, "test/p/n");
        Ok(2)
    });
    assert_eq!(test.run(promising, &()).unwrap(), ("test/0".to_owned(), 1, 2));
    test.replay_check();
}

#[test]
fn a_rejected_promise_is_an_error_and_so_is_a_late_one() {
    let mut test = Test::new();
    test.unnamed_promise(0).resolve(&1);
    test.promise("n").reject(Error::terminal(403, "never"));
    assert_eq!(test.run(promising, &()).unwrap_err(), Error::terminal(403, "never"));
    let mut test = Test::new();
    test.unnamed_promise(0).resolve(&1);
    assert!(test.run(promising, &()).unwrap_err().is_timed_out());
}

#[test]
#[should_panic(expected = "`promising` (test): command 0, promise")]
fn waiting_for_what_nobody_gives_is_an_error_of_the_test() {
    let mut test = Test::new();
    test.promise("n").resolve(&2);
    let _ = test.run(promising, &());
}

#[test]
fn a_workflow_settles_the_promise_of_another() {
    #[segno::workflow]
    async fn child(ctx: Context, promise: String) -> Result<()> {
        ctx.settle(&promise, Ok("done")).await?;
        // The first settlement counts.
        ctx.settle(&promise, Ok("again")).await?;
        assert_eq!(
            ctx.settle::<()>("nobody's", Err(Error::cancelled())).await.unwrap_err().code(),
            404
        );
        Ok(())
    }
    #[segno::workflow]
    async fn parent(ctx: Context) -> Result<String> {
        let promise = ctx.promise::<String>();
        let id = promise.id();
        let (text, ()) = segno::try_join(promise, ctx.call(child, &id)).await?;
        Ok(text)
    }
    let mut test = Test::new();
    assert_eq!(test.run(parent, &()).unwrap(), "done");
    test.replay_check();
}

#[test]
fn signals_come_in_order_and_by_name() {
    #[segno::workflow(signals)]
    async fn listening(ctx: Context) -> Result<(Vec<String>, u32)> {
        let number = ctx.signal::<u32>("number").await?;
        let mut signals = ctx.signals();
        let mut texts = Vec::new();
        while texts.len() < 2 {
            let signal = signals.receive().await?;
            texts.push(format!("{}: {}", signal.name(), signal.json::<String>()?));
        }
        Ok((texts, number))
    }
    let mut test = Test::new();
    test.signal("a", "early");
    test.signal("number", &7);
    test.signal("b", "late").after(SECOND);
    assert_eq!(
        test.run(listening, &()).unwrap(),
        (vec!["a: early".to_owned(), "b: late".to_owned()], 7)
    );
    test.replay_check();
}

#[test]
fn requests_are_durable_in_workflows_and_plain_in_activities() {
    #[segno::activity]
    async fn fetch(ctx: ActivityContext, url: String) -> Result<u16> {
        let key = ctx.idempotency_key().to_owned();
        Ok(ctx.http(Request::get(url).header("Idempotency-Key", key)).await?.status())
    }
    #[segno::workflow]
    async fn web(ctx: Context) -> Result<(u32, u16)> {
        let request = Request::post("http://pay/charges").json(&[1, 2]);
        let answer = ctx.http(request).retry(RetryPolicy::exponential().max_attempts(3)).await?;
        let status = ctx.call(fetch, &"http://pay/missing".to_owned()).await?;
        Ok((answer.ok()?.json()?, status))
    }
    let mut test = Test::new();
    let mut failures = 2;
    test.on_http("POST", "http://pay/", move |request| {
        assert_eq!(request.header("idempotency-key"), Some("test/0"));
        assert_eq!(request.json::<[u32; 2]>().unwrap(), [1, 2]);
        if failures > 0 {
            failures -= 1;
            return Ok(Response::new(503, "busy"));
        }
        Ok(Response::with_json(200, &42))
    });
    test.on_http("GET", "http://pay/missing", |request| {
        assert_eq!(request.header("idempotency-key"), Some("test/1"));
        Ok(Response::new(404, ""))
    });
    assert_eq!(test.run(web, &()).unwrap(), (42, 404));
    assert_eq!(test.requests().len(), 4, "the first was made three times");
    test.replay_check();
}

#[test]
fn an_activity_finds_its_progress_again() {
    #[segno::activity]
    async fn long(ctx: ActivityContext) -> Result<u32> {
        let done = ctx.last_progress::<u32>()?.unwrap_or(0);
        assert!(!ctx.heartbeat(&(done + 1))?);
        if done < 2 { Err(Error::retryable("interrupted")) } else { Ok(done) }
    }
    #[segno::workflow]
    async fn outer(ctx: Context) -> Result<u32> {
        ctx.call(long, &()).await
    }
    let mut test = Test::new();
    assert_eq!(test.run(outer, &()).unwrap(), 2);
    assert_eq!(test.heartbeats(), [1, 2, 3]);
}

#[test]
fn an_activity_that_awaits_what_never_ends_is_told_so() {
    #[segno::activity]
    async fn hanging(_ctx: ActivityContext) -> Result<()> {
        std::future::pending().await
    }
    #[segno::workflow]
    async fn outer(ctx: Context) -> Result<()> {
        ctx.call(hanging, &()).await
    }
    let error = Test::new().run(outer, &()).unwrap_err();
    assert!(error.message().contains("activity `hanging` awaits something"), "{error}");
}

#[test]
fn publishing_and_logging_are_seen() {
    #[segno::workflow]
    async fn chatty(ctx: Context) -> anyhow::Result<()> {
        segno::info!(ctx, "{} began", ctx.id());
        ctx.publish("orders", &[1, 2]).await.map_err(|error| anyhow::anyhow!("{error}"))?;
        anyhow::bail!("an error of anyhow")
    }
    let mut test = Test::new();
    assert_eq!(test.run(chatty, &()).unwrap_err(), Error::retryable("an error of anyhow"));
    assert!(test.logged("test began"));
    assert_eq!(test.published(), [("orders".to_owned(), serde_json::json!([1, 2]))]);
    test.replay_check();
    assert_eq!(test.logs().len(), 1, "a replay logs nothing");
}

#[test]
#[should_panic(expected = "`fickle` (test) does not replay: at record 0 the journal has sleep")]
fn a_workflow_that_depends_on_something_else_does_not_replay() {
    static RUNS: AtomicU32 = AtomicU32::new(1);
    #[segno::workflow]
    async fn fickle(ctx: Context) -> Result<()> {
        ctx.sleep(SECOND * RUNS.fetch_add(1, Ordering::Relaxed)).await
    }
    let mut test = Test::new();
    test.run(fickle, &()).unwrap();
    test.replay_check();
}

#[cfg(not(feature = "graph"))]
#[test]
#[should_panic(
    expected = "`test/0` is a graph, which a test runs only with the feature `graph` of the SDK"
)]
fn without_its_feature_a_test_says_what_a_graph_takes() {
    #[segno::workflow]
    async fn graph(ctx: Context) -> Result<()> {
        ctx.graph("{}", &()).await
    }
    drop(Test::new().run(graph, &()));
}

#[segno::workflow(signals(hello: String))]
async fn listener(ctx: Context) -> Result<String> {
    ctx.signal("hello").await
}

#[segno::workflow]
async fn speaker(ctx: Context) -> Result<(u32, u32, String)> {
    let listening = ctx.call(listener, &()).start();
    let code = |sent: Result<()>| sent.err().map_or(0, |error| error.code());
    let nobody = code(ctx.send_signal("nobody", "hello", "x").await);
    let undeclared = code(ctx.send_signal(&listening.id(), "bye", "x").await);
    ctx.send_signal(&listening.id(), "hello", "from above").await?;
    Ok((nobody, undeclared, listening.await?))
}

#[test]
fn a_signal_reaches_another_workflow_that_declares_it() {
    let mut test = Test::new();
    let heard = test.run(speaker, &()).unwrap();
    assert_eq!(heard, (404, 422, "from above".to_owned()));
    test.replay_check();

    let kinds = |id: &str| -> Vec<String> {
        let kind = |record: Value| match record["command"].as_str() {
            Some(command) => command.to_owned(),
            None => record["kind"].as_str().unwrap_or_default().to_owned(),
        };
        test.journal(id).into_iter().map(kind).collect()
    };
    assert_eq!(kinds("test/0"), ["started", "signal", "finished"]);
    assert_eq!(kinds("test")[..4], ["started", "call", "send-signal", "notified"]);
}
