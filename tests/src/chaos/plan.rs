//! The parameters of a run: hosts, clients, faults and duration.

use std::{collections::BTreeSet, fmt, path::PathBuf, str::FromStr};

use super::flows::Kind;

/// One run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The command `segno`.
    pub segno: PathBuf,
    /// The seed of all random numbers. The interleaving of real processes is not determined by it.
    pub seed: u64,
    /// Duration of the faults, in seconds; running flows may end afterwards.
    pub seconds: u64,
    /// Number of hosts. One uses SQLite, several use a PostgreSQL of their own.
    pub hosts: usize,
    /// Number of concurrent flows.
    pub clients: usize,
    /// The kinds of faults.
    pub faults: BTreeSet<Fault>,
    /// The kinds of flows; at least one.
    pub flows: Vec<Kind>,
}

/// One kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL, and a start at once.
    Kill,
    /// SIGKILL, and a start after the lease has run out.
    Death,
    /// SIGSTOP past the lease, then SIGCONT.
    Pause,
    /// SIGTERM, and a start when the host has drained.
    Stop,
    /// All connections of clients are cut in the middle.
    Cut,
    /// The ledger answers 503 for a while, or not at all.
    Ledger,
    /// The host's clock goes forward, by up to an hour, and stays there.
    Forward,
    /// The host's clock goes back by some seconds.
    Back,
    /// Every write to the data directory fails with `ENOSPC` for a while; now and then the host is
    /// started meanwhile.
    Disk,
    /// The database ends all connections.
    Drop,
    /// The database ends as if its machine had crashed, and comes back.
    Crash,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Kill,
        Self::Death,
        Self::Pause,
        Self::Stop,
        Self::Cut,
        Self::Ledger,
        Self::Forward,
        Self::Back,
        Self::Disk,
        Self::Drop,
        Self::Crash,
    ];

    /// Those that can happen to `hosts` hosts.
    pub fn of(hosts: usize) -> BTreeSet<Self> {
        Self::ALL.into_iter().filter(|fault| fault.is_possible(hosts)).collect()
    }

    fn is_possible(self, hosts: usize) -> bool {
        match self {
            // A host's data directory holds no state of executions there, and time is the
            // database's.
            Self::Forward | Self::Back | Self::Disk => hosts == 1,
            Self::Drop | Self::Crash => hosts > 1,
            Self::Kill | Self::Death | Self::Pause | Self::Stop | Self::Cut | Self::Ledger => true,
        }
    }

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Death => "death",
            Self::Pause => "pause",
            Self::Stop => "stop",
            Self::Cut => "cut",
            Self::Ledger => "ledger",
            Self::Forward => "forward",
            Self::Back => "back",
            Self::Disk => "disk",
            Self::Drop => "drop",
            Self::Crash => "crash",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|fault| fault.name() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|fault| fault.name()).collect();
            format!("`{name}` is no fault; there are {}", known.join(", "))
        })
    }
}
