//! The built-in function `segno:budget`: what the budgets of its caller have left.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{budget, promise::Promise};
use segno_guest::{Outcome, Payload};
use segno_store::StoreError;

use crate::{
    claim::{ClaimSession, Claimed, Target},
    metrics::ClaimEnd,
    slots::SlotKind,
    values,
};

/// Answers what is left.
pub(super) struct BudgetTarget;

#[async_trait]
impl Target for BudgetTarget {
    fn slot(&self) -> (SlotKind, usize) {
        (SlotKind::Execution, 1)
    }

    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd {
        let (session, promise) = (claimed.session, claimed.acquired.promise);
        let left = match remaining(&session, &promise).await {
            Ok(left) => Outcome::Success(Payload::Json(left)),
            Err(error) => return session.give_back(error.into()).await,
        };
        match session.fulfil_call(&promise, Vec::new(), values::verdict(&left)).await {
            Ok(()) => ClaimEnd::Finished,
            Err(stopped) => session.give_back(stopped).await,
        }
    }
}

async fn remaining(session: &ClaimSession, promise: &Promise) -> Result<String, StoreError> {
    let mut budgets = Vec::new();
    for account in promise.accounts() {
        budgets.extend(session.host().store.read().budget(&account).await?);
    }
    Ok(budget::to_json(&budget::least(&budgets)))
}
