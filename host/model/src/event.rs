//! Reading and acknowledging published events.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::CloudEvent;

/// Parameters of reading events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Topic pattern; `*` matches any text.
    pub topic: Option<String>,
    /// The `next` of the previous page. Absent: starts at the oldest unacknowledged event.
    pub cursor: Option<String>,
    /// Maximum number of events (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// Maximum wait for an event if there is none, in milliseconds (at most 5 minutes).
    pub wait_ms: Option<u64>,
}

/// A page of unacknowledged events, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// The events.
    pub events: Vec<CloudEvent>,
    /// The `cursor` of the next page; absent if there was no event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /v1/events/ack`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeEvents {
    /// Ids of the events to acknowledge (at most 1000).
    #[schema(example = json!(["order-1001/3"]), max_items = 1000)]
    pub ids: Vec<String>,
}

/// The answer to an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Acknowledged {
    /// Number of acknowledged ids, including ids that were acknowledged before.
    pub acknowledged: usize,
}
