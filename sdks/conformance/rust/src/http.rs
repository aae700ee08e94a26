//! Durable requests, and requests of an activity.

use segno::{ActivityContext, Context, Result, RetryPolicy, http::Request, serde_json::Value};

use crate::{code, millis};

fn attempts(number: u32) -> RetryPolicy {
    RetryPolicy::exponential().initial(millis(10)).max_attempts(number)
}

#[segno::data]
struct Charge {
    id: String,
}

#[segno::workflow(name = "http-step")]
pub async fn http_step(ctx: Context, url: String) -> Result<(u16, String)> {
    let request = Request::post(format!("{url}/charges"));
    let request = request.json(&segno::serde_json::json!({ "cents": 5 }));
    let answer = ctx.http(request).retry(attempts(3)).await?;
    let charge: Charge = answer.json()?;
    Ok((answer.status(), charge.id))
}

#[segno::workflow(name = "http-missing")]
pub async fn http_missing(ctx: Context, url: String) -> Result<(u16, bool)> {
    let answer = ctx.http(Request::get(format!("{url}/missing"))).await?;
    Ok((answer.status(), answer.is_success()))
}

#[segno::workflow(name = "http-broken")]
pub async fn http_broken(ctx: Context, url: String) -> Result<u32> {
    Ok(code(ctx.http(Request::get(format!("{url}/broken"))).retry(attempts(2)).await))
}

#[segno::activity]
pub async fn ask(ctx: ActivityContext, url: String) -> Result<(u16, Value)> {
    let request = Request::post(format!("{url}/ask"));
    let answer = ctx.http(request.header("idempotency-key", ctx.idempotency_key())).await?;
    Ok((answer.status(), answer.json()?))
}

#[segno::workflow(name = "http-activity")]
pub async fn http_activity(ctx: Context, url: String) -> Result<(u16, Value)> {
    ctx.call(ask, &url).await
}

#[segno::activity]
pub async fn listen(ctx: ActivityContext, url: String) -> Result<(Vec<String>, Vec<String>)> {
    let events = ctx.http_open(Request::get(format!("{url}/events"))).await?.events();
    let said =
        events.map(|event| event.map(|one| format!("{}: {} ({})", one.event, one.data, one.id)));
    let events = said.collect::<Result<_>>()?;
    let lines = ctx.http_open(Request::get(format!("{url}/lines"))).await?.lines();
    Ok((events, lines.collect::<Result<_>>()?))
}

#[segno::workflow(name = "http-pieces")]
pub async fn http_pieces(ctx: Context, url: String) -> Result<(Vec<String>, Vec<String>)> {
    ctx.call(listen, &url).await
}

#[segno::workflow(name = "http-headers")]
pub async fn http_headers(ctx: Context, url: String) -> Result<String> {
    let request = Request::post(format!("{url}/note")).header("x-shop", "north").body("ü");
    Ok(ctx.http(request).timeout(millis(60_000)).await?.text())
}

#[segno::workflow(name = "http-refused")]
pub async fn http_refused(ctx: Context, url: String) -> Result<Option<(u32, String)>> {
    let error = ctx.http(Request::get(format!("{url}/prices"))).await.err();
    Ok(error.map(|error| (error.code(), error.message().to_owned())))
}
