//! A saga whose input sets the outcome of each step. Each step and each compensation calls a
//! service with the idempotency key of the call.

use std::time::Duration;

use segno::{
    ActivityContext, Context, Error, OnUnknown, Result, Undo,
    http::{Request, Response, Sent},
};

/// Input of the workflow `journey`.
#[segno::data]
#[derive(Clone)]
pub struct Journey {
    /// Steps, in order.
    pub steps: Vec<Leg>,
    /// True if the saga is aborted after its last step.
    pub aborts: bool,
}

/// A step of the saga.
#[segno::data]
#[derive(Clone)]
pub struct Leg {
    /// Name of the step, which is sent to the service.
    pub name: String,
    /// Outcome of the step.
    pub goes: Goes,
    /// True if the compensation of the step fails.
    #[serde(default)]
    pub stays: bool,
    /// True if the step is compensated when its outcome is unknown.
    #[serde(default)]
    pub doubtful: bool,
}

/// Outcome of a step.
#[segno::data]
#[derive(Clone, Copy, PartialEq)]
pub enum Goes {
    /// The activity succeeds.
    Well,
    /// The step is an HTTP request by the host, and succeeds.
    ByRequest,
    /// The activity fails with a terminal error.
    Badly,
    /// The activity acts, but its answer is lost until its deadline passes.
    Silently,
}

const SERVICE: &str = "http://payments";

/// Takes the steps one after the other. The first failure ends the saga.
#[segno::workflow]
pub async fn journey(ctx: Context, journey: Journey) -> Result<u32> {
    let saga = ctx.saga("journey");
    let mut taken = 0;
    for leg in &journey.steps {
        let in_doubt = if leg.doubtful { OnUnknown::Compensate } else { OnUnknown::Ask };
        match leg.goes {
            Goes::ByRequest => {
                let request = Request::post(format!("{SERVICE}/take")).json(&leg.name);
                saga.http(request).compensate(take_back).on_unknown(in_doubt).await?;
            }
            Goes::Well | Goes::Badly | Goes::Silently => {
                let step = saga.call(take, leg).compensate(leave).on_unknown(in_doubt);
                let limit = if leg.goes == Goes::Silently { 500 } else { 3_600_000 };
                step.timeout(Duration::from_millis(limit)).await?;
            }
        }
        taken += 1;
    }
    match journey.aborts {
        true => Err(saga.abort("it is given up").await),
        false => Ok(taken),
    }
}

/// Takes a step, by an activity.
#[segno::activity(retry(initial = "200ms", factor = 1))]
pub async fn take(ctx: ActivityContext, leg: Leg) -> Result<String> {
    if leg.goes == Goes::Badly {
        return Err(Error::terminal(409, format!("there is no {}", leg.name)));
    }
    tell(&ctx, "take", &leg.name).await?;
    match leg.goes {
        Goes::Silently => Err(Error::retryable("the answer is lost")),
        _ => Ok(format!("{}!", leg.name)),
    }
}

/// Compensates a step taken by an activity.
#[segno::activity]
pub async fn leave(ctx: ActivityContext, undo: Undo<Leg, String>) -> Result<()> {
    if undo.input.stays {
        return Err(Error::terminal(410, format!("{} cannot be undone", undo.input.name)));
    }
    tell(&ctx, "leave", &undo.input.name).await
}

/// Compensates a step taken by a request.
#[segno::activity]
pub async fn take_back(ctx: ActivityContext, undo: Undo<Sent, Response>) -> Result<()> {
    let body = undo.input.body.expect("the request has a body");
    let name = body.as_str().expect("it is a name").to_owned();
    undo.output.expect("it was answered").ok()?;
    tell(&ctx, "leave", &name).await
}

async fn tell(ctx: &ActivityContext, what: &str, name: &str) -> Result<()> {
    let request = Request::post(format!("{SERVICE}/{what}"))
        .header("Idempotency-Key", ctx.idempotency_key())
        .json(name);
    ctx.http(request).await?.ok()?;
    Ok(())
}

segno::module!(journey, take, leave, take_back);
