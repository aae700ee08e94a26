//! Cancellation, from outside and of a command.

use segno::{ActivityContext, Context, Result};

use crate::{HOUR, code, millis};

#[segno::activity]
pub async fn release(_ctx: ActivityContext, room: u32) -> Result<u32> {
    Ok(room)
}

#[segno::workflow(name = "cancel-cleanup")]
pub async fn cancel_cleanup(ctx: Context, room: u32) -> Result<()> {
    let held = ctx.sleep(HOUR).await;
    ctx.call(release, &room).await?;
    held
}

#[segno::workflow(name = "cancel-answered")]
pub async fn cancel_answered(ctx: Context) -> Result<Option<(String, bool)>> {
    match ctx.sleep(HOUR).await {
        Ok(()) => Ok(None),
        Err(_) => Ok(Some(("stopped".to_owned(), ctx.is_cancelled()))),
    }
}

#[segno::workflow(name = "cancel-sleep")]
pub async fn cancel_sleep(ctx: Context) -> Result<u32> {
    let sleep = ctx.sleep(HOUR).start();
    ctx.cancel(&sleep).await?;
    Ok(code(sleep.await))
}

#[segno::workflow]
pub async fn search(ctx: Context) -> Result<String> {
    match ctx.sleep(HOUR).await {
        Ok(()) => Ok("found".to_owned()),
        Err(_) => Ok("found nothing so far".to_owned()),
    }
}

#[segno::workflow(name = "cancel-call")]
pub async fn cancel_call(ctx: Context) -> Result<String> {
    let searching = ctx.call(search, &()).start();
    ctx.sleep(millis(300)).await?;
    ctx.cancel(&searching).await?;
    searching.await
}

#[segno::workflow]
pub async fn manager(ctx: Context) -> Result<u32> {
    Ok(code(ctx.call(search, &()).await))
}

#[segno::workflow(name = "cancel-tree", signals(stop: ()))]
pub async fn cancel_tree(ctx: Context) -> Result<u32> {
    let managing = ctx.call(manager, &()).start();
    ctx.signal::<()>("stop").await?;
    ctx.cancel(&managing).await?;
    let answer = managing.await?;
    ctx.sleep(millis(500)).await?;
    Ok(answer)
}
