//! Whether the host lives and works.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer of `GET /health`: the process answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    pub status: String,
    /// The host's version.
    pub version: String,
}

/// The answer of `GET /ready`: the store answers and the host takes work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Always `ready`; a host that is not answers with a problem.
    pub status: String,
}
