//! The flows: each is started, served from outside, and compared with its expected outcome.

mod brief;
mod counter;
mod desk;
mod hall;
mod planned;
mod roll;
mod schedule;
mod steps;
mod voyage;

use std::{str::FromStr, sync::Arc, time::Duration};

use segno::api::model::{InvocationOutcome, InvocationState, StartFirst, StartInvocation};
use serde_json::{Value, json};

pub use hall::room_was_kept;

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

/// Kind of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Effects, one after the other.
    Effects,
    /// The same effects in concurrent children.
    Fan,
    /// Signals from two senders.
    Collect,
    /// A promise that two clients resolve differently.
    Ask,
    /// Events.
    Announce,
    /// A wait without end, which is cancelled.
    Hold,
    /// Turns of two senders at an object.
    Counter,
    /// Executions behind a limit that all flows of this kind share.
    Hall,
    /// Updates and queries from two senders. The first message starts the workflow.
    Desk,
    /// Signals from two senders to a workflow that continues as new. The first signal starts it.
    Roll,
    /// A saga that is kept, declined, aborted or cancelled.
    Voyage,
    /// A run of a random plan.
    Planned,
    /// A schedule whose occurrences are triggered by request.
    Schedule,
    /// A cancellation or a kill at about the time when the flow ends.
    Brief,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Effects,
        Self::Fan,
        Self::Collect,
        Self::Ask,
        Self::Announce,
        Self::Hold,
        Self::Counter,
        Self::Hall,
        Self::Desk,
        Self::Roll,
        Self::Voyage,
        Self::Planned,
        Self::Schedule,
        Self::Brief,
    ];

    /// Name on the command line, and prefix of the ids of these flows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Effects => "effects",
            Self::Fan => "fan",
            Self::Collect => "collect",
            Self::Ask => "ask",
            Self::Announce => "announce",
            Self::Hold => "hold",
            Self::Counter => "counter",
            Self::Hall => "hall",
            Self::Desk => "desk",
            Self::Roll => "roll",
            Self::Voyage => "voyage",
            Self::Planned => "planned",
            Self::Schedule => "schedule",
            Self::Brief => "brief",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("`{name}` is no kind of flow; there are {}", known.join(", "))
        })
    }
}

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
