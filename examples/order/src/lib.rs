//! An order from stock to shipment, with compensation when a step fails.
//!
//! It shows activities for side effects; a durable HTTP request, whose `Idempotency-Key` lets the
//! payment service charge once however often it is sent; a named promise that a person settles,
//! with a time limit; steps in parallel; and compensation, which is ordinary code after an error.

use std::time::Duration;

use segno::{ActivityContext, Context, Error, Result, RetryPolicy, http::Request};

/// An order of a customer.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Order {
    /// The customer's number for the order.
    pub id: String,
    /// The items to ship.
    pub items: Vec<Item>,
    /// The address of the payment service, such as `http://127.0.0.1:9000`.
    pub payments: String,
    /// Time for the approval, in seconds. Default: three days.
    #[serde(default = "three_days")]
    pub approve_within_s: u64,
}

fn three_days() -> u64 {
    3 * 24 * 60 * 60
}

/// One line of an order.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The article.
    pub sku: String,
    /// The number of articles.
    pub quantity: u32,
    /// The price of one article, in cents.
    pub price_cents: u64,
}

/// Items that are reserved in the warehouse.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation {
    /// The name of the reservation, which the workflow chooses.
    pub name: String,
    /// The items.
    pub items: Vec<Item>,
}

/// The receipt for the customer.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// The order's id.
    pub order: String,
    /// The payment service's number of the charge.
    pub charge: String,
    /// The amount paid, in cents.
    pub amount_cents: u64,
    /// One tracking number for each item.
    pub shipments: Vec<String>,
}

/// Reserves the stock, charges, waits for an approval, and ships. If a later step fails, the
/// earlier ones are undone.
///
/// The approval is the promise `{invocation}/p/approval`: `true` approves; `false`, a rejection or
/// a timeout does not.
#[segno::workflow(promises(approval: bool))]
pub async fn order(ctx: Context, order: Order) -> Result<Receipt> {
    // The name is known before the reservation is made, so a reservation that was in flight when
    // the order was cancelled can be released by it.
    let name = format!("reservation-{}", ctx.id());
    let reservation = Reservation { name, items: order.items.clone() };
    if let Err(error) = ctx.call(reserve, &reservation).await {
        if error.is_cancelled() {
            ctx.call(release, &reservation.name).await?;
        }
        return Err(error);
    }
    let charge = match charge(&ctx, &order).await {
        Ok(charge) => charge,
        Err(error) => {
            if error.is_cancelled() {
                give_back(&ctx, &order).await?;
            }
            ctx.call(release, &reservation.name).await?;
            return Err(error);
        }
    };
    match approve_and_ship(&ctx, &order).await {
        Ok(shipments) => {
            segno::info!(ctx, "order {} shipped in {} parcels", order.id, shipments.len());
            let amount_cents = amount(&order);
            Ok(Receipt { order: order.id, charge: charge.charge, amount_cents, shipments })
        }
        Err(error) => {
            segno::warn!(ctx, "order {} is undone: {error}", order.id);
            segno::try_join(refund(&ctx, &order, &charge), ctx.call(release, &reservation.name))
                .await?;
            Err(error)
        }
    }
}

async fn approve_and_ship(ctx: &Context, order: &Order) -> Result<Vec<String>> {
    approved(ctx, order).await?;
    segno::try_join_all(order.items.iter().map(|item| ctx.call(ship, item))).await
}

fn amount(order: &Order) -> u64 {
    order.items.iter().map(|item| u64::from(item.quantity) * item.price_cents).sum()
}

/// The payment service's response.
#[segno::data]
struct Charge {
    charge: String,
    accepted: bool,
}

/// The host sends this request durably: it is retried until there is a response. Its key is the
/// order's own, not that of the request, so that it can be sent again.
async fn charge(ctx: &Context, order: &Order) -> Result<Charge> {
    let body = segno::serde_json::json!({ "order": order.id, "amount_cents": amount(order) });
    let request = Request::post(format!("{}/charges", order.payments))
        .header("idempotency-key", format!("{}/charge", ctx.id()))
        .json(&body);
    let answer = ctx.http(request).retry(patiently()).label("order", &order.id).await?;
    let charge: Charge = answer.ok()?.json()?;
    if !charge.accepted {
        return Err(Error::terminal(
            402,
            format!("the payment of order {} was declined", order.id),
        ));
    }
    Ok(charge)
}

/// Refunds a payment that was in flight when the order was cancelled and may have been made. Sent
/// again under the same key, it is made at most once, and returns a number for the refund.
async fn give_back(ctx: &Context, order: &Order) -> Result<()> {
    match charge(ctx, order).await {
        Ok(charge) => refund(ctx, order, &charge).await,
        Err(declined) if declined.code() == 402 => Ok(()),
        Err(error) => Err(error),
    }
}

async fn refund(ctx: &Context, order: &Order, charge: &Charge) -> Result<()> {
    let body = segno::serde_json::json!({ "charge": charge.charge });
    let request = Request::post(format!("{}/refunds", order.payments)).json(&body);
    ctx.http(request).retry(patiently()).label("order", &order.id).await?.ok()?;
    Ok(())
}

fn patiently() -> RetryPolicy {
    RetryPolicy::exponential().initial(Duration::from_millis(200)).max(Duration::from_secs(30))
}

async fn approved(ctx: &Context, order: &Order) -> Result<()> {
    let limit = Duration::from_secs(order.approve_within_s);
    match ctx.named_promise::<bool>("approval").timeout(limit).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::terminal(409, format!("order {} was not approved", order.id))),
        Err(error) if error.is_timed_out() => Err(Error::with_code(
            Error::TIMED_OUT,
            format!("nobody approved order {} in time", order.id),
        )),
        Err(error) => Err(error),
    }
}

/// Reserves the items in the warehouse.
///
/// It stands for a request to the warehouse's own system. The name of the reservation would let a
/// second attempt find the reservation of the first.
#[segno::activity(timeout = "1m", retry(initial = "100ms", max_attempts = 10))]
pub async fn reserve(ctx: ActivityContext, reservation: Reservation) -> Result<()> {
    let Reservation { name, items } = reservation;
    if items.is_empty() {
        return Err(Error::terminal(422, "an order without items"));
    }
    for item in &items {
        if item.sku == "sold-out" {
            return Err(Error::terminal(409, format!("`{}` is sold out", item.sku)));
        }
    }
    segno::info!(ctx, "{name}: {} lines", items.len());
    Ok(())
}

/// Releases a reservation, which may not exist.
#[segno::activity]
pub async fn release(ctx: ActivityContext, reservation: String) -> Result<()> {
    segno::info!(ctx, "{reservation} released");
    Ok(())
}

/// Hands one item to the carrier and returns its tracking number.
#[segno::activity(timeout = "1h")]
pub async fn ship(ctx: ActivityContext, item: Item) -> Result<String> {
    segno::info!(ctx, "{} of `{}` handed over", item.quantity, item.sku);
    Ok(format!("parcel-{}", ctx.idempotency_key()))
}

segno::module!(order, reserve, release, ship);

#[cfg(test)]
mod tests;
