//! What a module needs and offers, as it is stored and shown.

use serde::{Deserialize, Serialize};

use super::{FunctionDescription, FunctionKind, RetryOptions};

/// What was found when a module was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// The component's SHA-256, in hexadecimal.
    pub digest: String,
    /// The component's size in bytes.
    pub size: usize,
    /// Every import. An interface stands here once for each way in which its functions are treated.
    pub imports: Vec<ImportReport>,
    /// Every export by name.
    pub exports: Vec<String>,
    /// What it offers, by its own description.
    pub functions: Vec<FunctionReport>,
}

/// Imported functions that are treated alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The interface.
    pub name: String,
    /// What becomes of a call.
    #[serde(flatten)]
    pub how: How,
    /// Its functions.
    pub functions: Vec<String>,
}

/// What becomes of a workflow's call of an import. Activities get real I/O as far as the policy allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum How {
    /// The host does it.
    Provided,
    /// The host answers the same in every replay.
    DeterministicWasi,
    /// The call traps, with this advice.
    RefusedWhenCalled {
        /// What to use instead.
        use_instead: String,
    },
}

/// A function as the module describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: Kind,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<serde_json::Value>,
    /// The JSON schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// Whether it takes signals.
    pub signals: bool,
    /// From the call to its deadline, where the caller does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// When failed attempts are repeated, where the caller does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryReport>,
}

/// The kinds of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Replayed from its journal.
    Workflow,
    /// Does I/O.
    Activity,
}

/// When a failed attempt is repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryReport {
    /// The wait after the first attempt.
    pub initial_ms: u64,
    /// By how much each wait is longer than the one before.
    pub factor: f64,
    /// The longest wait.
    pub max_ms: u64,
    /// The fraction of each wait that is drawn at random.
    pub jitter: f64,
    /// Attempts in all; none: no limit.
    pub max_attempts: Option<u32>,
    /// Failure codes that are final at once.
    pub non_retryable: Vec<u32>,
}

impl FunctionReport {
    /// The report of `function`.
    ///
    /// # Errors
    /// A schema is not JSON: which one, and where.
    pub fn new(function: &FunctionDescription) -> Result<Self, (&'static str, serde_json::Error)> {
        let parse = |which, schema: &Option<String>| {
            let schema = schema.as_ref().map(|text| serde_json::from_str(text));
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
            signals: function.signals,
            timeout_ms: function.timeout_ms,
            retry: function.retry.as_ref().map(RetryReport::from),
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
