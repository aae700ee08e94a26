//! An order from stock to shipment, and how to undo half of it.
//!
//! It teaches: activities for effects; a durable HTTP request, whose `Idempotency-Key` lets the
//! payment service charge once however often it is asked; a named promise that a person settles,
//! with a time limit; steps in parallel; and compensation, which is ordinary code after an error.

use std::time::Duration;

use segno::{ActivityContext, Context, Error, Result, RetryPolicy, http::Request};

/// What a customer wants.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Order {
    /// The customer's number for it.
    pub id: String,
    /// What is to be shipped.
    pub items: Vec<Item>,
    /// The address of the payment service, such as `http://127.0.0.1:9000`.
    pub payments: String,
    /// How long somebody may take to approve it, in seconds; three days if it does not say.
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
    /// How many of them.
    pub quantity: u32,
    /// What one of them costs.
    pub price_cents: u64,
}

/// Items that are set aside in the warehouse.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation {
    /// What it is called; the workflow's choice.
    pub name: String,
    /// The items.
    pub items: Vec<Item>,
}

/// What the customer gets in the end.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// The order's id.
    pub order: String,
    /// The payment service's number.
    pub charge: String,
    /// What was paid.
    pub amount_cents: u64,
    /// One tracking number for each item.
    pub shipments: Vec<String>,
}

/// Reserves the stock, charges, waits for an approval, and ships. What was done is undone if a
/// later step fails.
///
/// The approval is the promise `{invocation}/p/approval`: `true` approves; `false`, a rejection,
/// and the end of the time do not.
#[segno::workflow(promises(approval: bool))]
pub async fn order(ctx: Context, order: Order) -> Result<Receipt> {
    // It has its name before it is made: also one that was under way when the order was cancelled
    // is given back by it.
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

/// The payment service's answer.
#[segno::data]
struct Charge {
    charge: String,
    accepted: bool,
}

/// The host makes this request, durably: it is repeated until there is an answer. Its key is the
/// order's own and not that of the request, so that it can be asked for once more.
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

/// Gives back a payment that was under way when the order was cancelled: it may have been made.
/// Asked for under the same key it is made once at most, and has a number to give it back by.
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

/// Sets the items aside in the warehouse.
///
/// It stands for a request to the warehouse's own system, which would be given the name of the
/// reservation, so that a second attempt finds that of the first.
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

/// Gives the items of a reservation back; there may be none.
#[segno::activity]
pub async fn release(ctx: ActivityContext, reservation: String) -> Result<()> {
    segno::info!(ctx, "{reservation} released");
    Ok(())
}

/// Hands one item to the carrier and gives its tracking number.
#[segno::activity(timeout = "1h")]
pub async fn ship(ctx: ActivityContext, item: Item) -> Result<String> {
    segno::info!(ctx, "{} of `{}` handed over", item.quantity, item.sku);
    Ok(format!("parcel-{}", ctx.idempotency_key()))
}

segno::module!(order, reserve, release, ship);

#[cfg(test)]
mod tests;
