//! Calls and sends of functions, and their options.

use segno::{ActivityContext, Context, Error, Result, serde_json::Value};

use crate::{HOUR, code, millis};

#[segno::activity]
pub async fn double(_ctx: ActivityContext, number: i64) -> Result<i64> {
    Ok(2 * number)
}

#[segno::activity]
pub async fn part(_ctx: ActivityContext, number: u32) -> Result<String> {
    Ok(format!("part {number}"))
}

#[segno::workflow]
pub async fn child(ctx: Context, number: i64) -> Result<i64> {
    ctx.sleep(millis(20)).await?;
    Ok(number + 1)
}

#[segno::workflow]
pub async fn middle(ctx: Context, number: i64) -> Result<i64> {
    let once = ctx.call(double, &number).await?;
    ctx.call(double, &once).await
}

#[segno::data]
pub struct Limit {
    limit: u32,
}

#[segno::workflow]
pub async fn declined(_ctx: Context) -> Result<()> {
    Err(Error::terminal(402, "declined").with_details(&Limit { limit: 5 }))
}

#[segno::workflow]
pub async fn sequence(ctx: Context, number: i64) -> Result<[i64; 3]> {
    let once = ctx.call(double, &number).await?;
    ctx.sleep(millis(1_000)).await?;
    let twice = ctx.call(double, &once).await?;
    Ok([number, once, twice])
}

#[segno::workflow(name = "fan-out-all")]
pub async fn fan_out_all(ctx: Context, count: u32) -> Result<Vec<String>> {
    segno::try_join_all((0..count).map(|number| ctx.call(part, &number))).await
}

#[segno::workflow(name = "call-nested")]
pub async fn call_nested(ctx: Context, number: i64) -> Result<i64> {
    ctx.call(middle, &number).await
}

#[segno::workflow(name = "call-failed")]
pub async fn call_failed(ctx: Context) -> Result<Option<(u32, String, Option<Limit>)>> {
    let error = ctx.call(declined, &()).await.err();
    Ok(error.map(|error| (error.code(), error.message().to_owned(), error.details())))
}

#[segno::workflow(name = "call-missing")]
pub async fn call_missing(ctx: Context) -> Result<u32> {
    Ok(code(ctx.call_named::<_, Value>("wasm://conformance-none/nothing", &1).await))
}

#[segno::workflow(name = "call-wrong-input")]
pub async fn call_wrong_input(ctx: Context) -> Result<u32> {
    Ok(code(ctx.call_named::<_, Value>("double", "four").await))
}

#[segno::workflow(name = "child-send")]
pub async fn child_send(ctx: Context, number: i64) -> Result<(i64, String)> {
    let sent = ctx.send(child, &number).after(HOUR).label("kind", "later").await?;
    Ok((ctx.call(child, &number).await?, sent))
}

#[segno::workflow(name = "send-at")]
pub async fn send_at(ctx: Context) -> Result<String> {
    ctx.send(child, &1).at(ctx.started_at() + HOUR).await
}

#[segno::activity(limit(rate = "100/s", burst = 10))]
pub async fn limited(_ctx: ActivityContext, name: String) -> Result<String> {
    Ok(name)
}

#[segno::data]
pub struct Order {
    customer: String,
}

#[segno::workflow(
    name = "limits-labels",
    timeout = "1h",
    limit(key = "customer", concurrency = 5, total_concurrency = 50)
)]
pub async fn limits_labels(ctx: Context, order: Order) -> Result<String> {
    ctx.call(limited, &order.customer)
        .label("customer", &order.customer)
        .timeout(millis(60_000))
        .attempt_timeout(millis(30_000))
        .await
}

#[segno::workflow(name = "fan-out-failures")]
pub async fn fan_out_failures(ctx: Context) -> Result<(i64, u32, i64)> {
    let (first, failed, last) =
        segno::join3(ctx.call(double, &4), ctx.call(declined, &()), ctx.call(double, &5)).await;
    Ok((first?, code(failed), last?))
}
