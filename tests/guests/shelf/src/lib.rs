//! Objects that are read, written, and called in every way.

use std::time::Duration;

use segno::{Context, Error, Result, Shared, State, StateMap};

/// An object with one value and a map of marks.
#[segno::object]
pub struct Register {
    value: State<u64>,
    marks: StateMap<String>,
}

#[segno::object]
impl Register {
    /// Writes a value. Returns the previous one.
    async fn swap(&mut self, _ctx: Context, value: u64) -> Result<Option<u64>> {
        let before = self.value.get().await?;
        self.value.set(&value)?;
        Ok(before)
    }

    /// Adds a number, by several steps. Returns the sum.
    async fn add(&mut self, ctx: Context, number: u64) -> Result<u64> {
        let sum = self.value.get().await?.unwrap_or_default() + number;
        ctx.run("a step", move || sum).await?;
        self.value.set(&sum)?;
        self.marks.set(&sum.to_string(), &ctx.id().to_owned())?;
        Ok(sum)
    }

    /// Current value.
    #[shared]
    async fn read(&self, _ctx: Context) -> Result<Option<u64>> {
        self.value.get().await
    }

    /// Returns the key and the names in the state.
    #[shared]
    async fn names(&self, ctx: Context) -> Result<(String, Vec<String>)> {
        Ok((ctx.key(), ctx.state_names().await?))
    }

    /// Fails after a write. The write is stored all the same, because it was committed with its
    /// step.
    async fn write_and_fail(&mut self, ctx: Context, value: u64) -> Result<()> {
        self.value.set(&value)?;
        ctx.sleep(Duration::from_millis(1)).await?;
        Err(Error::terminal(422, "after the write"))
    }

    /// Writes from a handler that is declared read-only.
    #[shared]
    async fn cheat(&self, ctx: Context) -> Result<()> {
        ctx.clear_state();
        Ok(())
    }

    /// Holds the key for 300 ms, and then calls another object.
    async fn hold_and_call(&mut self, ctx: Context, other: String) -> Result<Option<u64>> {
        ctx.sleep(Duration::from_millis(300)).await?;
        ctx.object::<Register>(&other).swap(&1).await
    }

    /// Writes an entry whose name is too long.
    async fn long_name(&mut self, _ctx: Context) -> Result<()> {
        self.marks.set(&"x".repeat(2_000), &String::new())
    }

    /// Writes a value that is too large.
    async fn large_value(&mut self, _ctx: Context) -> Result<()> {
        self.marks.set("large", &"x".repeat(40 << 20))
    }
}

/// Reads object state outside an object.
#[segno::workflow]
pub async fn stateless(ctx: Context) -> Result<Vec<String>> {
    ctx.state_names().await
}

/// Calls an object that the module does not have, and one with a key of `bytes` bytes. Returns the
/// error codes.
#[segno::workflow]
pub async fn calls(ctx: Context, bytes: u32) -> Result<(u32, u32)> {
    let missing = ctx.call_named::<_, ()>("Nothing@a/read", &()).await;
    let long = ctx.object::<Register>("k".repeat(bytes as usize)).swap(&1).await;
    let code = |error: Error| error.code();
    Ok((missing.map_or_else(code, |()| 0), long.map_or_else(code, |_| 0)))
}

/// Shares a number until it is greater than 9.
#[segno::workflow]
pub async fn answers(ctx: Context) -> Result<u64> {
    let number = ctx.share(0);
    number.until(|number| *number > 9).await?;
    Ok(number.read(|number| *number))
}

/// Current number.
#[segno::query(answers)]
fn number(number: &u64) -> Result<u64> {
    Ok(*number)
}

/// Never returns.
#[segno::query(answers)]
fn endless(number: &u64) -> Result<u64> {
    let mut sum = *number;
    loop {
        sum = std::hint::black_box(sum.wrapping_add(1));
    }
}

/// Panics, unless the number is greater than 1,000.
#[segno::query(answers)]
fn panics(number: &u64) -> Result<u64> {
    let none: Option<u64> = (*number > 1_000).then_some(*number);
    Ok(none.expect("there is no number"))
}

/// Fails with a terminal error.
#[segno::query(answers)]
fn fails(_: &u64) -> Result<u64> {
    Err(Error::terminal(418, "no number today"))
}

/// Sets the number and returns the previous one. Fails for 5.
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

/// Sleeps for an hour, so that its caller gets no answer.
#[segno::update(answers)]
async fn stay(ctx: Context, _number: Shared<u64>) -> Result<()> {
    ctx.sleep(Duration::from_secs(3_600)).await
}

segno::module!(Register, stateless, calls, answers, number, endless, panics, fails, set, stay);
