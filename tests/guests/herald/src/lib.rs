//! A module that publishes events.

use std::time::Duration;

use segno::{Context, Result};

/// Publishes `count` events, one after the other, with a pause of `pause_ms` between them.
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

/// Receives `count` text signals, publishes each, and returns all of them once the promise `done`
/// is resolved.
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

/// Adds the numbers that it receives as signals. After `each` of them it pauses and continues as
/// new. The signal `end` ends it, and sends the sum to the invocation `tell`, if any.
#[segno::workflow(signals)]
pub async fn tally(ctx: Context, (each, mut sum, tell): (u32, u64, Option<String>)) -> Result<u64> {
    let mut signals = ctx.signals();
    for _ in 0..each {
        let signal = signals.receive().await?;
        if signal.name() == "end" {
            if let Some(id) = &tell {
                ctx.send_signal(id, "text", &sum.to_string()).await?;
            }
            return Ok(sum);
        }
        sum += signal.json::<u64>()?;
    }
    ctx.sleep(Duration::from_millis(20)).await?;
    ctx.continue_as_new(&(each, sum, tell))
}

segno::module!(announce, relay, tally);
