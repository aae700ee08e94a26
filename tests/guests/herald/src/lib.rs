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

/// Hears so many texts, publishes each, and answers with all of them once the promise `done` has a value.
#[segno::workflow(signals)]
pub async fn relay(ctx: Context, count: u32) -> Result<Vec<String>> {
    let done = ctx.named_promise::<u32>("done").start();
    let mut heard = Vec::new();
    for _ in 0..count {
        let text: String = ctx.signal("text").await?;
        ctx.publish("relayed", &text).await?;
        heard.push(text);
    }
    done.await?;
    Ok(heard)
}

segno::module!(announce, relay);
