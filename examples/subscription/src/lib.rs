//! A subscription: a trial, an invoice for each period, reminders, and its end.
//!
//! It shows a workflow that lasts for years, and therefore stays small; a child workflow that is
//! called by the name of its module, so that each invoice runs the code deployed last; a durable
//! request; a signal that ends a sleep; and due dates, which do not shift when a step takes long.

use std::time::Duration;

use segno::{ActivityContext, Context, Either, Result, RetryPolicy, http::Request};

/// The terms of a subscription.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Plan {
    /// The customer's mail address.
    pub customer: String,
    /// The price of one period.
    pub price_cents: u64,
    /// The discount on the price, in cents.
    #[serde(default)]
    pub discount_cents: u64,
    /// The address of the payment service, such as `https://pay.example.com`.
    pub payments: String,
    /// The length of the trial, in seconds. Default: 14 days.
    #[serde(default = "two_weeks")]
    pub trial_s: u64,
    /// The length of a period, in seconds. Default: 30 days.
    #[serde(default = "thirty_days")]
    pub period_s: u64,
    /// The time after which a declined payment is retried, in seconds. Default: 3 days.
    #[serde(default = "three_days")]
    pub remind_after_s: u64,
}

const DAY_S: u64 = 24 * 60 * 60;

fn two_weeks() -> u64 {
    14 * DAY_S
}

fn thirty_days() -> u64 {
    30 * DAY_S
}

fn three_days() -> u64 {
    3 * DAY_S
}

/// The result of a subscription.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The number of paid periods.
    pub paid: u32,
    /// The reason.
    pub because: Reason,
}

/// The reason for the end of a subscription.
#[segno::data]
#[derive(Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The customer sent the signal `cancel`.
    Cancelled,
    /// An invoice stayed unpaid.
    Unpaid,
}

/// Waits for each due date, and charges. The signal `cancel` ends it before the next period.
#[segno::workflow(signals)]
pub async fn subscription(ctx: Context, plan: Plan) -> Result<Ended> {
    let mut cancellations = ctx.signals().named("cancel");
    let mut due = ctx.started_at() + Duration::from_secs(plan.trial_s);
    let mut paid = 0;
    loop {
        match segno::select(cancellations.receive(), ctx.sleep_until(due)).await {
            Either::Left(signal) => {
                signal?;
                return Ok(Ended { paid, because: Reason::Cancelled });
            }
            Either::Right(slept) => slept?,
        }
        let invoice = Invoice { number: paid + 1, plan: plan.clone() };
        // By the name of the module: the code that is deployed then, not the code that began.
        let was_paid: bool = ctx.call_named("wasm://subscription/invoice", &invoice).await?;
        if !was_paid {
            return Ok(Ended { paid, because: Reason::Unpaid });
        }
        paid += 1;
        due = due + Duration::from_secs(plan.period_s);
    }
}

/// An invoice for one period.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Invoice {
    /// Its number, from 1.
    pub number: u32,
    /// The plan that is charged.
    pub plan: Plan,
}

/// Number of retries of a declined payment.
const REMINDERS: u32 = 3;

/// Announces an invoice and charges it, with reminders. The result says whether it was paid.
#[segno::workflow]
pub async fn invoice(ctx: Context, invoice: Invoice) -> Result<bool> {
    let plan = &invoice.plan;
    ctx.call(send_mail, &mail(plan, format!("Invoice {} is due.", invoice.number))).await?;
    let amount_cents = plan.price_cents.saturating_sub(plan.discount_cents);
    for reminder in 0..=REMINDERS {
        if reminder > 0 {
            ctx.call(send_mail, &mail(plan, format!("Reminder {reminder}: please pay."))).await?;
            ctx.sleep(Duration::from_secs(plan.remind_after_s)).await?;
        }
        if charge(&ctx, &invoice, amount_cents).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// One charge: whether it was accepted. The host repeats the request until there is an answer,
/// always with the same `Idempotency-Key`, so that the service charges once.
async fn charge(ctx: &Context, invoice: &Invoice, amount_cents: u64) -> Result<bool> {
    let order = format!("{}/{}", invoice.plan.customer, invoice.number);
    let body = segno::serde_json::json!({ "order": order, "amount_cents": amount_cents });
    let request = Request::post(format!("{}/charges", invoice.plan.payments)).json(&body);
    let patiently = RetryPolicy::exponential().max(Duration::from_secs(60));
    let answer = ctx.http(request).retry(patiently).await?;
    if answer.status() == 402 {
        return Ok(false); // Declined: an answer like any other.
    }
    answer.ok()?;
    Ok(true)
}

/// A mail.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    /// The address.
    pub to: String,
    /// The text.
    pub text: String,
}

fn mail(plan: &Plan, text: String) -> Mail {
    Mail { to: plan.customer.clone(), text }
}

/// Sends one mail. It stands for a mail service, which would be given `ctx.idempotency_key()`.
#[segno::activity(timeout = "1h", retry(initial = "1s", max = "10m"))]
pub async fn send_mail(ctx: ActivityContext, mail: Mail) -> Result<()> {
    segno::info!(ctx, "mail to {}: {}", mail.to, mail.text);
    Ok(())
}

segno::module!(subscription, invoice, send_mail);

#[cfg(test)]
mod tests;
