//! Reruns: recorded executions that are run again in memory, with a change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use super::{FunctionName, GivenResult, OutcomeView, UnansweredPolicy, fork::given};

/// The body of `POST /v1/rerun`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RerunRequest {
    /// Filter of the executions.
    #[serde(default, skip_serializing_if = "RerunFilter::is_empty")]
    pub filter: RerunFilter,
    /// Ids of the executions, instead of a filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Number of records that each execution begins with.
    #[serde(default = "first_record")]
    #[schema(minimum = 1, default = 1)]
    pub at: u32,
    /// Results that replace recorded ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<GivenResult>,
    /// Alias or digest of the module to run. Absent: the module to which each execution is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The treatment of commands without a recorded answer.
    #[serde(default)]
    pub unanswered: UnansweredPolicy,
    /// The `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Maximum number of executions on a page (1 to 1000; default 20).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

fn first_record() -> u32 {
    1
}

impl Default for RerunRequest {
    fn default() -> Self {
        Self {
            filter: RerunFilter::default(),
            ids: None,
            at: first_record(),
            set: Vec::new(),
            module: None,
            unanswered: UnansweredPolicy::default(),
            after: None,
            limit: None,
        }
    }
}

/// Filter of executions to run again; all parts must match. Executions with a caller are included
/// only if the filter has a function or a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RerunFilter {
    /// The function, as `MODULE/FUNCTION` or `MODULE/OBJECT/FUNCTION`, with the alias of the module
    /// through which it was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub function: Option<FunctionName>,
    /// State of the executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Text in the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Prefix of ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Labels, as `name=value`. An execution has all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Only executions created at this instant or later, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_at_ms: Option<i64>,
    /// Only executions created before this instant, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
}

impl RerunFilter {
    /// Returns true if every execution without a caller matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A page of executions that were run again: the newest first, or in the order of the ids. A page
/// ends early if its executions take long, so it may have fewer than `limit`, or none, and still
/// have a `next`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RerunPage {
    /// The executions.
    pub items: Vec<RerunRow>,
    /// Cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The comparison of an execution with its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RerunVerdict {
    /// It ends with the recorded outcome.
    Same,
    /// It ends with another outcome.
    Differs,
    /// It fails, and did not before; or the code ended it without an outcome.
    Failed,
    /// The code does not repeat the first records.
    Diverged,
    /// It waits for something that the recording does not answer.
    Unanswered,
    /// It was not run.
    Skipped,
}

impl RerunVerdict {
    /// All verdicts.
    pub const ALL: [Self; 6] =
        [Self::Same, Self::Differs, Self::Failed, Self::Diverged, Self::Unanswered, Self::Skipped];

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Failed => "failed",
            Self::Diverged => "diverged",
            Self::Unanswered => "unanswered",
            Self::Skipped => "skipped",
        }
    }
}

/// A command without a recorded answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FirstUnanswered {
    /// Index of the command.
    pub index: u32,
    /// Kind of the command: `call`, `sleep`, `run`, ….
    pub command: String,
    /// Name of the called function, the run or the promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments of the command.
    pub request: Value,
}

/// The first place at which two values differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ValueDifference {
    /// The path of the place, such as `$.items[2].name`.
    pub path: String,
    /// The value there before. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub before: Option<Value>,
    /// The value there after. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub after: Option<Value>,
}

/// An execution, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RerunRow {
    /// The id of the execution.
    pub id: String,
    /// The function. Empty if the execution cannot be read.
    pub function: String,
    /// Result of the comparison.
    pub verdict: RerunVerdict,
    /// Recorded outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<OutcomeView>,
    /// Outcome with the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<OutcomeView>,
    /// Number of commands that the recording answered.
    pub answered: u32,
    /// Number of commands without a recorded answer.
    pub unanswered: u32,
    /// Number of recorded commands that were not issued.
    pub left_out: u32,
    /// The costs that its calls reported, by unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub recorded_cost: BTreeMap<String, Number>,
    /// The costs of those calls whose results the new run has, by unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub cost: BTreeMap<String, Number>,
    /// Length of the recorded execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The first difference, in words that are equal for equal differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    /// The reason of the verdict, with the details of this execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The first command without a recorded answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<FirstUnanswered>,
    /// The first difference of the outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ValueDifference>,
}

impl RerunRow {
    /// The row of an execution that was not run, or not to a result.
    pub fn new(id: impl Into<String>, function: impl Into<String>, verdict: RerunVerdict) -> Self {
        Self {
            id: id.into(),
            function: function.into(),
            verdict,
            before: None,
            after: None,
            answered: 0,
            unanswered: 0,
            left_out: 0,
            recorded_cost: BTreeMap::new(),
            cost: BTreeMap::new(),
            duration_ms: None,
            difference: None,
            reason: None,
            asks: None,
            output: None,
        }
    }

    /// An outcome as one value, so that outcomes can be compared: a failure has a form of its own.
    pub fn outcome_value(outcome: &OutcomeView) -> Value {
        match (&outcome.failure, &outcome.value) {
            (Some(failure), _) => serde_json::json!({ "failure": failure }),
            (None, value) => value.clone().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_fields_runs_everything_from_the_first_record() {
        let read: RerunRequest = serde_json::from_str("{}").expect("a request");
        assert_eq!(read, RerunRequest::default());
        assert_eq!(read.at, 1);
    }

    #[test]
    fn null_is_a_value_in_a_difference() {
        let text = r#"{"path":"$[1]","after":null}"#;
        let read: ValueDifference = serde_json::from_str(text).expect("a difference");
        assert_eq!((read.before.as_ref(), read.after.as_ref()), (None, Some(&Value::Null)));
        assert_eq!(serde_json::to_string(&read).expect("it is written"), text);
    }
}
