//! The operator's settings of the front end.

use std::sync::Arc;

use segno_api::AllowedOrigins;
use segno_core::time::Millis;
use segno_env::DebugClock;

/// Settings of the front end.
#[derive(Clone)]
pub struct ResonateSettings {
    /// The URL at which workers reach this host, sent with messages.
    pub server_url: String,
    /// Maximum number of open streams.
    pub streams: usize,
    /// Maximum number of messages queued for a slow reader of a stream.
    pub buffer: usize,
    /// Time for which a worker keeps its claims after its last stream closed. `None`: until their
    /// leases end.
    pub grace: Option<Millis>,
    /// Origins whose pages may send requests.
    pub cors: AllowedOrigins,
    /// The clock that debug operations set. `None` if debugging is not allowed.
    pub debug: Option<Arc<DebugClock>>,
}

impl ResonateSettings {
    /// The defaults for a host with this URL.
    pub fn new(server_url: impl Into<String>) -> Self {
        Self {
            server_url: server_url.into(),
            streams: 1_000,
            buffer: 100,
            grace: Some(Millis::seconds(5)),
            cors: AllowedOrigins::default(),
            debug: None,
        }
    }
}
