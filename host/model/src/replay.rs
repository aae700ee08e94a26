//! Replays of journals.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Note;

/// The result of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayVerdict {
    /// Every record was reproduced.
    Identical,
    /// A command differs; `divergence` has the details.
    Diverged,
    /// The module trapped, or could not be run.
    Failed,
}

/// A field of a command that differs from the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldDifference {
    /// The name of the field.
    pub field: String,
    /// The recorded value, as text.
    pub recorded: String,
    /// The value in the replay, as text.
    pub asked: String,
}

/// The first difference between a journal and the commands of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DivergenceView {
    /// The index of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    /// The index of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Description of the difference in one sentence.
    pub message: String,
    /// The differing fields of the recorded and the replayed command, if both exist.
    pub fields: Vec<FieldDifference>,
    /// Further data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The body of `POST /v1/invocations/{id}/replay`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The module to run, by alias or digest. Absent: the module to which the invocation is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Number of records to replay, from the first on; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub at: Option<u32>,
}

/// A command that is open at the end of a replay, and the place in the code that issued it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenPlaceView {
    /// The index of the command.
    pub index: u32,
    /// The kind of the command.
    pub command: String,
    /// Id of the promise that completes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
    /// The stack of the code: `frames`, the author's own, and `backtrace`, all of it as text.
    /// Absent if unknown, and for all but the first commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The answer to a replay. A replay changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Replay {
    /// The id of the invocation.
    pub id: String,
    /// The digest of the module that was run.
    pub module: String,
    /// Result of the replay.
    pub verdict: ReplayVerdict,
    /// Number of records reproduced.
    pub matched: u32,
    /// Number of records in the journal, or the number of records to replay. For an execution that
    /// had not ended, the number of records when the replay began.
    pub journal_len: u32,
    /// True if the execution had not ended when the replay began; the result then covers the
    /// records up to that time.
    #[serde(default)]
    pub running: bool,
    /// The first difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divergence: Option<DivergenceView>,
    /// With `at`: the commands open at that position, and the places in the code of the
    /// invocation's module that issued them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenPlaceView>,
    /// The error that kept the module from running to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error that kept the module from running to the end. If the replay was identical: why the
    /// last attempt of the execution ended after the last record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}
