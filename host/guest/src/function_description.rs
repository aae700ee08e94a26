//! The description of a function, gathered from the descriptions that its component exports.

use super::{DescribedFunction, FunctionKind, RetryOptions};

/// A function of a module.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionDescription {
    /// Name for calls; the function of an object as `OBJECT/FUNCTION`.
    pub name: String,
    pub kind: FunctionKind,
    /// One or two sentences by the author.
    pub summary: Option<String>,
    /// The JSON schema of its input, as text.
    pub input_schema: Option<String>,
    /// The JSON schema of its output, as text.
    pub output_schema: Option<String>,
    /// True if the workflow receives signals.
    pub signals: bool,
    /// Default time from the call to its deadline, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Default retry policy for failed attempts.
    pub retry: Option<RetryOptions>,
    /// True if the host commits the result of each `run`, and the outcome of each call, before the
    /// workflow receives it. Otherwise they gather.
    pub commits_each: bool,
}

impl FunctionDescription {
    /// The description of a function that `commits` lists if its results are committed one by one.
    pub(super) fn new(described: DescribedFunction, commits: &[String]) -> Self {
        let DescribedFunction {
            name,
            kind,
            summary,
            input_schema,
            output_schema,
            signals,
            timeout_ms,
            retry,
        } = described;
        let commits_each = commits.contains(&name);
        Self {
            name,
            kind,
            summary,
            input_schema,
            output_schema,
            signals,
            timeout_ms,
            retry,
            commits_each,
        }
    }
}
