//! Functions with concurrency and rate limits.

use std::time::Duration;

use segno::{ActivityContext, Context, Result};

/// Input of the limited functions.
#[segno::data]
pub struct Job {
    /// Key of the limit.
    pub customer: String,
    /// Duration of the sleep, in milliseconds.
    pub takes_ms: u64,
}

/// Calls an activity, then sleeps.
#[segno::workflow(limit(key = "customer", concurrency = 2, total_concurrency = 4))]
pub async fn job(ctx: Context, job: Job) -> Result<String> {
    let worked = ctx.call(work, &job.customer).await?;
    ctx.sleep(Duration::from_millis(job.takes_ms)).await?;
    Ok(worked)
}

/// Returns its input.
#[segno::activity]
pub async fn work(_ctx: ActivityContext, customer: String) -> Result<String> {
    Ok(customer)
}

/// Does the same as `job`, but under a rate limit.
#[segno::workflow(limit(rate = "8/s", burst = 4))]
pub async fn mail(ctx: Context, job: Job) -> Result<String> {
    let worked = ctx.call(work, &job.customer).await?;
    ctx.sleep(Duration::from_millis(job.takes_ms)).await?;
    Ok(worked)
}

/// Waits for its promise `go`, under a limit of one execution at a time.
#[segno::workflow(limit(concurrency = 1))]
pub async fn stays(ctx: Context) -> Result<()> {
    ctx.named_promise("go").await
}

segno::module!(job, work, mail, stays);
