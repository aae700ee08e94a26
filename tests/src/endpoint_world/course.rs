//! How the attempts of a world go.

use segno_restate::ProtocolVersion;

/// How the attempts of a world go.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    /// The version of the protocol.
    pub version: ProtocolVersion,
    /// Whether requests are sent as a whole, so that what comes later needs another attempt.
    pub is_request_response: bool,
    /// Whether state is sent along.
    pub sends_state: bool,
    /// By how much the clock goes on whenever it is read, in milliseconds.
    pub clock_step_ms: i64,
    /// The frame of an endpoint with which the connection breaks, counted over all attempts.
    pub breaks_after: Option<usize>,
}

impl Course {
    /// Both sides send at once, and nothing breaks.
    pub fn of(version: ProtocolVersion) -> Self {
        Self {
            version,
            is_request_response: false,
            sends_state: true,
            clock_step_ms: 0,
            breaks_after: None,
        }
    }
}
