//! Bundles.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

/// What a bundle holds beside the executions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BundleQuery {
    /// Whether all that the execution made, and what that made, comes with it (absent: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<bool>,
    /// Whether values are hidden and their shapes kept (absent: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redact: Option<bool>,
    /// Whether the components are left out (absent: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_modules: Option<bool>,
}
