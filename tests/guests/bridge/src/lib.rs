//! A module that works with external workers in both directions: they call it, and it calls them.

use std::time::Duration;

use segno::{Context, Error, Result};

/// Address at which the tests' workers poll.
const WORKERS: &str = "poll://any@workers";

/// Doubles a number.
#[segno::workflow]
pub async fn double(_ctx: Context, number: i64) -> Result<i64> {
    Ok(2 * number)
}

/// Adds two numbers, passed as callers with several arguments send them.
#[segno::workflow]
pub async fn add(_ctx: Context, (left, right): (i64, i64)) -> Result<i64> {
    Ok(left + right)
}

/// Fails with a terminal error.
#[segno::workflow]
pub async fn refuse(_ctx: Context, reason: String) -> Result<()> {
    Err(Error::terminal(402, reason))
}

/// Sleeps.
#[segno::workflow]
pub async fn nap(ctx: Context, length_ms: u64) -> Result<()> {
    ctx.sleep(Duration::from_millis(length_ms)).await
}

/// Sum of two numbers, computed by an external worker.
#[segno::workflow]
pub async fn remote_sum(ctx: Context, (left, right): (i64, i64)) -> Result<i64> {
    ctx.call_remote(WORKERS, "sum", &(left, right)).await
}

/// Calls a worker that calls this module back, so that the call tree spans both systems.
#[segno::workflow]
pub async fn there_and_back(ctx: Context, number: i64) -> Result<i64> {
    ctx.call_remote(WORKERS, "call_double", &(number,)).await
}

/// Returns the code and message of a worker's failure as this caller sees them.
#[segno::workflow]
pub async fn remote_failure(ctx: Context, message: String) -> Result<String> {
    match ctx.call_remote::<_, ()>(WORKERS, "fail", &(message,)).await {
        Ok(()) => Ok("it did not fail".to_owned()),
        Err(error) => Ok(format!("{} {}", error.code(), error.message())),
    }
}

/// Returns the error code of a call whose deadline passes while the worker runs.
#[segno::workflow]
pub async fn remote_deadline(ctx: Context, limit_ms: u64) -> Result<u32> {
    let call = ctx.call_remote::<_, ()>(WORKERS, "dawdle", &(60_000,));
    match call.timeout(Duration::from_millis(limit_ms)).await {
        Ok(()) => Ok(0),
        Err(error) => Ok(error.code()),
    }
}

/// Cancels a call of a slow worker after a sleep: the promise of the call is cancelled.
#[segno::workflow]
pub async fn remote_cancelled(ctx: Context, limit_ms: u64) -> Result<String> {
    let call = ctx.call_remote::<_, ()>(WORKERS, "dawdle", &(60_000,)).start();
    ctx.sleep(Duration::from_millis(limit_ms)).await?;
    ctx.cancel(&call).await?;
    match call.await {
        Ok(()) => Ok("it ended".to_owned()),
        Err(error) => Ok(format!("{} {}", error.code(), error.message())),
    }
}

segno::module!(
    double,
    add,
    refuse,
    nap,
    remote_sum,
    there_and_back,
    remote_failure,
    remote_deadline,
    remote_cancelled
);
