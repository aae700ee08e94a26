//! A hall with room for a few visitors.

use std::time::Duration;

use segno::{Context, Result};

use crate::effect::{Effect, by_activity, by_step};

/// One visit.
#[segno::data]
pub struct Visit {
    /// The address of the ledger.
    pub ledger: String,
    /// The name of the visit in the ledger, where it begins with step 0 and ends with step 1.
    pub flow: String,
    /// The key of the limit.
    pub group: String,
    /// How long the visit takes.
    pub takes_ms: u64,
}

/// Comes, stays and goes.
#[segno::workflow(limit(key = "group", concurrency = 2, total_concurrency = 4))]
pub async fn visit(ctx: Context, visit: Visit) -> Result<()> {
    by_step(&ctx, &Effect::new(&visit.ledger, &visit.flow, 0)).await?;
    ctx.sleep(Duration::from_millis(visit.takes_ms)).await?;
    ctx.call(by_activity, &Effect::new(&visit.ledger, &visit.flow, 1)).await?;
    Ok(())
}
