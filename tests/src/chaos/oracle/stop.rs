//! A request to stop that meets an end.

use segno::api::model::{CancelProgress, InvocationState};

use super::Verdict;

/// How a flow is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is asked to end.
    Cancel,
    /// It is ended.
    Kill,
}

/// How a flow ended that somebody tried to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopEnd {
    /// How it was to be stopped.
    pub stop: Stop,
    /// Whether the answer said that this changed something. None: an answer was lost, so it may have been changed before.
    pub changed: Option<bool>,
    /// The state in which it ended.
    pub state: InvocationState,
    /// Whether it was killed.
    pub is_killed: bool,
    /// What became of the cancellation.
    pub cancel: CancelProgress,
}

/// A stop that changed something was carried out, or missed an end that came first, and says so; one
/// that changed nothing came after the end.
///
/// # Errors
/// What is wrong.
pub fn stop(end: StopEnd) -> Verdict {
    let is_cancelled = end.state == InvocationState::Cancelled;
    let is_resolved = end.state == InvocationState::Resolved;
    let untouched = is_resolved && !end.is_killed && end.cancel == CancelProgress::None;
    let cancelled = !end.is_killed
        && match end.cancel {
            CancelProgress::Delivered => is_cancelled || is_resolved,
            CancelProgress::Missed => is_resolved,
            CancelProgress::None | CancelProgress::Requested => false,
        };
    let killed = is_cancelled && end.is_killed;
    let carried_out = match end.stop {
        Stop::Cancel => cancelled,
        Stop::Kill => killed,
    };
    let is_right = match end.changed {
        Some(true) => carried_out,
        Some(false) => untouched,
        None => carried_out || untouched,
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("it cannot have come to this: {end:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_that_was_answered_and_left_no_trace_is_noticed() {
        use CancelProgress::{Delivered, Missed, None as Nothing, Requested};
        use InvocationState::{Cancelled, Rejected, Resolved};
        for (how, changed, state, is_killed, cancel, right) in [
            (Stop::Cancel, Some(true), Cancelled, false, Delivered, true),
            (Stop::Cancel, Some(true), Resolved, false, Delivered, true),
            (Stop::Cancel, Some(true), Resolved, false, Missed, true),
            (Stop::Cancel, Some(true), Resolved, false, Requested, false),
            (Stop::Cancel, Some(true), Resolved, false, Nothing, false),
            (Stop::Cancel, Some(true), Cancelled, false, Missed, false),
            (Stop::Cancel, Some(true), Cancelled, true, Delivered, false),
            (Stop::Cancel, Some(true), Rejected, false, Delivered, false),
            (Stop::Cancel, Some(false), Resolved, false, Nothing, true),
            (Stop::Cancel, Some(false), Cancelled, false, Delivered, false),
            (Stop::Cancel, None, Resolved, false, Nothing, true),
            (Stop::Cancel, None, Resolved, false, Missed, true),
            (Stop::Cancel, None, Resolved, false, Requested, false),
            (Stop::Kill, Some(true), Cancelled, true, Nothing, true),
            (Stop::Kill, Some(true), Cancelled, false, Nothing, false),
            (Stop::Kill, Some(true), Resolved, false, Nothing, false),
            (Stop::Kill, Some(false), Resolved, false, Nothing, true),
            (Stop::Kill, Some(false), Cancelled, true, Nothing, false),
        ] {
            let end = StopEnd { stop: how, changed, state, is_killed, cancel };
            assert_eq!(stop(end).is_ok(), right, "{end:?}");
        }
    }
}
