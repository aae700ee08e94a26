//! Uses every part of the contract. The components in `tests/contract` are built from it, one for
//! each version. A new part of the contract is used here before its version is released.

use segno::{ActivityContext, Context, Error, Result, Shared, State, StateMap};

/// Input of `chain`.
#[segno::data]
pub struct Width {
    /// Number of activity calls, made one after the other.
    pub children: u32,
}

/// Input of `turns`: steps, then waits.
#[segno::data]
pub struct Turns {
    /// Steps before the first wait.
    pub steps: u32,
    /// Number of promises that are awaited one after the other: `turn-0`, `turn-1` and so on.
    pub turns: u32,
}

/// Input of an execution behind a limit.
#[segno::data]
pub struct Visit {
    /// Key of the limit.
    pub guest: String,
    /// Priority in the queue of the limit.
    pub urgency: u8,
}

/// Calls activities one after the other. Returns the sum of their results.
#[segno::workflow]
pub async fn chain(ctx: Context, width: Width) -> Result<u64> {
    let mut sum = 0;
    for number in 0..width.children {
        sum += u64::from(ctx.call(leaf, &number).await?);
    }
    Ok(sum)
}

/// Returns its input.
#[segno::activity(limit(rate = "1000/s", burst = 100))]
pub async fn leaf(_ctx: ActivityContext, number: u32) -> Result<u32> {
    Ok(number)
}

/// Runs steps, then waits for promises that are settled from outside.
#[segno::workflow]
pub async fn turns(ctx: Context, input: Turns) -> Result<u32> {
    for step in 0..input.steps {
        ctx.run("step", move || step).await?;
    }
    for turn in 0..input.turns {
        ctx.named_promise::<()>(format!("turn-{turn}")).await?;
    }
    Ok(input.turns)
}

/// An object with a sum, and the numbers by invocation.
#[segno::object]
pub struct Tally {
    count: State<u64>,
    by: StateMap<u64>,
}

#[segno::object]
impl Tally {
    /// Adds a number. Returns the sum.
    async fn add(&mut self, ctx: Context, number: u64) -> Result<u64> {
        let count = self.count.get().await?.unwrap_or_default() + number;
        self.count.set(&count)?;
        self.by.set(ctx.id(), &number)?;
        Ok(count)
    }

    /// Returns the key, the sum, and the invocations that added.
    #[shared]
    async fn look(&self, ctx: Context) -> Result<(String, u64, Vec<String>)> {
        Ok((ctx.key(), self.count.get().await?.unwrap_or_default(), self.by.keys().await?))
    }

    /// Clears the sum, or the whole state.
    async fn forget(&mut self, ctx: Context, all: bool) -> Result<()> {
        match all {
            true => ctx.clear_state(),
            false => self.count.clear(),
        }
        Ok(())
    }
}

/// Calls an object, and returns its state after that.
#[segno::workflow]
pub async fn calls(ctx: Context, key: String) -> Result<(String, u64, Vec<String>)> {
    ctx.object::<Tally>(&key).add(&7).await?;
    ctx.object::<Tally>(&key).look().await
}

/// Collects words until there are three.
#[segno::workflow]
pub async fn collects(ctx: Context) -> Result<Vec<String>> {
    let words = ctx.share(Vec::<String>::new());
    words.until(|words| words.len() == 3).await?;
    ctx.updates_done().await;
    Ok(words.read(Vec::clone))
}

/// Words so far.
#[segno::query(collects)]
fn words(words: &Vec<String>) -> Result<Vec<String>> {
    Ok(words.clone())
}

/// Adds a word. Returns the number of words.
#[segno::update(collects, validate = is_new)]
async fn add_word(ctx: Context, words: Shared<Vec<String>>, word: String) -> Result<usize> {
    ctx.run("a step of an update", || ()).await?;
    Ok(words.write(|words| {
        words.push(word);
        words.len()
    }))
}

fn is_new(words: &[String], word: &String) -> Result<()> {
    match words.contains(word) {
        true => Err(Error::terminal(409, format!("`{word}` is there already"))),
        false => Ok(()),
    }
}

/// Waits for its promise `go`. One execution per guest at a time.
#[segno::workflow(limit(
    key = "guest",
    concurrency = 1,
    rate = "100/s",
    burst = 10,
    total_concurrency = 3,
    total_rate = "200/s",
    total_burst = 20,
    priority = "urgency",
    priority_order = "weighted",
))]
pub async fn visits(ctx: Context, visit: Visit) -> Result<String> {
    ctx.named_promise::<()>("go").await?;
    Ok(visit.guest)
}

/// Skipped if another execution is present.
#[segno::workflow(limit(key = "guest", singleton = "skip"))]
pub async fn alone(ctx: Context, visit: Visit) -> Result<String> {
    ctx.named_promise::<()>("go").await?;
    Ok(visit.guest)
}

/// Debounced: only the last of several calls begins.
#[segno::activity(limit(key = "guest", debounce = "2s", debounce_longest = "20s"))]
pub async fn settles_down(_ctx: ActivityContext, visit: Visit) -> Result<u8> {
    Ok(visit.urgency)
}

segno::module!(
    chain,
    leaf,
    turns,
    Tally,
    calls,
    collects,
    words,
    add_word,
    visits,
    alone,
    settles_down,
);
