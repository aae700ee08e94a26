//! Values that JSON can say, from one side to the other.

use segno::{ActivityContext, Context, Result, serde_json::Value};

#[segno::activity]
pub async fn echo(_ctx: ActivityContext, value: Value) -> Result<Value> {
    Ok(value)
}

#[segno::workflow(name = "value-numbers")]
pub async fn value_numbers(ctx: Context, value: Value) -> Result<Value> {
    ctx.call(echo, &value).await
}

#[segno::workflow(name = "value-texts")]
pub async fn value_texts(ctx: Context, value: Value) -> Result<Value> {
    ctx.call(echo, &value).await
}

#[segno::workflow(name = "value-nested")]
pub async fn value_nested(ctx: Context, value: Value) -> Result<Value> {
    ctx.call(echo, &value).await
}

#[segno::workflow(name = "value-null")]
pub async fn value_null(ctx: Context, value: Value) -> Result<Value> {
    ctx.call(echo, &value).await
}

#[segno::workflow(name = "value-empty")]
pub async fn value_empty(ctx: Context, value: Value) -> Result<Value> {
    ctx.call(echo, &value).await
}

#[segno::workflow(name = "value-none")]
pub async fn value_none(_ctx: Context) -> Result<()> {
    Ok(())
}

#[segno::activity]
pub async fn repeat(_ctx: ActivityContext, character: String) -> Result<String> {
    Ok(character.repeat(40_000))
}

#[segno::activity]
pub async fn length(_ctx: ActivityContext, given: String) -> Result<usize> {
    Ok(given.chars().count())
}

#[segno::workflow(name = "value-large")]
pub async fn value_large(ctx: Context, character: String) -> Result<usize> {
    let long = ctx.call(repeat, &character).await?;
    ctx.call(length, &long).await
}

#[segno::workflow(name = "value-limit")]
pub async fn value_limit(ctx: Context, characters: String) -> Result<usize> {
    let long = ctx.call(repeat, &characters).await?;
    ctx.call(length, &long).await
}
