//! The functions of `functions.mjs`, on the released Rust SDK. Every worker registers all of them.
//!
//! Arguments are a tuple, even a single one, and no argument is an empty array. The SDK writes its
//! input unchanged, and only this form equals the argument list that the other SDKs and modules
//! write.
//!
//! The SDK has no retry policy: `stubborn` begins a new step after each failure. The SDK puts
//! `application error: ` before the message of a failure that it records. Its errors carry no name.

use std::{env, fs::File, io::Write, time::Duration};

use resonate_sdk::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Empty argument list.
type Nothing = [(); 0];

/// Group of the workers.
const WORKERS: &str = "workers";

/// Appends a line to the ledger for each execution of a body, so that the suite can count them.
fn note(line: &str) {
    if let Ok(ledger) = env::var("LEDGER") {
        let mut ledger = File::options().create(true).append(true).open(ledger).expect("a ledger");
        ledger.write_all(format!("{line}\n").as_bytes()).expect("a ledger");
    }
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

fn failure<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Application { message: message.into() })
}

// One step.
#[resonate_sdk::function]
async fn echo(args: (i64,)) -> Result<i64> {
    Ok(args.0)
}

#[resonate_sdk::function]
async fn sum(left: i64, right: i64) -> Result<i64> {
    Ok(left + right)
}

#[resonate_sdk::function]
async fn fail(args: (String,)) -> Result<()> {
    failure(args.0)
}

#[resonate_sdk::function]
async fn dawdle(args: (u64,)) -> Result<String> {
    pause(args.0).await;
    note("dawdled");
    Ok("done".to_owned())
}

// A local step, a remote step, and a sleep.
#[resonate_sdk::function]
async fn parent(ctx: &Context, args: (i64,)) -> Result<i64> {
    let local = ctx.run(increment, args).await?;
    let remote = ctx.rpc("double", (local,)).target(WORKERS).await?;
    ctx.sleep(Duration::from_millis(200)).await?;
    Ok(remote)
}

#[resonate_sdk::function]
async fn increment(args: (i64,)) -> Result<i64> {
    Ok(args.0 + 1)
}

#[resonate_sdk::function]
async fn double(args: (i64,)) -> Result<i64> {
    Ok(2 * args.0)
}

#[resonate_sdk::function]
async fn fan_out(ctx: &Context, args: (i64,)) -> Result<i64> {
    let mut calls = Vec::new();
    for n in 0..args.0 {
        calls.push(ctx.rpc::<i64>("echo", (n,)).target(WORKERS).spawn()?);
    }
    let mut total = 0;
    for call in calls {
        total += call.await?;
    }
    Ok(total)
}

#[resonate_sdk::function]
async fn fibonacci(ctx: &Context, args: (i64,)) -> Result<i64> {
    let (n,) = args;
    if n < 2 {
        return Ok(n);
    }
    let left = ctx.rpc::<i64>("fibonacci", (n - 1,)).target(WORKERS).spawn()?;
    let right = ctx.rpc::<i64>("fibonacci", (n - 2,)).target(WORKERS).spawn()?;
    Ok(left.await? + right.await?)
}

#[resonate_sdk::function]
async fn fibonacci_local(ctx: &Context, args: (i64,)) -> Result<i64> {
    let (n,) = args;
    if n < 2 {
        return Ok(n);
    }
    let left = ctx.run(fibonacci_local, (n - 1,)).spawn()?;
    let right = ctx.run(fibonacci_local, (n - 2,)).spawn()?;
    Ok(left.await? + right.await?)
}

#[resonate_sdk::function]
async fn nap(ctx: &Context, args: (u64,)) -> Result<String> {
    ctx.sleep(Duration::from_millis(args.0)).await?;
    Ok("rested".to_owned())
}

#[resonate_sdk::function]
async fn approval(ctx: &Context, _args: Nothing) -> Result<String> {
    ctx.promise().await
}

// Fails twice, then succeeds.
#[resonate_sdk::function]
async fn stubborn(ctx: &Context, _args: Nothing) -> Result<u32> {
    for number in 1..=5 {
        match ctx.run(attempt, (number,)).await {
            Err(Error::Application { .. }) => ctx.sleep(Duration::from_millis(50)).await?,
            ended => return ended,
        }
    }
    failure("it never succeeded")
}

#[resonate_sdk::function]
async fn attempt(args: (u32,)) -> Result<u32> {
    note("attempt");
    if args.0 < 3 { failure("not yet") } else { Ok(args.0) }
}

// Counted steps with a pause between them.
#[resonate_sdk::function]
async fn steps(ctx: &Context, count: u64, ms: u64) -> Result<u64> {
    for n in 0..count {
        ctx.run(step, (n, ms)).await?;
    }
    Ok(count)
}

#[resonate_sdk::function]
async fn step(n: u64, ms: u64) -> Result<()> {
    note(&format!("step {n}"));
    pause(ms).await;
    Ok(())
}

// Children, and parents that do not await them.
#[resonate_sdk::function]
async fn child(name: String, ms: u64) -> Result<String> {
    pause(ms).await;
    note(&format!("child {name}"));
    Ok(name)
}

#[resonate_sdk::function]
async fn begin_all(ctx: &Context, count: u64, ms: u64) -> Result<String> {
    for n in 0..count {
        ctx.rpc::<String>("child", (format!("remote {n}"), ms)).target(WORKERS).spawn()?;
        ctx.run(child, (format!("local {n}"), ms)).spawn()?;
    }
    Ok("returned".to_owned())
}

#[resonate_sdk::function]
async fn one_fails(ctx: &Context, args: (u64,)) -> Result<String> {
    let (ms,) = args;
    ctx.rpc::<String>("child", ("elder", ms)).target(WORKERS).spawn()?;
    let failing = ctx.rpc::<()>("fail", ("no stock",)).target(WORKERS).spawn()?;
    ctx.run(child, ("younger".to_owned(), ms)).spawn()?;
    failing.await?;
    Ok("it did not fail".to_owned())
}

#[resonate_sdk::function]
async fn leave_behind(ctx: &Context, _args: Nothing) -> Result<String> {
    let none: Nothing = [];
    ctx.detached("approval", none).target(WORKERS).spawn()?;
    Ok("left".to_owned())
}

// Functions of a module, called from here.
#[resonate_sdk::function]
async fn call_double(ctx: &Context, args: (i64,)) -> Result<i64> {
    ctx.rpc("double", args).target("wasm://bridge/double").await
}

#[resonate_sdk::function]
async fn call_add(ctx: &Context, left: i64, right: i64) -> Result<i64> {
    ctx.rpc("add", (left, right)).target("wasm://bridge/add").await
}

#[resonate_sdk::function]
async fn call_refuse(ctx: &Context, args: (String,)) -> Result<String> {
    match ctx.rpc::<()>("refuse", args).target("wasm://bridge/refuse").await {
        Ok(()) => Ok("it did not refuse".to_owned()),
        Err(Error::Application { message }) => Ok(message),
        // The SDK suspends the function here while the call is pending.
        Err(other) => Err(other),
    }
}

#[resonate_sdk::function]
async fn call_nap(ctx: &Context, ms: u64, limit_ms: u64) -> Result<String> {
    let call = ctx.rpc::<()>("nap", (ms,)).target("wasm://bridge/nap");
    match call.timeout(Duration::from_millis(limit_ms)).await {
        Ok(()) => Ok("rested".to_owned()),
        Err(Error::Application { message }) => Ok(message),
        Err(other) => Err(other),
    }
}

#[resonate_sdk::function]
async fn call_sum(ctx: &Context, left: i64, right: i64) -> Result<i64> {
    ctx.rpc("remote_sum", (left, right)).target("wasm://bridge/remote_sum").await
}

/// Functions by name. `register` adds all of them to a client as a worker. `run` starts one from
/// here.
macro_rules! functions {
    ($($function:ident),* $(,)?) => {
        pub fn register(resonate: &Resonate) -> Result<()> {
            $(resonate.register($function)?;)*
            Ok(())
        }

        pub async fn run(resonate: &Resonate, id: &str, name: &str, args: Value) -> Result<Value> {
            match name {
                $(stringify!($function) => run_one(resonate, id, $function, args).await,)*
                _ => Err(Error::FunctionNotFound(name.to_owned())),
            }
        }
    };
}

functions!(
    echo,
    sum,
    fail,
    dawdle,
    parent,
    double,
    fan_out,
    fibonacci,
    fibonacci_local,
    nap,
    approval,
    stubborn,
    steps,
    child,
    begin_all,
    one_fails,
    leave_behind,
    call_double,
    call_add,
    call_refuse,
    call_nap,
    call_sum,
);

async fn run_one<F, Args, T>(
    resonate: &Resonate,
    id: &str,
    function: F,
    args: Value,
) -> Result<Value>
where
    F: Durable<Args, T>,
    Args: Serialize + DeserializeOwned + Send,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let args: Args = serde_json::from_value(args)?;
    Ok(serde_json::to_value(resonate.run(id, function, args).await?)?)
}
