//! Bundles.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

/// Options of a bundle export: what the bundle contains besides the execution itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BundleQuery {
    /// True to include all descendants of the execution (default: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<bool>,
    /// True to redact values, keeping their shapes (default: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redact: Option<bool>,
    /// True to omit the wasm components (default: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_modules: Option<bool>,
    /// True to include the content of the blobs that the values refer to, unless they are redacted
    /// (default: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blobs: Option<bool>,
}
