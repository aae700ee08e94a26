//! A hall that admits a few visitors at a time.

use std::time::Duration;

use segno::{Context, Result};

use crate::effect::{Effect, by_activity, by_step};

/// One visit.
#[segno::data]
pub struct Visit {
    /// Address of the ledger.
    pub ledger: String,
    /// Name of the visit in the ledger. The visit begins with step 0 and ends with step 1.
    pub flow: String,
    /// Key of the limit.
    pub group: String,
    /// Duration of the visit, in milliseconds.
    pub takes_ms: u64,
}

/// Makes the arrival effect, sleeps, and makes the departure effect.
#[segno::workflow(limit(key = "group", concurrency = 2, total_concurrency = 4))]
pub async fn visit(ctx: Context, visit: Visit) -> Result<()> {
    by_step(&ctx, &Effect::new(&visit.ledger, &visit.flow, 0)).await?;
    ctx.sleep(Duration::from_millis(visit.takes_ms)).await?;
    ctx.call(by_activity, &Effect::new(&visit.ledger, &visit.flow, 1)).await?;
    Ok(())
}
