//! The faults of a simulation.

use std::fmt;

use segno_sim::CommitFault;

/// Fault that may affect any message, from the start until the faults stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageFault {
    /// A request to the store is lost. Nothing happens, and the caller does not learn the outcome.
    RequestLoss,
    /// An answer of the store is lost.
    AnswerLoss,
    /// A request arrives a second time, later.
    RequestTwice,
    /// Requests and answers take up to this long, each its own time, so that they overtake each
    /// other.
    Delay,
    /// A hint of a commit does not arrive.
    HintLoss,
    /// A hint arrives a second time, later.
    HintTwice,
    /// A message to an external worker or client is lost.
    MessageLoss,
    /// A message to an external worker or client arrives a second time, later.
    MessageTwice,
    /// Hints and messages take up to this long.
    MessageDelay,
}

impl MessageFault {
    /// All kinds.
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

/// Fault of a frame between a host and a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFault {
    /// The stream is cut in place of the frame.
    Cut,
    /// The frame arrives twice, which breaks the protocol.
    Twice,
    /// The frame arrives late, and so do all later frames.
    Late {
        /// Delay, in milliseconds.
        by: i64,
    },
    /// Neither this frame nor any later one arrives, and neither side gets an error.
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

/// Way in which a deployment is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// The deployment cannot be reached, and data in flight in both directions is lost.
    Down,
    /// The deployment answers each request late.
    Late {
        /// Delay, in milliseconds.
        by: i64,
    },
    /// The deployment accepts requests, and never answers.
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

/// A single fault. Hosts are numbered from 0. Durations are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A fault at a commit of a host. Commits are counted over all hosts from 0.
    Commit {
        /// Number of the commit.
        number: u64,
        how: CommitFault,
    },
    /// A host dies, and restarts under the same name.
    Crash {
        /// Index of the host.
        host: usize,
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// A host is stopped as an operator does, and restarted.
    Stop {
        /// Index of the host.
        host: usize,
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// A host cannot reach the store.
    Partition {
        /// Index of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A host is frozen together with its requests in flight, and continues later as if no time had
    /// passed. Then it repeats everything that it ever sent under claims that have ended.
    Freeze {
        /// Index of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A host's heartbeats are lost.
    HeartbeatLoss {
        /// Index of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A second incarnation of a host begins while the first is up. The older one dies in the end.
    SecondLife {
        /// Index of the host.
        host: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A host's clock differs from the store's from now on.
    Skew {
        /// Index of the host.
        host: usize,
        /// Change of the clock, in milliseconds.
        by: i64,
    },
    /// A host's clock jumps forward.
    Jump {
        /// Index of the host.
        host: usize,
        /// Change of the clock, in milliseconds.
        by: i64,
    },
    /// The store's clock jumps forward.
    StoreJump {
        /// Change of the clock, in milliseconds.
        by: i64,
    },
    /// The next guest that checks for a stall never makes progress.
    Stall,
    /// A worker of the Resonate protocol dies, and restarts under the same name.
    WorkerDeath {
        /// Index of the worker.
        worker: usize,
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// A worker of the Resonate protocol is frozen, and continues later as if no time had passed.
    /// Then it repeats everything that it ever sent under claims.
    WorkerFreeze {
        /// Index of the worker.
        worker: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A worker of the Resonate protocol does not extend its claims.
    WorkerSilence {
        /// Index of the worker.
        worker: usize,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A fault of a frame between hosts and a deployment.
    Frame {
        /// Index of the deployment.
        deployment: usize,
        /// Number of the frame, counted from 0 over all the deployment's attempts and both
        /// directions. [`FrameFault::Twice`] affects the first frame from there on that the
        /// protocol forbids to repeat.
        number: u64,
        how: FrameFault,
    },
    /// A deployment is unavailable.
    Absence {
        /// Index of the deployment.
        deployment: usize,
        how: Absence,
        /// Duration, in milliseconds.
        lasts: i64,
    },
    /// A newer deployment with the same services is registered.
    Upgrade {
        /// Index of the older deployment.
        deployment: usize,
    },
    /// Sets the level of a fault for all messages: a probability in thousandths, or a duration in
    /// milliseconds.
    Message {
        /// Kind of fault.
        what: MessageFault,
        /// Level of the fault.
        level: u64,
    },
}

impl Fault {
    /// Kind of the fault, for the tally.
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
    /// Kind of the fault, for the tally.
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
