//! Plans that the host runs for a workflow, in tests: the test context runs them by the host's
//! rules.
#![cfg(feature = "graph")]

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{
    ActivityContext, Context, Error, Result,
    http::Response,
    serde_json::{Value, json},
    testing::Test,
};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Runs any plan.
#[segno::workflow]
async fn run(ctx: Context, (plan, input): (Value, Value)) -> Result<Value> {
    ctx.graph(&plan, &input).await
}

/// Fails as often as its input says, then gives the input.
#[segno::activity(retry(initial = "1h", max = "1h", max_attempts = 3))]
async fn work(ctx: ActivityContext, failures: u32) -> Result<u32> {
    segno::info!(ctx, "attempt {}", ctx.attempt());
    match ctx.attempt() <= failures {
        true => Err(Error::retryable(format!("attempt {}", ctx.attempt()))),
        false => Ok(failures),
    }
}

/// Gives its input.
#[segno::activity]
async fn echo(_ctx: ActivityContext, input: Value) -> Result<Value> {
    Ok(input)
}

#[segno::activity]
async fn fail(_ctx: ActivityContext, _input: Value) -> Result<()> {
    Err(Error::terminal(404, "there is none").with_details(&7))
}

/// Sleeps, and says how that ended.
#[segno::workflow]
async fn sleeper(ctx: Context, _input: Value) -> Result<String> {
    match ctx.sleep(100 * HOUR).await {
        Ok(()) => Ok("slept".to_owned()),
        Err(error) => {
            ctx.publish("woken", &error.code()).await?;
            Err(error)
        }
    }
}

segno::module!(run, work, echo, fail, sleeper, hurried, impatient, cancelling, early_end, starts);

fn run_plan(test: &mut Test, nodes: Value) -> Result<Value> {
    run_with(test, json!({ "nodes": nodes }))
}

fn run_with(test: &mut Test, plan: Value) -> Result<Value> {
    let outcome = test.run(run, &(plan, json!({ "n": 5, "url": "http://shop/a" })));
    test.replay_check();
    outcome
}

fn failed_with(error: &Error) -> Value {
    assert_eq!(error.code(), 500);
    error.details().expect("what failed")
}

#[test]
fn a_plan_gives_its_outputs_by_name() {
    let mut test = Test::new();
    let nodes = json!({
        "whole": { "call": "echo" },
        "part": { "call": "echo", "input": [{ "$from": "input", "at": "/n" }] },
        "both": { "call": "echo", "needs": ["whole", "part"] },
    });
    let outputs = run_plan(&mut test, nodes.clone()).unwrap();
    let whole = json!({ "n": 5, "url": "http://shop/a" });
    assert_eq!(outputs, json!({ "both": { "whole": whole, "part": [5] } }));
    let outputs = run_with(&mut test, json!({ "nodes": nodes, "outputs": ["part", "whole"] }));
    assert_eq!(outputs.unwrap(), json!({ "part": [5], "whole": whole }));
    assert_eq!(test.calls(echo).len(), 3);
}

#[test]
fn a_plan_may_be_a_text_and_its_outputs_a_type() {
    #[segno::data]
    struct Outputs {
        a: u32,
        b: Option<u32>,
    }
    #[segno::workflow]
    async fn typed(ctx: Context, plan: String) -> Result<(u32, Option<u32>)> {
        let outputs: Outputs = ctx.graph(&plan, &2).await?;
        Ok((outputs.a, outputs.b))
    }
    let plan = r#"{"nodes": {
        "a": {"call": "echo"}, "b": {"call": "echo", "when": {"from": "input", "is": 3}}
    }}"#;
    assert_eq!(Test::new().run(typed, &plan.to_owned()).unwrap(), (2, None));
}

#[test]
fn what_is_wrong_with_a_plan_is_told_at_once() {
    let nodes = json!({ "a": { "call": "echo", "needs": ["b"] }, "a b": { "sleep": "soon" } });
    let error = run_plan(&mut Test::new(), nodes).unwrap_err();
    assert_eq!(error.code(), 422);
    assert_eq!(
        error.message(),
        "nodes.a b: `a b` is no name of a node: it has 1 to 64 letters, digits, `-` or `_`: rename it\n\
         nodes.a.needs: there is no node `b`: add it, or remove it here"
    );
}

#[test]
fn no_more_nodes_run_at_once_than_the_plan_says() {
    for (max_parallel, hours) in [(1, 4), (2, 2), (3, 2), (4, 1)] {
        let mut test = Test::new();
        let sleep = json!({ "sleep": "1h" });
        let nodes = json!({ "a": sleep, "b": sleep, "c": sleep, "d": sleep });
        run_with(&mut test, json!({ "nodes": nodes, "max_parallel": max_parallel })).unwrap();
        assert_eq!(test.elapsed(), hours * HOUR, "{max_parallel}");
    }
}

#[test]
fn a_node_begins_when_what_it_needs_has_ended() {
    let mut test = Test::new();
    let nodes = json!({
        "one": { "sleep": "1h" },
        "two": { "sleep": "2h" },
        "then": { "sleep": "10h", "needs": ["one", "two"] },
    });
    assert_eq!(run_plan(&mut test, nodes).unwrap(), json!({ "then": null }));
    assert_eq!(test.elapsed(), 12 * HOUR);
}

#[test]
fn a_node_that_is_not_wanted_is_skipped_and_what_needs_it_goes_on() {
    let mut test = Test::new();
    let wanted = |number: u32| json!({ "from": "input", "at": "/n", "above": number });
    let nodes = json!({
        "wanted": { "call": "echo", "when": wanted(4) },
        "skipped": { "call": "echo", "when": wanted(5) },
        "both": { "call": "echo", "needs": ["wanted", "skipped"] },
        "filled": { "call": "echo", "needs": ["skipped"], "input": [{ "$from": "skipped" }] },
        "end": { "call": "echo", "when": wanted(6) },
    });
    let outputs = run_plan(&mut test, nodes).unwrap();
    let input = json!({ "n": 5, "url": "http://shop/a" });
    assert_eq!(outputs, json!({ "both": { "wanted": input }, "filled": [null] }));
    assert_eq!(test.calls(echo).len(), 3);
}

#[test]
fn after_a_failure_what_does_not_depend_on_it_is_finished() {
    let mut test = Test::new();
    let nodes = json!({
        "bad": { "call": "fail" },
        "behind": { "call": "echo", "needs": ["bad"] },
        "far": { "call": "echo", "needs": ["behind", "late"] },
        "late": { "sleep": "3h" },
        "after": { "call": "echo", "needs": ["late"], "input": 1 },
    });
    let error = run_plan(&mut test, nodes).unwrap_err();
    assert_eq!(error.message(), "node `bad` failed: there is none");
    let bad = json!({ "code": 404, "message": "there is none", "details": 7 });
    let details = json!({ "failed": { "bad": bad }, "not_run": ["behind", "far"] });
    assert_eq!(failed_with(&error), details);
    assert_eq!((test.elapsed(), test.calls(echo)), (3 * HOUR, vec![json!(1)]));
}

#[test]
fn with_fail_fast_a_failure_ends_the_run_at_once() {
    let mut test = Test::new();
    let nodes = json!({
        "late": { "sleep": "3h" },
        "sleeper": { "call": "sleeper" },
        "bad": { "call": "work", "input": 9 },
        "behind": { "call": "echo", "needs": ["bad"] },
        "after": { "call": "echo", "needs": ["late"] },
    });
    let error = run_with(&mut test, json!({ "nodes": nodes, "on_failure": "fail-fast" }));
    let details = failed_with(&error.unwrap_err());
    assert_eq!(details["not_run"], json!(["after", "behind", "late", "sleeper"]));
    assert_eq!((test.elapsed(), test.calls(echo).len()), (2 * HOUR, 0));
}

#[test]
fn a_failure_ends_what_still_runs() {
    #[segno::workflow]
    async fn lingers(ctx: Context, plan: Value) -> Result<()> {
        drop(ctx.graph::<_, _, Value>(&plan, &()).await.unwrap_err());
        ctx.sleep(200 * HOUR).await
    }
    let mut test = Test::new();
    let nodes = json!({
        "early": { "call": "work", "input": 9 },
        "late": { "sleep": "90m" },
        "bad": { "call": "fail", "needs": ["late"], "input": 0 },
        "sleeper": { "call": "sleeper" },
    });
    let plan = json!({ "nodes": nodes, "on_failure": "fail-fast" });
    test.run(lingers, &plan).unwrap();
    assert_eq!(test.logs().len(), 2, "the third attempt would be after two hours");
    assert_eq!(test.published(), [("woken".to_owned(), json!(499))]);
}

#[test]
fn the_first_failure_is_the_one_that_the_message_names() {
    let nodes = json!({
        "a": { "call": "work", "input": 9 },
        "b": { "call": "fail" },
    });
    let error = run_plan(&mut Test::new(), nodes).unwrap_err();
    assert_eq!(error.message(), "node `b` failed: there is none; another node failed as well");
    let failed = failed_with(&error);
    assert_eq!(failed["failed"]["a"], json!({ "code": 500, "message": "attempt 3" }));
    assert_eq!(failed["not_run"], json!([]));
}

#[test]
fn a_node_is_repeated_by_its_own_policy_or_that_of_its_function() {
    for (retry, attempts, hours) in [
        (json!({}), 3, 2),
        (
            json!({ "retry": { "initial": "2h", "factor": 3, "max": "5h", "max_attempts": 4 } }),
            4,
            12,
        ),
        (json!({ "retry": { "max_attempts": 1 } }), 1, 0),
    ] {
        let mut test = Test::new();
        let mut node = json!({ "call": "work", "input": 9 });
        node.as_object_mut().unwrap().extend(retry.as_object().unwrap().clone());
        let error = run_plan(&mut test, json!({ "a": node })).unwrap_err();
        assert_eq!(error.message(), format!("node `a` failed: attempt {attempts}"));
        assert_eq!(test.elapsed(), hours * HOUR);
    }
    assert_eq!(
        run_plan(&mut Test::new(), json!({ "a": { "call": "work", "input": 2 } })).unwrap(),
        json!({ "a": 2 })
    );
}

#[test]
fn a_node_that_is_over_its_time_fails() {
    let mut test = Test::new();
    test.on_http("GET", "http://shop/", |_| Ok(Response::new(503, "")));
    let inner =
        json!({ "nodes": { "sleep": { "sleep": "50h" }, "sleeper": { "call": "sleeper" } } });
    let nodes = json!({
        "call": { "call": "work", "input": 2, "timeout": "90m" },
        "http": { "http": { "url": "http://shop/" }, "timeout": "1h" },
        "promise": { "promise": true, "timeout": "3h" },
        "graph": { "graph": inner, "timeout": "2h" },
        "end": { "sleep": "10h" },
    });
    let failed = failed_with(&run_plan(&mut test, nodes).unwrap_err());
    for node in ["call", "http", "promise", "graph"] {
        assert_eq!(failed["failed"][node], json!({ "code": 408, "message": "timed out" }));
    }
    assert_eq!(test.elapsed(), 10 * HOUR);
    assert_eq!(test.published(), [("woken".to_owned(), json!(499))]);
}

#[test]
fn a_signal_gives_its_value_to_all_that_wait_for_it_also_later() {
    let mut test = Test::new();
    test.promise("sig/approved").after(HOUR).resolve("yes");
    let waits = json!({ "signal": "approved" });
    let later = json!({ "signal": "approved", "needs": ["pause"], "timeout": "1h" });
    let nodes = json!({ "a": waits, "b": waits, "pause": { "sleep": "2h" }, "c": later });
    let outputs = run_plan(&mut test, nodes.clone()).unwrap();
    assert_eq!(outputs, json!({ "a": "yes", "b": "yes", "c": "yes" }));
    assert_eq!(test.elapsed(), 2 * HOUR);
    // By its whole id.
    test.promise("test/0/sig/approved").resolve("at once");
    assert_eq!(run_plan(&mut test, nodes).unwrap()["c"], "at once");
}

#[test]
fn a_node_that_waits_for_a_signal_takes_no_place_of_another() {
    let mut test = Test::new();
    test.promise("sig/go").after(5 * HOUR).resolve(&1);
    let nodes = json!({ "a": { "signal": "go" }, "b": { "sleep": "1h" }, "c": { "sleep": "1h" } });
    run_with(&mut test, json!({ "nodes": nodes, "max_parallel": 1 })).unwrap();
    assert_eq!(test.elapsed(), 5 * HOUR);
}

#[test]
fn a_signal_may_fail_or_not_come_in_time() {
    let nodes = json!({
        "a": { "signal": "go", "timeout": "2h" },
        "b": { "call": "echo", "needs": ["a"] },
        "c": { "signal": "go", "needs": ["pause"] },
        "other": { "signal": "other" },
        "pause": { "sleep": "4h" },
    });
    let mut test = Test::new();
    test.promise("sig/other").after(2 * HOUR).resolve(&1);
    test.promise("sig/go").after(HOUR).reject(Error::terminal(403, "not you"));
    let failed = failed_with(&run_plan(&mut test, nodes.clone()).unwrap_err());
    let no = json!({ "code": 403, "message": "not you" });
    assert_eq!(failed, json!({ "failed": { "a": no, "c": no }, "not_run": ["b"] }));
    let mut test = Test::new();
    test.promise("sig/other").resolve(&1);
    let failed = failed_with(&run_plan(&mut test, nodes).unwrap_err());
    assert_eq!(failed["failed"]["a"]["code"], 408);
}

#[test]
fn a_person_settles_the_promise_of_a_node() {
    let nodes = json!({ "ask": { "promise": true, "input": "may it go out?" } });
    for name in ["ask", "test/0/n/ask/0"] {
        let mut test = Test::new();
        test.promise(name).after(HOUR).resolve(&true);
        assert_eq!(run_plan(&mut test, nodes.clone()).unwrap(), json!({ "ask": true }));
        assert_eq!(test.elapsed(), HOUR);
    }
    let mut test = Test::new();
    test.promise("ask").reject(Error::terminal(409, "no"));
    let error = run_plan(&mut test, nodes).unwrap_err();
    assert_eq!(error.message(), "node `ask` failed: no");
}

#[test]
#[should_panic(
    expected = "`segno:graph` (test/0): node `ask`\n  `segno:graph` (test/0): signal `go`, the promise `sig/go`"
)]
fn what_nothing_settles_is_named() {
    let nodes = json!({ "ask": { "promise": true }, "wait": { "signal": "go" } });
    drop(run_plan(&mut Test::new(), nodes));
}

#[test]
fn a_request_is_sent_with_its_places_filled_in() {
    let mut test = Test::new();
    test.on_http("POST", "http://shop/a", |request| match request.header("x-key") {
        Some("secret") => Ok(Response::with_json(200, &request.json::<Value>()?)),
        _ => Ok(Response::new(500, "")),
    });
    let http = |key: &str| {
        json!({
            "http": {
                "method": "POST",
                "url": { "$from": "input", "at": "/url" },
                "headers": { "x-key": key },
                "body": [{ "$from": "input", "at": "/n" }],
            },
            "retry": { "max_attempts": 2 },
        })
    };
    let outputs = run_plan(&mut test, json!({ "post": http("secret") })).unwrap();
    assert_eq!(
        (&outputs["post"]["status"], &outputs["post"]["body"]),
        (&json!(200), &json!("[5]"))
    );
    assert_eq!(test.requests()[0].header("idempotency-key"), Some("test/0/n/post/0"));
    let error = run_plan(&mut test, json!({ "post": http("other") })).unwrap_err();
    assert_eq!(error.message(), "node `post` failed: POST http://shop/a answered 500");
    assert_eq!(test.requests().len(), 3);
    test.on_http("GET", "http://shop/a", |request| {
        assert!(request.json::<Value>().is_err(), "there is no body");
        Ok(Response::new(200, ""))
    });
    let get = json!({ "get": { "http": { "url": "http://shop/a" } } });
    assert_eq!(run_plan(&mut test, get).unwrap()["get"]["body"], "");
    let no_url = json!({ "get": { "http": { "url": { "$from": "input", "at": "/n" } } } });
    let error = run_plan(&mut test, no_url).unwrap_err();
    assert_eq!(error.message(), "node `get` failed: the url of the request is no text: 5");
}

#[test]
fn functions_elsewhere_are_called_by_their_address() {
    let mut test = Test::new();
    test.on_named("wasm://shop/price", |number: u32| Ok(number + 1));
    test.on_named("poll://any@packers#pack", |number: u32| Ok(number + 2));
    let nodes = json!({
        "price": { "call": "wasm://shop/price", "input": 1 },
        "pack": { "call": "poll://any@packers", "function": "pack", "input": 1 },
    });
    assert_eq!(run_plan(&mut test, nodes).unwrap(), json!({ "price": 2, "pack": 3 }));
    assert_eq!(test.calls_named("poll://any@packers#pack"), [1]);
}

#[test]
#[should_panic(expected = "`pipeline` calls `ech0`, which is not in the list of the module")]
fn a_plain_name_is_that_of_a_listed_function() {
    drop(run_with(
        &mut Test::new(),
        json!({ "name": "pipeline", "nodes": { "a": { "call": "ech0" } } }),
    ));
}

#[test]
fn a_graph_within_a_graph_has_a_run_of_its_own() {
    let mut test = Test::new();
    test.promise("test/0/n/inner/0/sig/go").after(HOUR).resolve(&1);
    test.promise("test/0/n/inner/0/n/ask/0").after(HOUR).resolve(&2);
    let inner = json!({
        "max_parallel": 1,
        "nodes": {
            "one": { "sleep": "1h" },
            "two": { "sleep": "1h" },
            "go": { "signal": "go" },
            "ask": { "promise": true },
            "given": { "call": "echo" },
        },
    });
    let nodes = json!({
        "before": { "sleep": "10h" },
        "inner": { "graph": inner, "needs": ["before"], "input": { "x": { "$from": "input", "at": "/n" } } },
        "offered": { "graph": "run", "input": [{ "nodes": { "a": { "call": "echo" } } }, 6] },
    });
    let outputs = run_plan(&mut test, nodes).unwrap();
    let given = json!({ "one": null, "two": null, "go": 1, "ask": 2, "given": { "x": 5 } });
    assert_eq!(outputs, json!({ "inner": given, "offered": { "a": 6 } }));
    assert_eq!(test.elapsed(), 13 * HOUR, "one after the other: the promise, and two sleeps");
}

#[test]
fn a_failure_within_a_graph_is_that_of_its_node() {
    let inner = json!({ "nodes": { "bad": { "call": "fail" } } });
    let error = run_plan(&mut Test::new(), json!({ "inner": { "graph": inner } })).unwrap_err();
    assert_eq!(error.message(), "node `inner` failed: node `bad` failed: there is none");
    let inner = &failed_with(&error)["failed"]["inner"];
    assert_eq!(inner["details"]["failed"]["bad"]["code"], 404);
}

#[segno::workflow]
async fn hurried(ctx: Context, plan: Value) -> Result<Value> {
    let graph = ctx.graph(&plan, &()).timeout(2 * HOUR);
    match segno::select(graph, ctx.sleep(3 * HOUR)).await {
        segno::Either::Left(outputs) => outputs,
        segno::Either::Right(_) => Ok(json!("slept")),
    }
}

#[segno::workflow]
async fn impatient(ctx: Context, plan: Value) -> Result<Value> {
    ctx.timeout(HOUR, ctx.graph(&plan, &())).await
}

#[segno::workflow]
async fn cancelling(ctx: Context, plan: Value) -> Result<u32> {
    let graph = ctx.graph::<_, _, Value>(&plan, &()).start();
    ctx.sleep(HOUR).await?;
    ctx.cancel(&graph).await?;
    let code = graph.await.expect_err("it was cancelled").code();
    ctx.sleep(200 * HOUR).await?;
    Ok(code)
}

fn slow() -> Value {
    let inner = json!({ "nodes": { "sleeper": { "call": "sleeper" } } });
    let nodes = json!({
        "sleep": { "sleep": "90h" },
        "inner": { "graph": inner },
        "after": { "call": "echo", "needs": ["sleep"] },
    });
    json!({ "nodes": nodes })
}

#[test]
fn a_graph_is_awaited_and_ended_as_a_call_is() {
    let mut test = Test::new();
    let error = test.run(hurried, &slow()).unwrap_err();
    assert!(error.is_timed_out(), "{error}");
    assert_eq!((test.elapsed(), test.forgotten()), (2 * HOUR, vec![1]));
    test.replay_check();

    let mut test = Test::new();
    assert!(test.run(impatient, &slow()).unwrap_err().is_timed_out());
    assert_eq!((test.elapsed(), test.forgotten()), (HOUR, vec![0]));

    let mut test = Test::new();
    assert_eq!(test.run(cancelling, &slow()).unwrap(), 499);
    assert_eq!(test.published(), [("woken".to_owned(), json!(499))]);
    assert_eq!((test.elapsed(), test.calls(echo).len()), (201 * HOUR, 0));
    test.replay_check();
}

#[test]
fn a_workflow_that_is_cancelled_takes_its_graph_with_it() {
    let mut test = Test::new();
    test.cancel_after(HOUR);
    assert!(run_with(&mut test, slow()).unwrap_err().is_cancelled());
    assert_eq!((test.elapsed(), test.calls(echo).len()), (HOUR, 0));
}

#[segno::workflow]
async fn early_end(ctx: Context, plan: Value) -> Result<()> {
    drop(ctx.graph::<_, _, Value>(&plan, &()).start());
    Ok(())
}

#[segno::workflow]
async fn starts(ctx: Context, plan: Value) -> Result<()> {
    ctx.call(early_end, &plan).await?;
    ctx.sleep(200 * HOUR).await
}

#[test]
fn a_graph_that_nobody_awaits_ends_with_its_workflow() {
    let mut test = Test::new();
    test.run(starts, &slow()).unwrap();
    assert_eq!((test.published().len(), test.calls(echo).len()), (1, 0));
}

#[test]
fn a_stand_in_takes_the_place_of_graphs() {
    let mut test = Test::new();
    test.on_named("segno:graph", |asked: Value| Ok(asked["plan"]["nodes"]["a"].clone()));
    let outputs = run_plan(&mut test, json!({ "a": { "sleep": "1h" } })).unwrap();
    assert_eq!(outputs, json!({ "sleep": "1h" }));
    assert_eq!(test.calls_named("segno:graph").len(), 1);
}
