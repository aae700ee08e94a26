//! Invocations and their listings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use super::{BehindLimit, BudgetAccount, FailureView, ForkedFrom};

/// The state of an invocation: the task's until it ends, the promise's afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvocationState {
    /// Waiting for a worker, or for its start time.
    Pending,
    /// Executed by a worker.
    Acquired,
    /// Waiting for a promise.
    Suspended,
    /// Halted until an operator intervenes; `note` says why.
    Halted,
    /// Ended with a value.
    Resolved,
    /// Ended with a failure.
    Rejected,
    /// Cancelled or killed.
    Cancelled,
    /// Settled by its deadline.
    TimedOut,
}

impl InvocationState {
    /// All states, in the order in which invocations pass through them.
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

    /// The name in JSON and in filters.
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

    /// Returns true if the state is final.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Resolved | Self::Rejected | Self::Cancelled | Self::TimedOut)
    }
}

impl std::fmt::Display for InvocationState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The progress of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CancelProgress {
    /// No cancellation was requested.
    None,
    /// Requested; not yet delivered to the function.
    Requested,
    /// Delivered to the function, which may clean up.
    Delivered,
    /// Requested; the function ended before the request reached it.
    Missed,
}

/// The lease on an invocation's task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    /// The name of the host.
    pub node: String,
    /// The incarnation of the host: the number of its starts.
    pub incarnation: u64,
    /// The end of the lease, unless it is extended.
    pub until_at_ms: i64,
}

/// The progress of an activity, from its heartbeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// The last reported value; the next attempt receives it.
    pub value: Value,
    /// When the activity last made progress.
    pub at_ms: i64,
}

/// The last error, or the reason of a halt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Note {
    /// A word for programs, for example `divergence` or `trap`.
    pub kind: String,
    /// A sentence for people.
    pub message: String,
    /// Further data, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The kind of an awaited promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitKind {
    /// The result of another invocation.
    Call,
    /// The end of the invocation that holds the object's turn before this one.
    Turn,
    /// A timer.
    Timer,
    /// A signal to the invocation.
    Signal,
    /// A promise settled from outside.
    Promise,
}

/// A promise for which an invocation waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Wait {
    /// The awaited promise.
    pub id: String,
    /// The kind of the promise.
    pub kind: WaitKind,
    /// The called function's address, for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// When the wait ends without further events: the instant of a timer, or a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// The state of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<InvocationState>,
    /// Number of failed attempts of a call since its last progress.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// For a pending call: when the task is offered next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// The last error of a call, or the reason of a halt, without `details`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The reason why an invocation cannot continue without intervention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StuckView {
    /// A word for programs: `halted`, `diverged`, `trapped`, `exhausted`, `claims-lost`, `damaged`,
    /// `waits-for-nothing`, `module-missing`, `deadlocked`, `limit-closed`, `no-worker`, `failing`
    /// or `unsettled`.
    pub reason: String,
    /// A sentence for people.
    pub why: String,
}

/// An invocation in a listing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InvocationSummary {
    /// The id of the invocation.
    pub id: String,
    /// The address of the function.
    pub target: String,
    /// The name of the function; absent for external workers if the name is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The state of the invocation.
    pub state: InvocationState,
    /// True if it was killed: cancelled without a chance to clean up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub killed: bool,
    /// Number of failed attempts since the last progress.
    pub attempt: u32,
    /// The last error, or the reason of a halt, without `details`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// The failure of an invocation that did not resolve: the first 500 characters of its message,
    /// without details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// The id of the calling invocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The schedule that started the invocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The origin of the invocation, if it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The labels of the invocation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Why it cannot continue without intervention, if the listing asks for stuck invocations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckView>,
    /// Number of unread signals and unread promises that were settled early.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u32,
    /// Number of records in the journal.
    pub journal_len: u32,
    /// When the invocation was created.
    pub created_at_ms: i64,
    /// When the invocation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
}

/// A page of invocations, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InvocationPage {
    /// The invocations.
    pub items: Vec<InvocationSummary>,
    /// Invocations of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// Addresses of the databases that do not answer, whose rows are left out (`partial`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The `after` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Number of invocations in each state, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<InvocationCounts>,
}

/// Numbers of invocations that match a filter, over all pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvocationCounts {
    /// The numbers by state; states without invocations are omitted.
    pub states: BTreeMap<String, u64>,
    /// True if older invocations were not counted, because only the newest are.
    pub newest_only: bool,
}

/// An object whose rows cannot be read, or that the database cannot write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnreadableRow {
    /// The kind of the object: promise, schedule, message or resource.
    pub kind: String,
    /// The id of the object; for a message, that of its promise.
    pub id: String,
    /// The error.
    pub reason: String,
}

/// The state and the outcome of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InvocationOutcome {
    /// The id of the invocation.
    pub id: String,
    /// The address of the function.
    pub target: String,
    /// The state of the invocation.
    pub state: InvocationState,
    /// True if it was killed: cancelled without a chance to clean up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub killed: bool,
    /// Number of failed attempts since the last progress.
    pub attempt: u32,
    /// The last error, or the reason of a halt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// When the invocation was created.
    pub created_at_ms: i64,
    /// When the invocation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// The output, if resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The failure, if not resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// Messages that a workflow has not read. After its end they stay unread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unread {
    /// Number of signals and updates.
    pub signals: u32,
    /// Names of settled promises that the workflow has not created yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<String>,
}

/// One generation of a workflow that continued as new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Generation {
    /// Id of the invocation, which leads to the newest generation.
    pub of: String,
    /// Number of this generation, from 1; its id is `{of}/g/{number}`.
    pub number: u32,
    /// Number of generations.
    pub generations: u32,
    /// Id of the generation that continues this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An invocation, without its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Invocation {
    /// The id of the invocation.
    pub id: String,
    /// The address of the function.
    pub target: String,
    /// The digest of the module to which the invocation was pinned at its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The name of the function.
    pub function: String,
    /// The state of the invocation.
    pub state: InvocationState,
    /// True if it was killed: cancelled without a chance to clean up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub killed: bool,
    /// Number of failed attempts since the last progress.
    pub attempt: u32,
    /// Version of the task: the number of times that the claim changed hands.
    pub version: u64,
    /// The progress of a cancellation.
    pub cancel: CancelProgress,
    /// Number of signals sent so far.
    pub signals: u32,
    /// Messages that the invocation has not read, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Unread>,
    /// Position among the generations of its invocation, if it continued as new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// The lease of the worker that executes the invocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The progress of an activity that reports it and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// For a pending invocation: when the task is offered next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// The last error, or the reason of a halt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// The awaited promises (at most 100).
    pub waits: Vec<Wait>,
    /// Number of awaited promises.
    pub waits_count: u32,
    /// The limit that applies to the invocation, and why the invocation waits for it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<BehindLimit>,
    /// The invocations of a deadlock that includes this one or blocks it: each waits for the next,
    /// the last one for the first. None of them continues until one is ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deadlock: Vec<String>,
    /// The ids of the invocations that wait for this one.
    pub awaited_by: Vec<String>,
    /// The id of the calling invocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The schedule that started the invocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The origin of the invocation, if it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The called invocations, newest first (at most 100).
    pub children: Vec<InvocationSummary>,
    /// Addresses of databases that do not answer. What it calls and awaits there is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Names of its sagas that have or had something to undo; `/sagas` shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sagas: Vec<String>,
    /// The labels of the invocation.
    pub labels: BTreeMap<String, String>,
    /// The budgets that it draws on, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budget: Vec<BudgetAccount>,
    /// The costs that its last attempt reported, by unit; for activities that have ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub cost: BTreeMap<String, Number>,
    /// Number of records in the journal.
    pub journal_len: u32,
    /// When the invocation was created.
    pub created_at_ms: i64,
    /// The earliest start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_ms: Option<i64>,
    /// The deadline, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
    /// When the invocation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// The input.
    pub input: Value,
    /// The output, if resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The failure, if not resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}
