//! Misbehaving functions, each in its own way, and one that behaves.

use std::hint::black_box;

use segno::{Context, Error, Level, Result};

/// Never yields.
#[segno::workflow]
pub async fn spin(_ctx: Context, _input: ()) -> Result<u64> {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Recurses without bound.
#[segno::workflow]
pub async fn recurse(_ctx: Context, depth: u64) -> Result<u64> {
    Ok(deeper(depth))
}

#[expect(unconditional_recursion, reason = "it is what is shown")]
fn deeper(depth: u64) -> u64 {
    let room = black_box([depth; 16]);
    black_box(deeper(depth + 1)) + room[0]
}

/// Allocates and keeps 1 MiB at a time, without bound.
#[segno::workflow]
pub async fn hoard(_ctx: Context, _input: ()) -> Result<u64> {
    let mut kept = Vec::new();
    loop {
        kept.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Returns a string of `bytes` bytes.
#[segno::workflow]
pub async fn shout(_ctx: Context, bytes: usize) -> Result<String> {
    Ok("a".repeat(bytes))
}

/// Logs without end.
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

/// Fails correctly: with a code and a message.
#[segno::workflow]
pub async fn decline(_ctx: Context, _input: ()) -> Result<u64> {
    Err(Error::terminal(418, "it declines"))
}

/// Input of [`behave`].
#[segno::data]
#[derive(Clone, Debug)]
pub struct Manners {
    /// First word of the result.
    pub name: String,
    /// Number in the result.
    pub times: u32,
}

/// Returns a text once its promise `go` is settled.
#[segno::workflow]
pub async fn behave(ctx: Context, manners: Manners) -> Result<String> {
    let word = ctx.named_promise::<String>("go").await?;
    Ok(format!("{} {word} {} times", manners.name, manners.times))
}

segno::module!(spin, chatter, recurse, hoard, shout, stumble, decline, behave);
