//! The parameters of a run: hosts, clients, faults and duration.

use std::{collections::BTreeSet, fmt, path::PathBuf, str::FromStr};

use super::{access::DatabaseAccess, flows::Kind};

/// Parameters of one run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Path of the command `segno`.
    pub segno: PathBuf,
    /// Seed of all random numbers. It does not determine the interleaving of real processes.
    pub seed: u64,
    /// Duration of the faults, in seconds. Running flows may end later.
    pub seconds: u64,
    /// Number of hosts. One uses SQLite, several share a private PostgreSQL.
    pub hosts: usize,
    /// Number of databases of several hosts, each on a server of its own.
    pub databases: usize,
    /// What is between several hosts and their database.
    pub access: DatabaseAccess,
    /// Number of concurrent flows.
    pub clients: usize,
    /// Enabled kinds of faults.
    pub faults: BTreeSet<Fault>,
    /// Enabled kinds of flows, at least one.
    pub flows: Vec<Kind>,
}

/// One kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL, and an immediate restart.
    Kill,
    /// SIGKILL, and a restart after the lease has expired.
    Death,
    /// SIGSTOP past the lease, then SIGCONT.
    Pause,
    /// SIGTERM, and a restart when the host has drained.
    Stop,
    /// All client connections are cut mid-stream.
    Cut,
    /// The ledger answers 503 for a while, or not at all.
    Ledger,
    /// The host's clock jumps forward by up to an hour, and stays ahead.
    Forward,
    /// The host's clock goes back by some seconds.
    Back,
    /// Every write to the data directory fails with `ENOSPC` for a while. Now and then the host is
    /// restarted meanwhile.
    Disk,
    /// The database ends all connections.
    Drop,
    /// The database ends as if its machine had crashed, and restarts.
    Crash,
    /// A database is away past the lease.
    Away,
    /// A shard moves to another database; half of the movers are killed.
    Move,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Self; 13] = [
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
        Self::Away,
        Self::Move,
    ];

    /// Faults that are possible with so many hosts and databases.
    pub fn of(hosts: usize, databases: usize) -> BTreeSet<Self> {
        Self::ALL.into_iter().filter(|fault| fault.is_possible(hosts, databases)).collect()
    }

    fn is_possible(self, hosts: usize, databases: usize) -> bool {
        match self {
            // With several hosts, a data directory holds no state of executions, and the database
            // provides the time.
            Self::Forward | Self::Back | Self::Disk => hosts == 1,
            Self::Drop | Self::Crash | Self::Away => hosts > 1,
            Self::Move => databases > 1,
            Self::Kill | Self::Death | Self::Pause | Self::Stop | Self::Cut | Self::Ledger => true,
        }
    }

    /// Name on the command line.
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
            Self::Away => "away",
            Self::Move => "move",
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
