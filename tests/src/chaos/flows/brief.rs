//! A cancellation or a kill at about the time when the flow ends.

use segno_api::model::{InvocationOutcome, InvocationState};
use serde_json::Value;

use super::Flow;
use crate::chaos::{
    oracle::{self, Stop, StopEnd},
    outside::Hopeless,
};

impl Flow<'_> {
    pub(super) async fn brief(&self) -> Result<InvocationOutcome, Hopeless> {
        let stop = match self.outside.draw(0, 2) {
            0 => Stop::Kill,
            _ => Stop::Cancel,
        };
        let is_stubborn = self.outside.draw(0, 1) == 0;
        let mut input = self.place(&self.id);
        input["takes_ms"] = self.outside.draw(0, 100).into();
        input["is_stubborn"] = is_stubborn.into();
        self.start(&self.id, "brief", input).await?;
        self.outside.dawdle(0, 250).await;
        let mut attempts = 0;
        let request = async |host: &segno_client::Client| {
            attempts += 1;
            match stop {
                Stop::Cancel => host.cancel(&self.id).await,
                Stop::Kill => host.kill(&self.id).await,
            }
        };
        let what = format!("stopping `{}`", self.id);
        let accepted = self.outside.ask(&what, &[], request).await?;
        let end = self.end(&self.id).await?;
        let what = format!("looking at `{}`", self.id);
        let seen =
            self.outside.ask(&what, &[], async |host| host.invocation(&self.id).await).await?;
        self.judge(oracle::stop(StopEnd {
            stop,
            changed: (accepted.changed || attempts == 1).then_some(accepted.changed),
            state: end.state,
            is_killed: end.killed,
            cancel: seen.cancel,
        }));
        if end.state == InvocationState::Resolved {
            let stopped = end.output.as_ref().and_then(Value::as_bool);
            let acted = self.ledger.receipts(&self.id).len() == 1;
            if stopped == Some(false) && !acted || stopped == Some(true) && !is_stubborn {
                self.complain(&format!("it came to {stopped:?}, and acted: {acted}"));
            }
        }
        Ok(end)
    }
}
