//! A flow that may end before it is stopped.

use std::time::Duration;

use segno::{Context, Result};

use crate::effect::{Effect, by_step};

/// How long it takes, and how it is stopped.
#[segno::data]
pub struct Brief {
    /// The address of the ledger.
    pub ledger: String,
    /// The name of the flow in the ledger.
    pub flow: String,
    /// How long it sleeps.
    pub takes_ms: u64,
    /// Whether it ends well also if it is cancelled.
    pub is_stubborn: bool,
}

/// Sleeps and makes one effect. Gives whether it was stopped by a cancellation.
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
