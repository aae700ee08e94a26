//! What `segno bench` runs: each function is one shape of work, with as little work of its own as can be.

use segno::{ActivityContext, Context, Result, State, Timestamp};

/// How many durable steps, and how long their results are.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Steps {
    /// Steps, one after the other.
    pub steps: u32,
    /// Bytes of each result as JSON, the quotes included.
    pub result_bytes: u32,
}

/// How wide to fan out.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Width {
    /// Children, all at once.
    pub children: u32,
}

/// When to wake up.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Nap {
    /// Milliseconds since the Unix epoch.
    pub until_ms: u64,
}

/// Steps, then a wait for each of some promises.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Turns {
    /// Steps before the first wait.
    pub steps: u32,
    /// Promises, waited for one after the other: their names are `turn-0`, `turn-1` and so on.
    pub turns: u32,
}

/// Ends at once.
#[segno::workflow]
pub async fn noop(_ctx: Context, _input: ()) -> Result<()> {
    Ok(())
}

/// Durable steps, one after the other.
#[segno::workflow]
pub async fn steps(ctx: Context, input: Steps) -> Result<u32> {
    for _ in 0..input.steps {
        step(&ctx, input.result_bytes).await?;
    }
    Ok(input.steps)
}

/// Activities, all at once.
#[segno::workflow]
pub async fn fan(ctx: Context, width: Width) -> Result<u64> {
    let echoes =
        segno::try_join_all((0..width.children).map(|number| ctx.call(leaf, &number))).await?;
    Ok(echoes.into_iter().map(u64::from).sum())
}

/// Activities, one after the other.
#[segno::workflow]
pub async fn chain(ctx: Context, width: Width) -> Result<u64> {
    let mut sum = 0;
    for number in 0..width.children {
        sum += u64::from(ctx.call(leaf, &number).await?);
    }
    Ok(sum)
}

/// One child's share of the work.
#[segno::activity]
pub async fn leaf(_ctx: ActivityContext, number: u32) -> Result<u32> {
    Ok(number)
}

/// Sleeps, and answers how many milliseconds too late it was told.
#[segno::workflow]
pub async fn nap(ctx: Context, nap: Nap) -> Result<u64> {
    let due = Timestamp::from_millis(nap.until_ms);
    ctx.sleep_until(due).await?;
    Ok(ctx.now().as_millis().saturating_sub(nap.until_ms))
}

/// Steps, then waits that somebody else ends.
#[segno::workflow]
pub async fn turns(ctx: Context, input: Turns) -> Result<u32> {
    for _ in 0..input.steps {
        step(&ctx, 22).await?;
    }
    for turn in 0..input.turns {
        ctx.named_promise::<()>(format!("turn-{turn}")).await?;
    }
    Ok(input.turns)
}

/// Calls of the host that do nothing but cross the border.
#[segno::workflow]
pub async fn crossings(ctx: Context, count: u32) -> Result<u64> {
    Ok((0..count).fold(0, |sum, _| sum ^ ctx.now().as_millis()))
}

async fn step(ctx: &Context, bytes: u32) -> Result<String> {
    let text = bytes.saturating_sub(2) as usize;
    ctx.run("step", move || "x".repeat(text)).await
}

/// A number by key.
#[segno::object]
pub struct Tally {
    count: State<u64>,
}

#[segno::object]
impl Tally {
    /// Adds, and answers the sum.
    async fn add(&mut self, _ctx: Context, number: u64) -> Result<u64> {
        let count = self.count.get().await?.unwrap_or_default() + number;
        self.count.set(&count)?;
        Ok(count)
    }

    /// The sum.
    #[shared]
    async fn count(&self, _ctx: Context) -> Result<u64> {
        Ok(self.count.get().await?.unwrap_or_default())
    }
}

segno::module!(noop, steps, fan, chain, leaf, nap, turns, crossings, Tally);
