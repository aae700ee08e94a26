//! A module that works with external workers: they call it, and it calls them.

use std::time::Duration;

use segno::{Context, Error, Result};

/// Where the workers of the tests listen.
const WORKERS: &str = "poll://any@workers";

/// Twice a number.
#[segno::workflow]
pub async fn double(_ctx: Context, number: i64) -> Result<i64> {
    Ok(2 * number)
}

/// Two numbers, as callers with several arguments send them.
#[segno::workflow]
pub async fn add(_ctx: Context, (left, right): (i64, i64)) -> Result<i64> {
    Ok(left + right)
}

/// Refuses.
#[segno::workflow]
pub async fn refuse(_ctx: Context, reason: String) -> Result<()> {
    Err(Error::terminal(402, reason))
}

/// Waits for a while.
#[segno::workflow]
pub async fn nap(ctx: Context, length_ms: u64) -> Result<()> {
    ctx.sleep(Duration::from_millis(length_ms)).await
}

/// The sum that a external worker makes of two numbers.
#[segno::workflow]
pub async fn remote_sum(ctx: Context, (left, right): (i64, i64)) -> Result<i64> {
    ctx.call_remote(WORKERS, "sum", &(left, right)).await
}

/// A worker that calls this module again, which makes a tree through both worlds.
#[segno::workflow]
pub async fn there_and_back(ctx: Context, number: i64) -> Result<i64> {
    ctx.call_remote(WORKERS, "call_double", &(number,)).await
}

/// What a worker's failure looks like from here.
#[segno::workflow]
pub async fn remote_failure(ctx: Context, message: String) -> Result<String> {
    match ctx.call_remote::<_, ()>(WORKERS, "fail", &(message,)).await {
        Ok(()) => Ok("it did not fail".to_owned()),
        Err(error) => Ok(format!("{} {}", error.code(), error.message())),
    }
}

/// What a deadline looks like that passes while a worker works.
#[segno::workflow]
pub async fn remote_deadline(ctx: Context, limit_ms: u64) -> Result<u32> {
    let call = ctx.call_remote::<_, ()>(WORKERS, "dawdle", &(60_000,));
    match call.timeout(Duration::from_millis(limit_ms)).await {
        Ok(()) => Ok(0),
        Err(error) => Ok(error.code()),
    }
}

/// The first of a worker that dawdles and a sleep: the worker loses, and its promise is cancelled.
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
