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
