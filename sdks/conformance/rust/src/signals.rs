//! Signals: in order, unread, in races, and between workflows.

use segno::{Context, Either, Result};

use crate::{code, millis};

#[segno::workflow(name = "named-signal-timeout", signals(go: u32))]
pub async fn named_signal_timeout(ctx: Context) -> Result<(String, u32)> {
    let first = ctx.timeout(millis(100), ctx.signal::<u32>("go")).await;
    let first = first.map_or_else(|_| "late".to_owned(), |number| number.to_string());
    Ok((first, ctx.signal("go").await?))
}

#[segno::workflow(name = "signal-race-loser", signals(note: String, stop: ()))]
pub async fn signal_race_loser(ctx: Context) -> Result<(String, String)> {
    let mut notes = ctx.signals().named("note");
    let first = match segno::select(notes.receive(), ctx.sleep(millis(100))).await {
        Either::Left(note) => note?.json()?,
        Either::Right(slept) => slept.map(|()| "nothing".to_owned())?,
    };
    ctx.signal::<()>("stop").await?;
    Ok((first, notes.receive().await?.json()?))
}

#[segno::workflow(name = "signal-order", signals(number: u32))]
pub async fn signal_order(ctx: Context) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for _ in 0..3 {
        numbers.push(ctx.signal("number").await?);
    }
    Ok(numbers)
}

#[segno::workflow(name = "signal-unread", signals(read: u32, other: u32))]
pub async fn signal_unread(ctx: Context) -> Result<u32> {
    ctx.signal("read").await
}

#[segno::workflow(name = "signal-any", signals(comment: String, stop: ()))]
pub async fn signal_any(ctx: Context) -> Result<Vec<String>> {
    let mut signals = ctx.signals();
    let mut comments = Vec::new();
    loop {
        let signal = signals.receive().await?;
        if signal.name() == "stop" {
            return Ok(comments);
        }
        comments.push(signal.json()?);
    }
}

#[segno::workflow(signals(hello: String))]
pub async fn receiver(ctx: Context) -> Result<String> {
    ctx.signal("hello").await
}

#[segno::workflow(name = "signal-sent")]
pub async fn signal_sent(ctx: Context) -> Result<String> {
    let waiting = ctx.call(receiver, &()).start();
    ctx.sleep(millis(300)).await?;
    ctx.send_signal(&waiting.id(), "hello", "from above").await?;
    waiting.await
}

#[segno::workflow(name = "signal-unknown")]
pub async fn signal_unknown(ctx: Context) -> Result<u32> {
    Ok(code(ctx.send_signal("nobody", "hello", &()).await))
}

#[segno::workflow(name = "signal-undeclared")]
pub async fn signal_undeclared(ctx: Context) -> Result<(u32, String)> {
    let waiting = ctx.call(receiver, &()).start();
    ctx.sleep(millis(300)).await?;
    let code = code(ctx.send_signal(&waiting.id(), "bye", &()).await);
    ctx.send_signal(&waiting.id(), "hello", "from above").await?;
    Ok((code, waiting.await?))
}

#[segno::workflow(name = "signal-start", signals(add: u32))]
pub async fn signal_start(ctx: Context, number: u32) -> Result<u32> {
    Ok(number + ctx.signal::<u32>("add").await?)
}
