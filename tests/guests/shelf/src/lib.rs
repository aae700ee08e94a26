//! Objects that are read, written, and called in every way.

use std::time::Duration;

use segno::{Context, Error, Result, Shared, State, StateMap};

/// One value.
#[segno::object]
pub struct Register {
    value: State<u64>,
    marks: StateMap<String>,
}

#[segno::object]
impl Register {
    /// Writes, and answers what was there.
    async fn swap(&mut self, _ctx: Context, value: u64) -> Result<Option<u64>> {
        let before = self.value.get().await?;
        self.value.set(&value)?;
        Ok(before)
    }

    /// Adds, by several steps, and answers the sum.
    async fn add(&mut self, ctx: Context, number: u64) -> Result<u64> {
        let sum = self.value.get().await?.unwrap_or_default() + number;
        ctx.run("a step", move || sum).await?;
        self.value.set(&sum)?;
        self.marks.set(&sum.to_string(), &ctx.id().to_owned())?;
        Ok(sum)
    }

    /// What is there.
    #[shared]
    async fn read(&self, _ctx: Context) -> Result<Option<u64>> {
        self.value.get().await
    }

    /// What is there by name, and the key.
    #[shared]
    async fn names(&self, ctx: Context) -> Result<(String, Vec<String>)> {
        Ok((ctx.key(), ctx.state_names().await?))
    }

    /// Fails after a write, which is stored all the same: it was committed with its step.
    async fn write_and_fail(&mut self, ctx: Context, value: u64) -> Result<()> {
        self.value.set(&value)?;
        ctx.sleep(Duration::from_millis(1)).await?;
        Err(Error::terminal(422, "after the write"))
    }

    /// Writes although it only reads.
    #[shared]
    async fn cheat(&self, ctx: Context) -> Result<()> {
        ctx.clear_state();
        Ok(())
    }

    /// Holds its turn for a while, and then calls another one.
    async fn hold_and_call(&mut self, ctx: Context, other: String) -> Result<Option<u64>> {
        ctx.sleep(Duration::from_millis(300)).await?;
        ctx.object::<Register>(&other).swap(&1).await
    }

    /// Writes a name that is too long.
    async fn long_name(&mut self, _ctx: Context) -> Result<()> {
        self.marks.set(&"x".repeat(2_000), &String::new())
    }

    /// Writes a value that is too large.
    async fn large_value(&mut self, _ctx: Context) -> Result<()> {
        self.marks.set("large", &"x".repeat(40 << 20))
    }
}

/// Asks for a part of a state that it does not have.
#[segno::workflow]
pub async fn stateless(ctx: Context) -> Result<Vec<String>> {
    ctx.state_names().await
}

/// Calls an object that its own module does not have, and one with a key of this many bytes.
#[segno::workflow]
pub async fn calls(ctx: Context, bytes: u32) -> Result<(u32, u32)> {
    let missing = ctx.call_named::<_, ()>("Nothing@a/read", &()).await;
    let long = ctx.object::<Register>("k".repeat(bytes as usize)).swap(&1).await;
    let code = |error: Error| error.code();
    Ok((missing.map_or_else(code, |()| 0), long.map_or_else(code, |_| 0)))
}

/// Shares a number until it is told to end.
#[segno::workflow]
pub async fn answers(ctx: Context) -> Result<u64> {
    let number = ctx.share(0);
    number.until(|number| *number > 9).await?;
    Ok(number.read(|number| *number))
}

/// The number.
#[segno::query(answers)]
fn number(number: &u64) -> Result<u64> {
    Ok(*number)
}

/// Does not come back.
#[segno::query(answers)]
fn endless(number: &u64) -> Result<u64> {
    let mut sum = *number;
    loop {
        sum = std::hint::black_box(sum.wrapping_add(1));
    }
}

/// Panics.
#[segno::query(answers)]
fn panics(number: &u64) -> Result<u64> {
    let none: Option<u64> = (*number > 1_000).then_some(*number);
    Ok(none.expect("there is no number"))
}

/// Fails.
#[segno::query(answers)]
fn fails(_: &u64) -> Result<u64> {
    Err(Error::terminal(418, "no number today"))
}

/// Sets the number, unless it is 5, which fails.
#[segno::update(answers, validate = is_small)]
async fn set(_ctx: Context, number: Shared<u64>, to: u64) -> Result<u64> {
    if to == 5 {
        return Err(Error::terminal(409, "5 is taken"));
    }
    Ok(number.write(|number| std::mem::replace(number, to)))
}

fn is_small(_: &u64, to: &u64) -> Result<()> {
    match to {
        0..100 => Ok(()),
        _ => Err(Error::terminal(422, "too large")),
    }
}

/// Is never answered.
#[segno::update(answers)]
async fn stay(ctx: Context, _number: Shared<u64>) -> Result<()> {
    ctx.sleep(Duration::from_secs(3_600)).await
}

segno::module!(Register, stateless, calls, answers, number, endless, panics, fails, set, stay);
