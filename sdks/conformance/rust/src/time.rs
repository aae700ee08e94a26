//! Sleeps, deadlines and races with them.

use std::cell::RefCell;

use segno::{ActivityContext, Context, Either, Error, Result, Timestamp};

use crate::{HOUR, code, millis};

#[segno::workflow(name = "race-sleep")]
pub async fn race_sleep(ctx: Context) -> Result<String> {
    match segno::select(ctx.sleep(millis(100)), ctx.sleep(HOUR)).await {
        Either::Left(_) => Ok("short".to_owned()),
        Either::Right(_) => Ok("long".to_owned()),
    }
}

#[segno::workflow(name = "sleep-zero")]
pub async fn sleep_zero(ctx: Context) -> Result<String> {
    ctx.sleep(millis(0)).await?;
    Ok("slept".to_owned())
}

#[segno::workflow(name = "sleep-until")]
pub async fn sleep_until(ctx: Context) -> Result<bool> {
    let due = ctx.started_at() + millis(200);
    ctx.sleep_until(due).await?;
    Ok(ctx.now() >= due)
}

#[segno::workflow(name = "sleep-past")]
pub async fn sleep_past(ctx: Context) -> Result<String> {
    ctx.sleep_until(Timestamp::from_millis(1_000)).await?;
    Ok("slept".to_owned())
}

#[segno::workflow(name = "sleep-together")]
pub async fn sleep_together(ctx: Context) -> Result<String> {
    let long = ctx.sleep(millis(400)).start();
    let short = ctx.sleep(millis(100)).start();
    long.await?;
    short.await?;
    Ok("slept".to_owned())
}

#[segno::workflow]
pub async fn sleepy(ctx: Context) -> Result<String> {
    ctx.sleep(HOUR).await?;
    Ok("awake".to_owned())
}

#[segno::workflow(name = "deadline-of-call")]
pub async fn deadline_of_call(ctx: Context) -> Result<u32> {
    Ok(code(ctx.call(sleepy, &()).timeout(millis(200)).await))
}

#[segno::activity(retry(initial = "1h", jitter = 0))]
pub async fn never(_ctx: ActivityContext) -> Result<()> {
    Err(Error::retryable("never"))
}

#[segno::workflow(name = "deadline-of-retries")]
pub async fn deadline_of_retries(ctx: Context) -> Result<u32> {
    Ok(code(ctx.call(never, &()).timeout(millis(200)).await))
}

#[segno::workflow]
pub async fn interleaving(ctx: Context) -> Result<Vec<String>> {
    let order = RefCell::new(Vec::new());
    let part = async |name: &'static str, pause: u64| {
        ctx.run(&format!("{name} begins"), || name.to_owned()).await?;
        ctx.sleep(millis(pause)).await?;
        ctx.publish(name, &pause).await?;
        order.borrow_mut().push(name.to_owned());
        ctx.sleep(millis(pause)).await?;
        let ended = ctx.run(&format!("{name} ends"), || name.to_owned()).await?;
        order.borrow_mut().push(ended);
        Ok::<_, Error>(())
    };
    segno::try_join3(part("a", 900), part("b", 300), part("c", 1_500)).await?;
    Ok(order.into_inner())
}
