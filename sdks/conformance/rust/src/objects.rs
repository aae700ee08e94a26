//! Objects: their state, their turns, and their promises.

use segno::{Context, ObjectPromise, Result, State, StateMap};

use crate::{code, millis};

/// What `Counter/read` answers.
type Reading = (String, i64, Vec<String>);

#[segno::object]
pub struct Counter {
    total: State<i64>,
    parts: StateMap<i64>,
}

#[segno::object]
impl Counter {
    async fn add(&mut self, _ctx: Context, number: i64) -> Result<i64> {
        let total = self.total.get().await?.unwrap_or(0) + number;
        self.total.set(&total)?;
        self.parts.set(&number.to_string(), &number)?;
        Ok(total)
    }

    async fn drop(&mut self, ctx: Context, name: String) -> Result<Vec<String>> {
        self.parts.remove(&name);
        self.total.clear();
        ctx.state_names().await
    }

    async fn reset(&mut self, ctx: Context) -> Result<()> {
        ctx.clear_state();
        Ok(())
    }

    #[shared]
    async fn read(&self, ctx: Context) -> Result<Reading> {
        Ok((ctx.key(), self.total.get().await?.unwrap_or(0), self.parts.keys().await?))
    }
}

#[segno::workflow(name = "object-counter")]
pub async fn object_counter(ctx: Context, key: String) -> Result<Reading> {
    let counter = ctx.object::<Counter>(key);
    counter.add(&2).await?;
    counter.add(&3).await?;
    counter.read().await
}

#[segno::workflow(name = "object-clear")]
pub async fn object_clear(ctx: Context, key: String) -> Result<(Vec<String>, Reading)> {
    let counter = ctx.object::<Counter>(key);
    counter.add(&2).await?;
    counter.add(&3).await?;
    let left = counter.drop(&"2".to_owned()).await?;
    counter.reset().await?;
    Ok((left, counter.read().await?))
}

#[segno::workflow(name = "object-keys")]
pub async fn object_keys(ctx: Context) -> Result<(Reading, Reading)> {
    let (one, two) = (ctx.object::<Counter>("one"), ctx.object::<Counter>("two"));
    one.add(&1).await?;
    two.add(&20).await?;
    Ok((one.read().await?, two.read().await?))
}

#[segno::object]
pub struct Gate {
    opened: ObjectPromise<String>,
}

#[segno::object]
impl Gate {
    #[run]
    async fn run(&mut self, ctx: Context) -> Result<String> {
        let by = self.opened.wait().await?;
        ctx.sleep(millis(1_000)).await?;
        Ok(by)
    }

    #[shared]
    async fn open(&self, _ctx: Context, by: String) -> Result<bool> {
        match self.opened.resolve(&by).await {
            Err(error) => Ok(error.code() != 409),
            Ok(_) => Ok(true),
        }
    }

    #[shared]
    async fn status(&self, _ctx: Context) -> Result<Option<String>> {
        self.opened.peek().await
    }
}

#[segno::workflow(name = "object-promise")]
pub async fn object_promise(
    ctx: Context,
    key: String,
) -> Result<(Option<String>, bool, bool, String)> {
    let gate = ctx.object::<Gate>(key);
    let before = gate.status().await?;
    let running = gate.run().start();
    ctx.sleep(millis(300)).await?;
    Ok((
        before,
        gate.open(&"ada".to_owned()).await?,
        gate.open(&"bob".to_owned()).await?,
        running.await?,
    ))
}

#[segno::workflow(name = "object-once")]
pub async fn object_once(ctx: Context, key: String) -> Result<(String, u32)> {
    let gate = ctx.object::<Gate>(key);
    gate.open(&"ada".to_owned()).await?;
    let first = gate.run().await?;
    Ok((first, code(gate.run().await)))
}

#[segno::workflow(name = "object-queue")]
pub async fn object_queue(ctx: Context, key: String) -> Result<((i64, i64, i64), Reading)> {
    let counter = ctx.object::<Counter>(key);
    let totals = segno::try_join3(counter.add(&1), counter.add(&10), counter.add(&100)).await?;
    Ok((totals, counter.read().await?))
}
