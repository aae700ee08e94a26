//! Checks of new code against the journals of what is in flight.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{InvocationState, Replay};

/// The body of `POST /v1/modules/{module}/check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The module to check, by alias or digest.
    pub candidate: String,
    /// How many of the latest executions that have ended are replayed as well, on this page and the
    /// following.
    #[serde(default)]
    pub ended: u32,
    /// For how many executions that repeat every record it is counted what a replay costs on their
    /// own code and on the candidate, on this page. The code that counts is compiled the first
    /// time.
    #[serde(default)]
    pub costs: u32,
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Maximum number of executions on a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// What a module does with the journal of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckVerdict {
    /// It repeats every record.
    Same,
    /// It asks for something else than a record; `replay` has the details.
    Diverges,
    /// It fails in the replay, or lacks the function; `replay` or `reason` has the details.
    Fails,
    /// Nothing is recorded yet.
    NotStarted,
    /// There is nothing to compare, for this `reason`.
    Incomparable,
    /// It runs on the module already.
    There,
    /// The journal cannot be read, for this `reason`.
    Damaged,
}

/// An execution that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckedExecution {
    /// The id of the invocation.
    pub id: String,
    /// The function.
    pub function: String,
    /// Its state when the check began.
    pub state: InvocationState,
    /// The digest of the module that it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Number of records in its journal.
    pub records: u32,
    /// What was found.
    pub verdict: CheckVerdict,
    /// The replay, where it was not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// What a replay costs, where it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostComparison>,
    /// Why there is no replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a replay of the same records costs on two modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CostComparison {
    /// On the module that the execution runs on.
    pub own: ReplayCost,
    /// On the candidate.
    pub candidate: ReplayCost,
}

/// What a replay costs: counted, and so the same on every host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayCost {
    /// Wasm instructions.
    pub instructions: u64,
    /// Bytes of memory at the end of the replay. An instance gives nothing back before it ends.
    pub memory_bytes: u64,
}

/// A page of executions that were checked, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckPage {
    /// The digest of the candidate.
    pub candidate: String,
    /// The executions.
    pub items: Vec<CheckedExecution>,
    /// How many ended ones are still to be found.
    pub ended: u32,
    /// Continues after this page; absent: this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /v1/modules/{module}/shadow`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShadowRequest {
    /// The module that runs beside, by alias or digest.
    pub candidate: String,
    /// How long it does so, in milliseconds; a minute at the most. 0: one look.
    #[serde(default)]
    pub wait_ms: u64,
    /// The ids of executions that are known to differ, and are not answered again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

/// What a module did beside live executions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShadowLook {
    /// The digest of the module.
    pub candidate: String,
    /// Number of executions that it followed.
    pub executions: u64,
    /// Number of their records that were compared, each once.
    pub records: u64,
    /// The executions that it does not follow any further, and why.
    pub differences: Vec<CheckedExecution>,
}

/// The body of `POST /v1/invocations/{id}/move`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveInvocation {
    /// The module that is to run it, by alias or digest.
    pub module: String,
}

/// The answer: the execution runs on another module from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Moved {
    /// The id of the invocation.
    pub id: String,
    /// The digest of the module.
    pub module: String,
    /// Number of records that the module repeated.
    pub records: u32,
}
