//! Promises as they are shown and settled from outside.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::UnreadableRow;

/// Where a promise stands.
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
    /// Its deadline passed.
    TimedOut,
}

impl PromiseState {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Resolved, Self::Rejected, Self::Cancelled, Self::TimedOut];

    /// As it is written in JSON and in filters.
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

/// Why something failed. Codes 400 to 599 read as in HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureView {
    /// For programs.
    #[schema(format = "uint32", maximum = 4_294_967_295_u32)]
    pub code: u32,
    /// For people.
    pub message: String,
    /// Whatever the failing side added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// A promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromiseView {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub state: PromiseState,
    /// What it was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<Value>,
    /// What it was settled with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// What it was rejected with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// The invocation that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// The invocations that wait for it.
    pub awaited_by: Vec<String>,
    /// When it was made.
    pub created_at_ms: i64,
    /// Its deadline, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
    /// When it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// Whether this request changed it; absent in answers to reads. A promise settles once: later attempts answer the
    /// first outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
}

/// A line of a list of promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromiseSummary {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub state: PromiseState,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// The invocation that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// When it was made.
    pub created_at_ms: i64,
    /// Its deadline, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
    /// When it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
}

/// A page of promises, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromisePage {
    /// The promises.
    pub items: Vec<PromiseSummary>,
    /// Those of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// Pass it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which promises to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PromiseQuery {
    /// Only those in this state: `pending`, `resolved`, `rejected`, `cancelled`, `timed-out`.
    #[param(pattern = "^(pending|resolved|rejected|cancelled|timed-out)$")]
    pub state: Option<String>,
    /// Only ids that begin so.
    pub prefix: Option<String>,
    /// Only those with all of these tags: a JSON object of texts.
    pub tags: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// The largest number of items in the page, 1 to 1000; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The body of `POST /v1/promises`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePromise {
    /// The promise's id. Making the same id again answers the first one, unchanged.
    #[schema(
        example = "order-1001-approval",
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: String,
    /// From now to its deadline; left out: it has none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub timeout_ms: Option<u64>,
    /// Tags. `target` has workers outside produce the value: `poll://…` or `http(s)://…`; `timer` with the value `true`
    /// resolves the promise at its deadline; `parent` shows it in the tree of that one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// What the promise is made with, to be read by the one who settles it: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<Value>,
}

/// The answer to `POST /v1/promises`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromiseCreated {
    /// False: a promise with this id existed already, and this is it.
    pub created: bool,
    /// The promise.
    pub promise: PromiseView,
}

/// The body of `POST /v1/promises/{id}/resolve`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolvePromise {
    /// Any JSON; `null` if it is left out.
    #[serde(default)]
    pub value: Value,
}

/// The body of `POST /v1/promises/{id}/reject`: a failure in words and a code, or any JSON as `value`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectPromise {
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object")]
    pub failure: Option<FailureView>,
    /// In place of `failure`: any JSON, for those who read the promise with other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Reads an object and no list, which would be read as its fields in their order.
fn object<'de, D: Deserializer<'de>>(from: D) -> Result<Option<FailureView>, D::Error> {
    let fields = Option::<serde_json::Map<String, Value>>::deserialize(from)?;
    let failure = fields.map(|fields| FailureView::deserialize(Value::Object(fields)));
    failure.transpose().map_err(de::Error::custom)
}
