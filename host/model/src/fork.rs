//! Forks: invocations that begin with the first records of another one's journal.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{FailureView, OutcomeView};

/// Where an invocation comes from that began with records of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForkedFrom {
    /// The id of the other invocation, which may be gone by now.
    pub id: String,
    /// Number of records that it began with.
    pub records: u32,
    /// Indexes of commands whose results were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<u32>,
}

/// The result of a command, in the place of the recorded one: a value or a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenResult {
    /// The index of the command.
    pub command: u32,
    /// The value, which may be `null`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub value: Option<Value>,
    /// The failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// `null` is a value, and not the lack of one.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The body of `POST /v1/invocations/{id}/fork`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkInvocation {
    /// Number of records with which the new invocation begins, from the first on.
    #[schema(minimum = 1)]
    pub at: u32,
    /// Results in the place of recorded ones, or of commands that had none at that place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<GivenResult>,
    /// The name or digest of the module to run. Absent: the module to which the other invocation is
    /// pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The id of the new invocation: the same fork again answers the same invocation. Absent: the
    /// first free of `{id}-f1`, `{id}-f2`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Only run it forward in memory: nothing is stored, and nothing is done outside.
    #[serde(default)]
    pub dry_run: bool,
}

/// The answer to a fork.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Forked {
    /// The id of the new invocation.
    pub id: String,
    /// Where it comes from.
    pub forked_from: ForkedFrom,
    /// The digest of the module that it runs, which repeated the records.
    pub module: String,
    /// Whether this request made it; not in a dry run.
    pub created: bool,
    /// How it goes on, if that was only tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<DryRun>,
}

/// What answered a command in a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DryAnswer {
    /// A command of the other invocation that asked for the same.
    Recorded,
    /// The clock: it is a timer.
    Clock,
    /// Nothing: its effect was left out, and its being stored is all that it waits for.
    LeftOut,
    /// Nothing: it is open where the run ended.
    Open,
}

/// A command of a dry run.
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
    /// What answered it.
    pub answered: DryAnswer,
    /// The command of the other invocation whose result it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_command: Option<u32>,
    /// What it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// Whether the other invocation issued the same command under this index.
    pub recorded: bool,
}

/// How a dry run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DryEnd {
    /// The workflow ended.
    Ended,
    /// It waits for commands that the other journal does not answer.
    Waits,
    /// It failed.
    Failed,
}

/// A command that the other invocation issued after the place of the fork, and the fork did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeftOutCommand {
    /// Its index.
    pub index: u32,
    /// Its kind.
    pub command: String,
    /// What it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How a fork goes on, as far as the other journal tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DryRun {
    /// The commands that were open at that place, and those that came after it.
    pub steps: Vec<DryStep>,
    /// How it ended.
    pub end: DryEnd,
    /// The outcome, if the workflow ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The outcome of the other invocation, if it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_outcome: Option<OutcomeView>,
    /// Whether both ended alike.
    pub same_end: bool,
    /// What the other invocation asked for, and the fork did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutCommand>,
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
