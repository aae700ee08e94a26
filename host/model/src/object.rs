//! Objects: state, promises and turns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::{IntoParams, ToSchema};

use super::{FailureView, PromiseState, StartInvocation, whole};

/// Parameters of listing objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ObjectQuery {
    /// Prefix of names, for example `cart/Cart@`.
    pub prefix: Option<String>,
    /// True to list what the databases that answer have, if the store has several and one is away.
    /// The page then names those that are `missing`. Without it such a list is refused with 503.
    pub partial: Option<bool>,
    /// The `next` of the previous page.
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// A page of objects, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectList {
    /// The objects with state or with a retained invocation.
    pub items: Vec<ObjectItem>,
    /// Addresses of the databases that do not answer, whose rows are left out (`partial`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The `after` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One object of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectItem {
    /// The name: `MODULE/OBJECT@KEY`.
    #[schema(example = "cart/Cart@ada")]
    pub object: String,
    /// Number of names in its state.
    pub names: u64,
    /// Total size of the values of its state, in bytes.
    pub bytes: u64,
    /// The invocation that holds the turn; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}

/// Parameters of reading an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StateQuery {
    /// Returns only the value of this name.
    pub name: Option<String>,
}

/// An object with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectView {
    /// The name: `MODULE/OBJECT@KEY`.
    #[schema(example = "cart/Cart@ada")]
    pub object: String,
    /// The invocation that holds the turn; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The last invocation in the queue for the turn, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The invocation that ran for the key, if the function runs once for each key and has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// States of the first 100 promises, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub promises: BTreeMap<String, PromiseState>,
    /// Sizes of the values in bytes, by name, in order.
    pub names: BTreeMap<String, u64>,
    /// Values by name: of the requested name, or of as many names as fit into 1 MiB, from the first
    /// name on. Bytes are `{"base64": …}`.
    pub state: BTreeMap<String, Value>,
}

/// A promise of an object. A promise that has not been created is pending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectPromiseView {
    /// The object: `MODULE/OBJECT@KEY`.
    #[schema(example = "web/Signup@ada")]
    pub object: String,
    /// The name of the promise within the object.
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
    /// True if this request settled the promise; absent in answers to reads. A promise settles
    /// once: later attempts return the first outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
}

/// The body of `PATCH /v1/objects/{module}/{object}/{key}`. The changes are atomic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeState {
    /// True to delete all names first. If the request sets no names, the promises of the object are
    /// deleted as well.
    #[serde(default)]
    pub clear_all: bool,
    /// Names to delete.
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
    /// The id of the invocation. The same id again, with the same target and input, returns the
    /// first execution. Absent: the host generates an id; for a function that runs once for each
    /// key, the id is `MODULE/OBJECT@KEY/FUNCTION`.
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
    /// Milliseconds from now to the deadline, including the wait for the turn. Absent: the
    /// function's own default, if it has one.
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
}

impl CallObject {
    /// Converts the call into a start of `target`.
    pub fn of(self, target: String) -> StartInvocation {
        let Self { id, input, timeout_ms, start_at_ms, labels, budget, wait_ms } = self;
        StartInvocation {
            id,
            target,
            input,
            timeout_ms,
            start_at_ms,
            labels,
            budget,
            wait_ms,
            ..StartInvocation::default()
        }
    }
}
