//! The queries of the listing routes.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

/// Parameters of listing invocations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InvocationQuery {
    /// Alias through which the function was called.
    pub module: Option<String>,
    /// Name of the function.
    pub function: Option<String>,
    /// State of the invocation.
    #[param(
        pattern = "^(pending|acquired|suspended|halted|resolved|rejected|cancelled|timed-out)$"
    )]
    pub state: Option<String>,
    /// True to return only invocations that cannot continue without intervention, each with the
    /// reason (`stuck`): halted ones first, then those that no worker claims, then waiting ones;
    /// also those that this host has quarantined. A page may hold fewer than `limit` items, or
    /// none, and still have a `next`.
    pub stuck: Option<bool>,
    /// Returns only invocations whose failure, last error or reason of a halt contains this text,
    /// ignoring case. Failures of more than 16 KiB are not searched. Not together with `counts`.
    #[param(min_length = 1)]
    pub error: Option<String>,
    /// Prefix of ids.
    pub prefix: Option<String>,
    /// Label, as `name=value`.
    #[param(pattern = "=")]
    pub label: Option<String>,
    /// Id of the calling invocation.
    #[param(min_length = 1, pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$")]
    pub parent: Option<String>,
    /// True to return only invocations without a caller.
    pub roots: Option<bool>,
    /// Returns only invocations created at this instant or later, in milliseconds since 1970.
    pub since_at_ms: Option<i64>,
    /// Returns only invocations created before this instant, in milliseconds since 1970.
    pub until_at_ms: Option<i64>,
    /// True to count the invocations that match the filter, by state. At most the newest 10,000 are
    /// examined.
    pub counts: Option<bool>,
    /// True to list what the databases that answer have, if the store has several and one is away.
    /// The page then names those that are `missing`. Without it such a list is refused with 503.
    pub partial: Option<bool>,
    /// The `next` of the previous page.
    #[param(pattern = r"^[0-9]{1,18}$")]
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// A part of a journal or a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RangeQuery {
    /// Index of the first record or line (default 0).
    pub from: Option<u32>,
    /// Maximum number of records or lines (1 to 10000; default 1000).
    #[param(minimum = 1, maximum = 10000)]
    pub limit: Option<u32>,
}

/// Parameters of waiting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// Maximum wait in milliseconds (at most 5 minutes; default 30 s).
    pub timeout_ms: Option<u64>,
}

/// Parameters of an upload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeployQuery {
    /// The alias to point to the module; no alias if absent. 64 hexadecimal digits are refused,
    /// because they are a digest.
    #[param(max_length = 64, pattern = r"^(?![0-9A-Fa-f]{64}$)[0-9A-Za-z][0-9A-Za-z._-]{0,63}$")]
    pub alias: Option<String>,
}
