//! Checks of a cancellation or kill that races with the end of a flow.

use segno_api::model::{CancelProgress, InvocationState};

use super::Verdict;

/// Way to stop a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A cancellation is requested.
    Cancel,
    /// The flow is killed.
    Kill,
}

/// Outcome of a flow after an attempt to stop it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopEnd {
    pub stop: Stop,
    /// The answer's claim to have changed something. `None`: an answer was lost, so an earlier
    /// attempt may have made the change.
    pub changed: Option<bool>,
    /// State in which the flow ended.
    pub state: InvocationState,
    /// True if the flow was killed.
    pub is_killed: bool,
    /// Progress of the cancellation.
    pub cancel: CancelProgress,
}

/// Checks the outcome of a stop. A stop that changed something was carried out, or missed an
/// earlier end and says so. A stop that changed nothing came after the end.
///
/// # Errors
/// A description of the violation.
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
