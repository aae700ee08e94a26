//! The worker's rules, one test each, in virtual time: the real worker, recovery and core over
//! scripted guests.

mod activities;
mod beginning;
mod boot;
mod budgets;
mod cancel;
mod claims;
mod commands;
mod concurrency;
mod damage;
mod doors;
mod fairness;
mod fork_streams;
mod forks;
mod generations;
mod graphs;
mod halts;
mod journal;
mod limits;
mod objects;
mod outcomes;
mod queries;
mod runs;
mod services;
mod signals;
mod stuck;
mod time;
mod timers;
mod updates;

use std::sync::Arc;

use segno_core::{promise::Verdict, time::Millis};
use segno_engine::worker::{WarmBudget, WorkerSettings};
use segno_guest::{CallOptions, RetryOptions};
use serde_json::{Value as Json, json};
use tests::world::{
    Plan, World,
    script::{Script, options},
};

/// One second of virtual time.
const SECOND: Millis = Millis(1_000);

/// Plan of a world in which every suspended workflow is replayed.
fn cold() -> Plan {
    let warm = WarmBudget { instances: 0, bytes: 0 };
    Plan { worker: WorkerSettings { warm, ..WorkerSettings::default() }, ..Plan::default() }
}

/// A world in which `it` runs the workflow `flow` of the script to its end, with the outcome.
async fn ended(script: &Arc<Script>, plan: Plan) -> (World, Verdict, Json) {
    let mut world = World::with(plan, script).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    let (verdict, value) = world.outcome("it").await;
    (world, verdict, value)
}

/// A world in which `it` has begun to run the workflow `flow`.
async fn begun(script: &Arc<Script>, plan: Plan) -> World {
    let mut world = World::with(plan, script).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.boot().await;
    world
}

fn at_once(max_attempts: Option<u32>) -> RetryOptions {
    RetryOptions {
        initial_ms: 10,
        factor: 1.0,
        max_ms: 10,
        jitter: 0.0,
        max_attempts,
        non_retryable: Vec::new(),
    }
}

fn timeout(ms: u64) -> CallOptions {
    CallOptions { timeout_ms: Some(ms), ..options() }
}
