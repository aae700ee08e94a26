//! The tools of the agent. The policy of this module allows the shop, and nothing else.

use segno::{
    ActivityContext, Error, Result,
    http::{Request, Response},
    serde_json::Value,
};

#[segno::data]
pub struct OrderNumber {
    pub order: String,
}

/// The state of an order.
#[segno::activity(timeout = "1h", retry(max_attempts = 5))]
pub async fn order_status(ctx: ActivityContext, input: OrderNumber) -> Result<String> {
    let request = Request::get(shop(&ctx, &format!("/orders/{}", input.order))?);
    text(&send(&ctx, request).await?)
}

#[segno::data]
pub struct Refund {
    pub order: String,
    pub cents: u64,
}

/// Refunds an order.
#[segno::activity(timeout = "1h", retry(max_attempts = 5))]
pub async fn refund(ctx: ActivityContext, input: Refund) -> Result<String> {
    let request = Request::post(shop(&ctx, "/refunds")?).json(&input);
    text(&send(&ctx, request).await?)
}

#[segno::data]
pub struct Orders {
    pub orders: u64,
}

/// The state of an audit.
#[segno::data]
struct Audit {
    checked: u64,
    done: bool,
}

/// Begins an audit and follows it. It stops the audit when the call is cancelled.
#[segno::activity(timeout = "1h", retry(max_attempts = 5))]
pub async fn audit(ctx: ActivityContext, input: Orders) -> Result<String> {
    // The shop knows the key: another attempt follows the same audit.
    send(&ctx, Request::post(shop(&ctx, "/audits")?).json(&input)).await?;
    loop {
        let audit: Audit = send(&ctx, Request::get(shop(&ctx, "/audit")?)).await?.json()?;
        if audit.done {
            return Ok(format!("{} orders checked", audit.checked));
        }
        if ctx.heartbeat(&audit.checked)? {
            send(&ctx, Request::delete(shop(&ctx, "/audit")?)).await?;
            return Err(Error::cancelled());
        }
    }
}

#[segno::data]
pub struct Page {
    pub url: String,
}

/// The text of a page.
#[segno::activity(timeout = "1h", retry(max_attempts = 5))]
pub async fn read_page(ctx: ActivityContext, input: Page) -> Result<String> {
    Ok(send(&ctx, Request::get(input.url)).await?.text())
}

fn shop(ctx: &ActivityContext, path: &str) -> Result<String> {
    Ok(format!("{}{path}", ctx.env("SHOP_URL")?))
}

/// Sends a request. The same key in every attempt lets the shop act once.
async fn send(ctx: &ActivityContext, request: Request) -> Result<Response> {
    ctx.http(request.header("idempotency-key", ctx.idempotency_key())).await?.ok()
}

fn text(response: &Response) -> Result<String> {
    let body: Value = response.json()?;
    Ok(body["text"].as_str().unwrap_or_default().to_owned())
}

segno::module!(order_status, refund, audit, read_page);
