//! The flows: each is started, served from outside, and compared with its expected outcome.

use std::{sync::Arc, time::Duration};

use segno::api::model::{InvocationOutcome, InvocationState, SendSignal, StartInvocation};
use serde_json::{Value, json};

use super::{
    events::Events,
    ledger::Ledger,
    outside::{Hopeless, Outside},
};

/// How long one request waits for the end of a flow.
const WAIT: Duration = Duration::from_secs(2);
/// The name under which the guest `flows` is deployed.
pub const MODULE: &str = "flows";

/// The kind of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Effects one after the other.
    Effects,
    /// The same as children, side by side.
    Fan,
    /// Signals of two senders.
    Collect,
    /// A promise that two clients resolve differently.
    Ask,
    /// Events.
    Announce,
    /// A wait without end that is cancelled.
    Hold,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Effects, Self::Fan, Self::Collect, Self::Ask, Self::Announce, Self::Hold];

    /// The name of its function.
    pub fn name(self) -> &'static str {
        match self {
            Self::Effects => "effects",
            Self::Fan => "fan",
            Self::Collect => "collect",
            Self::Ask => "ask",
            Self::Announce => "announce",
            Self::Hold => "hold",
        }
    }
}

/// One flow with the clients that serve it.
pub struct Flow<'a> {
    /// What it does.
    pub kind: Kind,
    /// Its id, which no other flow has.
    pub id: String,
    /// The clients' side.
    pub outside: &'a Outside,
    /// Where its effects are.
    pub ledger: &'a Arc<Ledger>,
    /// Where its events are taken.
    pub events: &'a Events,
}

impl Flow<'_> {
    /// Runs the flow from its start to its end, and checks its outcome.
    ///
    /// # Errors
    /// [`Hopeless`]; the reason is among the findings. A wrong outcome is a finding and no error.
    pub async fn play(&self) -> Result<InvocationOutcome, Hopeless> {
        let count = self.outside.draw(1, 8);
        let plan = json!({ "ledger": self.outside.ledger, "flow": self.id, "effects": count });
        match self.kind {
            Kind::Effects | Kind::Fan => {
                self.start(plan).await?;
                let end = self.end().await?;
                let wanted = match self.kind {
                    Kind::Effects => self.ledger.receipts(&self.id),
                    _ => (0..count)
                        .flat_map(|n| self.ledger.receipts(&format!("{}.{n}", self.id)))
                        .collect(),
                };
                if wanted.len() as u64 != count {
                    self.complain(&format!(
                        "{} of {count} effects are in the ledger",
                        wanted.len()
                    ));
                }
                self.must_be(&end, &json!(wanted));
                Ok(end)
            }
            Kind::Collect => self.collect(count * 2).await,
            Kind::Ask => self.ask().await,
            Kind::Announce => {
                self.start(json!(count)).await?;
                let end = self.end().await?;
                self.must_be(&end, &json!(count));
                self.events.expect(&self.id, count);
                Ok(end)
            }
            Kind::Hold => self.hold(plan).await,
        }
    }

    /// Even numbers from one sender and odd ones from the other, each in order.
    async fn collect(&self, count: u64) -> Result<InvocationOutcome, Hopeless> {
        self.start(json!(count)).await?;
        let send = async |first: u64| {
            for note in (first..count).step_by(2) {
                let key = Some(format!("note-{note}"));
                let signal = SendSignal {
                    name: "note".to_owned(),
                    payload: json!(note),
                    key,
                    ..SendSignal::default()
                };
                let what = format!("signal {note} of `{}`", self.id);
                self.outside
                    .ask(&what, &[], async |host| host.signal(&self.id, &signal).await)
                    .await?;
                self.outside.dawdle(0, 60).await;
            }
            Ok::<_, Hopeless>(())
        };
        let (even, odd) = tokio::join!(send(0), send(1));
        even.and(odd)?;
        let end = self.end().await?;
        let notes: Vec<u64> =
            serde_json::from_value(end.output.clone().unwrap_or_default()).unwrap_or_default();
        let of = |rest| notes.iter().copied().filter(|note| note % 2 == rest).collect::<Vec<_>>();
        let wanted = |first: u64| (first..count).step_by(2).collect::<Vec<_>>();
        if of(0) != wanted(0) || of(1) != wanted(1) {
            self.complain(&format!("{count} signals came as {notes:?}"));
        }
        Ok(end)
    }

    /// The first outcome stays, however many attempts follow.
    async fn ask(&self) -> Result<InvocationOutcome, Hopeless> {
        self.start(Value::Null).await?;
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
        let end = self.end().await?;
        self.must_be(&end, &left.unwrap_or_default());
        Ok(end)
    }

    async fn hold(&self, plan: Value) -> Result<InvocationOutcome, Hopeless> {
        self.start(plan).await?;
        self.outside.dawdle(0, 400).await;
        let what = format!("cancelling `{}`", self.id);
        self.outside.ask(&what, &[], async |host| host.cancel(&self.id).await).await?;
        let end = self.end().await?;
        if end.state != InvocationState::Cancelled {
            self.complain(&format!("it was cancelled and is {}: {:?}", end.state, end.failure));
        }
        Ok(end)
    }

    async fn start(&self, input: Value) -> Result<(), Hopeless> {
        let start = StartInvocation {
            id: Some(self.id.clone()),
            target: format!("{MODULE}/{}", self.kind.name()),
            input,
            ..StartInvocation::default()
        };
        let what = format!("starting `{}`", self.id);
        self.outside.ask(&what, &[], async |host| host.start(&start).await).await.map(drop)
    }

    async fn end(&self) -> Result<InvocationOutcome, Hopeless> {
        let what = format!("the end of `{}`", self.id);
        loop {
            let seen =
                self.outside.ask(&what, &[], async |host| host.wait(&self.id, WAIT).await).await?;
            if seen.state.is_settled() {
                return Ok(seen);
            }
            if seen.state == InvocationState::Halted {
                self.complain(&format!("it is halted: {:?}", seen.note));
                return Err(Hopeless);
            }
            self.outside.pause(&what, &seen.state).await?;
        }
    }

    fn must_be(&self, end: &InvocationOutcome, wanted: &Value) {
        if end.state != InvocationState::Resolved || end.output.as_ref() != Some(wanted) {
            let (state, output, failure) = (end.state, &end.output, &end.failure);
            self.complain(&format!(
                "it must come to {wanted} and is {state}: {output:?} {failure:?}"
            ));
        }
    }

    fn complain(&self, what: &str) {
        self.outside.findings.add(format!("{} `{}`: {what}", self.kind.name(), self.id));
    }
}
