//! Settings of the front end for services written for Restate.

use std::sync::Arc;

use segno_api::AllowedOrigins;

/// Settings of the front end for services written for Restate.
#[derive(Clone, Debug, Default)]
pub struct RestateSettings {
    /// URL of the ingress; `None` if the host accepts no calls.
    pub ingress: Option<Arc<str>>,
    /// Origins whose pages may call services.
    pub origins: AllowedOrigins,
}
