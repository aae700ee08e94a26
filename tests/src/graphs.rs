//! Graphs for tests: functions that plans call, and a plan that uses every feature.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::{
    address::GRAPH_RUN,
    command::Command,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::{Tags, Value},
};
use segno_guest::RetryOptions;
use serde_json::{Value as Json, json};

use crate::world::script::Script;

/// Number of starts of each node's function, by the id of its promise.
pub type Begun = Arc<Mutex<BTreeMap<String, u32>>>;

/// Copy of the counts, for comparison.
pub fn begun_of(begun: &Begun) -> BTreeMap<String, u32> {
    begun.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A module of activities: `echo` returns its input, `fail` never succeeds, `slow` takes five
/// seconds of `second` milliseconds each, `lap` is a workflow that calls `echo`, `trip` is a
/// workflow that fails, and `large` returns 9 MiB.
pub fn functions(second: i64) -> (Arc<Script>, Begun) {
    let begun = Begun::default();
    let noted = |begun: &Begun, id: &str| {
        *begun.lock().unwrap_or_else(PoisonError::into_inner).entry(id.to_owned()).or_default() +=
            1;
    };
    let [echo, slow, fail] = std::array::from_fn(|_| begun.clone());
    let script = Script::default()
        .workflow("lap", |ctx| async move {
            let input = ctx.input();
            ctx.done(ctx.call("echo", &input)).await
        })
        .workflow("trip", |ctx| async move { ctx.done(ctx.call("fail", "1")).await })
        .activity("echo", move |attempt| {
            noted(&echo, &attempt.context.idempotency_key);
            async move { attempt.succeed(attempt.input()) }
        })
        .activity("slow", move |attempt| {
            noted(&slow, &attempt.context.idempotency_key);
            async move {
                attempt.sleep(5 * second).await;
                attempt.succeed(attempt.input())
            }
        })
        .activity("large", |attempt| async move {
            attempt.succeed(format!("\"{}\"", "x".repeat(9 << 20)))
        })
        .activity("fail", move |attempt| {
            noted(&fail, &attempt.context.idempotency_key);
            async move { attempt.fail(503) }
        })
        .retry(RetryOptions {
            initial_ms: 10,
            factor: 1.0,
            max_ms: 10,
            jitter: 0.0,
            max_attempts: Some(2),
            non_retryable: Vec::new(),
        });
    (Arc::new(script), begun)
}

/// Command that starts a run of the module `m`.
pub fn run(id: &str, start: &Json) -> Command {
    let tags = Tags::from([
        (tags::TARGET.to_owned(), GRAPH_RUN.to_owned()),
        (tags::MODULE.to_owned(), "m".to_owned()),
    ]);
    let param = json!({ "func": GRAPH_RUN, "args": [start] }).to_string();
    let param = Value::of(param.as_bytes());
    Command::PromiseCreate(NewPromise { id: id.into(), param, tags, timeout_at: Timestamp::NEVER })
}

/// A plan with twenty nodes of every kind: a failure that closes two nodes, a condition that skips
/// one, a signal, a repetition, and a nested graph. `second` is the length of a second in
/// milliseconds, so that tests can be shorter.
pub fn twenty(second: i64) -> Json {
    let inner = json!({ "nodes": {
        "x": { "call": "echo" },
        "y": { "call": "lap", "needs": ["x"] },
        "z": { "call": "echo", "needs": ["x"] },
    } });
    let retry = json!({ "max_attempts": 2, "initial": format!("{second}ms") });
    json!({
        "a1": { "call": "echo" },
        "a2": { "call": "echo", "needs": ["a1"] },
        "a3": { "call": "lap", "needs": ["a1"] },
        "a4": { "call": "echo", "needs": ["a2", "a3"] },
        "b1": { "call": "fail" },
        "b2": { "call": "echo", "needs": ["b1"] },
        "b3": { "call": "echo", "needs": ["b2", "a1"] },
        "c1": { "call": "echo", "when": { "from": "input", "at": "/n", "above": 5 } },
        "c2": { "call": "echo", "needs": ["c1", "a1"] },
        "d1": { "signal": "go", "needs": ["a1"] },
        "d2": { "call": "echo", "needs": ["d1"] },
        "d3": { "signal": "go", "needs": ["d2"] },
        "e1": { "sleep": format!("{}ms", 2 * second) },
        "e2": { "call": "slow", "needs": ["e1"] },
        "f1": { "call": "trip", "retry": retry },
        "f2": { "call": "echo", "needs": ["f1"] },
        "g1": { "graph": inner, "needs": ["a4"] },
        "g2": { "call": "echo", "needs": ["g1", "e2"] },
        "h1": { "call": "echo", "needs": ["c2", "d2"] },
        "h2": { "call": "echo", "needs": ["h1", "d3"] },
    })
}
