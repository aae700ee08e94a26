//! The stream of changes.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Parameters of the stream of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// Returns only changes of this invocation or promise, and of ids that begin with it and a
    /// slash.
    #[param(min_length = 1, pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$")]
    pub id: Option<String>,
}

/// The data of a `changed` event: the writes since the previous event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedIds {
    /// Ids of the invocations and promises that were changed, created or removed.
    pub ids: Vec<String>,
    /// True if a slow client missed changes. Anything may have changed, and the client has to read
    /// again what it shows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missed: bool,
}

/// The streams of an invocation, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StreamList {
    /// The streams.
    pub streams: Vec<StreamView>,
}

/// A durable stream of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StreamView {
    /// Name within the invocation.
    pub name: String,
    /// Path of its address, where it is read and written by the Durable Streams protocol.
    pub path: String,
    /// `application/json` for a stream of messages, any other for bytes.
    pub content_type: String,
    /// Offset after the last item.
    pub next_offset: String,
    /// Number of messages or bytes.
    pub length: u64,
    /// Stored bytes.
    pub bytes: u64,
    /// True if nothing can be appended any more.
    pub closed: bool,
    /// Instant of the first append.
    pub created_at_ms: i64,
    /// Instant of the last append.
    pub used_at_ms: i64,
}
