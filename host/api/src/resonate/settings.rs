//! What an operator decides about the front end.

use std::sync::Arc;

use segno_core::time::Millis;

use segno_env::DebugClock;

/// The settings.
#[derive(Clone)]
pub struct Settings {
    /// How workers reach this host; said to those that messages are sent to.
    pub server_url: String,
    /// Streams that may be open at a time.
    pub streams: usize,
    /// Messages that wait for a slow reader of a stream.
    pub buffer: usize,
    /// How long after a worker's last stream closed its claims are left to it; none: as long as their leases.
    pub grace: Option<Millis>,
    /// Origins whose pages may ask; `*`: all.
    pub cors: Vec<String>,
    /// The clock that debuggers set; none: they may not.
    pub debug: Option<Arc<DebugClock>>,
}

impl Settings {
    /// The defaults for a host that is reached at `server_url`.
    pub fn new(server_url: impl Into<String>) -> Self {
        Self {
            server_url: server_url.into(),
            streams: 1_000,
            buffer: 100,
            grace: Some(Millis::seconds(5)),
            cors: Vec::new(),
            debug: None,
        }
    }
}
