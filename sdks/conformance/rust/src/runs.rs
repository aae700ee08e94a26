//! Computations that are kept, and what is the same in every replay.

use segno::{
    Context, Error, Result,
    serde_json::{Value, json},
};

use crate::millis;

#[segno::workflow(name = "run-random")]
pub async fn run_random(ctx: Context) -> Result<bool> {
    let mut random = ctx.random();
    let number = random.f64();
    let inside = ctx.clone();
    let kept = ctx.run("kept", move || inside.random().below(1_000_000)).await?;
    let begun = ctx.now();
    ctx.sleep(millis(1_000)).await?;
    let slept = ctx.now().since(begun);
    let differs = random.uuid() != random.uuid();
    Ok((0.0..1.0).contains(&number) && kept < 1_000_000 && slept >= millis(1_000) && differs)
}

#[segno::workflow(name = "run-failed")]
pub async fn run_failed(ctx: Context) -> Result<Option<(u32, String, Option<Value>)>> {
    let parsed = ctx.run("parse", || -> Result<u32> {
        Err(Error::terminal(422, "no number").with_details(&json!({ "text": "x" })))
    });
    let error = parsed.await.err();
    Ok(error.map(|error| (error.code(), error.message().to_owned(), error.details())))
}

#[segno::workflow(name = "run-order")]
pub async fn run_order(ctx: Context) -> Result<Value> {
    let first = ctx.run("first", || json!([1, "a"])).await?;
    ctx.publish("runs", &first).await?;
    ctx.run("second", move || json!({ "first": first })).await
}
