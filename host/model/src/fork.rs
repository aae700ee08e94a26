//! Forks: invocations that start from a prefix of another invocation's journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use super::{FailureView, OutcomeView};

/// Origin of an invocation that was forked from another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForkedFrom {
    /// Id of the original invocation, which may have been removed since.
    pub id: String,
    /// Number of records copied from the original.
    pub records: u32,
    /// Indexes of the commands whose results the request replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<u32>,
}

/// A result that replaces the recorded result of a command: a value or a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenResult {
    /// The index of the command.
    pub command: u32,
    /// The value; `null` is a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub value: Option<Value>,
    /// The failure, if the result is not a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// Deserializes a present `null` as a value rather than as an absent field.
pub(super) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The body of `POST /v1/invocations/{id}/fork`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkInvocation {
    /// Number of records to copy, counted from the first.
    #[schema(minimum = 1)]
    pub at: u32,
    /// Results that replace recorded ones, or that complete commands still open at that position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<GivenResult>,
    /// Alias or digest of the module to run. Absent: the module to which the original is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Id of the new invocation. Repeating the same fork returns the same invocation. Absent: the
    /// first free id of `{id}-f1`, `{id}-f2`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// True to run the fork in memory only: it stores nothing and has no external effects. Commands
    /// of `set` may then come after the copied records, and the original may be a function that has
    /// the turn of an object.
    #[serde(default)]
    pub dry_run: bool,
    /// In a dry run, the treatment of commands that the original journal does not answer.
    #[serde(default, skip_serializing_if = "UnansweredPolicy::is_default")]
    pub unanswered: UnansweredPolicy,
}

/// The treatment of commands that the original journal does not answer, in a dry run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnansweredPolicy {
    /// The run ends when nothing else is left to do.
    #[default]
    Stop,
    /// The command fails with code 404. A command that cannot fail gets null.
    Fail,
    /// The command resolves with null. A command that cannot have this value fails with code 404.
    Null,
}

impl UnansweredPolicy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Stop, Self::Fail, Self::Null];

    /// The name of the policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Fail => "fail",
            Self::Null => "null",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The answer to a fork.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Forked {
    /// The id of the new invocation.
    pub id: String,
    /// Origin of the new invocation.
    pub forked_from: ForkedFrom,
    /// Digest of the module that runs the fork. It repeated the copied records.
    pub module: String,
    /// True if this request created the invocation; false for a dry run.
    pub created: bool,
    /// Result of the dry run, if one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<DryRun>,
}

/// Source of a command's result in a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DryAnswer {
    /// An equal command of the original invocation.
    Recorded,
    /// The simulated clock, for a timer.
    Clock,
    /// Nothing: the effect was left out, and the command only waits to be stored, if for anything.
    LeftOut,
    /// The policy for commands without a recorded answer.
    Policy,
    /// Nothing: the command was still open when the run ended.
    Open,
}

/// A command issued in a dry run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DryStep {
    /// The index of the command.
    pub index: u32,
    /// The kind of the command: `call`, `sleep`, `run`, ….
    pub command: String,
    /// The name of the called function, the run or the promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments of the command.
    pub request: Value,
    /// Source of the command's result.
    pub answered: DryAnswer,
    /// Index of the original invocation's command whose result was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_command: Option<u32>,
    /// The result given to the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// True if the original invocation issued the same command under this index.
    pub recorded: bool,
    /// True if the original invocation issued the same command, under this index or another one.
    pub known: bool,
}

/// The way in which a dry run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DryEnd {
    /// The workflow finished.
    Ended,
    /// The workflow waits for commands that the original journal does not answer.
    Waits,
    /// The run failed; `error` says why.
    Failed,
}

/// A command that the original invocation issued after the fork point and the fork did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeftOutCommand {
    /// Index of the command.
    pub index: u32,
    /// Kind of the command: `call`, `sleep`, `run`, ….
    pub command: String,
    /// Name of the called function, the run or the promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Course of a fork, as far as the original journal has the answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DryRun {
    /// The commands open at the fork point, followed by the commands issued after it.
    pub steps: Vec<DryStep>,
    /// The way in which the run ended.
    pub end: DryEnd,
    /// Outcome, if the workflow finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// The error, if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Outcome of the original invocation, if it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_outcome: Option<OutcomeView>,
    /// True if both ended with the same outcome.
    pub same_end: bool,
    /// Commands that the original issued and the fork did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutCommand>,
    /// The costs that the calls of the original reported, by unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub recorded_cost: BTreeMap<String, Number>,
    /// The costs of those calls whose results the fork has, by unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub cost: BTreeMap<String, Number>,
    /// The streams of both, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<DryStream>,
}

/// A stream of a dry run, compared with that of the original invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryStream {
    /// Name within the invocation.
    pub name: String,
    /// Content type.
    pub content_type: String,
    /// Number of messages, or of bytes, of the original's stream.
    pub recorded_length: u64,
    /// Number of messages, or of bytes, that the stream of the fork would have.
    pub length: u64,
    /// True if both have the same items.
    pub same: bool,
    /// False if the stream is too large to be compared.
    pub compared: bool,
    /// Position of the first item that differs: the number of messages or bytes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs_at: Option<u64>,
    /// The first messages of the original from there on, or its text from the beginning of that
    /// line. Shortened; at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<String>,
    /// The same of the fork.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forked: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_a_value() {
        let given = |text| serde_json::from_str::<GivenResult>(text).expect("a result");
        assert_eq!(given(r#"{"command":1,"value":null}"#).value, Some(Value::Null));
        assert_eq!(given(r#"{"command":1}"#).value, None);
    }
}
