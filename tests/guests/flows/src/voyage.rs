//! A saga: unless all of its effects succeed, they are undone in reverse order.

use segno::{
    ActivityContext, Context, OnUnknown, Result, Undo,
    http::{Response, Sent},
};

use crate::effect::{Effect, by_activity, patiently};

/// Number of the effect that undoes effect 0. The undo of effect `n` is `UNDO + n`.
const UNDO: u32 = 100;

/// Steps and outcome of a saga.
#[segno::data]
pub struct Voyage {
    /// Address of the ledger.
    pub ledger: String,
    /// Name of the saga in the ledger.
    pub flow: String,
    /// Number of steps.
    pub steps: u32,
    /// Index of the step that the ledger declines. `None`: the ledger accepts all steps.
    #[serde(default)]
    pub refused: Option<u32>,
    /// True if the saga is aborted after its last step.
    #[serde(default)]
    pub is_aborted: bool,
    /// True if the saga waits after its last step until it is cancelled.
    #[serde(default)]
    pub is_held: bool,
}

/// Takes steps, alternating requests and activities. Returns their receipts.
#[segno::workflow]
pub async fn voyage(ctx: Context, voyage: Voyage) -> Result<Vec<u64>> {
    let saga = ctx.saga("voyage");
    // Only a cancellation leaves a step whose outcome is unknown.
    let on_unknown = match voyage.is_held {
        true => OnUnknown::Compensate,
        false => OnUnknown::Ask,
    };
    let mut receipts = Vec::new();
    for step in 0..voyage.steps {
        let mut effect = Effect::new(&voyage.ledger, &voyage.flow, step);
        effect.refuse = (voyage.refused == Some(step)).then_some(422);
        receipts.push(match step % 2 {
            0 => {
                let request = saga.http(effect.request()).compensate(undo_request);
                request.retry(patiently()).on_unknown(on_unknown).await?.ok()?.json()?
            }
            _ => {
                saga.call(by_activity, &effect).compensate(undo_call).on_unknown(on_unknown).await?
            }
        });
    }
    if voyage.is_aborted {
        return Err(saga.abort("it is not wanted any more").await);
    }
    if voyage.is_held {
        ctx.named_promise::<()>("never").await?;
    }
    Ok(receipts)
}

/// Undoes an effect made by a host request.
#[segno::activity(retry(initial = "50ms", max = "1s"))]
pub async fn undo_request(ctx: ActivityContext, undo: Undo<Sent, Response>) -> Result<()> {
    let effect: Effect = segno::serde_json::from_value(undo.input.body.unwrap_or_default())?;
    let of = undo.output.and_then(|answer| answer.ok().ok()?.json().ok());
    undone(&ctx, effect, of).await
}

/// Undoes an effect made by an activity.
#[segno::activity(retry(initial = "50ms", max = "1s"))]
pub async fn undo_call(ctx: ActivityContext, undo: Undo<Effect, u64>) -> Result<()> {
    undone(&ctx, undo.input, undo.output).await
}

async fn undone(ctx: &ActivityContext, effect: Effect, of: Option<u64>) -> Result<()> {
    let effect = Effect { step: UNDO + effect.step, of, refuse: None, ..effect };
    let request = effect.request().header("idempotency-key", ctx.idempotency_key());
    ctx.http(request).await?.ok().map(drop)
}
