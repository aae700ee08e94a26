//! Checks of a candidate module against the journals of unfinished executions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{InvocationState, Replay};

/// The body of `POST /v1/modules/{module}/check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The module to check, by alias or digest.
    pub candidate: String,
    /// Number of ended executions, the latest first, that are replayed as well, on this page and
    /// the following ones.
    #[serde(default)]
    pub ended: u32,
    /// Number of executions on this page whose replay cost is measured on their own module and on
    /// the candidate. Only executions that repeat every record count. The instrumented code is
    /// compiled on first use.
    #[serde(default)]
    pub costs: u32,
    /// The `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Maximum number of executions on a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of replaying an execution's journal on a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckVerdict {
    /// The module repeats every record.
    Same,
    /// The module issues a command that differs from the record; `replay` has the details.
    Diverges,
    /// The module fails during the replay, or lacks the function; `replay` or `reason` has the
    /// details.
    Fails,
    /// The journal is still empty.
    NotStarted,
    /// No comparison is possible; `reason` says why.
    Incomparable,
    /// The execution already runs on the module.
    There,
    /// The journal cannot be read; `reason` says why.
    Damaged,
}

/// A checked execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckedExecution {
    /// The id of the invocation.
    pub id: String,
    /// The function.
    pub function: String,
    /// State of the execution when the check began.
    pub state: InvocationState,
    /// Digest of the module on which the execution runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Number of records in the journal.
    pub records: u32,
    /// Result of the check.
    pub verdict: CheckVerdict,
    /// The replay, unless the verdict is `same`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// Replay costs on both modules, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostComparison>,
    /// The reason why there is no replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Cost of replaying the same records on two modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CostComparison {
    /// Cost on the module on which the execution runs.
    pub own: ReplayCost,
    /// Cost on the candidate.
    pub candidate: ReplayCost,
}

/// Cost of a replay. Both numbers are deterministic: they are the same on every host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayCost {
    /// Number of executed wasm instructions.
    pub instructions: u64,
    /// Bytes of linear memory at the end of the replay. An instance frees no memory before it ends.
    pub memory_bytes: u64,
}

/// A page of checked executions, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckPage {
    /// The digest of the candidate.
    pub candidate: String,
    /// The checked executions.
    pub items: Vec<CheckedExecution>,
    /// Number of ended executions that remain to be found, for the next page.
    pub ended: u32,
    /// Cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /v1/modules/{module}/shadow`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShadowRequest {
    /// The module to run as a shadow, by alias or digest.
    pub candidate: String,
    /// Duration of the observation in milliseconds, at most 60,000. 0 returns the current state
    /// without waiting.
    #[serde(default)]
    pub wait_ms: u64,
    /// Ids of executions already known to differ; the answer omits them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

/// Observations of a module that runs as a shadow of live executions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShadowLook {
    /// The digest of the module.
    pub candidate: String,
    /// Number of executions that the module follows.
    pub executions: u64,
    /// Number of compared records of these executions; each record counts once.
    pub records: u64,
    /// The executions that the module no longer follows, with the reason.
    pub differences: Vec<CheckedExecution>,
}

/// The body of `POST /v1/invocations/{id}/move`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveInvocation {
    /// The target module, by alias or digest.
    pub module: String,
}

/// The answer to a move: the execution runs on the new module from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Moved {
    /// The id of the invocation.
    pub id: String,
    /// Digest of the new module.
    pub module: String,
    /// Number of records that the new module repeated.
    pub records: u32,
}
