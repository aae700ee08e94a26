//! Problem documents (RFC 9457): the form of refusals and failures.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The reason for refusing a request. `code` is for programs, `detail` for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// URN that contains the code.
    #[serde(rename = "type")]
    #[schema(example = "urn:segno:problem:unknown-function")]
    pub kind: String,
    /// Title, the same for every problem with this code.
    pub title: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The error in this request, and how to correct it.
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
