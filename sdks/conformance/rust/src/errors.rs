//! Failures, retries and defects.

use segno::{
    ActivityContext, Context, Error, Result, RetryPolicy,
    http::Request,
    serde_json::{Value, json},
};

use crate::{HOUR, millis, time::never};

/// The code and the message of a failure.
fn noted<T>(result: Result<T>) -> Option<(u32, String)> {
    result.err().map(|error| (error.code(), error.message().to_owned()))
}

#[segno::activity(retry(initial = "10ms", max = "20ms", jitter = 0, max_attempts = 3))]
pub async fn flaky(ctx: ActivityContext) -> Result<()> {
    let attempt = ctx.attempt();
    let error = Error::with_code(503, format!("attempt {attempt}"));
    Err(error.with_details(&json!({ "attempt": attempt })))
}

#[segno::workflow(name = "retry-then-fail")]
pub async fn retry_then_fail(ctx: Context) -> Result<Vec<Option<(u32, String)>>> {
    let once = RetryPolicy::exponential().initial(millis(10)).max_attempts(1);
    let first = noted(ctx.call(flaky, &()).await);
    Ok(vec![first, noted(ctx.call(flaky, &()).retry(once).await)])
}

#[segno::activity(retry(initial = "10ms", jitter = 0, max_attempts = 5))]
pub async fn third(ctx: ActivityContext) -> Result<String> {
    match ctx.attempt() {
        0..3 => Err(Error::with_code(503, "not yet")),
        attempt => Ok(format!("attempt {attempt}")),
    }
}

#[segno::workflow(name = "retry-then-success")]
pub async fn retry_then_success(ctx: Context) -> Result<String> {
    ctx.call(third, &()).await
}

#[segno::activity(retry(initial = "10ms", max_attempts = 5, non_retryable = [503]))]
pub async fn picky(ctx: ActivityContext, code: u32) -> Result<()> {
    Err(Error::with_code(code, format!("attempt {}", ctx.attempt())))
}

#[segno::workflow(name = "retry-never")]
pub async fn retry_never(ctx: Context) -> Result<Vec<Option<(u32, String)>>> {
    Ok(vec![noted(ctx.call(picky, &503).await), noted(ctx.call(picky, &402).await)])
}

#[segno::workflow(name = "failure-details")]
pub async fn failure_details(_ctx: Context) -> Result<()> {
    let details: Value = json!({ "items": [1, null, { "deep": true }] });
    Err(Error::terminal(422, "nö: “quoted” \n line 2").with_details(&details))
}

#[segno::workflow(name = "failure-of-call")]
pub async fn failure_of_call(ctx: Context) -> Result<()> {
    ctx.call(picky, &402).await
}

#[segno::workflow(name = "unhandled-defect")]
pub async fn unhandled_defect(ctx: Context, number: u32) -> Result<u32> {
    ctx.sleep(millis(20)).await?;
    assert!(number != 0, "there is nothing to divide by");
    Ok(1 / number)
}

#[segno::workflow(name = "host-failures")]
pub async fn host_failures(ctx: Context, url: String) -> Result<Vec<Option<(u32, String)>>> {
    let deadline = noted(ctx.call(never, &()).timeout(millis(200)).await);
    let sleep = ctx.sleep(HOUR).start();
    ctx.cancel(&sleep).await?;
    let slept = noted(sleep.await);
    let promise = ctx.named_promise::<Value>("unknown").start();
    ctx.cancel(&promise).await?;
    let twice = RetryPolicy::exponential().initial(millis(10)).max_attempts(2);
    Ok(vec![
        deadline,
        slept,
        noted(promise.await),
        noted(ctx.http(Request::get(format!("{url}/broken"))).retry(twice).await),
        noted(ctx.settle("nobody/p/nothing", Ok(&1)).await),
        noted(ctx.send_signal("nobody", "hello", &()).await),
    ])
}
