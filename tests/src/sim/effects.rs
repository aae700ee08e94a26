//! The functions that hosts run in the simulation, and the ledger of their steps' external effects.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use segno_guest::{CallOptions, Failure, Outcome, RetryOptions};
use serde_json::json;

use super::{crowd, dice::Dice, event_log::EventLog, fault::Fault, tally};
use crate::world::script::{Attempt, Script, ScriptContext, options};

/// Record of the steps' external effects: number of runs by idempotency key.
pub(super) struct Effects {
    ran: Mutex<BTreeMap<String, u32>>,
    stalls: AtomicU32,
    log: Arc<EventLog>,
    seed: u64,
}

impl Effects {
    /// Creates an empty ledger.
    pub(super) fn new(seed: u64, log: Arc<EventLog>) -> Self {
        Self { ran: Mutex::default(), stalls: AtomicU32::new(0), log, seed }
    }

    /// Records a run of a step. Returns the number of its runs, this one included.
    pub(super) fn ran(&self, key: &str) -> u32 {
        let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        let count = ran.entry(key.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// Number of runs of every step.
    pub(super) fn all(&self) -> BTreeMap<String, u32> {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes one more guest stall.
    pub(super) fn plan_stall(&self) {
        self.stalls.fetch_add(1, Ordering::Relaxed);
    }

    /// Cancels all planned stalls.
    pub(super) fn calm(&self) {
        self.stalls.store(0, Ordering::Relaxed);
    }

    /// True if the calling guest must stall. Uses up one planned stall.
    fn stalls(&self) -> bool {
        let one = |left: u32| left.checked_sub(1);
        let stalls = self.stalls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one).is_ok();
        if stalls {
            self.log.fault(&Fault::Stall);
        }
        stalls
    }

    /// Duration of an attempt, in milliseconds.
    pub(super) fn length(&self, key: &str, attempt: u32) -> i64 {
        let mut dice = Dice::new(self.seed, &format!("{key} {attempt}"));
        if dice.chance(70) { dice.between(1_000, 5_000) } else { dice.between(1, 300) }
    }
}

/// Result of a step: its key and the number of its run. The result of only one run is kept.
pub(super) fn receipt(key: &str, run: u32) -> String {
    json!({ "key": key, "run": run }).to_string()
}

async fn work(attempt: &Attempt, effects: &Effects) -> String {
    let key = attempt.context.idempotency_key.clone();
    let run = effects.ran(&key);
    if effects.stalls() {
        std::future::pending::<()>().await;
    }
    let mut left = effects.length(&key, attempt.context.attempt);
    while left > 0 {
        attempt.heartbeat(&run.to_string()).await;
        attempt.sleep(left.min(400)).await;
        left -= 400;
    }
    receipt(&key, run)
}

fn patient() -> RetryOptions {
    RetryOptions {
        initial_ms: 20,
        factor: 2.0,
        max_ms: 200,
        jitter: 0.0,
        max_attempts: None,
        non_retryable: Vec::new(),
    }
}

/// The module that every host runs.
pub(super) fn functions(effects: &Arc<Effects>) -> Arc<Script> {
    let (to_work, to_fail, to_spin) = (effects.clone(), effects.clone(), effects.clone());
    let script = Script::default()
        .activity("work", move |attempt| {
            let effects = to_work.clone();
            async move {
                let receipt = work(&attempt, &effects).await;
                attempt.succeed(receipt)
            }
        })
        .retry(patient())
        .activity("flaky", move |attempt| {
            let effects = to_fail.clone();
            async move {
                let receipt = work(&attempt, &effects).await;
                let enough: u32 = attempt.input().parse().unwrap_or(0);
                if attempt.context.attempt <= enough {
                    attempt.fail(503)
                } else {
                    attempt.succeed(receipt)
                }
            }
        })
        .retry(patient())
        .activity("refuse", |_| async {
            // Without the attempt's number, which depends on the faults.
            let failure = Failure { code: 402, message: "no money".into(), details: None };
            Ok(Outcome::Failure(failure))
        })
        .retry(RetryOptions { max_attempts: Some(1), ..patient() });
    let script = script
        .workflow("order", order)
        .workflow("fan", fan)
        .workflow("leaf", leaf)
        .workflow("race", race)
        .workflow("patient", impatient)
        .workflow("outside", outside)
        .workflow("abroad", abroad)
        .workflow("detach", detach)
        .workflow("saga", saga)
        .workflow("graph", graph)
        .workflow(tally::FUNCTION, tally::add)
        .workflow(crowd::PACKED, crowd::work)
        .workflow(crowd::PACED, crowd::work)
        .workflow(crowd::CROWD, crowd::crowd)
        .workflow("spin", move |ctx| {
            let effects = to_spin.clone();
            async move {
                if effects.stalls() {
                    return ctx.hang().await;
                }
                ctx.done(ctx.call("work", "1")).await?;
                ctx.done(ctx.sleep(500)).await?;
                if effects.stalls() {
                    return ctx.hang().await;
                }
                Ok("\"spun\"".into())
            }
        })
        .workflow("listener", listener)
        .signals();
    Arc::new(script)
}

type Flow = crate::world::script::Result;

async fn order(ctx: ScriptContext) -> Flow {
    let price = ctx.done(ctx.run("price", || "12".into())).await?;
    let items: Vec<u32> = (0..3).map(|n| ctx.call("work", &n.to_string())).collect();
    ctx.log("charged");
    for item in items {
        ctx.done(item).await?;
    }
    ctx.done(ctx.sleep(300)).await?;
    let (approval, _) = ctx.promise(Some("approval"));
    ctx.done(approval).await?;
    ctx.done(ctx.publish("orders", "{\"sold\":1}")).await?;
    ctx.done(ctx.call("flaky", "2")).await?;
    Ok(price)
}

async fn fan(ctx: ScriptContext) -> Flow {
    let width = ctx.input().parse::<u32>().unwrap_or(0) + 1;
    let children: Vec<u32> = (0..width).map(|n| ctx.call("leaf", &n.to_string())).collect();
    let mut sum = 0;
    for child in children {
        sum += ctx.done(child).await?.parse::<u32>().unwrap_or(1_000);
    }
    Ok(sum.to_string())
}

async fn leaf(ctx: ScriptContext) -> Flow {
    let input = ctx.input();
    let same = ctx.done(ctx.run("same", || input.clone())).await?;
    ctx.done(ctx.call("work", &same)).await?;
    Ok(same)
}

async fn race(ctx: ScriptContext) -> Flow {
    let call = ctx.call("work", "1");
    let sleep = ctx.sleep(150);
    let first = ctx.any().await;
    let (winner, loser) = if first == call { ("work", sleep) } else { ("sleep", call) };
    ctx.cancel(loser);
    ctx.forget(loser);
    ctx.done(ctx.call("leaf", "3")).await?;
    Ok(format!("\"{winner}\""))
}

async fn impatient(ctx: ScriptContext) -> Flow {
    let options = CallOptions { timeout_ms: Some(700), ..options() };
    let called = ctx.call_with("work", "1", options);
    match ctx.done(called).await {
        Ok(_) => Ok("\"done\"".into()),
        Err((408, _)) => Ok("\"late\"".into()),
        Err(other) => Err(other),
    }
}

async fn outside(ctx: ScriptContext) -> Flow {
    let first = ctx.call("poll://workers/step", "1");
    let second = ctx.call("poll://workers/step", "2");
    let third = ctx.call("leaf", "1");
    ctx.done(third).await?;
    ctx.done(second).await?;
    ctx.done(first).await?;
    Ok("\"outside\"".into())
}

/// Calls functions of workers that speak the Resonate protocol.
async fn abroad(ctx: ScriptContext) -> Flow {
    let input = ctx.input();
    let sum = ctx.call("poll://any@workers#fibonacci", &format!("[{input}]"));
    let work = ctx.call("poll://any@workers#work", "[1]");
    ctx.done(work).await?;
    match ctx.done(ctx.call("poll://any@workers#refuse", "[]")).await {
        Err(_) => ctx.done(sum).await,
        Ok(_) => Ok("\"it did not refuse\"".into()),
    }
}

async fn detach(ctx: ScriptContext) -> Flow {
    let sent = ctx.send("leaf", "7", options());
    ctx.done(sent).await?;
    Ok("\"sent\"".into())
}

async fn saga(ctx: ScriptContext) -> Flow {
    ctx.done(ctx.call("work", "1")).await?;
    match ctx.done(ctx.call("refuse", "1")).await {
        Err((402, _)) => {
            ctx.done(ctx.call("work", "-1")).await?;
            Err((402, "refused".into()))
        }
        other => other,
    }
}

/// Runs a graph on the host, with steps, a signal, a nested graph, and for some inputs a step that
/// fails.
async fn graph(ctx: ScriptContext) -> Flow {
    let inner = json!({ "nodes": { "x": { "call": "leaf", "input": 1 }, "y": { "call": "work", "needs": ["x"] } } });
    let plan = json!({ "max_parallel": 3, "outputs": ["nap"], "nodes": {
        "a": { "call": "work", "input": 1 },
        "b": { "call": "flaky", "needs": ["a"], "input": 2 },
        "c": { "call": "leaf", "needs": ["a"], "input": 3 },
        "d": { "call": "refuse", "needs": ["c"], "when": { "from": "input", "above": 1 } },
        "e": { "call": "work", "needs": ["d", "b"], "input": 4 },
        "heard": { "signal": "s" },
        "inner": { "graph": inner, "needs": ["heard", "b"], "input": null },
        "nap": { "sleep": "200ms", "needs": ["heard"] },
        "out": { "call": "poll://workers/step", "function": "step", "needs": ["a"], "input": 1 },
    } });
    let input = ctx.input().parse::<u32>().unwrap_or(0);
    let run = json!({ "plan": plan, "input": input }).to_string();
    ctx.done(ctx.call("segno:graph", &run)).await
}

async fn listener(ctx: ScriptContext) -> Flow {
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(ctx.signal().await.1);
    }
    heard.sort();
    ctx.done(ctx.call("work", "1")).await?;
    Ok(format!("[{}]", heard.join(",")))
}
