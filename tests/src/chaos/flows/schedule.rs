//! A schedule whose occurrences lie in the next leap year, and which is triggered before that.

use segno_api::model::{CreateSchedule, InvocationOutcome, Trigger, Triggered};
use serde_json::json;

use super::{Flow, MODULE};
use crate::chaos::outside::Hopeless;

impl Flow<'_> {
    pub(super) async fn schedule(&self) -> Result<Vec<InvocationOutcome>, Hopeless> {
        let schedule = CreateSchedule {
            id: self.id.clone(),
            cron: "0 0 29 2 *".to_owned(),
            target: format!("{MODULE}/tick"),
            input: json!(self.outside.ledger),
            ..CreateSchedule::default()
        };
        let what = format!("making the schedule `{}`", self.id);
        self.outside.ask(&what, &[], async |host| host.create_schedule(&schedule).await).await?;
        let mut ids = Vec::new();
        for number in 1..=self.outside.draw(1, 4) {
            let at_ms = i64::try_from(number).unwrap_or_default() * 60_000;
            // The first answer may be that it was created before: a host sends a command again whose
            // outcome it does not know. The ledger shows that it runs once.
            let first = self.trigger(at_ms).await?;
            if self.outside.draw(0, 1) == 0 {
                let again = self.trigger(at_ms).await?;
                if again.created || again.id != first.id {
                    self.complain(&format!("{first:?} was started again as {again:?}"));
                }
            }
            ids.push(first.id);
        }
        // The executions that the schedule started continue without it.
        let what = format!("deleting the schedule `{}`", self.id);
        let gone = async |host: &segno_client::Client| match host.delete_schedule(&self.id).await {
            Err(refused) if refused.code() == "unknown-schedule" => Ok(()),
            other => other.map(drop),
        };
        self.outside.ask(&what, &[], gone).await?;
        let mut ends = Vec::new();
        for id in ids {
            let end = self.end(&id).await?;
            match self.ledger.receipts(&id)[..] {
                [receipt] => self.must_be(&end, &json!(receipt)),
                ref others => self.complain(&format!("the effects of `{id}` are {others:?}")),
            }
            ends.push(end);
        }
        Ok(ends)
    }

    /// Triggers an occurrence.
    async fn trigger(&self, at_ms: i64) -> Result<Triggered, Hopeless> {
        let what = format!("triggering `{}` at {at_ms}", self.id);
        let trigger = Trigger { at_ms: Some(at_ms) };
        self.outside.ask(&what, &[], async |host| host.trigger(&self.id, &trigger).await).await
    }
}
