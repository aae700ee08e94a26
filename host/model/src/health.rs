//! Liveness and readiness of a host.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer of `GET /health`: the process answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    pub status: String,
    /// The version of the host.
    pub version: String,
}

/// The answer of `GET /ready`: the store answers and the host takes work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Always `ready`; a host that is not ready answers with a problem.
    pub status: String,
    /// Addresses of databases that do not answer, of a store in several of them. Executions in
    /// these wait, and the others go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The answer at the root path of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Index {
    /// The name of the program.
    pub name: String,
    /// The version of the host.
    pub version: String,
    /// Paths of further information.
    pub links: Vec<String>,
}
