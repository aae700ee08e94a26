//! Flows of one execution that uses steps, signals, a promise, events or a cancellation.

use segno_api::model::{InvocationOutcome, InvocationState, SendSignal, StartFirst};
use serde_json::{Value, json};

use super::{Flow, Kind};
use crate::chaos::{oracle, outside::Hopeless};

impl Flow<'_> {
    pub(super) async fn effects(&self) -> Result<InvocationOutcome, Hopeless> {
        let count = self.outside.draw(1, 8);
        self.start(&self.id, self.kind.name(), self.plan(count)).await?;
        let end = self.end(&self.id).await?;
        let wanted = match self.kind {
            Kind::Fan => {
                (0..count).flat_map(|n| self.ledger.receipts(&format!("{}.{n}", self.id))).collect()
            }
            _ => self.ledger.receipts(&self.id),
        };
        if wanted.len() as u64 != count {
            self.complain(&format!("{} of {count} effects are in the ledger", wanted.len()));
        }
        self.must_be(&end, &json!(wanted));
        Ok(end)
    }

    pub(super) async fn announce(&self) -> Result<InvocationOutcome, Hopeless> {
        let count = self.outside.draw(1, 8);
        self.start(&self.id, "announce", json!(count)).await?;
        let end = self.end(&self.id).await?;
        self.must_be(&end, &json!(count));
        self.events.expect(&self.id, count);
        Ok(end)
    }

    /// Receives even numbers from one sender and odd ones from the other, each in order.
    pub(super) async fn collect(&self) -> Result<InvocationOutcome, Hopeless> {
        let count = 2 * self.outside.draw(1, 8);
        self.start(&self.id, "collect", json!(count)).await?;
        self.signal_both(count, None).await?;
        let end = self.end(&self.id).await?;
        let notes: Vec<u64> =
            serde_json::from_value(end.output.clone().unwrap_or_default()).unwrap_or_default();
        self.judge(oracle::in_order(&notes, count));
        Ok(end)
    }

    /// Sends the numbers below `count` as signals: the even ones from one sender, and the odd ones
    /// from another.
    pub(super) async fn signal_both(
        &self,
        count: u64,
        start: Option<StartFirst>,
    ) -> Result<(), Hopeless> {
        let send = async |first: u64| {
            for note in (first..count).step_by(2) {
                let key = Some(format!("note-{note}"));
                let (name, start) = ("note".to_owned(), start.clone());
                let signal = SendSignal { name, payload: json!(note), key, start };
                let what = format!("signal {note} of `{}`", self.id);
                self.outside
                    .ask(&what, &[], async |host| host.signal(&self.id, &signal).await)
                    .await?;
                self.outside.dawdle(0, 60).await;
            }
            Ok::<_, Hopeless>(())
        };
        let (even, odd) = tokio::join!(send(0), send(1));
        even.and(odd)
    }

    /// Checks that the first outcome of a promise stays, however many attempts follow.
    pub(super) async fn ask(&self) -> Result<InvocationOutcome, Hopeless> {
        self.start(&self.id, "ask", Value::Null).await?;
        let promise = format!("{}/p/answer", self.id);
        let resolve = async |value: u64| {
            self.outside.dawdle(0, 300).await;
            let what = format!("resolving `{promise}`");
            // The promise does not exist until the flow has created it.
            let early = ["unknown-promise"];
            let answer = self
                .outside
                .ask(&what, &early, async |host| host.resolve(&promise, json!(value)).await);
            Ok::<_, Hopeless>(answer.await?.value)
        };
        let (left, right) = tokio::join!(resolve(self.outside.draw(0, 999)), resolve(1_000));
        let (left, right) = (left?, right?);
        if left != right {
            self.complain(&format!(
                "one client was told {left:?} of `{promise}`, another {right:?}"
            ));
        }
        let end = self.end(&self.id).await?;
        self.must_be(&end, &left.unwrap_or_default());
        Ok(end)
    }

    pub(super) async fn hold(&self) -> Result<InvocationOutcome, Hopeless> {
        self.start(&self.id, "hold", self.plan(1)).await?;
        self.outside.dawdle(0, 400).await;
        let what = format!("cancelling `{}`", self.id);
        self.outside.ask(&what, &[], async |host| host.cancel(&self.id).await).await?;
        let end = self.end(&self.id).await?;
        if end.state != InvocationState::Cancelled {
            self.complain(&format!("it was cancelled and is {}: {:?}", end.state, end.failure));
        }
        Ok(end)
    }

    fn plan(&self, effects: u64) -> Value {
        let mut plan = self.place(&self.id);
        plan["effects"] = effects.into();
        plan
    }
}
