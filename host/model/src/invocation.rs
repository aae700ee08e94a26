//! Invocations as they are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::FailureView;

/// Where an invocation stands: the task's state while it lasts, the promise's afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvocationState {
    /// Waits for a worker, or for its time.
    Pending,
    /// A worker runs it.
    Acquired,
    /// Waits for a promise.
    Suspended,
    /// Stopped for a person to look at; `note` says why.
    Halted,
    /// Ended with a value.
    Resolved,
    /// Ended with a failure.
    Rejected,
    /// Cancelled or killed.
    Cancelled,
    /// Its deadline passed first.
    TimedOut,
}

impl InvocationState {
    /// All of them, in the order in which they are passed through.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Acquired,
        Self::Suspended,
        Self::Halted,
        Self::Resolved,
        Self::Rejected,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// As it is written in JSON and in filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Acquired => "acquired",
            Self::Suspended => "suspended",
            Self::Halted => "halted",
            Self::Resolved => "resolved",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
        }
    }

    /// The state with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Nothing changes any more.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Resolved | Self::Rejected | Self::Cancelled | Self::TimedOut)
    }
}

impl std::fmt::Display for InvocationState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// How far a requested cancellation got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CancelProgress {
    /// Nobody asked for one.
    None,
    /// Asked for; the function has not been told yet.
    Requested,
    /// The function was told and may clean up.
    Delivered,
}

/// Who runs an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    /// The host's name.
    pub node: String,
    /// How often that host had been started then.
    pub incarnation: u64,
    /// Until when the claim lasts unless it is extended.
    pub until_at_ms: i64,
}

/// How far an activity got, as it said with its heartbeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// What it said last; the next attempt is told the same.
    pub value: Value,
    /// When it last got on.
    pub at_ms: i64,
}

/// The last error, or why an invocation is halted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Note {
    /// For programs, for example `divergence` or `trap`.
    pub kind: String,
    /// For people.
    pub message: String,
    /// The whole report, if there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// What something waits for is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitKind {
    /// The result of another invocation.
    Call,
    /// An instant.
    Timer,
    /// A signal sent to it.
    Signal,
    /// A promise that is settled from outside.
    Promise,
}

/// One thing that an invocation waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Wait {
    /// The awaited promise.
    pub id: String,
    /// What kind of thing it is.
    pub kind: WaitKind,
    /// The called function's address, for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// When the wait ends by itself: a timer's instant, a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvocationSummary {
    /// Its id.
    pub id: String,
    /// The address of its function.
    pub target: String,
    /// Its function by name; absent where a worker outside has it and the name is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where it stands.
    pub state: InvocationState,
    /// Failed attempts since it last got on.
    pub attempt: u32,
    /// The invocation that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Records in its journal.
    pub journal_len: u32,
    /// When it was made.
    pub created_at_ms: i64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
}

/// A page of a listing, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvocationPage {
    /// The lines.
    pub items: Vec<InvocationSummary>,
    /// Those of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// Pass it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Something whose rows are there and cannot be read, or that the database refuses to go on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnreadableRow {
    /// What it is: promise, schedule, message or resource.
    pub kind: String,
    /// Its id; of a message, that of the promise it is about.
    pub id: String,
    /// What is wrong.
    pub reason: String,
}

/// Where an invocation stands and what it ended with: what those need who wait for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InvocationOutcome {
    /// Its id.
    pub id: String,
    /// The address of its function.
    pub target: String,
    /// Where it stands.
    pub state: InvocationState,
    /// Failed attempts since it last got on.
    pub attempt: u32,
    /// The last error, or why it is halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// When it was made.
    pub created_at_ms: i64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// What it resolved with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// Everything that is known of an invocation, without its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Invocation {
    /// Its id.
    pub id: String,
    /// The address of its function.
    pub target: String,
    /// The module it was pinned to, by digest, when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its function.
    pub function: String,
    /// Where it stands.
    pub state: InvocationState,
    /// Failed attempts since it last got on.
    pub attempt: u32,
    /// Changes of hands so far.
    pub version: u64,
    /// How far a requested cancellation got.
    pub cancel: CancelProgress,
    /// Signals sent so far.
    pub signals: u32,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// How far it got, if it is an activity that says so and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// While pending: when it is offered again, or first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// The last error, or why it is halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// What it waits for, at most 100 of them.
    pub waits: Vec<Wait>,
    /// How many things it waits for.
    pub waits_count: u32,
    /// Who waits for it.
    pub awaited_by: Vec<String>,
    /// The invocation that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Invocations that it called, newest first, at most 100.
    pub children: Vec<InvocationSummary>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Records in its journal.
    pub journal_len: u32,
    /// When it was made.
    pub created_at_ms: i64,
    /// Not before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_ms: Option<i64>,
    /// Its deadline, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// What it was started with.
    pub input: Value,
    /// What it resolved with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}
