//! Starting invocations and sending them things.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::InvocationOutcome;

/// The body of `POST /v1/invocations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartInvocation {
    /// The invocation's id. Starting the same id again answers the first execution. Left out: one is made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "order-1001",
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: Option<String>,
    /// The function: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`.
    #[schema(example = "shop/order")]
    pub target: String,
    /// Any JSON that fits the function's input schema; `null` if it is left out.
    #[serde(default)]
    pub input: Value,
    /// From now to the deadline; left out: the function's own default, else none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub timeout_ms: Option<u64>,
    /// Not before this instant.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::signed_if_any"
    )]
    pub start_at_ms: Option<i64>,
    /// Free labels for finding it again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Answer only when it has ended, or after this time, whichever is first.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub wait_ms: Option<u64>,
}

/// The answer to a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Started {
    /// The invocation's id.
    pub id: String,
    /// False: an invocation with this id existed already, and this is it.
    pub created: bool,
    /// The existing invocation has another target or input than this request.
    #[serde(default)]
    pub differs: bool,
    /// Says what differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Where it stands.
    pub invocation: InvocationOutcome,
}

/// The body of `POST /v1/invocations/{id}/signals`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    /// What the function knows it by.
    #[schema(example = "address-changed", min_length = 1)]
    pub name: String,
    /// Any JSON; `null` if it is left out.
    #[serde(default)]
    pub payload: Value,
    /// Sending the same key again sends nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The answer to a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignalAccepted {
    /// The invocation.
    pub id: String,
    /// Which of its signals this is, from 0.
    pub signal: u32,
}

/// The answer to a request that only changes something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// What was to be changed.
    pub id: String,
    /// False: there was nothing to change any more.
    pub changed: bool,
}
