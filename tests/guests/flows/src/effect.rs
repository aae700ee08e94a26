//! Effects: what a flow does outside, by a request of the host or by an activity.

use std::time::Duration;

use segno::{ActivityContext, Context, Result, RetryPolicy, http::Request};

/// One effect: which of a flow's, and where.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Effect {
    /// The address of the ledger.
    pub ledger: String,
    /// The name of the flow in the ledger.
    pub flow: String,
    /// Which of its effects, from 0.
    pub step: u32,
    /// The status with which the ledger declines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse: Option<u32>,
    /// The receipt of the effect that this one undoes, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

impl Effect {
    /// An effect that is accepted.
    pub fn new(ledger: &str, flow: &str, step: u32) -> Self {
        let (ledger, flow) = (ledger.to_owned(), flow.to_owned());
        Self { ledger, flow, step, refuse: None, of: None }
    }

    /// The request for it.
    pub fn request(&self) -> Request {
        Request::post(format!("{}/effects", self.ledger)).json(self)
    }
}

/// The receipt of an effect that the host requests.
pub async fn by_step(ctx: &Context, effect: &Effect) -> Result<u64> {
    ctx.http(effect.request()).retry(patiently()).await?.ok()?.json()
}

/// The same effect by an activity, which passes its idempotency key on.
#[segno::activity(retry(initial = "50ms", max = "1s"))]
pub async fn by_activity(ctx: ActivityContext, effect: Effect) -> Result<u64> {
    let request = effect.request().header("idempotency-key", ctx.idempotency_key());
    ctx.http(request).await?.ok()?.json()
}

/// Short pauses, without end.
pub fn patiently() -> RetryPolicy {
    RetryPolicy::exponential().initial(Duration::from_millis(50)).max(Duration::from_secs(1))
}
