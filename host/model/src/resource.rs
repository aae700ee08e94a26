//! Resources as they are taken, written and shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A resource, and who has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceView {
    /// Its name.
    pub name: String,
    /// What was written last; absent before the first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The token it was written under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The last lease; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<ResourceLeaseView>,
}

/// A lease on a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceLeaseView {
    /// Present it with every write: it is larger than that of any lease before.
    pub token: u64,
    /// Who took it.
    pub holder: String,
    /// Until when nobody else gets one.
    pub until_at_ms: i64,
}

/// The body of `POST /v1/resources/{name}/lease`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeResource {
    /// In whose name.
    #[schema(example = "importer-1", min_length = 1)]
    pub holder: String,
    /// For how long, at most a day; 0 gives it back.
    #[schema(maximum = 86_400_000)]
    #[serde(deserialize_with = "super::whole::unsigned")]
    pub ttl_ms: u64,
}

/// The body of `PUT /v1/resources/{name}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteResource {
    /// Any JSON; `null` if it is left out.
    #[serde(default)]
    pub value: Value,
    /// The token of the writer's lease, or an activity's fence token.
    #[schema(maximum = 9_223_372_036_854_775_807_u64)]
    pub token: u64,
}
