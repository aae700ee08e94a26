//! Updates and queries from two senders.

use std::collections::BTreeMap;

use segno_api::model::{
    InvocationOutcome, SendQuery, SendUpdate, StartFirst, UpdateAnswer, UpdateState, UpdateWait,
};
use segno_client::ClientError;
use serde_json::{Value, json};

use super::Flow;
use crate::chaos::{oracle, outside::Hopeless};

/// Lowest number that the desk refuses.
const TOO_LARGE: u64 = 1_000;

impl Flow<'_> {
    pub(super) async fn desk(&self) -> Result<InvocationOutcome, Hopeless> {
        let count = 2 * self.outside.draw(1, 4);
        let send = async |first: u64| {
            let mut answers = BTreeMap::new();
            for number in (first..count).step_by(2) {
                answers.extend(self.enter(number).await?.map(|place| (number, place)));
                self.outside.dawdle(0, 60).await;
            }
            Ok::<_, Hopeless>(answers)
        };
        let (even, odd) = tokio::join!(send(0), send(1));
        let (mut answers, odd) = (even?, odd?);
        answers.extend(odd);
        if let Some(answer) = self.update("enter", &update("large", json!(TOO_LARGE), None)).await?
        {
            self.complain(&format!("{TOO_LARGE} was not refused: {answer:?}"));
        }
        self.update("close", &update("close", Value::Null, None)).await?;
        let end = self.end(&self.id).await?;
        let entries: Vec<u64> =
            serde_json::from_value(end.output.clone().unwrap_or_default()).unwrap_or_default();
        self.judge(oracle::entries(&entries, &answers));
        let effects = self.ledger.effects(&self.id);
        if !effects.keys().map(|step| u64::from(*step)).eq(0..count) {
            self.complain(&format!("the effects of {count} entries are {effects:?}"));
        }
        Ok(end)
    }

    /// Enters a number. Returns its place. A query must show an answered number, and a repeated
    /// update must return the same answer.
    async fn enter(&self, number: u64) -> Result<Option<u64>, Hopeless> {
        let start = Self::start_first("desk", self.place(&self.id));
        let sent = update(&number.to_string(), json!(number), start);
        if self.outside.draw(0, 2) == 0 {
            // An accepted update is answered, even if its sender does not wait.
            let accepted = SendUpdate { wait: UpdateWait::Accepted, ..sent.clone() };
            self.update("enter", &accepted).await?;
        }
        let Some(answer) = self.update("enter", &sent).await? else {
            self.complain(&format!("{number} was refused"));
            return Ok(None);
        };
        let what = format!("asking `{}`", self.id);
        let query = SendQuery::default();
        let seen = self
            .outside
            .ask(&what, &[], async |host| host.query(&self.id, "entries", &query).await)
            .await?;
        let entries: Vec<u64> = serde_json::from_value(seen.value).unwrap_or_default();
        if !entries.contains(&number) {
            self.complain(&format!("{number} was answered, and a query saw {entries:?}"));
        }
        if self.outside.draw(0, 2) == 0 {
            let again = self.update("enter", &sent).await?;
            if again.as_ref() != Some(&answer) {
                self.complain(&format!("{answer:?} was answered again as {again:?}"));
            }
        }
        Ok(answer.output.as_ref().and_then(Value::as_u64))
    }

    /// Sends an update until it is answered, or accepted if that is enough. `None` if it is
    /// refused.
    async fn update(
        &self,
        name: &str,
        update: &SendUpdate,
    ) -> Result<Option<UpdateAnswer>, Hopeless> {
        let what = format!("update `{name}` {:?} of `{}`", update.key, self.id);
        let request =
            async |host: &segno_client::Client| match host.update(&self.id, name, update).await {
                Err(refused) if refused.code() == "update-refused" => Ok(None),
                Ok(answer)
                    if answer.state == UpdateState::Accepted
                        && update.wait == UpdateWait::Completed =>
                {
                    Err(ClientError::Slow { server: host.server().to_owned() })
                }
                other => other.map(Some),
            };
        // The journal grew for as long as the request waited: nothing was stored.
        let answer = self.outside.ask(&what, &["journal-grew"], request).await?;
        if let Some(answer) = answer.as_ref().filter(|answer| answer.failure.is_some()) {
            self.complain(&format!("{what} failed: {answer:?}"));
        }
        Ok(answer)
    }
}

fn update(key: &str, input: Value, start: Option<StartFirst>) -> SendUpdate {
    let (key, timeout_ms) = (Some(key.to_owned()), Some(2_000));
    SendUpdate { input, key, start, timeout_ms, ..SendUpdate::default() }
}
