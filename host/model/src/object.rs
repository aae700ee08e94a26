//! Objects: their state and promises, and whose turn it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{FailureView, PromiseState, StartInvocation};

/// Parameters of listing objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ObjectQuery {
    /// Prefix of names, as `cart/Cart@`.
    pub prefix: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// A page of objects, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectList {
    /// The objects that have state, or an invocation that is kept.
    pub items: Vec<ObjectItem>,
    /// What the next page comes after; absent: this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One object of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectItem {
    /// The name: `MODULE/OBJECT@KEY`.
    #[schema(example = "cart/Cart@ada")]
    pub object: String,
    /// How many names its state has.
    pub names: u64,
    /// Bytes of all values of its state.
    pub bytes: u64,
    /// The invocation whose turn it is; absent: nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}

/// What is asked of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StateQuery {
    /// Only the value of this name.
    pub name: Option<String>,
}

/// An object with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectView {
    /// The name: `MODULE/OBJECT@KEY`.
    #[schema(example = "cart/Cart@ada")]
    pub object: String,
    /// The invocation whose turn it is; absent: nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The last of those that wait for their turn, if any does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The run of the key, if its function runs once a key, and it has had its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The promises, by name, with their states: of the first 100.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub promises: BTreeMap<String, PromiseState>,
    /// The names in the state, in their order, with the number of bytes of each value.
    pub names: BTreeMap<String, u64>,
    /// The values, by name: of the name that was asked for, else of as many as fit into 1 MiB, from
    /// the first name on. Bytes are `{"base64": …}`.
    pub state: BTreeMap<String, Value>,
}

/// A promise of an object. One that nobody has made is pending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectPromiseView {
    /// The object: `MODULE/OBJECT@KEY`.
    #[schema(example = "web/Signup@ada")]
    pub object: String,
    /// The name by which the object knows the promise.
    pub name: String,
    /// The id of the promise.
    #[schema(example = "web/Signup@ada/p/confirmed")]
    pub id: String,
    /// The state of the promise.
    pub state: PromiseState,
    /// The value with which the promise was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The failure with which the promise was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// The ids of the invocations that wait for the promise.
    pub awaited_by: Vec<String>,
    /// When the promise was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// Whether this request settled the promise; absent in answers to reads. A promise settles
    /// once: later attempts answer the first outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
}

/// The body of `PATCH /v1/objects/{module}/{object}/{key}`. All of it is done, or nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeState {
    /// Whether all names go first. If nothing is set besides, the promises of the object go as well.
    #[serde(default)]
    pub clear_all: bool,
    /// Names that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clear: Vec<String>,
    /// Names and their new values: any JSON.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
}

/// The body of `POST /v1/objects/{module}/{object}/{key}/{function}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallObject {
    /// The id of the invocation. The same id again, with the same target and input, answers the first execution. Absent: the
    /// host generates an id; of a function that runs once a key, `MODULE/OBJECT@KEY/FUNCTION`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: Option<String>,
    /// Any JSON that matches the function's input schema; `null` if absent.
    #[serde(default)]
    pub input: Value,
    /// The time from now to the deadline, waiting for the turn included; absent: the function's own
    /// default, else none.
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
}

impl CallObject {
    /// The same as a start of this target.
    pub fn of(self, target: String) -> StartInvocation {
        let Self { id, input, timeout_ms, start_at_ms, labels, wait_ms } = self;
        StartInvocation {
            id,
            target,
            input,
            timeout_ms,
            start_at_ms,
            labels,
            wait_ms,
            ..StartInvocation::default()
        }
    }
}
