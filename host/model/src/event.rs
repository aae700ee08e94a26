//! Published events, as they are read and acknowledged.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::CloudEvent;

/// Which events to read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only topics that fit; `*` stands for any text.
    pub topic: Option<String>,
    /// The `next` of the page before; left out: from the oldest that nobody acknowledged.
    pub cursor: Option<String>,
    /// The largest number of items in the page, 1 to 1000; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// If there is none, answer when there is one, or after this time; at most 5 minutes.
    pub wait_ms: Option<u64>,
}

/// Events that nobody acknowledged, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// The events.
    pub events: Vec<CloudEvent>,
    /// Pass it as `cursor` to read what comes after these; absent when there was nothing to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /v1/events/ack`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeEvents {
    /// The ids of events that have been dealt with, at most 1000.
    #[schema(example = json!(["order-1001/3"]), max_items = 1000)]
    pub ids: Vec<String>,
}

/// The answer to an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Acknowledged {
    /// How many ids were acknowledged now; again or before makes no difference.
    pub acknowledged: usize,
}
