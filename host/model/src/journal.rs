//! Journals in a readable form.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::FailureView;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordKind {
    /// The first record: function, input, module.
    Started,
    /// A command of the function.
    Command,
    /// The completion of a command.
    Notified,
    /// A signal delivered to the function.
    Signal,
    /// The delivery of a cancellation.
    Cancelled,
    /// The end of the function.
    Finished,
}

/// An outcome: a value, a failure, or (`{}`) neither.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutcomeView {
    /// The value, if successful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The failure, if not successful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// A record of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalRecord {
    /// The index of the record, from 0.
    pub seq: u32,
    /// The logical time of the record.
    pub at_ms: i64,
    /// The kind of the record.
    pub kind: RecordKind,
    /// The index of the command, for commands and their completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The kind of the command: `call`, `sleep`, `run`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The name of the called function, the run or the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments of the command; the input, for the first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The outcome of a completion or of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// The module's digest, in the first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// A page of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalPage {
    /// The id of the invocation.
    pub id: String,
    /// The records, in order.
    pub records: Vec<JournalRecord>,
    /// The `from` of the next page; absent if there are no further records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}
