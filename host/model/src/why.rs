//! Why an execution does not go on.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{BehindLimit, InvocationState, Lease, Note, WaitKind};

/// Why an execution, or a promise that it waits for, is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhyReason {
    /// It has ended.
    Ended,
    /// It is halted, and waits for a person; `note` says why.
    Halted,
    /// The module that it runs is not stored.
    ModuleMissing,
    /// It waits for an execution that waits for it, perhaps through others.
    Deadlocked,
    /// It waits behind a limit; if others have all of its places, the next link is the first of them.
    Limit,
    /// It waits for its turn with an object; the next link has it.
    Turn,
    /// Its last attempt failed, and the next one waits until an instant.
    BackingOff,
    /// Its start is delayed until an instant.
    Delayed,
    /// A worker could take it, and none has.
    Offered,
    /// A worker executes it.
    Running,
    /// It waits for the outcome of a call; the next link is the call.
    Call,
    /// It waits for a person to say whether a step of a saga acted.
    SagaStep,
    /// It waits for a promise that somebody settles.
    Promise,
    /// It waits for a signal.
    Signal,
    /// It waits for an instant.
    Timer,
    /// It is suspended, and nothing is known that it waits for: `segno doctor` looks.
    Nothing,
}

/// An execution in the chain from the one that was asked about to what it waits for in the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhyLink {
    /// The id of the invocation.
    pub id: String,
    /// The address of its function.
    pub target: String,
    /// Its state.
    pub state: InvocationState,
    /// Why it does not go on.
    pub reason: WhyReason,
    /// The promise, call or timer that it waits for, or the execution that has the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// When it goes on by itself at the latest: the end of a timer, of a delay, of a deadline; the
    /// next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// How many other promises it waits for; each of them may set it going.
    pub others: u32,
    /// The first of those others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<WhyAlternative>,
    /// What may be sent to it now, as far as its module says: signals, updates, the value of the promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<WhyMessage>,
    /// The names of promises that were settled, and that it has not made yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// When it was created.
    pub created_at_ms: i64,
    /// Number of failed attempts since its last progress.
    pub attempt: u32,
    /// Its last error, or the reason of its halt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// Who executes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The limit that it waits behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<BehindLimit>,
    /// Where in its code it waits, if it is a workflow of a module and the last of the chain: `frames` and `backtrace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Value>,
    /// What moves it, as commands of `segno`.
    pub commands: Vec<String>,
}

/// Something else that sets an execution going.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyAlternative {
    /// The promise.
    pub id: String,
    /// Its kind.
    pub kind: WaitKind,
    /// When it settles by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
}

/// Something that an execution declares to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyMessage {
    /// `signal`, `update` or `promise`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The type of its value in a word: `boolean`, `string`, `object`, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Why an execution does not go on: the chain from it to what it waits for in the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The execution, what it waits for, what that waits for, and so on: the last is the cause.
    pub chain: Vec<WhyLink>,
    /// Executions that wait for each other: each for the next, the last for the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<String>,
    /// Whether the chain goes on beyond what is shown.
    #[serde(default)]
    pub more: bool,
}
