//! A logged line.
//!
//! ```text
//! line = format: u8 (1), then in postcard: at: i64 (ms), level: u8 (1 trace to 5 error), message: text
//! ```

use segno_core::{invocation::LogLevel, time::Timestamp, value::Text};
use serde::{Deserialize, Serialize};

const FORMAT: u8 = 1;

/// A line that an execution logged. Its number is its position among the execution's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleLine {
    /// Logical time at which the line was logged.
    pub at: Timestamp,
    pub level: LogLevel,
    pub message: Text,
}

#[derive(Serialize, Deserialize)]
struct StoredLine {
    at: i64,
    level: u8,
    message: Text,
}

impl BundleLine {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { at, level, message } = self;
        let stored = StoredLine { at: at.0, level: level.number(), message: message.clone() };
        postcard::to_extend(&stored, vec![FORMAT]).expect("a line holds nothing postcard refuses")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let stored: StoredLine = super::execution::decoded(FORMAT, bytes)?;
        let level = LogLevel::from_number(stored.level);
        let level = level.ok_or_else(|| format!("there is no log level {}", stored.level))?;
        Ok(Self { at: Timestamp(stored.at), level, message: stored.message })
    }
}
