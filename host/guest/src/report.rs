//! The report about a module, as it is stored and shown.

use segno_core::{
    json::{self, JsonError},
    limit::AdmissionRule,
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
    /// All imports. An interface has one entry for each treatment of its functions.
    pub imports: Vec<ImportReport>,
    pub exports: Vec<String>,
    pub functions: Vec<FunctionReport>,
    /// The reason that instances of the module cannot be snapshotted. `None` if its code shows no
    /// reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_snapshots: Option<String>,
}

/// Imported functions with the same treatment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    pub name: String,
    /// The treatment of a call.
    #[serde(flatten)]
    pub how: ImportTreatment,
    pub functions: Vec<String>,
}

/// The treatment of a workflow's call of an import. Activities get real I/O as far as the policy
/// allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum ImportTreatment {
    /// The host implements the function.
    Provided,
    /// The host returns the same answer in every replay.
    DeterministicWasi,
    /// The call traps with this advice.
    RefusedWhenCalled {
        /// The alternative to suggest.
        use_instead: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionReport {
    pub name: String,
    pub kind: FunctionReportKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<serde_json::Value>,
    /// The JSON schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// The access to its object. `None` if it is not a function of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessReport>,
    /// True if it runs once per key of its object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_once: bool,
    /// True if the function receives signals.
    pub signals: bool,
    /// Promises and signals that the function accepts, by kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageReport>,
    /// Queries and updates that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<HandlerReport>,
    /// Default time from the call to its deadline, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Default retry policy for failed attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryReport>,
    /// Limits on concurrency and rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<AdmissionRule>,
    /// True if the host commits each result before the workflow receives it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commits_each: bool,
    /// Protocols by which the author offers it to others, such as `mcp`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expose: Vec<String>,
}

/// The access of a function to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessReport {
    /// Reads and writes: one execution at a time, in the order of acceptance.
    Exclusive,
    /// Only reads, and never waits for other executions.
    Shared,
}

/// A promise that a workflow awaits, or a signal that it receives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageReport {
    /// True for a signal, false for a promise.
    pub is_signal: bool,
    pub name: String,
    /// The JSON schema of its value.
    pub schema: serde_json::Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandlerReport {
    /// True for an update, false for a query.
    pub is_update: bool,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<serde_json::Value>,
    /// The JSON schema of its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionReportKind {
    /// Replayed from its journal; no I/O.
    Workflow,
    /// Run at least once; does I/O.
    Activity,
}

/// The retry policy for failed attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryReport {
    /// The delay after the first attempt, in milliseconds.
    pub initial_ms: u64,
    /// The factor between consecutive delays.
    pub factor: f64,
    /// Maximum delay, in milliseconds.
    pub max_ms: u64,
    /// The fraction of each delay that is random.
    pub jitter: f64,
    /// Maximum number of attempts. `None` if unlimited.
    pub max_attempts: Option<u32>,
    /// Failure codes that are final without a retry.
    pub non_retryable: Vec<u32>,
}

impl FunctionReport {
    /// Converts the description of `function` and parses its schemas.
    ///
    /// # Errors
    /// The kind of the schema that is not JSON, and the parser's error.
    pub fn new(function: &FunctionDescription) -> Result<Self, (&'static str, JsonError)> {
        let parse = |which, schema: &Option<String>| {
            let schema = schema.as_deref().map(json::parse);
            schema.transpose().map_err(|error| (which, error))
        };
        Ok(Self {
            name: function.name.clone(),
            kind: match function.kind {
                FunctionKind::Workflow => FunctionReportKind::Workflow,
                FunctionKind::Activity => FunctionReportKind::Activity,
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
            commits_each: false,
            expose: Vec::new(),
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
