//! Signals across generations.

use segno_api::model::{InvocationOutcome, SendSignal};
use serde_json::{Value, json};

use super::Flow;
use crate::chaos::{oracle, outside::Hopeless};

impl Flow<'_> {
    pub(super) async fn roll(&self) -> Result<Vec<InvocationOutcome>, Hopeless> {
        let (page, count) = (self.outside.draw(1, 4), 2 * self.outside.draw(1, 6));
        self.signal_both(count, Self::start_first("roll", json!([page, []]))).await?;
        let (name, key) = ("end".to_owned(), Some("end".to_owned()));
        let signal = SendSignal { name, payload: Value::Null, key, start: None };
        let what = format!("the last signal of `{}`", self.id);
        self.outside.ask(&what, &[], async |host| host.signal(&self.id, &signal).await).await?;
        let end = self.end(&self.id).await?;
        let notes: Vec<u64> =
            serde_json::from_value(end.output.clone().unwrap_or_default()).unwrap_or_default();
        self.judge(oracle::in_order(&notes, count));

        let what = format!("the generations of `{}`", self.id);
        let newest =
            self.outside.ask(&what, &[], async |host| host.invocation(&self.id).await).await?;
        let generations = newest.generation.map_or(1, |generation| u64::from(generation.number));
        if generations != count / page + 1 {
            self.complain(&format!("{count} signals, {page} each, had {generations} generations"));
        }
        let mut ends = vec![end];
        for number in 1..generations {
            let id = format!("{}/g/{number}", self.id);
            let what = format!("looking at `{id}`");
            let seen =
                self.outside.ask(&what, &[], async |host| host.invocation(&id).await).await?;
            let next = seen.generation.and_then(|generation| generation.next);
            if next != Some(format!("{}/g/{}", self.id, number + 1)) {
                self.complain(&format!("`{id}` handed over to {next:?}"));
            }
            // The promise of the first generation is that of the invocation.
            if number > 1 {
                ends.push(self.end(&id).await?);
            }
        }
        Ok(ends)
    }
}
