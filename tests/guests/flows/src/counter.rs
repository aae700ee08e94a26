//! A counter that several steps read and write, between two effects.

use std::time::Duration;

use segno::{Context, Result, State};

use crate::effect::{Effect, by_activity, by_step};

/// One turn at a counter.
#[segno::data]
pub struct Turn {
    /// Address of the ledger.
    pub ledger: String,
    /// Name of the counter in the ledger.
    pub flow: String,
    /// Number of the turn: its effects are `2 * number` and `2 * number + 1`.
    pub number: u32,
}

/// An object that counts turns.
#[segno::object]
pub struct Counter {
    turns: State<u64>,
}

#[segno::object]
impl Counter {
    /// Adds one. Returns the number before and after.
    async fn add(&mut self, ctx: Context, turn: Turn) -> Result<(u64, u64)> {
        let before = self.turns.get().await?.unwrap_or_default();
        let effect = |step| Effect::new(&turn.ledger, &turn.flow, 2 * turn.number + step);
        by_step(&ctx, &effect(0)).await?;
        ctx.sleep(Duration::from_millis(u64::from(turn.number * 7 % 30))).await?;
        let after = ctx.run("add", move || before + 1).await?;
        self.turns.set(&after)?;
        ctx.call(by_activity, &effect(1)).await?;
        Ok((before, after))
    }

    /// Number of turns so far.
    #[shared]
    async fn read(&self, _ctx: Context) -> Result<u64> {
        Ok(self.turns.get().await?.unwrap_or_default())
    }
}
