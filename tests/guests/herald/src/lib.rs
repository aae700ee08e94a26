//! A module that publishes.

use std::time::Duration;

use segno::{Context, Result};

/// Publishes as many events as it is asked to, one after the other, with a pause between them.
#[segno::workflow]
pub async fn announce(ctx: Context, (count, pause_ms): (u32, u64)) -> Result<u32> {
    for number in 0..count {
        segno::info!(ctx, "announcing {number}");
        ctx.publish("news.number", &number).await?;
        ctx.sleep(Duration::from_millis(pause_ms)).await?;
    }
    ctx.publish("end", &serde_json::json!({ "announced": count })).await?;
    Ok(count)
}

segno::module!(announce);
