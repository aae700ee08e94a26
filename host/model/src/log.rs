//! Log lines of functions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The level of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// The most detailed level.
    Trace,
    /// Details for authors.
    Debug,
    /// Normal operation, for operators.
    Info,
    /// A possible problem.
    Warn,
    /// A failure.
    Error,
}

impl LogLevel {
    /// All levels, the most detailed first.
    pub const ALL: [Self; 5] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// A log line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// The number of the line in the invocation, from 0.
    pub line: u32,
    /// When the line was logged.
    pub at_ms: i64,
    /// The level of the line.
    pub level: LogLevel,
    /// The text of the line.
    pub message: String,
}

/// A page of an invocation's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPage {
    /// The id of the invocation.
    pub id: String,
    /// The lines, in order.
    pub lines: Vec<LogLine>,
    /// The `from` of the next page; absent if there are no further lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// On the last page, if the last attempt of a workflow trapped: the lines logged since its last
    /// commit, at most 8 KiB. They are not part of the log yet: the next attempt logs them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<LogLine>,
}
