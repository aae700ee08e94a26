//! Promises, and settling them from outside.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{UnreadableRow, whole};

/// The state of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseState {
    /// Not settled yet.
    Pending,
    /// Settled with a value.
    Resolved,
    /// Settled with a failure.
    Rejected,
    /// Settled by a cancellation.
    Cancelled,
    /// Settled by its deadline.
    TimedOut,
}

impl PromiseState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Resolved, Self::Rejected, Self::Cancelled, Self::TimedOut];

    /// The name in JSON and in filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Resolved => "resolved",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
        }
    }

    /// The state with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// A failure. Codes 400 to 599 have the same meaning as in HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureView {
    /// The code, for programs.
    #[schema(format = "uint32", maximum = 4_294_967_295_u32)]
    pub code: u32,
    /// The message, for people.
    pub message: String,
    /// Further data from the failing side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl FailureView {
    /// Formats code and message on one line.
    pub fn line(&self) -> String {
        format!("failed with {}: {}", self.code, self.message).replace(['\n', '\r', '\t'], " ")
    }
}

/// A promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromiseView {
    /// The id of the promise.
    pub id: String,
    /// The state of the promise.
    pub state: PromiseState,
    /// The parameter with which the promise was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<Value>,
    /// The value with which the promise was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The failure with which the promise was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// The tags of the promise.
    pub tags: BTreeMap<String, String>,
    /// The id of the invocation that created the promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// The ids of the invocations that wait for the promise.
    pub awaited_by: Vec<String>,
    /// When the promise was created.
    pub created_at_ms: i64,
    /// The deadline, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
    /// When the promise was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// True if this request changed the promise; absent in answers to reads. A promise settles
    /// once: later attempts return the first outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// The workflow for which the outcome is kept, if it has not created the promise yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_for: Option<KeptFor>,
}

/// The workflow for which the outcome of a promise is kept until it creates the promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptFor {
    /// The id of the workflow.
    pub invocation: String,
    /// The name under which the workflow would create the promise.
    pub name: String,
    /// Names of the promises that its module declares. If there are any, the workflow creates no
    /// promise under another name.
    pub declares: Vec<String>,
}

/// A promise in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromiseSummary {
    /// The id of the promise.
    pub id: String,
    /// The state of the promise.
    pub state: PromiseState,
    /// The tags of the promise.
    pub tags: BTreeMap<String, String>,
    /// The id of the invocation that created the promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// When the promise was created.
    pub created_at_ms: i64,
    /// The deadline, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
    /// When the promise was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
}

/// A page of promises, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromisePage {
    /// The promises.
    pub items: Vec<PromiseSummary>,
    /// Promises of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// Addresses of the databases that do not answer, whose rows are left out (`partial`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The `after` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Parameters of listing promises.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PromiseQuery {
    /// State: `pending`, `resolved`, `rejected`, `cancelled`, `timed-out`.
    #[param(pattern = "^(pending|resolved|rejected|cancelled|timed-out)$")]
    pub state: Option<String>,
    /// True to return only promises settled by people or other systems: no calls, worker steps,
    /// timers or signals.
    pub external: Option<bool>,
    /// With `external`: true to include signals that an invocation waits for.
    pub signals: Option<bool>,
    /// Prefix of ids.
    pub prefix: Option<String>,
    /// Tags, all of which must match: a JSON object of texts.
    pub tags: Option<String>,
    /// True to list what the databases that answer have, if the store has several and one is away.
    /// The page then names those that are `missing`. Without it such a list is refused with 503.
    pub partial: Option<bool>,
    /// The `next` of the previous page.
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The body of `POST /v1/promises`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePromise {
    /// The id of the promise. The same id again answers the first promise, unchanged.
    #[schema(
        example = "order-1001-approval",
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: String,
    /// Milliseconds from now to the deadline; no deadline if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub timeout_ms: Option<u64>,
    /// Tags. With `target` (`poll://…` or `http(s)://…`) an external worker produces the value;
    /// `timer` with the value `true` resolves the promise at its deadline; `parent` shows the
    /// promise in the tree of that parent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// A parameter for the client or worker that settles the promise: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<Value>,
}

/// The answer to `POST /v1/promises`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromiseCreated {
    /// True if this request created the promise. False if it existed already; the answer shows that
    /// one.
    pub created: bool,
    /// The promise.
    pub promise: PromiseView,
}

/// The body of `POST /v1/promises/{id}/resolve`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolvePromise {
    /// Any JSON; `null` if absent.
    #[serde(default)]
    pub value: Value,
}

/// The body of `POST /v1/promises/{id}/reject`: a failure with a code and a message, or any JSON as
/// `value`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectPromise {
    /// The failure.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object")]
    pub failure: Option<FailureView>,
    /// Any JSON in place of `failure`, for readers other than functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Deserializes an object. Refuses a list, which serde would read as the object's fields in order.
fn object<'de, D: Deserializer<'de>>(from: D) -> Result<Option<FailureView>, D::Error> {
    let fields = Option::<serde_json::Map<String, Value>>::deserialize(from)?;
    let failure = fields.map(|fields| FailureView::deserialize(Value::Object(fields)));
    failure.transpose().map_err(de::Error::custom)
}
