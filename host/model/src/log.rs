//! What functions logged.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// The finest.
    Trace,
    /// For authors.
    Debug,
    /// For operators.
    Info,
    /// Something odd.
    Warn,
    /// Something wrong.
    Error,
}

impl LogLevel {
    /// All of them, the finest first.
    pub const ALL: [Self; 5] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// As it is written in JSON.
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

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// Its number in the invocation, from 0.
    pub line: u32,
    /// When.
    pub at_ms: i64,
    /// How loud.
    pub level: LogLevel,
    /// What.
    pub message: String,
}

/// A part of an invocation's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPage {
    /// The invocation.
    pub id: String,
    /// The lines, in order.
    pub lines: Vec<LogLine>,
    /// Pass it as `from` for the next page; absent when there was nothing further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}
