//! Log lines, kept by the host with the invocation.

use crate::bindings::segno::workflow::types as wit;

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Detailed tracing of single operations.
    Trace,
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// An unexpected event that the code handled.
    Warn,
    /// A failure of an operation.
    Error,
}

impl From<Level> for wit::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => wit::Level::Trace,
            Level::Debug => wit::Level::Debug,
            Level::Info => wit::Level::Info,
            Level::Warn => wit::Level::Warn,
            Level::Error => wit::Level::Error,
        }
    }
}

impl From<wit::Level> for Level {
    fn from(level: wit::Level) -> Self {
        match level {
            wit::Level::Trace => Level::Trace,
            wit::Level::Debug => Level::Debug,
            wit::Level::Info => Level::Info,
            wit::Level::Warn => Level::Warn,
            wit::Level::Error => Level::Error,
        }
    }
}

/// Logs at level trace: `segno::trace!(ctx, "{x} of {y}")`. `ctx` is the context of a workflow or
/// an activity.
#[macro_export]
macro_rules! trace {
    ($ctx:expr, $($format:tt)+) => { $ctx.log($crate::Level::Trace, format!($($format)+)) };
}

/// Logs at level debug: `segno::debug!(ctx, "{x} of {y}")`. `ctx` is the context of a workflow or
/// an activity.
#[macro_export]
macro_rules! debug {
    ($ctx:expr, $($format:tt)+) => { $ctx.log($crate::Level::Debug, format!($($format)+)) };
}

/// Logs at level info: `segno::info!(ctx, "{x} of {y}")`. `ctx` is the context of a workflow or an
/// activity.
#[macro_export]
macro_rules! info {
    ($ctx:expr, $($format:tt)+) => { $ctx.log($crate::Level::Info, format!($($format)+)) };
}

/// Logs at level warn: `segno::warn!(ctx, "{x} of {y}")`. `ctx` is the context of a workflow or an
/// activity.
#[macro_export]
macro_rules! warn {
    ($ctx:expr, $($format:tt)+) => { $ctx.log($crate::Level::Warn, format!($($format)+)) };
}

/// Logs at level error: `segno::error!(ctx, "{x} of {y}")`. `ctx` is the context of a workflow or
/// an activity.
#[macro_export]
macro_rules! error {
    ($ctx:expr, $($format:tt)+) => { $ctx.log($crate::Level::Error, format!($($format)+)) };
}
