//! Shared resources and their leases.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A resource, and its last lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceView {
    /// The name of the resource.
    pub name: String,
    /// The last value written; absent before the first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The token of the last write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The last lease; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<ResourceLeaseView>,
}

/// A lease on a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceLeaseView {
    /// Fencing token for writes: larger than the token of any earlier lease.
    pub token: u64,
    /// The name of the holder.
    pub holder: String,
    /// When the lease ends.
    pub until_at_ms: i64,
}

/// The body of `POST /v1/resources/{name}/lease`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeResource {
    /// The name of the holder.
    #[schema(example = "importer-1", min_length = 1)]
    pub holder: String,
    /// Duration of the lease in milliseconds (at most one day); 0 releases the lease.
    #[schema(maximum = 86_400_000)]
    #[serde(deserialize_with = "super::whole::unsigned")]
    pub ttl_ms: u64,
}

/// The body of `PUT /v1/resources/{name}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteResource {
    /// Any JSON; `null` if absent.
    #[serde(default)]
    pub value: Value,
    /// The fencing token of the writer's lease or of an activity.
    #[schema(maximum = 9_223_372_036_854_775_807_u64)]
    pub token: u64,
}
