//! The kinds of flows.

use std::str::FromStr;

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
    /// Turns at an object, of two senders.
    Counter,
    /// Executions behind a limit that all flows of this kind share.
    Hall,
    /// Updates and queries of two senders, the first of which starts the workflow.
    Desk,
    /// Signals of two senders to a workflow that continues as new, the first of which starts it.
    Roll,
    /// A saga that is kept, declined, aborted or cancelled.
    Voyage,
    /// A run of a random plan.
    Planned,
    /// Starts of a schedule that are triggered.
    Schedule,
    /// A cancellation or a kill at about the time of the end.
    Brief,
}

impl Kind {
    /// All of them.
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

    /// As it is written on the command line, and at the beginning of the ids of its flows.
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
