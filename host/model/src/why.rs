//! Diagnosis of executions that do not progress.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{BehindLimit, InvocationState, Lease, Note, WaitKind};

/// The reason why an execution, or a promise that it waits for, is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhyReason {
    /// Has ended.
    Ended,
    /// Halted until an operator intervenes; `note` says why.
    Halted,
    /// The module of the execution is not stored.
    ModuleMissing,
    /// Waits for an execution that, perhaps through others, waits for it.
    Deadlocked,
    /// Waits for a limit; if others occupy all places, the next link is the first of them.
    Limit,
    /// Waits for its turn with an object; the next link holds the turn.
    Turn,
    /// Its last attempt failed; the retry is scheduled for a later instant.
    BackingOff,
    /// Its start is scheduled for a later instant.
    Delayed,
    /// Offered to workers, but not claimed by one.
    Offered,
    /// A worker executes it.
    Running,
    /// Waits for the outcome of a call; the next link is the call.
    Call,
    /// Waits for an operator to say if a saga's step took effect.
    SagaStep,
    /// Waits for a promise that is settled from outside.
    Promise,
    /// Waits for a signal.
    Signal,
    /// Waits for a timer.
    Timer,
    /// Suspended without a known awaited promise; `segno doctor` examines such executions.
    Nothing,
}

/// An execution in the chain from the requested one to the cause of its wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhyLink {
    /// The id of the invocation.
    pub id: String,
    /// The address of the function.
    pub target: String,
    /// State of the execution.
    pub state: InvocationState,
    /// The reason why it does not progress.
    pub reason: WhyReason,
    /// The awaited promise, call or timer, or the execution that holds the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The latest time at which it continues without further events: the end of a timer, a delay or
    /// a deadline; the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// Number of other promises that it waits for; each of them may resume it.
    pub others: u32,
    /// The first of those other promises.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<WhyAlternative>,
    /// Messages that it accepts now, as far as its module declares them: signals, updates, the
    /// value of the promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<WhyMessage>,
    /// Names of settled promises that it has not created yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// When the execution was created.
    pub created_at_ms: i64,
    /// Number of failed attempts since its last progress.
    pub attempt: u32,
    /// Last error of the execution, or the reason of its halt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// The lease of the worker that executes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The limit that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<BehindLimit>,
    /// The place in its code where it waits, if it is a workflow of a module and the last link of
    /// the chain: `frames` and `backtrace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Value>,
    /// `segno` commands that resume it.
    pub commands: Vec<String>,
}

/// Another promise that may resume an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyAlternative {
    /// Id of the promise.
    pub id: String,
    /// Kind of the promise.
    pub kind: WaitKind,
    /// When the promise settles without further events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
}

/// A message that an execution declares to accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyMessage {
    /// `signal`, `update` or `promise`.
    pub kind: String,
    /// Name of the message.
    pub name: String,
    /// The type of the value in one word: `boolean`, `string`, `object`, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// The chain from an execution to the cause of its wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The execution, what it waits for, and so on; the last link is the cause.
    pub chain: Vec<WhyLink>,
    /// A deadlock: each execution waits for the next, the last one for the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<String>,
    /// True if the chain is longer than shown.
    #[serde(default)]
    pub more: bool,
}
