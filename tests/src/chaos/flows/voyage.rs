//! Sagas: kept, declined by the ledger, aborted, or cancelled while they run.

use segno_api::model::{InvocationOutcome, InvocationState, SagaState};
use serde_json::json;

use super::Flow;
use crate::chaos::{
    oracle::{self, Fate},
    outside::Hopeless,
};

impl Flow<'_> {
    pub(super) async fn voyage(&self) -> Result<InvocationOutcome, Hopeless> {
        let steps = self.outside.draw(1, 6) as u32;
        let fate = match self.outside.draw(0, 3) {
            0 => Fate::Kept,
            1 => Fate::Aborted,
            2 => Fate::Declined(self.outside.draw(0, u64::from(steps) - 1) as u32),
            _ => Fate::Cancelled,
        };
        let declined = match fate {
            Fate::Declined(step) => Some(step),
            Fate::Kept | Fate::Aborted | Fate::Cancelled => None,
        };
        let mut input = self.place(&self.id);
        input["steps"] = steps.into();
        input["refused"] = declined.into();
        input["is_aborted"] = (fate == Fate::Aborted).into();
        input["is_held"] = (fate == Fate::Cancelled).into();
        self.start(&self.id, "voyage", input).await?;
        if fate == Fate::Cancelled {
            self.outside.dawdle(0, 800).await;
            let what = format!("cancelling `{}`", self.id);
            self.outside.ask(&what, &[], async |host| host.cancel(&self.id).await).await?;
        }
        let end = self.end(&self.id).await?;
        let effects = self.ledger.effects(&self.id);
        self.judge(oracle::saga(&effects, steps, fate));
        match fate {
            Fate::Kept => self.must_be(&end, &json!(self.ledger.receipts(&self.id))),
            Fate::Aborted | Fate::Declined(_) => {
                let code = end.failure.as_ref().map(|failure| failure.code);
                if (end.state, code) != (InvocationState::Rejected, Some(422)) {
                    self.complain(&format!("{fate:?} came to {}: {:?}", end.state, end.failure));
                }
            }
            Fate::Cancelled if end.state != InvocationState::Cancelled => {
                self.complain(&format!("{fate:?} came to {}: {:?}", end.state, end.failure));
            }
            Fate::Cancelled => {}
        }
        self.saga_is_recorded(fate, effects.values().any(|seen| seen.receipt.is_some())).await?;
        Ok(end)
    }

    /// Checks that the host records the outcome of the saga.
    async fn saga_is_recorded(&self, fate: Fate, acted: bool) -> Result<(), Hopeless> {
        let what = format!("the sagas of `{}`", self.id);
        let page = self.outside.ask(&what, &[], async |host| host.sagas(&self.id).await).await?;
        let wanted = match fate {
            Fate::Kept => SagaState::Kept,
            Fate::Aborted | Fate::Declined(_) | Fate::Cancelled => SagaState::Undone,
        };
        let states: Vec<SagaState> = page.items.iter().map(|saga| saga.state).collect();
        if acted && states != [wanted] {
            self.complain(&format!("{fate:?} is recorded as {page:?}"));
        }
        Ok(())
    }
}
