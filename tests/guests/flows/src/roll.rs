//! A roll that is continued on a new page.

use std::time::Duration;

use segno::{Context, Result};

/// Hears notes, and continues as new after each `page` of them; the signal `end` ends it. Gives the notes
/// of all generations in the order in which they came.
#[segno::workflow(signals)]
pub async fn roll(ctx: Context, (page, mut notes): (u32, Vec<u64>)) -> Result<Vec<u64>> {
    let mut signals = ctx.signals();
    for _ in 0..page {
        let signal = signals.receive().await?;
        if signal.name() == "end" {
            return Ok(notes);
        }
        notes.push(signal.json()?);
    }
    ctx.sleep(Duration::from_millis(20)).await?;
    ctx.continue_as_new(&(page, notes))
}
