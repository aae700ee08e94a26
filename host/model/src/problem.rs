//! A problem document (RFC 9457): how the API says no.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Why a request was refused. Programs read `code`, people read `detail`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A URN made of the code.
    #[serde(rename = "type")]
    #[schema(example = "urn:segno:problem:unknown-function")]
    pub kind: String,
    /// The same for every problem with this code.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What was wrong with this request, and what to do.
    pub detail: String,
    /// Stable, in kebab case.
    #[schema(example = "unknown-function")]
    pub code: String,
    /// What programs may want to know besides, for example `known` or `errors`.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}
