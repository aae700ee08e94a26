//! The report about a module, as it is stored and shown.

use segno_core::{
    json::{self, NotJson},
    limit::Rule,
};
use serde::{Deserialize, Serialize};

use super::{FunctionDescription, FunctionKind, RetryOptions};

/// The report of the check of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// The component's SHA-256, in hexadecimal.
    pub digest: String,
    /// The component's size in bytes.
    pub size: usize,
    /// All imports. An interface appears once for each way in which its functions are treated.
    pub imports: Vec<ImportReport>,
    /// The names of all exports.
    pub exports: Vec<String>,
    /// The functions that the module describes.
    pub functions: Vec<FunctionReport>,
    /// Why no snapshots can be made of its instances; `None`: its code shows no reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_snapshots: Option<String>,
}

/// Imported functions that are treated alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The name of the interface.
    pub name: String,
    /// How a call is treated.
    #[serde(flatten)]
    pub how: How,
    /// The names of the functions.
    pub functions: Vec<String>,
}

/// How a workflow's call of an import is treated. Activities get real I/O as far as the policy
/// allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum How {
    /// The host implements the function.
    Provided,
    /// The host answers the same in every replay.
    DeterministicWasi,
    /// The call traps, with this advice.
    RefusedWhenCalled {
        /// The alternative.
        use_instead: String,
    },
}

/// A function as the module describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionReport {
    /// The name of the function.
    pub name: String,
    /// The kind of the function.
    pub kind: Kind,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<serde_json::Value>,
    /// The JSON schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// Whether it is a function of an object, and how it uses the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Whether it runs once a key of its object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_once: bool,
    /// Whether the function receives signals.
    pub signals: bool,
    /// What may be sent to it, by kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageReport>,
    /// What it answers while it runs, and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<HandlerReport>,
    /// Default time from the call to its deadline, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Default policy for repeating failed attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryReport>,
    /// How many executions may run, and how fast they begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Rule>,
}

/// How a function uses the object that it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It reads and writes: one execution at a time, in the order in which they were accepted.
    Exclusive,
    /// It only reads, and waits for nobody.
    Shared,
}

/// A promise that a workflow awaits, or a signal that it receives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageReport {
    /// Whether it is a signal; else it is a promise.
    pub is_signal: bool,
    /// The name of the promise or signal.
    pub name: String,
    /// The JSON schema of its value.
    pub schema: serde_json::Value,
}

/// A query or an update of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandlerReport {
    /// Whether it is an update; else it is a query.
    pub is_update: bool,
    /// The name of the query or update.
    pub name: String,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<serde_json::Value>,
    /// The JSON schema of its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
}

/// The kinds of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Replayed from its journal; no I/O.
    Workflow,
    /// Run at least once; does I/O.
    Activity,
}

/// The policy for repeating failed attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryReport {
    /// The delay after the first attempt, in milliseconds.
    pub initial_ms: u64,
    /// The factor by which each delay is longer than the one before.
    pub factor: f64,
    /// The longest delay, in milliseconds.
    pub max_ms: u64,
    /// The fraction of each delay that is random.
    pub jitter: f64,
    /// Maximum number of attempts; none: no limit.
    pub max_attempts: Option<u32>,
    /// Failure codes that are final at once.
    pub non_retryable: Vec<u32>,
}

impl FunctionReport {
    /// The report of `function`.
    ///
    /// # Errors
    /// A schema is not JSON: which one, and the parser's error.
    pub fn new(function: &FunctionDescription) -> Result<Self, (&'static str, NotJson)> {
        let parse = |which, schema: &Option<String>| {
            let schema = schema.as_deref().map(json::parse);
            schema.transpose().map_err(|error| (which, error))
        };
        Ok(Self {
            name: function.name.clone(),
            kind: match function.kind {
                FunctionKind::Workflow => Kind::Workflow,
                FunctionKind::Activity => Kind::Activity,
            },
            summary: function.summary.clone(),
            input_schema: parse("input", &function.input_schema)?,
            output_schema: parse("output", &function.output_schema)?,
            access: None,
            runs_once: false,
            signals: function.signals,
            messages: Vec::new(),
            handlers: Vec::new(),
            timeout_ms: function.timeout_ms,
            retry: function.retry.as_ref().map(RetryReport::from),
            limit: None,
        })
    }
}

impl From<&RetryOptions> for RetryReport {
    fn from(retry: &RetryOptions) -> Self {
        Self {
            initial_ms: retry.initial_ms,
            factor: retry.factor,
            max_ms: retry.max_ms,
            jitter: retry.jitter,
            max_attempts: retry.max_attempts,
            non_retryable: retry.non_retryable.clone(),
        }
    }
}
