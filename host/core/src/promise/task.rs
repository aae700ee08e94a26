//! Tasks. A task tracks the claim on producing one promise's value. It has the promise's id and the
//! same lifetime.

use serde::{Deserialize, Serialize};

use super::Lease;
use crate::{
    id::{Digest, PromiseId, Version},
    time::{Millis, Timestamp},
    value::{Bytes, Text},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Id of the promise, and of the task.
    pub id: PromiseId,
    /// Fencing token; rises whenever the claim changes hands. A new task starts at the store's
    /// initial version, which is greater than that of every removed task (0 in a store without
    /// removals).
    pub version: Version,
    pub state: TaskState,
    /// Failed attempts since the last stored record, including attempts that had begun when their
    /// claim was lost.
    pub attempt: u32,
    /// Consecutive lost claims: the holder crashed or stalled.
    pub losses: u32,
    /// The last trap, and its consecutive repetitions.
    pub traps: Option<RepeatedTrap>,
    /// The module it runs, if the target is a function of a module. Pinned when the promise is
    /// created.
    pub module: Option<Digest>,
    /// The last error, or the reason for a halt.
    pub note: Option<Note>,
    /// Progress of the current or last claim.
    pub progress: ClaimProgress,
    /// Maximum time that its lease is extended without progress.
    pub stall_limit: Option<Millis>,
    /// Last heartbeat of its holder.
    pub last_heartbeat: Option<Timestamp>,
    /// Version of the claim that settled it. `None` if no claim did.
    pub fulfilled_by: Option<Version>,
    /// State of a stop request.
    pub cancel: CancelState,
    /// Number of signals sent to it.
    pub signals: u32,
    /// True if it created attached promises that are not commands of its journal.
    pub children: bool,
    /// Signals and early-settled promises, as far as the workflow has seen them.
    pub inbox: Inbox,
    /// Number of generations after this one. Only counted on the first generation; 0 on later ones.
    pub successors: u32,
}

/// Maximum number of promises that may be settled before a workflow creates them.
pub const KEPT_MAX: usize = 1_024;

/// Record of how much of its incoming data a workflow has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    /// Number of signals in its journal. `None` if it began under a version that did not count
    /// them.
    pub heard: Option<u32>,
    /// Number of heard signals that the workflow code never read, as reported at its end.
    pub unread: u32,
    /// Names of promises that were settled before the workflow created them, in order of
    /// settlement.
    pub kept: Vec<Text>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { heard: Some(0), unread: 0, kept: Vec::new() }
    }
}

/// State of a task. Each variant holds only the data that is valid in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    Pending {
        /// Start of the wait; from the first offer on, if it can be acquired.
        since: Timestamp,
        /// Time of the next offer.
        retry_at: Timestamp,
        /// True if it can be acquired now; otherwise it waits for `retry_at`.
        offered: bool,
    },
    /// Claimed by one worker until the lease expires.
    Acquired { lease: Lease },
    /// Released until an awaited promise settles.
    Suspended,
    /// Halted until an operator intervenes.
    Halted {
        /// The reason; the task's note has details.
        reason: HaltReason,
    },
    /// The promise settled. The task never changes again.
    Fulfilled,
}

/// State of a task without its data. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum TaskStatus {
    Pending = 1,
    /// Claimed by one worker.
    Acquired = 2,
    /// Waiting for a promise, a turn or a limit.
    Suspended = 3,
    /// Halted until an operator intervenes.
    Halted = 4,
    /// The promise settled.
    Fulfilled = 5,
}

/// Reason why a task is halted. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum HaltReason {
    /// A client requested it (`Command::TaskHalt`).
    Requested = 1,
    /// The host reported that running it is pointless: it diverged from its journal, or waits for
    /// nothing.
    Reported = 2,
    /// The task failed more often than the host's limit allows.
    Exhausted = 3,
    /// The task lost too many consecutive claims and may be crashing its hosts.
    Lost = 4,
    /// The guest trapped too often in the same way at the same place.
    Trapped = 5,
    /// The rows contradict each other, due to external damage.
    Damaged = 6,
}

/// Kind of the note of an ended task whose journal was removed.
pub const JOURNAL_REMOVED: &str = "journal-removed";

/// Result of an attempt, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// A short stable identifier: `trap`, `divergence`, `failure`…
    pub kind: Text,
    /// One sentence for people.
    pub message: Text,
    /// Machine-readable report. Becomes the value of the promise if giving up rejects it.
    pub details: Bytes,
}

/// Progress of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimProgress {
    /// Counter that grows with every step the holder reports.
    pub seq: u64,
    /// Instant at which `seq` last grew.
    pub at: Timestamp,
    /// Checkpoint for the next holder.
    pub payload: Option<Bytes>,
}

/// State of a task's stop request.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum CancelState {
    /// Not requested.
    #[default]
    None,
    /// Requested; the task has not been notified.
    Requested,
    /// The task's journal contains the notification, or the task ended as cancelled.
    Delivered,
    /// Requested, but the task ended by itself before it was notified. Shares the stored number of
    /// [`CancelState::Requested`], which is impossible for a task that has ended.
    Missed,
}

impl CancelState {
    pub fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Requested | Self::Missed => 1,
            Self::Delivered => 2,
        }
    }

    /// The variant with this stored number, for a task in this state. `None` if there is none.
    pub fn from_number(number: u8, status: TaskStatus) -> Option<Self> {
        match (number, status) {
            (0, _) => Some(Self::None),
            (1, TaskStatus::Fulfilled) => Some(Self::Missed),
            (1, _) => Some(Self::Requested),
            (2, _) => Some(Self::Delivered),
            _ => None,
        }
    }

    /// The state after settlement. `cancelled` is true if the holder settled the promise as
    /// cancelled.
    pub fn at_end(self, cancelled: bool) -> Self {
        match self {
            Self::Requested if cancelled => Self::Delivered,
            Self::Requested => Self::Missed,
            Self::None | Self::Delivered | Self::Missed => self,
        }
    }
}

/// Key by which traps are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapKey {
    /// Length of the journal at the trap, in records.
    pub journal_len: u32,
    pub message: Text,
}

/// Consecutive equal traps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatedTrap {
    pub key: TrapKey,
    /// Number of repetitions.
    pub count: u32,
}

/// Reason why a holder gives up its claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseReason {
    /// To let other tasks run.
    Yield,
    /// The host shuts down.
    Shutdown,
    /// The host has no capacity at the moment. The task is offered again after this wait, and no
    /// attempt is counted.
    NoRoom { wait: Millis },
    /// The attempt failed. The next one follows after `retry_after`, or else after the host's
    /// back-off.
    Failed {
        /// Wait that the retry policy of the call requests.
        retry_after: Option<Millis>,
        error: Note,
        /// Set if the guest trapped; equal traps are counted.
        trap: Option<TrapKey>,
    },
    /// Another attempt is pointless; an operator must intervene.
    Halt { report: Note },
}

impl Task {
    /// Number of unread signals, as far as known: signals not delivered, plus those the workflow
    /// reported as unread.
    pub fn unread_signals(&self) -> u32 {
        let told = self.inbox.heard.unwrap_or(self.signals);
        self.signals.saturating_sub(told).saturating_add(self.inbox.unread)
    }

    /// The newest generation of the invocation. `None` if there is only the first.
    pub fn newest(&self) -> Option<PromiseId> {
        (self.successors > 0).then(|| self.id.generation(self.successors.saturating_add(1)))
    }

    /// The note about the removal of its journal, if the task has ended and its journal was
    /// removed.
    pub fn journal_removed(&self) -> Option<&Note> {
        let has_ended = self.state == TaskState::Fulfilled;
        self.note.as_ref().filter(|note| has_ended && note.kind.as_str() == JOURNAL_REMOVED)
    }

    /// A new task: never claimed, at the store's initial version.
    pub fn born(id: PromiseId, version: Version, state: TaskState, module: Option<Digest>) -> Self {
        Self {
            id,
            version,
            state,
            attempt: 0,
            losses: 0,
            traps: None,
            module,
            note: None,
            progress: ClaimProgress::default(),
            stall_limit: None,
            last_heartbeat: None,
            fulfilled_by: None,
            cancel: CancelState::None,
            signals: 0,
            children: false,
            inbox: Inbox::default(),
            successors: 0,
        }
    }

    /// True if the attempt under the current claim has begun, as far as its holder reported: an
    /// attempt begins with its first progress.
    pub fn has_begun(&self) -> bool {
        self.progress.seq > 0
    }

    /// State without its data.
    pub fn status(&self) -> TaskStatus {
        self.state.status()
    }

    /// The lease, while the task is claimed.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            TaskState::Acquired { lease } => Some(lease),
            TaskState::Pending { .. }
            | TaskState::Suspended
            | TaskState::Halted { .. }
            | TaskState::Fulfilled => None,
        }
    }

    /// Instant at which its timer fires: the next offer, or the expiry of the lease.
    pub fn due_at(&self) -> Option<Timestamp> {
        match &self.state {
            TaskState::Pending { retry_at, .. } => Some(*retry_at),
            TaskState::Acquired { lease } => Some(lease.until),
            TaskState::Suspended | TaskState::Halted { .. } | TaskState::Fulfilled => None,
        }
    }
}

impl TaskState {
    /// State without its data.
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Pending { .. } => TaskStatus::Pending,
            Self::Acquired { .. } => TaskStatus::Acquired,
            Self::Suspended => TaskStatus::Suspended,
            Self::Halted { .. } => TaskStatus::Halted,
            Self::Fulfilled => TaskStatus::Fulfilled,
        }
    }
}

impl std::fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Acquired => "acquired",
            Self::Suspended => "suspended",
            Self::Halted => "halted",
            Self::Fulfilled => "fulfilled",
        })
    }
}

macro_rules! stored_numbers {
    ($name:ident: $($variant:ident),*) => {
        impl $name {
            pub fn number(self) -> u8 {
                self as u8
            }

            /// The variant with this stored number. `None` if there is none.
            pub fn from_number(number: u8) -> Option<Self> {
                [$(Self::$variant),*].into_iter().find(|variant| variant.number() == number)
            }
        }
    };
}
stored_numbers!(TaskStatus: Pending, Acquired, Suspended, Halted, Fulfilled);
stored_numbers!(HaltReason: Requested, Reported, Exhausted, Lost, Trapped, Damaged);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_numbers_come_back() {
        for number in 0..=u8::MAX {
            assert_eq!(TaskStatus::from_number(number).is_some(), (1..=5).contains(&number));
            assert_eq!(HaltReason::from_number(number).is_some(), (1..=6).contains(&number));
            for status in [TaskStatus::Acquired, TaskStatus::Fulfilled] {
                let cancel = CancelState::from_number(number, status);
                assert_eq!(cancel.is_some(), (0..=2).contains(&number));
                assert_eq!(cancel.map_or(number, CancelState::number), number);
            }
        }
    }
}
