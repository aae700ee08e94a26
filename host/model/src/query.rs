//! The queries of the listing routes.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

/// Which invocations to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InvocationQuery {
    /// Only those called through this alias.
    pub module: Option<String>,
    /// Only those of this function.
    pub function: Option<String>,
    /// Only those in this state.
    #[param(
        pattern = "^(pending|acquired|suspended|halted|resolved|rejected|cancelled|timed-out)$"
    )]
    pub state: Option<String>,
    /// Only those that wait for a person: halted ones, and beside them whatever this host has put into quarantine.
    pub stuck: Option<bool>,
    /// Only ids that begin so.
    pub prefix: Option<String>,
    /// Only those with this label, as `name=value`.
    #[param(pattern = "=")]
    pub label: Option<String>,
    /// Only those that this invocation called.
    #[param(min_length = 1, pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$")]
    pub parent: Option<String>,
    /// Only those that no other invocation called.
    pub roots: Option<bool>,
    /// The `next` of the page before.
    #[param(pattern = r"^[0-9]{1,18}$")]
    pub after: Option<String>,
    /// The largest number of lines in the page, 1 to 1000; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// A part of a journal or a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RangeQuery {
    /// The first one; 0 if left out.
    pub from: Option<u32>,
    /// The largest number of records in the page, 1 to 10000; 1000 if left out.
    #[param(minimum = 1, maximum = 10000)]
    pub limit: Option<u32>,
}

/// How long to wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// At most so long; 30 s if left out, and never more than 5 minutes.
    pub timeout_ms: Option<u64>,
}

/// What an upload is to be called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeployQuery {
    /// The name that stands for the module from now on; none if left out. Not 64 hexadecimal
    /// digits, which are a digest.
    #[param(max_length = 64, pattern = r"^(?![0-9A-Fa-f]{64}$)[0-9A-Za-z][0-9A-Za-z._-]{0,63}$")]
    pub alias: Option<String>,
}
