//! Functions that do what none should, each in its own way, and one that behaves.

use std::hint::black_box;

use segno::{Context, Error, Level, Result};

/// Never gives control back.
#[segno::workflow]
pub async fn spin(_ctx: Context, _input: ()) -> Result<u64> {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Calls itself for ever.
#[segno::workflow]
pub async fn recurse(_ctx: Context, depth: u64) -> Result<u64> {
    Ok(deeper(depth))
}

#[expect(unconditional_recursion, reason = "it is what is shown")]
fn deeper(depth: u64) -> u64 {
    let room = black_box([depth; 16]);
    black_box(deeper(depth + 1)) + room[0]
}

/// Keeps a mebibyte after the other.
#[segno::workflow]
pub async fn hoard(_ctx: Context, _input: ()) -> Result<u64> {
    let mut kept = Vec::new();
    loop {
        kept.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Answers with so many bytes.
#[segno::workflow]
pub async fn shout(_ctx: Context, bytes: usize) -> Result<String> {
    Ok("a".repeat(bytes))
}

/// Logs for ever.
#[segno::workflow]
pub async fn chatter(ctx: Context, _input: ()) -> Result<u64> {
    loop {
        ctx.log(Level::Info, black_box("and another thing"));
    }
}

/// Panics.
#[segno::workflow]
pub async fn stumble(_ctx: Context, _input: ()) -> Result<u64> {
    panic!("it stumbled on purpose");
}

/// Fails as a function should: with a code and words.
#[segno::workflow]
pub async fn decline(_ctx: Context, _input: ()) -> Result<u64> {
    Err(Error::terminal(418, "it declines"))
}

/// What [`behave`] wants.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Manners {
    /// Who is asked.
    pub name: String,
    /// How often.
    pub times: u32,
}

/// Behaves, once its promise `go` is settled.
#[segno::workflow]
pub async fn behave(ctx: Context, manners: Manners) -> Result<String> {
    let word = ctx.named_promise::<String>("go").await?;
    Ok(format!("{} {word} {} times", manners.name, manners.times))
}

segno::module!(spin, chatter, recurse, hoard, shout, stumble, decline, behave);
