//! The stream of changes.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Parameters of the stream of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// Only changes of this invocation or promise, and of those whose ids begin with it and a slash.
    #[param(min_length = 1, pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$")]
    pub id: Option<String>,
}

/// The data of a `changed` event: what was written since the event before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedIds {
    /// The ids of invocations and promises that were changed, made or removed.
    pub ids: Vec<String>,
    /// Whether there were more than are kept for a client that is slow: anything may have changed,
    /// and what is shown has to be read again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missed: bool,
}
