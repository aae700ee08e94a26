//! What a replay found.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// How a replay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayVerdict {
    /// Every record came again.
    Identical,
    /// Something else came: `divergence` says what.
    Diverged,
    /// The module trapped, or could not be run.
    Failed,
}

/// A field in which what was asked differs from what is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldDifference {
    /// The field.
    pub field: String,
    /// As it is recorded.
    pub recorded: String,
    /// As it was asked.
    pub asked: String,
}

/// The first difference between a journal and what a module asks for when it is told the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DivergenceView {
    /// The place in the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    /// The command's index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The report in words.
    pub message: String,
    /// The recorded command field by field against the asked one, where both exist.
    pub fields: Vec<FieldDifference>,
    /// Everything that is known, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The body of `POST /v1/invocations/{id}/replay`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The module to run against the journal, by alias or digest; left out: the one that the invocation is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// The answer to a replay. Nothing was changed by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Replay {
    /// The invocation.
    pub id: String,
    /// The digest of the module that was run.
    pub module: String,
    /// How it ended.
    pub verdict: ReplayVerdict,
    /// Records that came again as they are recorded.
    pub matched: u32,
    /// Records in the journal; those it had when the replay began, if the execution still runs.
    pub journal_len: u32,
    /// Whether the execution had not ended when the replay began: then the verdict is about the records so far.
    #[serde(default)]
    pub running: bool,
    /// What differed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divergence: Option<DivergenceView>,
    /// Why the module could not be run to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
