//! The kinds of flows.

use std::str::FromStr;

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
