//! A roll of notes that continues as new, page by page.

use std::time::Duration;

use segno::{Context, Result};

/// Receives notes, and continues as new after each `page` of them. The signal `end` ends it.
/// Returns the notes of all generations in order of arrival.
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
