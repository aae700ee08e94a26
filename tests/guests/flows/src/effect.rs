//! Effects: actions of a flow on the outside, by a request of the host or by an activity.

use std::time::Duration;

use segno::{ActivityContext, Context, Result, RetryPolicy, http::Request};

/// One effect of a flow: its number and its place in the ledger.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Effect {
    /// Address of the ledger.
    pub ledger: String,
    /// Name of the flow in the ledger.
    pub flow: String,
    /// Index of the effect within the flow, from 0.
    pub step: u32,
    /// HTTP status with which the ledger declines the effect. `None`: the effect is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse: Option<u32>,
    /// Receipt of the effect that this one undoes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

impl Effect {
    /// Creates an effect that the ledger accepts.
    pub fn new(ledger: &str, flow: &str, step: u32) -> Self {
        let (ledger, flow) = (ledger.to_owned(), flow.to_owned());
        Self { ledger, flow, step, refuse: None, of: None }
    }

    /// HTTP request that makes the effect.
    pub fn request(&self) -> Request {
        Request::post(format!("{}/effects", self.ledger)).json(self)
    }
}

/// Makes the effect by a request of the host. Returns the receipt.
pub async fn by_step(ctx: &Context, effect: &Effect) -> Result<u64> {
    ctx.http(effect.request()).retry(patiently()).await?.ok()?.json()
}

/// Makes the effect by an activity that passes its idempotency key on. Returns the receipt.
#[segno::activity(retry(initial = "50ms", max = "1s"))]
pub async fn by_activity(ctx: ActivityContext, effect: Effect) -> Result<u64> {
    let request = effect.request().header("idempotency-key", ctx.idempotency_key());
    ctx.http(request).await?.ok()?.json()
}

/// Retry policy with short back-offs (50 ms to 1 s) and no limit on attempts.
pub fn patiently() -> RetryPolicy {
    RetryPolicy::exponential().initial(Duration::from_millis(50)).max(Duration::from_secs(1))
}
