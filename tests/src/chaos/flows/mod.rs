//! The flows: each is started, served from outside, and compared with its expected outcome.

mod brief;
mod counter;
mod desk;
mod hall;
mod kind;
mod planned;
mod roll;
mod schedule;
mod steps;
mod voyage;

use std::{sync::Arc, time::Duration};

use segno_api::model::{InvocationOutcome, InvocationState, StartFirst, StartInvocation};
use serde_json::{Value, json};

pub use hall::room_was_kept;
pub use kind::Kind;

use super::{
    events::Events,
    ledger::Ledger,
    oracle::Verdict,
    outside::{Hopeless, Outside},
};

/// Time that one request waits for the end of a flow.
const WAIT: Duration = Duration::from_secs(2);
/// Name under which the guest `flows` is deployed.
pub const MODULE: &str = "flows";

/// One flow, with the clients that serve it.
pub struct Flow<'a> {
    pub kind: Kind,
    /// Unique id of the flow.
    pub id: String,
    /// State shared by the driver's clients.
    pub outside: &'a Outside,
    /// Ledger of the flow's effects.
    pub ledger: &'a Arc<Ledger>,
    /// Consumer of the flow's events.
    pub events: &'a Events,
}

impl Flow<'_> {
    /// Runs the flow from start to end, and checks its outcome. Returns the outcomes of its
    /// executions.
    ///
    /// # Errors
    /// [`Hopeless`]; the reason is among the findings. A wrong outcome is a finding and not an
    /// error.
    pub async fn play(&self) -> Result<Vec<InvocationOutcome>, Hopeless> {
        let one = |end: InvocationOutcome| vec![end];
        match self.kind {
            Kind::Effects | Kind::Fan => self.effects().await.map(one),
            Kind::Collect => self.collect().await.map(one),
            Kind::Ask => self.ask().await.map(one),
            Kind::Announce => self.announce().await.map(one),
            Kind::Hold => self.hold().await.map(one),
            Kind::Counter => self.counter().await,
            Kind::Hall => self.hall().await,
            Kind::Desk => self.desk().await.map(one),
            Kind::Roll => self.roll().await,
            Kind::Voyage => self.voyage().await.map(one),
            Kind::Planned => self.planned().await.map(one),
            Kind::Schedule => self.schedule().await,
            Kind::Brief => self.brief().await.map(one),
        }
    }

    /// Starts a function of the module.
    async fn start(&self, id: &str, function: &str, input: Value) -> Result<(), Hopeless> {
        let start = StartInvocation {
            id: Some(id.to_owned()),
            target: format!("{MODULE}/{function}"),
            input,
            ..StartInvocation::default()
        };
        let what = format!("starting `{id}`");
        self.outside.ask(&what, &[], async |host| host.start(&start).await).await.map(drop)
    }

    /// The start that precedes a message to a workflow that may not exist yet.
    fn start_first(function: &str, input: Value) -> Option<StartFirst> {
        let target = format!("{MODULE}/{function}");
        Some(StartFirst { target, input, ..StartFirst::default() })
    }

    /// Waits for an execution to end. Returns its outcome.
    async fn end(&self, id: &str) -> Result<InvocationOutcome, Hopeless> {
        let what = format!("the end of `{id}`");
        loop {
            let seen = self.outside.ask(&what, &[], async |host| host.wait(id, WAIT).await).await?;
            if seen.state.is_settled() {
                return Ok(seen);
            }
            if seen.state == InvocationState::Halted {
                self.complain(&format!("`{id}` is halted: {:?}", seen.note));
                return Err(Hopeless);
            }
            self.outside.pause(&what, &seen.state).await?;
        }
    }

    /// Place of effects in the ledger.
    fn place(&self, flow: &str) -> Value {
        json!({ "ledger": self.outside.ledger, "flow": flow })
    }

    fn must_be(&self, end: &InvocationOutcome, wanted: &Value) {
        if end.state != InvocationState::Resolved || end.output.as_ref() != Some(wanted) {
            let (id, state, output, failure) = (&end.id, end.state, &end.output, &end.failure);
            self.complain(&format!(
                "`{id}` must come to {wanted} and is {state}: {output:?} {failure:?}"
            ));
        }
    }

    /// Records the error of an oracle as a finding.
    fn judge(&self, verdict: Verdict) {
        if let Err(wrong) = verdict {
            self.complain(&wrong);
        }
    }

    fn complain(&self, what: &str) {
        self.outside.findings.add(format!("{} `{}`: {what}", self.kind.name(), self.id));
    }
}
