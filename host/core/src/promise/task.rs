//! The claim on producing one promise's value. A task has the promise's id and lives exactly as
//! long as it.

use serde::{Deserialize, Serialize};

use super::Lease;
use crate::{
    id::{Digest, PromiseId, Version},
    time::{Millis, Timestamp},
    value::{Bytes, Text},
};

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The promise it produces.
    pub id: PromiseId,
    /// Raised whenever its claim changes hands. At birth it is the store's first version, which is
    /// above that of every task that was removed: 0 in a store from which nothing was.
    pub version: Version,
    /// Where it stands.
    pub state: TaskState,
    /// Failed attempts since the last stored record, with those that had begun when their claim was
    /// lost.
    pub attempt: u32,
    /// Claims lost in a row: holders that died or stalled.
    pub losses: u32,
    /// The last trap, and how often it came at that place.
    pub traps: Option<Traps>,
    /// The module it runs, for a function of one; fixed when the promise was made.
    pub module: Option<Digest>,
    /// The last error, or why it is halted.
    pub note: Option<Note>,
    /// How far the present or last claim got.
    pub progress: Progress,
    /// How long its lease may be extended without progress.
    pub stall_limit: Option<Millis>,
    /// When its holder was last heard.
    pub last_heartbeat: Option<Timestamp>,
    /// The claim that settled it, when a claim did.
    pub fulfilled_by: Option<Version>,
    /// Whether it was asked to stop.
    pub cancel: CancelState,
    /// How many signals it was sent.
    pub signals: u32,
    /// Whether it made attached promises that are not commands of its journal.
    pub children: bool,
    /// Signals, and promises that were settled early, as far as the workflow took note of them.
    pub inbox: Inbox,
    /// How many generations followed this one; of a generation after the first, none is counted here.
    pub successors: u32,
}

/// The most promises that may be settled before a workflow makes them.
pub const KEPT_MAX: usize = 1_024;

/// How far a workflow took note of what it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    /// How many signals its journal tells of; none: it began under a version that did not count.
    pub heard: Option<u32>,
    /// How many of those its author's code never read, as it said itself at its end.
    pub unread: u32,
    /// Names of promises that were settled and that it has not made, in that order.
    pub kept: Vec<Text>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { heard: Some(0), unread: 0, kept: Vec::new() }
    }
}

/// Where a task stands; each state carries only what is true in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    /// Waiting for a worker.
    Pending {
        /// Since when: from its first offer on, if it may be taken.
        since: Timestamp,
        /// When it is offered, or offered again.
        retry_at: Timestamp,
        /// Whether it may be taken now; otherwise it waits for `retry_at`.
        offered: bool,
    },
    /// Held by one worker until the lease runs out.
    Acquired {
        /// The claim's deadline and holder.
        lease: Lease,
    },
    /// Parked until an awaited promise settles.
    Suspended,
    /// Stopped for a person to look at.
    Halted {
        /// Why; the task's note says more.
        reason: HaltReason,
    },
    /// Its promise settled; nothing moves it again.
    Fulfilled,
}

/// A task's state by name. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum TaskStatus {
    /// Waiting for a worker.
    Pending = 1,
    /// Held by one worker.
    Acquired = 2,
    /// Parked.
    Suspended = 3,
    /// Stopped for a person.
    Halted = 4,
    /// Done.
    Fulfilled = 5,
}

/// Why a task is halted. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum HaltReason {
    /// Cancellation was requested.
    Requested = 1,
    /// Its host says that running it makes no sense: it diverged from its journal, or waits for
    /// nothing.
    Reported = 2,
    /// It failed more often than the host's limit allows.
    Exhausted = 3,
    /// It lost too many claims in a row: it may be killing its hosts.
    Lost = 4,
    /// It trapped in the same way at the same place too often.
    Trapped = 5,
    /// Its rows contradict each other; damage from outside.
    Damaged = 6,
}

/// The kind of the note of a task that has ended, and whose journal was removed.
pub const JOURNAL_REMOVED: &str = "journal-removed";

/// The result of an attempt, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// A short stable word: `trap`, `divergence`, `failure`…
    pub kind: Text,
    /// One sentence.
    pub message: Text,
    /// A report for programs; the value of the promise, if giving up rejects it.
    pub details: Bytes,
}

/// How far a claim got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Grows with every step the holder reports.
    pub seq: u64,
    /// When it last grew.
    pub at: Timestamp,
    /// What the holder wants its successor to know.
    pub payload: Option<Bytes>,
}

/// Whether a task was asked to stop.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum CancelState {
    /// No.
    #[default]
    None,
    /// Yes, and it has not been told.
    Requested,
    /// Yes, and its journal says so, or it ended as cancelled.
    Delivered,
    /// Yes, and it ended by itself before that reached it. Stored under the number of
    /// [`CancelState::Requested`], which a task that has ended cannot be otherwise.
    Missed,
}

impl CancelState {
    /// The stored number.
    pub fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Requested | Self::Missed => 1,
            Self::Delivered => 2,
        }
    }

    /// The variant with this stored number, of a task in this state.
    pub fn from_number(number: u8, status: TaskStatus) -> Option<Self> {
        match (number, status) {
            (0, _) => Some(Self::None),
            (1, TaskStatus::Fulfilled) => Some(Self::Missed),
            (1, _) => Some(Self::Requested),
            (2, _) => Some(Self::Delivered),
            _ => None,
        }
    }

    /// The state after the promise was settled: `cancelled` if its holder settled it so.
    pub fn at_end(self, cancelled: bool) -> Self {
        match self {
            Self::Requested if cancelled => Self::Delivered,
            Self::Requested => Self::Missed,
            Self::None | Self::Delivered | Self::Missed => self,
        }
    }
}

/// What makes two traps equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapKey {
    /// The journal's length when it trapped.
    pub journal_len: u32,
    /// The trap's message.
    pub message: Text,
}

/// Equal traps in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traps {
    /// Which trap.
    pub key: TrapKey,
    /// How often.
    pub count: u32,
}

/// Why a holder gives its claim back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseReason {
    /// Others should have a turn.
    Yield,
    /// The host stops.
    Shutdown,
    /// The host has no room for it just now: it is offered again after this wait, and no attempt
    /// was made.
    NoRoom {
        /// How long.
        wait: Millis,
    },
    /// The attempt failed; another follows after `retry_after`, else after the host's own back-off.
    Failed {
        /// The wait the call's own policy asks for.
        retry_after: Option<Millis>,
        /// What went wrong.
        error: Note,
        /// Set when the guest trapped: equal traps are counted.
        trap: Option<TrapKey>,
    },
    /// Another attempt makes no sense; a person should look.
    Halt {
        /// Why.
        report: Note,
    },
}

impl Task {
    /// How many of its signals nobody read, as far as that was counted: those that it was not told, and those
    /// of which it said so.
    pub fn unread_signals(&self) -> u32 {
        let told = self.inbox.heard.unwrap_or(self.signals);
        self.signals.saturating_sub(told).saturating_add(self.inbox.unread)
    }

    /// The newest generation of the invocation, if another one followed the first.
    pub fn newest(&self) -> Option<PromiseId> {
        (self.successors > 0).then(|| self.id.generation(self.successors.saturating_add(1)))
    }

    /// When and that the journal of a task that has ended was removed, if it was.
    pub fn journal_removed(&self) -> Option<&Note> {
        let has_ended = self.state == TaskState::Fulfilled;
        self.note.as_ref().filter(|note| has_ended && note.kind.as_str() == JOURNAL_REMOVED)
    }

    /// A task as it is born: never claimed, at the store's first version.
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
            progress: Progress::default(),
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

    /// Whether the attempt under the present claim has begun, as far as its holder has said so: an
    /// attempt begins with its first progress.
    pub fn has_begun(&self) -> bool {
        self.progress.seq > 0
    }

    /// Its state by name.
    pub fn status(&self) -> TaskStatus {
        self.state.status()
    }

    /// The lease, while the task is held.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            TaskState::Acquired { lease } => Some(lease),
            TaskState::Pending { .. }
            | TaskState::Suspended
            | TaskState::Halted { .. }
            | TaskState::Fulfilled => None,
        }
    }

    /// The instant at which its timer fires: the next offer, or the end of the lease.
    pub fn due_at(&self) -> Option<Timestamp> {
        match &self.state {
            TaskState::Pending { retry_at, .. } => Some(*retry_at),
            TaskState::Acquired { lease } => Some(lease.until),
            TaskState::Suspended | TaskState::Halted { .. } | TaskState::Fulfilled => None,
        }
    }
}

impl TaskState {
    /// The state by name.
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
            /// The stored number.
            pub fn number(self) -> u8 {
                self as u8
            }

            /// The variant with this stored number.
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
