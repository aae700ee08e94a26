//! The log span of an execution: every line carries the ids of the invocation, the claim and the
//! host.

use segno_core::{
    id::Holder,
    invocation::{LogLevel, LogLine},
    promise::Promise,
    reply::TaskReply,
};
use tracing::Span;

use crate::target;

/// The log target for lines of guests.
pub(super) const GUEST: &str = "segno::guest";

/// The span of all work under a claim. The span is enabled at every level, so that every warning
/// has the ids.
pub(super) fn span(holder: &Holder, acquired: &TaskReply) -> Span {
    let promise: &Promise = &acquired.promise;
    let (function, module) = (target::function_of(promise), target::module_of(promise));
    // The first 12 digits identify the module well enough.
    let digest = acquired.task.module.map(|digest| format!("{digest:.12}"));
    tracing::error_span!(
        "execution",
        invocation = %acquired.task.id,
        function = &*function,
        module,
        digest,
        version = acquired.task.version.0,
        node = %holder.node,
    )
}

/// Logs a line of a guest, at its level. The span identifies the invocation.
pub(super) fn line(line: &LogLine) {
    let message = &*line.message;
    match line.level {
        LogLevel::Trace => tracing::trace!(target: GUEST, "{message}"),
        LogLevel::Debug => tracing::debug!(target: GUEST, "{message}"),
        LogLevel::Info => tracing::info!(target: GUEST, "{message}"),
        LogLevel::Warn => tracing::warn!(target: GUEST, "{message}"),
        LogLevel::Error => tracing::error!(target: GUEST, "{message}"),
    }
}
