//! A saga whose steps go as the input says. What is done and undone is told to a service, under the
//! idempotency key of the call.

use std::time::Duration;

use segno::{
    ActivityContext, Context, Error, OnUnknown, Result, Undo,
    http::{Request, Response, Sent},
};

/// A journey.
#[segno::data]
#[derive(Clone)]
pub struct Journey {
    /// Its steps.
    pub steps: Vec<Leg>,
    /// Whether it is given up at the end.
    pub aborts: bool,
}

/// A step.
#[segno::data]
#[derive(Clone)]
pub struct Leg {
    /// Its name.
    pub name: String,
    /// How it goes.
    pub goes: Goes,
    /// Whether it cannot be undone.
    #[serde(default)]
    pub stays: bool,
    /// Whether it is undone in doubt.
    #[serde(default)]
    pub doubtful: bool,
}

/// How a step goes.
#[segno::data]
#[derive(Clone, Copy, PartialEq)]
pub enum Goes {
    /// It acts.
    Well,
    /// It acts: a request by the host.
    ByRequest,
    /// It fails, for good.
    Badly,
    /// It acts, and nobody hears of it before its deadline.
    Silently,
}

const SERVICE: &str = "http://payments";

/// Takes the steps, one after the other; one that fails ends it.
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

/// Takes a step.
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

/// Undoes a step.
#[segno::activity]
pub async fn leave(ctx: ActivityContext, undo: Undo<Leg, String>) -> Result<()> {
    if undo.input.stays {
        return Err(Error::terminal(410, format!("{} cannot be undone", undo.input.name)));
    }
    tell(&ctx, "leave", &undo.input.name).await
}

/// Undoes a step that was a request.
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
