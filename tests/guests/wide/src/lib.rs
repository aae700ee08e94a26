//! The module `narrow` with a higher limit.

use segno::{Context, Result};

/// Stays until it is let go, with two others.
#[segno::workflow(limit(concurrency = 3))]
pub async fn stays(ctx: Context) -> Result<()> {
    ctx.named_promise("go").await
}

segno::module!(stays);
