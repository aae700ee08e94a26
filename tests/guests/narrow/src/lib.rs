//! Functions that are limited.

use std::time::Duration;

use segno::{ActivityContext, Context, Result};

/// Work for a customer.
#[segno::data]
pub struct Job {
    /// The key of the limit.
    pub customer: String,
    /// How long it takes.
    pub takes_ms: u64,
}

/// Works, and rests.
#[segno::workflow(limit(key = "customer", concurrency = 2, total_concurrency = 4))]
pub async fn job(ctx: Context, job: Job) -> Result<String> {
    let worked = ctx.call(work, &job.customer).await?;
    ctx.sleep(Duration::from_millis(job.takes_ms)).await?;
    Ok(worked)
}

/// Nothing much.
#[segno::activity]
pub async fn work(_ctx: ActivityContext, customer: String) -> Result<String> {
    Ok(customer)
}

/// As `job`, but of these only so many begin in a second.
#[segno::workflow(limit(rate = "8/s", burst = 4))]
pub async fn mail(ctx: Context, job: Job) -> Result<String> {
    let worked = ctx.call(work, &job.customer).await?;
    ctx.sleep(Duration::from_millis(job.takes_ms)).await?;
    Ok(worked)
}

/// Stays until it is let go, alone.
#[segno::workflow(limit(concurrency = 1))]
pub async fn stays(ctx: Context) -> Result<()> {
    ctx.named_promise("go").await
}

segno::module!(job, work, mail, stays);
