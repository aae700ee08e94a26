//! A flow that may end before it is cancelled.

use std::time::Duration;

use segno::{Context, Result};

use crate::effect::{Effect, by_step};

/// Duration of the flow, and its reaction to a cancellation.
#[segno::data]
pub struct Brief {
    /// Address of the ledger.
    pub ledger: String,
    /// Name of the flow in the ledger.
    pub flow: String,
    /// Length of the sleep, in milliseconds.
    pub takes_ms: u64,
    /// True if the flow completes successfully even when it is cancelled.
    pub is_stubborn: bool,
}

/// Sleeps and makes one effect. Returns true if a cancellation stopped it.
#[segno::workflow]
pub async fn brief(ctx: Context, brief: Brief) -> Result<bool> {
    let work = async {
        ctx.sleep(Duration::from_millis(brief.takes_ms)).await?;
        by_step(&ctx, &Effect::new(&brief.ledger, &brief.flow, 0)).await
    };
    match work.await {
        Ok(_) => Ok(false),
        Err(_) if ctx.is_cancelled() && brief.is_stubborn => Ok(true),
        Err(error) => Err(error),
    }
}
