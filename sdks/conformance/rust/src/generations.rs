//! Workflows that continue as new.

use segno::{Context, Result};

use crate::millis;

#[segno::workflow(signals(add: u32))]
pub async fn generation(ctx: Context, total: u32) -> Result<u32> {
    let sum = total + ctx.signal::<u32>("add").await?;
    // The second signal comes meanwhile.
    ctx.sleep(millis(1_000)).await?;
    if sum < 10 {
        return ctx.continue_as_new(&sum);
    }
    Ok(sum)
}

#[segno::workflow(name = "generation-count")]
pub async fn generation_count(ctx: Context, number: u32) -> Result<u32> {
    ctx.sleep(millis(50)).await?;
    if number < 3 {
        return ctx.continue_with_same_code(&(number + 1));
    }
    Ok(number)
}
