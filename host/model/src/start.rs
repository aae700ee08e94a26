//! Starting invocations and sending signals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{BehindLimit, InvocationOutcome, StartFirst};

/// The body of `POST /v1/invocations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartInvocation {
    /// The id of the invocation. The same id again, with the same target and input, answers the first execution. Absent: the host
    /// generates an id; of a function that runs once a key, `MODULE/OBJECT@KEY/FUNCTION`.
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
    /// The time from now to the deadline; absent: the function's own default, else none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub timeout_ms: Option<u64>,
    /// The earliest start.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::signed_if_any"
    )]
    pub start_at_ms: Option<i64>,
    /// Labels by which invocations are listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How long to wait for the end before answering, in milliseconds.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub wait_ms: Option<u64>,
    /// How a failed attempt of an activity is repeated; absent: as the function says. It does nothing for a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<StartRetry>,
    /// The longest that one attempt of an activity may take, in milliseconds: one that takes longer is dropped and fails with
    /// code 408, so that it is tried again as `retry` says. It does nothing for a workflow.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    #[schema(minimum = 1)]
    pub attempt_timeout_ms: Option<u64>,
}

/// How an activity that is started is repeated. What is left out is as the function says, else as the host does it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRetry {
    /// The delay before the second attempt, in milliseconds.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub initial_ms: Option<u64>,
    /// The factor by which each delay is longer than the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub factor: Option<f64>,
    /// The longest delay, in milliseconds.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub max_ms: Option<u64>,
    /// The fraction of each delay that is random, from 0 to 1.
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
    /// False: an invocation with this id existed already; the answer shows that one.
    pub created: bool,
    /// The limit behind which it waits to be admitted, if it does.
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
    /// A key for repetitions: the same key again, with the same name and payload, sends nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The invocation is started with this, in the same step, if there is none of this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartFirst>,
}

/// The answer to a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignalAccepted {
    /// The id of the invocation; of one that continued as new, that of its newest generation.
    pub id: String,
    /// The index of the signal in its invocation, from 0.
    pub signal: u32,
    /// Whether the invocation was started by this request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
}

/// The answer to a request that changes an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// The id of the object.
    pub id: String,
    /// False: there was nothing to change.
    pub changed: bool,
}
