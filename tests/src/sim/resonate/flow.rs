//! The functions that workers of the Resonate protocol run in the simulation.

use serde_json::{Value as Json, json};

use super::claimed::{Claimed, Stop};

/// Workflows in scenarios.
pub(crate) const FUNCTIONS: [&str; 8] =
    ["chain", "spread", "fibonacci", "human", "bridge", "careful", "hasty", "work"];

const WORKERS: &str = "poll://any@workers";

/// Runs the body of a task from its start until it must wait.
pub(super) async fn run(task: &mut Claimed) -> Result<Json, Stop> {
    task.begin();
    let (function, arguments) = task.call();
    let input = arguments.first().and_then(Json::as_u64).unwrap_or_default();
    match function.as_str() {
        "work" => Ok(task.work().await),
        "refuse" => Err(Stop::Failed(json!({ "__type": "error", "message": "no" }))),
        "chain" => chain(task).await,
        "spread" => spread(task, input).await,
        "fibonacci" => fibonacci(task, input).await,
        "human" => human(task).await,
        "bridge" => bridge(task, input).await,
        "careful" => careful(task).await,
        "hasty" => hasty(task).await,
        unknown => Err(Stop::Failed(json!(format!("`{unknown}` is not known here")))),
    }
}

/// A local step, a remote step, and a sleep.
async fn chain(task: &mut Claimed) -> Result<Json, Stop> {
    task.step().await?;
    let work = task.call_of("work", 1, WORKERS, None).await?;
    task.done(&work)?;
    let sleep = task.sleep(300).await?;
    task.done(&sleep)?;
    task.step().await?;
    Ok(json!("chained"))
}

/// Several concurrent calls.
async fn spread(task: &mut Claimed, width: u64) -> Result<Json, Stop> {
    let mut begun = Vec::new();
    for n in 0..=width {
        begun.push(task.call_of("work", n, WORKERS, None).await?);
    }
    task.step().await?;
    for call in &begun {
        task.done(call)?;
    }
    Ok(json!(begun.len()))
}

async fn fibonacci(task: &mut Claimed, n: u64) -> Result<Json, Stop> {
    if n < 2 {
        return Ok(json!(n));
    }
    let left = task.call_of("fibonacci", n - 1, WORKERS, None).await?;
    let right = task.call_of("fibonacci", n - 2, WORKERS, None).await?;
    let (left, right) = (task.done(&left)?, task.done(&right)?);
    Ok(json!(left.as_u64().unwrap_or(1_000) + right.as_u64().unwrap_or(1_000)))
}

/// Waits for a promise that a person settles, then runs a step.
async fn human(task: &mut Claimed) -> Result<Json, Stop> {
    let granted = task.promise().await?;
    let granted = task.done(&granted)?;
    task.step().await?;
    Ok(granted)
}

/// Calls a function of a module.
async fn bridge(task: &mut Claimed, input: u64) -> Result<Json, Stop> {
    let leaf = task.call_of("leaf", input, "wasm://m/leaf", None).await?;
    task.done(&leaf)
}

/// Treats a failure as an answer.
async fn careful(task: &mut Claimed) -> Result<Json, Stop> {
    let refused = task.call_of("refuse", 0, WORKERS, None).await?;
    match task.done(&refused) {
        Err(Stop::Failed(error)) => Ok(json!({ "refused": error })),
        other => other,
    }
}

/// Calls a worker that does not exist, with a deadline.
async fn hasty(task: &mut Claimed) -> Result<Json, Stop> {
    let call = task.call_of("work", 0, "poll://any@nobody", Some(700)).await?;
    match task.done(&call) {
        Err(Stop::Failed(_)) => Ok(json!("no worker came")),
        other => other,
    }
}
