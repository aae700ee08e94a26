//! The conditions under which a world runs attempts.

use segno_restate::ProtocolVersion;

/// Conditions under which a world runs attempts.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    /// Version of the protocol.
    pub version: ProtocolVersion,
    /// True if a request is sent as a whole, so that later notifications need another attempt.
    pub is_request_response: bool,
    /// True if the start message includes the state.
    pub sends_state: bool,
    /// Advance of the clock at every read, in milliseconds.
    pub clock_step_ms: i64,
    /// Number of the endpoint's frame after which the connection breaks, counted over all attempts.
    /// `None`: the connection does not break.
    pub breaks_after: Option<usize>,
}

impl Course {
    /// Both sides stream concurrently, and no connection breaks.
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
