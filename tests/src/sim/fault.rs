//! The faults of a simulation.

use std::fmt;

/// What happens to the host at a commit with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// The host dies before the commit: nothing was written.
    CrashBefore,
    /// The host dies after the commit: everything was written, and the host does not learn it.
    CrashAfter,
    /// The commit happened, and its outcome is reported as unknown.
    UnknownButDone,
    /// The commit did not happen, and its outcome is reported as unknown.
    UnknownAndLost,
}

impl CommitFault {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::CrashBefore, Self::CrashAfter, Self::UnknownButDone, Self::UnknownAndLost];
}

/// What may happen to any message, from the beginning until the faults stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageFault {
    /// A request to the store is lost: nothing happened, and the caller does not know.
    RequestLoss,
    /// An answer of the store is lost.
    AnswerLoss,
    /// A request arrives a second time, later.
    RequestTwice,
    /// Requests and answers take this long at most, each its own time, so that they overtake each
    /// other.
    Delay,
    /// A hint of a commit does not arrive.
    HintLoss,
    /// A hint arrives a second time, later.
    HintTwice,
    /// A message to a worker or client outside is lost.
    MessageLoss,
    /// Such a message arrives a second time, later.
    MessageTwice,
    /// Hints and messages take this long at most.
    MessageDelay,
}

impl MessageFault {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::RequestLoss,
        Self::AnswerLoss,
        Self::RequestTwice,
        Self::Delay,
        Self::HintLoss,
        Self::HintTwice,
        Self::MessageLoss,
        Self::MessageTwice,
        Self::MessageDelay,
    ];
}

/// What happens to a frame between a host and a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFault {
    /// The stream is cut instead.
    Cut,
    /// It arrives twice, which breaks the protocol.
    Twice,
    /// It arrives late, with all that follow.
    Late {
        /// By how much, in milliseconds.
        by: i64,
    },
    /// It is the last one that arrives, and nobody is told.
    Silence,
}

impl FrameFault {
    fn kind(self) -> &'static str {
        match self {
            Self::Cut => "stream cut at a frame",
            Self::Twice => "frame twice",
            Self::Late { .. } => "frame late",
            Self::Silence => "stream silent after a frame",
        }
    }
}

/// How a deployment is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// It cannot be reached, and what it was about to send and receive is lost.
    Down,
    /// It answers each request late.
    Late {
        /// By how much, in milliseconds.
        by: i64,
    },
    /// It takes requests, and never answers.
    Silent,
}

impl Absence {
    fn kind(self) -> &'static str {
        match self {
            Self::Down => "deployment down",
            Self::Late { .. } => "deployment late",
            Self::Silent => "deployment silent",
        }
    }
}

/// One thing that goes wrong. Hosts are numbered from 0, lengths are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A fault at a commit of a host; commits are counted over all hosts from 0.
    Commit {
        /// The number of the commit.
        number: u64,
        /// The kind of fault.
        how: CommitFault,
    },
    /// A host dies and comes up again under the same name.
    Crash {
        /// The number of the host.
        host: usize,
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// A host is stopped as an operator does, and started again.
    Stop {
        /// The number of the host.
        host: usize,
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// A host cannot reach the store.
    Partition {
        /// The number of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A host is frozen with all its requests under way, and goes on afterwards as if no time had
    /// passed; then everything it ever asked under claims that have ended is asked again.
    Freeze {
        /// The number of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A host's heartbeats do not arrive.
    HeartbeatLoss {
        /// The number of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A second life of a host begins while the first goes on; the older one dies at last.
    SecondLife {
        /// The number of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A host's clock differs from the store's from now on.
    Skew {
        /// The number of the host.
        host: usize,
        /// Change of the clock, in milliseconds.
        by: i64,
    },
    /// A host's clock jumps forward.
    Jump {
        /// The number of the host.
        host: usize,
        /// Change of the clock, in milliseconds.
        by: i64,
    },
    /// The store's clock jumps forward.
    StoreJump {
        /// Change of the clock, in milliseconds.
        by: i64,
    },
    /// The next guest that looks for it makes no progress for ever.
    Stall,
    /// A worker of the Resonate protocol dies and comes up again under the same name.
    WorkerDeath {
        /// The number of the worker.
        worker: usize,
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// Such a worker is frozen, and goes on afterwards as if no time had passed; then everything it
    /// ever sent under claims is sent again.
    WorkerFreeze {
        /// The number of the worker.
        worker: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// Such a worker does not extend its claims.
    WorkerSilence {
        /// The number of the worker.
        worker: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A fault of a frame between hosts and a deployment.
    Frame {
        /// The number of the deployment.
        deployment: usize,
        /// The number of the frame, counted over all its attempts and both directions from 0. The first frame from it
        /// on that the protocol forbids twice comes twice.
        number: u64,
        /// The kind of fault.
        how: FrameFault,
    },
    /// A deployment is away.
    Absence {
        /// The number of the deployment.
        deployment: usize,
        /// How.
        how: Absence,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A newer deployment is registered, which has the same services.
    Upgrade {
        /// The number of the older one.
        deployment: usize,
    },
    /// All messages have this risk; the level is a probability in thousandths, or milliseconds.
    Message {
        /// The risk.
        what: MessageFault,
        /// The level of the risk.
        level: u64,
    },
}

impl Fault {
    /// Its kind, for the tally.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Commit { how: CommitFault::CrashBefore, .. } => "crash before a commit",
            Self::Commit { how: CommitFault::CrashAfter, .. } => "crash after a commit",
            Self::Commit { how: CommitFault::UnknownButDone, .. } => "unknown outcome, done",
            Self::Commit { how: CommitFault::UnknownAndLost, .. } => "unknown outcome, lost",
            Self::Crash { .. } => "crash and restart of a node",
            Self::Stop { .. } => "orderly stop and restart",
            Self::Partition { .. } => "partition",
            Self::Freeze { .. } => "zombie after its lease",
            Self::HeartbeatLoss { .. } => "heartbeats lost",
            Self::SecondLife { .. } => "two lives of one node",
            Self::Skew { .. } => "clock skew",
            Self::Jump { .. } => "clock jump",
            Self::StoreJump { .. } => "clock jump of the store",
            Self::Stall => "stalled guest",
            Self::WorkerDeath { .. } => "worker dead and back",
            Self::WorkerFreeze { .. } => "worker frozen",
            Self::WorkerSilence { .. } => "worker without heartbeats",
            Self::Frame { how, .. } => how.kind(),
            Self::Absence { how, .. } => how.kind(),
            Self::Upgrade { .. } => "newer deployment",
            Self::Message { what, .. } => what.kind(),
        }
    }

    /// Every kind, as [`Fault::kind`] and the tally name them.
    pub const KINDS: [&'static str; 36] = [
        "crash before a commit",
        "crash after a commit",
        "unknown outcome, done",
        "unknown outcome, lost",
        "crash and restart of a node",
        "orderly stop and restart",
        "partition",
        "zombie after its lease",
        "operations replayed by a zombie",
        "heartbeats lost",
        "two lives of one node",
        "clock skew",
        "clock jump",
        "clock jump of the store",
        "stalled guest",
        "worker dead and back",
        "worker frozen",
        "worker without heartbeats",
        "envelopes sent again by a zombie",
        "stream cut at a frame",
        "frame twice",
        "frame late",
        "stream silent after a frame",
        "deployment down",
        "deployment late",
        "deployment silent",
        "newer deployment",
        "request lost",
        "answer lost",
        "request twice",
        "request delayed",
        "hint lost",
        "hint twice",
        "message lost",
        "message twice",
        "message delayed",
    ];
}

impl MessageFault {
    /// Its kind, for the tally.
    pub fn kind(self) -> &'static str {
        match self {
            Self::RequestLoss => "request lost",
            Self::AnswerLoss => "answer lost",
            Self::RequestTwice => "request twice",
            Self::Delay => "request delayed",
            Self::HintLoss => "hint lost",
            Self::HintTwice => "hint twice",
            Self::MessageLoss => "message lost",
            Self::MessageTwice => "message twice",
            Self::MessageDelay => "message delayed",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit { number, how } => write!(f, "commit {number}: {how:?}"),
            Self::Crash { host, down } => write!(f, "host {host} crashes, down {down} ms"),
            Self::Stop { host, down } => write!(f, "host {host} is stopped, down {down} ms"),
            Self::Partition { host, lasts } => write!(f, "host {host} is cut off for {lasts} ms"),
            Self::Freeze { host, lasts } => write!(f, "host {host} is frozen for {lasts} ms"),
            Self::HeartbeatLoss { host, lasts } => {
                write!(f, "heartbeats of host {host} are lost for {lasts} ms")
            }
            Self::SecondLife { host, lasts } => {
                write!(f, "a second life of host {host}, two for {lasts} ms")
            }
            Self::Skew { host, by } => write!(f, "the clock of host {host} is {by} ms off"),
            Self::Jump { host, by } => write!(f, "the clock of host {host} jumps {by} ms"),
            Self::StoreJump { by } => write!(f, "the store's clock jumps {by} ms"),
            Self::Stall => write!(f, "a guest stalls"),
            Self::WorkerDeath { worker, down } => {
                write!(f, "worker {worker} dies, down {down} ms")
            }
            Self::WorkerFreeze { worker, lasts } => {
                write!(f, "worker {worker} is frozen for {lasts} ms")
            }
            Self::WorkerSilence { worker, lasts } => {
                write!(f, "worker {worker} extends no claim for {lasts} ms")
            }
            Self::Frame { deployment, number, how } => {
                write!(f, "frame {number} of deployment {deployment}: {how:?}")
            }
            Self::Upgrade { deployment } => {
                write!(f, "a newer deployment takes the place of {deployment}")
            }
            Self::Absence { deployment, how, lasts } => {
                write!(f, "deployment {deployment} is {how:?} for {lasts} ms")
            }
            Self::Message { what, level } => write!(f, "{}, level {level}", what.kind()),
        }
    }
}
