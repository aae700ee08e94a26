//! The module `narrow` with a higher limit.

use segno::{Context, Result};

/// Waits for its promise `go`, under a limit of three executions at a time.
#[segno::workflow(limit(concurrency = 3))]
pub async fn stays(ctx: Context) -> Result<()> {
    ctx.named_promise("go").await
}

segno::module!(stays);
