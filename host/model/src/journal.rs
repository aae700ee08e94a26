//! Journals in a form for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::FailureView;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordKind {
    /// The beginning: function, input, module.
    Started,
    /// Something that the function asked for.
    Command,
    /// What became of a command.
    Notified,
    /// A signal that the function was told of.
    Signal,
    /// The function was told of its cancellation.
    Cancelled,
    /// The end.
    Finished,
}

/// An outcome: a value, a failure, or (`{}`) nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutcomeView {
    /// The value, on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The failure, otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalRecord {
    /// Its place, from 0.
    pub seq: u32,
    /// When it happened, in the invocation's logical time.
    pub at_ms: i64,
    /// What it is.
    pub kind: RecordKind,
    /// The command's index, for commands and what became of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The kind of the command: `call`, `sleep`, `run`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The called function, the run's or the signal's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was asked with the command; the input, for the first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// The module's digest, for the first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// A part of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalPage {
    /// The invocation.
    pub id: String,
    /// The records, in order.
    pub records: Vec<JournalRecord>,
    /// Pass it as `from` for the next page; absent when there was nothing further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}
