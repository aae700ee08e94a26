//! The outcome of a node, from a settled promise.

use segno_core::{
    id::PromiseId,
    json::JsonError,
    promise::{Promise, Settlement, Verdict},
};
use segno_graph::{
    progress::SignalDelivery,
    state::{FailureDetail, NodeOutcome},
};
use segno_guest::{Failure, Outcome};
use serde_json::Value as Json;

use crate::values::{self, code};

/// A settled promise of a run.
#[derive(Debug)]
pub struct SettledPromise<'a> {
    pub promise: &'a Promise,
    /// True if hosts have already retried it according to the plan, as they do for activities and
    /// requests.
    pub repeated: bool,
}

/// The position of a promise in its run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RunPosition<'a> {
    /// An attempt of a node: the node's name, and the number of the attempt.
    Attempt(&'a str, u32),
    /// A signal, by name.
    Signal(&'a str),
}

/// The position of a promise in this run. `None` if it does not belong to the run.
pub(super) fn place<'a>(run: &PromiseId, id: &'a PromiseId) -> Option<RunPosition<'a>> {
    let rest = id.as_str().strip_prefix(run.as_str())?;
    if let Some(name) = rest.strip_prefix("/sig/") {
        return Some(RunPosition::Signal(name));
    }
    let (node, attempt) = rest.strip_prefix("/n/")?.split_once('/')?;
    Some(RunPosition::Attempt(node, attempt.parse().ok()?))
}

/// The outcome of an attempt, and its output. An output that is not JSON is a failure.
pub(super) fn outcome(settlement: &Settlement) -> (NodeOutcome<()>, Json) {
    let outcome = match settlement.verdict {
        Verdict::Resolved => match read(settlement) {
            Ok(output) => return (NodeOutcome::Succeeded(()), output),
            Err(reason) => NodeOutcome::Failed(FailureDetail {
                code: code::REFUSED,
                message: format!("the output is not JSON: {reason}"),
                details: None,
            }),
        },
        Verdict::Rejected => NodeOutcome::Failed(detail(settlement)),
        Verdict::TimedOut => NodeOutcome::TimedOut,
        Verdict::Canceled => NodeOutcome::Cancelled,
    };
    (outcome, Json::Null)
}

/// The result of a signal.
pub(super) fn delivery(settlement: &Settlement) -> SignalDelivery {
    match settlement.verdict {
        Verdict::Resolved => SignalDelivery::Value,
        Verdict::Rejected | Verdict::TimedOut | Verdict::Canceled => SignalDelivery::Failure,
    }
}

/// The output of a completed node. An output that an older host accepted although it is not JSON is
/// marked.
pub(super) fn output(settlement: &Settlement) -> Json {
    let value = settlement.value.as_ref();
    value.map_or(Json::Null, |value| values::payload_json(&values::payload(value)))
}

fn read(settlement: &Settlement) -> Result<Json, JsonError> {
    let value = settlement.value.as_ref();
    value.map_or(Ok(Json::Null), |value| values::read_json(&values::payload(value)))
}

/// The code, message and details of a failed promise.
pub(super) fn detail(settlement: &Settlement) -> FailureDetail {
    match values::outcome(settlement) {
        Outcome::Failure(Failure { code, message, details }) => {
            FailureDetail { code, message, details: details.as_ref().map(values::payload_json) }
        }
        Outcome::Success(_) => {
            FailureDetail { code: code::FAILED, message: "it succeeded".into(), details: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_has_its_place_by_its_id() {
        let run = PromiseId::from("g/n/a/0");
        let of = |id: &str| format!("{:?}", place(&run, &PromiseId::from(id)));
        assert_eq!(of("g/n/a/0/n/b/3"), r#"Some(Attempt("b", 3))"#);
        assert_eq!(of("g/n/a/0/sig/go"), r#"Some(Signal("go"))"#);
        for other in ["g/n/a/0", "g/n/a/1/n/b/3", "g/n/a/0/n/b/x", "g/n/a/0/n/b", "x"] {
            assert_eq!(of(other), "None", "{other}");
        }
    }
}
