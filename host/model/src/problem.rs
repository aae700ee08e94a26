//! Problem documents (RFC 9457): the form of refusals and failures.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Why a request was refused. Programs read `code`, people read `detail`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A URN with the code.
    #[serde(rename = "type")]
    #[schema(example = "urn:segno:problem:unknown-function")]
    pub kind: String,
    /// A title, the same for every problem with this code.
    pub title: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The fault of this request, and its remedy.
    pub detail: String,
    /// A stable code, in kebab case.
    #[schema(example = "unknown-function")]
    pub code: String,
    /// Further data for programs, for example `known` or `errors`.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}
