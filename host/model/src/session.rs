//! Sessions of browsers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Authentication state of a request's sender.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// True if this host requires a token. Otherwise there are no sessions.
    pub needs_token: bool,
    /// Token that requests with the session's cookie send as `x-segno-csrf` if they change
    /// something; absent without a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
    /// The end of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at_ms: Option<i64>,
}
