//! The guest of the chaos driver: each kind of step, with an outcome that the driver can compute
//! from its input.

#![allow(unreachable_pub, reason = "the types of public functions are public")]

mod brief;
mod counter;
mod desk;
mod effect;
mod hall;
mod roll;
mod voyage;

use std::time::Duration;

use segno::{Context, Error, Result};
use serde_json::{Value, json};

use crate::{
    counter::Counter,
    effect::{Effect, by_activity, by_step},
};

/// Ledger and number of effects of a flow.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Plan {
    /// Address of the ledger, such as `http://127.0.0.1:9000`.
    pub ledger: String,
    /// Name of the flow in the ledger.
    pub flow: String,
    /// Number of effects, made one after the other.
    pub effects: u32,
}

/// Makes effects one after the other, alternating HTTP steps and activities, with computed values
/// and sleeps between them. Returns their receipts.
#[segno::workflow]
pub async fn effects(ctx: Context, plan: Plan) -> Result<Vec<u64>> {
    let mut receipts = Vec::new();
    for step in 0..plan.effects {
        let effect = Effect::new(&plan.ledger, &plan.flow, step);
        receipts.push(match step % 2 {
            0 => by_step(&ctx, &effect).await?,
            _ => ctx.call(by_activity, &effect).await?,
        });
        let pause = ctx.run("pause", move || u64::from(step * 7 % 30)).await?;
        ctx.sleep(Duration::from_millis(pause)).await?;
    }
    Ok(receipts)
}

/// Runs child flows of one effect each concurrently. Returns their receipts in the order of the
/// children's names.
#[segno::workflow]
pub async fn fan(ctx: Context, plan: Plan) -> Result<Vec<u64>> {
    let children = (0..plan.effects).map(|child| {
        let flow = format!("{}.{child}", plan.flow);
        ctx.call(effects, &Plan { flow, effects: 1, ledger: plan.ledger.clone() })
    });
    Ok(segno::try_join_all(children).await?.into_iter().flatten().collect())
}

/// Waits for `count` signals. Returns their values in order of arrival.
#[segno::workflow(signals)]
pub async fn collect(ctx: Context, count: u32) -> Result<Vec<u64>> {
    let mut signals = ctx.signals().named("note");
    let mut notes = Vec::new();
    while notes.len() < count as usize {
        notes.push(signals.receive().await?.json()?);
    }
    Ok(notes)
}

/// Returns the value with which the promise `{invocation}/p/answer` is resolved.
#[segno::workflow]
pub async fn ask(ctx: Context, _: ()) -> Result<u64> {
    ctx.named_promise::<u64>("answer").await
}

/// Publishes `count` events on the topic `chaos`, one after the other.
#[segno::workflow]
pub async fn announce(ctx: Context, count: u32) -> Result<u32> {
    for number in 0..count {
        ctx.publish("chaos", &json!({ "flow": ctx.id(), "number": number })).await?;
    }
    Ok(count)
}

/// Waits until it is cancelled, and then makes one effect.
#[segno::workflow]
pub async fn hold(ctx: Context, plan: Plan) -> Result<()> {
    match ctx.named_promise::<()>("never").await {
        Err(error) if ctx.is_cancelled() => {
            let cleanup = Effect::new(&plan.ledger, &plan.flow, 0);
            by_step(&ctx, &cleanup).await?;
            Err(error)
        }
        Ok(()) => {
            Err(Error::terminal(500, "a promise was resolved that the driver never resolves"))
        }
        Err(error) => Err(error),
    }
}

/// Makes one effect under its own invocation id. Returns the receipt.
#[segno::workflow]
pub async fn tick(ctx: Context, ledger: String) -> Result<u64> {
    let flow = ctx.id().to_owned();
    by_step(&ctx, &Effect::new(&ledger, &flow, 0)).await
}

/// Runs a plan on the host. Returns its outputs.
#[segno::workflow]
pub async fn planned(ctx: Context, plan: Value) -> Result<Value> {
    ctx.graph(&plan, &()).await
}

segno::module!(
    effects,
    fan,
    collect,
    ask,
    announce,
    hold,
    tick,
    planned,
    Counter,
    brief::brief,
    desk::desk,
    desk::enter,
    desk::close,
    desk::entries,
    hall::visit,
    roll::roll,
    voyage::voyage,
    voyage::undo_request,
    voyage::undo_call,
    by_activity
);
