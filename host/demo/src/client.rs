//! A client of one order: places it, approves or rejects it, and waits for its end. It does not
//! notice that the host is killed in the meantime.

use std::time::Duration;

use segno_api::model::{FailureView, Invocation, InvocationState, PromiseState, StartInvocation};
use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_env::Env;
use serde_json::json;

use super::{
    order::{DemoOrder, ExpectedOutcome},
    retry::insist,
};

/// Time during which a request is repeated while the host is unavailable.
const RETRY_TIMEOUT: Millis = Millis(60_000);

/// Interval between checks for the approval request.
const LOOK_EVERY: Millis = Millis(100);

/// Time that one long-poll request waits for the end of an order.
const WAIT: Duration = Duration::from_secs(5);

/// Serves one order from its start to its end.
pub struct DemoClient<'a> {
    pub client: &'a Client,
    pub env: &'a Env,
    /// The alias of the deployed module.
    pub module: &'a str,
}

impl DemoClient<'_> {
    /// Places `order`; placing it again has no further effect.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn place(&self, order: &DemoOrder) -> Result<(), ClientError> {
        let start = StartInvocation {
            id: Some(order.id.clone()),
            target: format!("{}/order", self.module),
            input: order.input.clone(),
            ..StartInvocation::default()
        };
        insist(self.env, RETRY_TIMEOUT, async || self.client.start(&start).await).await?;
        Ok(())
    }

    /// Approves or rejects `order`, `after` its approval was requested. Returns false if the order
    /// ended without a request.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn decide(&self, order: &DemoOrder, after: Millis) -> Result<bool, ClientError> {
        if matches!(order.fate, ExpectedOutcome::Forgotten | ExpectedOutcome::TooDear)
            || !self.asked(order).await?
        {
            return Ok(false);
        }
        self.env.runtime.sleep(after).await;
        let id = order.approval();
        insist(self.env, RETRY_TIMEOUT, async || match order.fate {
            ExpectedOutcome::Approved => self.client.resolve(&id, json!(true)).await,
            ExpectedOutcome::Rejected | ExpectedOutcome::Forgotten | ExpectedOutcome::TooDear => {
                let failure = FailureView {
                    code: 409,
                    message: "the client changed their mind".to_owned(),
                    details: None,
                };
                self.client.reject(&id, failure).await
            }
        })
        .await?;
        Ok(true)
    }

    /// Waits until the order has ended or is halted, and returns its invocation.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn ended(&self, order: &DemoOrder) -> Result<Invocation, ClientError> {
        loop {
            let wait = async || self.client.wait(&order.id, WAIT).await;
            if is_over(insist(self.env, RETRY_TIMEOUT, wait).await?.state) {
                let read = async || self.client.invocation(&order.id).await;
                return insist(self.env, RETRY_TIMEOUT, read).await;
            }
        }
    }

    /// Waits until the approval is requested. Returns false if the order ended without a request.
    async fn asked(&self, order: &DemoOrder) -> Result<bool, ClientError> {
        let id = order.approval();
        loop {
            let promise = insist(self.env, RETRY_TIMEOUT, async || self.client.promise(&id).await);
            match promise.await {
                Ok(promise) => return Ok(promise.state == PromiseState::Pending),
                Err(ClientError::Refused(problem)) if problem.status == 404 => {}
                Err(error) => return Err(error),
            }
            let invocation = async || self.client.invocation(&order.id).await;
            if is_over(insist(self.env, RETRY_TIMEOUT, invocation).await?.state) {
                return Ok(false);
            }
            self.env.runtime.sleep(LOOK_EVERY).await;
        }
    }
}

fn is_over(state: InvocationState) -> bool {
    state.is_settled() || state == InvocationState::Halted
}
