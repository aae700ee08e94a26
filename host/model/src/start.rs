//! Starting invocations and sending signals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use super::{BehindLimit, InvocationOutcome, StartFirst, whole};

/// The body of `POST /v1/invocations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartInvocation {
    /// The id of the invocation. The same id again, with the same target and input, returns the
    /// first execution. Absent: the host generates an id; for a function that runs once for each
    /// key, the id is `MODULE/OBJECT@KEY/FUNCTION`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "order-1001",
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: Option<String>,
    /// The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`.
    #[schema(example = "shop/order")]
    pub target: String,
    /// Any JSON that matches the function's input schema; `null` if absent.
    #[serde(default)]
    pub input: Value,
    /// Milliseconds from now to the deadline. Absent: the function's own default, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub timeout_ms: Option<u64>,
    /// The earliest start.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_i64")]
    pub start_at_ms: Option<i64>,
    /// Labels by which invocations are listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The budget of the invocation and everything below it: limits by unit, decimal numbers with at
    /// most six places. The host counts `calls`; activities report all others, as `tokens`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub budget: BTreeMap<String, Number>,
    /// Maximum wait for the end before answering, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub wait_ms: Option<u64>,
    /// Retry policy of an activity; the function's own if absent. No effect on workflows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<StartRetry>,
    /// Maximum duration of one attempt of an activity, in milliseconds. An attempt that takes
    /// longer is dropped and fails with code 408, so that `retry` applies. No effect on workflows.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    #[schema(minimum = 1)]
    pub attempt_timeout_ms: Option<u64>,
}

/// Retry policy for a started activity. Absent fields default to the function's policy, then to the
/// host's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRetry {
    /// The delay before the second attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub initial_ms: Option<u64>,
    /// Factor by which each delay exceeds the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub factor: Option<f64>,
    /// Maximum delay, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub max_ms: Option<u64>,
    /// Random fraction of each delay, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub jitter: Option<f64>,
    /// Maximum number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_attempts: Option<u32>,
    /// Failure codes that are never retried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_retryable: Vec<u32>,
}

/// The answer to a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Started {
    /// The id of the invocation.
    pub id: String,
    /// True if this request started it. False if an invocation with this id existed already; the
    /// answer shows that one.
    pub created: bool,
    /// The limit for which the invocation waits, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<BehindLimit>,
    /// The state of the invocation.
    pub invocation: InvocationOutcome,
}

/// The body of `POST /v1/invocations/{id}/signals`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    /// The name of the signal, by which the function receives it.
    #[schema(example = "address-changed", min_length = 1)]
    pub name: String,
    /// Any JSON; `null` if absent.
    #[serde(default)]
    pub payload: Value,
    /// Deduplication key: the same key again, with the same name and payload, sends nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The invocation to start, in the same transaction, if none with this id exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartFirst>,
}

/// The answer to a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignalAccepted {
    /// The id of the invocation. If it continued as new, the id of its newest generation.
    pub id: String,
    /// The index of the signal in its invocation, from 0.
    pub signal: u32,
    /// True if this request started the invocation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
}

/// The answer to a request that changes an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// The id of the object.
    pub id: String,
    /// True if the request changed something.
    pub changed: bool,
}
