//! Promises: named and unnamed ones, with and without a time limit.

use segno::{Context, Result};

use crate::{HOUR, code, millis};

#[segno::workflow(name = "promise-timeout", promises(never: bool, answer: bool))]
pub async fn promise_timeout(ctx: Context) -> Result<(u32, bool)> {
    let late = code(ctx.named_promise::<bool>("never").timeout(millis(100)).await);
    Ok((late, ctx.named_promise("answer").timeout(HOUR).await?))
}

#[segno::workflow(name = "promise-rejected", promises(answer: bool))]
pub async fn promise_rejected(ctx: Context) -> Result<Option<(u32, String)>> {
    let error = ctx.named_promise::<bool>("answer").await.err();
    Ok(error.map(|error| (error.code(), error.message().to_owned())))
}

#[segno::workflow(name = "promise-early", promises(early: String), signals(go: ()))]
pub async fn promise_early(ctx: Context) -> Result<String> {
    ctx.signal::<()>("go").await?;
    ctx.named_promise("early").await
}

#[segno::workflow]
pub async fn settler(ctx: Context, promise: String) -> Result<u32> {
    ctx.settle(&promise, Ok("all is well")).await?;
    Ok(code(ctx.settle(&promise, Ok("too late")).await))
}

#[segno::workflow(name = "promise-given-away")]
pub async fn promise_given_away(ctx: Context) -> Result<(String, u32)> {
    let report = ctx.promise::<String>();
    let late = ctx.call(settler, &report.id()).await?;
    Ok((report.await?, late))
}

#[segno::workflow(name = "promise-unknown")]
pub async fn promise_unknown(ctx: Context) -> Result<u32> {
    Ok(code(ctx.settle("nobody/p/nothing", Ok(&1)).await))
}

#[segno::workflow(name = "promise-cancelled", promises(never: bool))]
pub async fn promise_cancelled(ctx: Context) -> Result<u32> {
    let promise = ctx.named_promise::<bool>("never").start();
    ctx.cancel(&promise).await?;
    Ok(code(promise.await))
}

#[segno::workflow(name = "promise-twice", promises(answer: String))]
pub async fn promise_twice(ctx: Context) -> Result<(String, String)> {
    segno::try_join(ctx.named_promise("answer"), ctx.named_promise("answer")).await
}
