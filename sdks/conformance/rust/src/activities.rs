//! Activities: their context, settings, secrets and files.

use segno::{ActivityContext, Context, Error, Result, serde_json::json};

#[segno::activity]
pub async fn facts(ctx: ActivityContext) -> Result<(bool, u32, bool)> {
    Ok((ctx.id() == ctx.idempotency_key(), ctx.attempt(), ctx.fence_token() > 0))
}

#[segno::workflow(name = "activity-facts")]
pub async fn activity_facts(ctx: Context) -> Result<(bool, u32, bool)> {
    ctx.call(facts, &()).await
}

#[segno::activity]
pub async fn settings(ctx: ActivityContext) -> Result<(String, usize, String)> {
    let greeting = ctx.files().read_text("/in/greeting.txt")?;
    Ok((ctx.env("REGION")?, ctx.secret("PAY")?.expose().len(), greeting))
}

#[segno::workflow(name = "activity-settings")]
pub async fn activity_settings(ctx: Context) -> Result<(String, usize, String)> {
    ctx.call(settings, &()).await
}

#[segno::activity(retry(initial = "10ms", jitter = 0, max_attempts = 3))]
pub async fn stepwise(ctx: ActivityContext) -> Result<u32> {
    let before: u32 = ctx.last_progress()?.unwrap_or(0);
    ctx.heartbeat(&(before + 1))?;
    match before {
        0..2 => Err(Error::retryable("not there yet")),
        before => Ok(before),
    }
}

#[segno::workflow(name = "activity-progress")]
pub async fn activity_progress(ctx: Context) -> Result<u32> {
    ctx.call(stepwise, &()).await
}

#[segno::workflow(name = "publish-log")]
pub async fn publish_log(ctx: Context) -> Result<String> {
    segno::info!(ctx, "begun");
    ctx.publish("order.paid", &json!({ "cents": 1200 })).await?;
    segno::warn!(ctx, "ended");
    Ok("published".to_owned())
}
