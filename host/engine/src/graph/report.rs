//! The result of a run: the outputs of its plan, or the failures.

use std::collections::{BTreeMap, BTreeSet};

use segno_graph::{
    NodeIndex, RunProgress,
    plan::CheckedPlan,
    progress::Status,
    state::{ClassificationKind, FailureDetail, RunOutcome},
};
use segno_guest::{Failure, Outcome, Payload};
use serde_json::{Map, Value as Json, json};

use super::outputs::OutputCache;
use crate::values::code;

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// All nodes completed or were skipped.
    Completed,
    /// A node failed.
    Failed,
    /// No node can begin although the run has not ended: a defect.
    Stuck,
}

impl RunEnd {
    /// The end that this step means. `None` if the run continues.
    pub fn of(step: ClassificationKind) -> Option<Self> {
        match step {
            ClassificationKind::Settled(RunOutcome::Completed) => Some(Self::Completed),
            ClassificationKind::Settled(RunOutcome::Failed) => Some(Self::Failed),
            ClassificationKind::Stuck => Some(Self::Stuck),
            ClassificationKind::Progressing | ClassificationKind::Suspended => None,
        }
    }

    /// The name of the end, for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stuck => "stuck",
        }
    }
}

/// Maximum number of nodes named in a report.
const NAMED: usize = 100;

/// The outputs of the plan by node. Skipped nodes are omitted.
pub(super) fn completed(plan: &CheckedPlan, outputs: &OutputCache) -> Outcome {
    let named = plan.outputs().iter().filter_map(|node| {
        Some((plan.topology().name(*node).to_string(), outputs.get(*node)?.clone()))
    });
    let outputs = Json::Object(named.collect::<Map<_, _>>());
    Outcome::Success(Payload::Json(outputs.to_string()))
}

/// The failed nodes, and the nodes that did not run because of them.
pub(super) fn failed(
    plan: &CheckedPlan,
    progress: &RunProgress,
    failures: &BTreeMap<NodeIndex, FailureDetail>,
    failed: &BTreeSet<NodeIndex>,
) -> Outcome {
    let name = |node: NodeIndex| plan.topology().name(node).to_string();
    let first = failures.iter().next().map_or_else(
        || "a node failed".to_owned(),
        |(node, failure)| format!("node `{}` failed: {}", name(*node), failure.message),
    );
    let more = match failed.len().saturating_sub(1) {
        0 => String::new(),
        1 => "; another node failed as well".to_owned(),
        more => format!("; {more} other nodes failed as well"),
    };
    let told = failures.iter().take(NAMED).map(|(node, failure)| (name(*node), json!(failure)));
    let did_not_run = |node: &NodeIndex| match progress.status(*node) {
        Status::Completed | Status::Skipped => false,
        Status::Failed => !failed.contains(node),
        Status::Pending | Status::Running | Status::Waiting => true,
    };
    let mut not_run = plan.topology().nodes().filter(did_not_run);
    let named: Vec<String> = not_run.by_ref().take(NAMED).map(name).collect();
    let mut details = json!({ "failed": told.collect::<Map<_, _>>(), "not_run": named });
    let more_failed = failed.len().saturating_sub(NAMED);
    for (field, count) in [("more_failed", more_failed), ("more_not_run", not_run.count())] {
        if count > 0 {
            details[field] = json!(count);
        }
    }
    Outcome::Failure(Failure {
        code: code::FAILED,
        message: format!("{first}{more}"),
        details: Some(Payload::Json(details.to_string())),
    })
}

/// The blockers of each node of a run that can neither continue nor end.
pub(super) fn stuck(progress: &RunProgress) -> Outcome {
    let blocked = progress.diagnose().blocked.into_iter().take(NAMED);
    let details: Map<String, Json> = blocked
        .map(|(node, by)| {
            let by: Vec<String> = by.keys().map(ToString::to_string).collect();
            (node.to_string(), json!(by))
        })
        .collect();
    Outcome::Failure(Failure {
        code: code::FAILED,
        message: "the run is stuck: nothing can begin, and not all nodes have ended; this is a \
                  defect of the host"
            .into(),
        details: Some(Payload::Json(Json::Object(details).to_string())),
    })
}

#[cfg(test)]
mod tests {
    use segno_core::{graph::GraphRunParameters, id::PromiseId};
    use segno_graph::plan::Plan;

    use super::*;
    use crate::graph::{Coordinator, OwnModule};

    fn plan() -> CheckedPlan {
        let text = r#"{"nodes": {"a": {"call": "f"}, "b": {"call": "f", "needs": ["a"]}}}"#;
        Plan::from_json(text).and_then(|plan| plan.check()).expect("a plan")
    }

    #[test]
    fn each_step_that_ends_a_run_has_its_end() {
        for (step, end) in [
            (ClassificationKind::Settled(RunOutcome::Completed), Some(RunEnd::Completed)),
            (ClassificationKind::Settled(RunOutcome::Failed), Some(RunEnd::Failed)),
            (ClassificationKind::Stuck, Some(RunEnd::Stuck)),
            (ClassificationKind::Progressing, None),
            (ClassificationKind::Suspended, None),
        ] {
            assert_eq!(RunEnd::of(step), end);
        }
    }

    #[test]
    fn a_run_that_is_stuck_says_what_blocks_each_node() {
        // No valid state is stuck, so the test reports on a run that has not begun.
        let start = GraphRunParameters {
            plan: plan(),
            input: Json::Null,
            persistence: Default::default(),
            continues: None,
        };
        let run = PromiseId::from("g");
        let coordinator = Coordinator::recover(run, start, OwnModule::default(), &[], &[]);
        let coordinator = coordinator.expect("no rows contradict nothing");
        assert!(coordinator.missing_at_the_end(RunEnd::Stuck).is_empty());
        let Outcome::Failure(failure) = coordinator.report(RunEnd::Stuck) else {
            panic!("a failure")
        };
        assert!(failure.message.contains("a defect of the host"), "{}", failure.message);
        let Some(Payload::Json(details)) = failure.details else { panic!("details") };
        assert_eq!(details, r#"{"a":[],"b":["a"]}"#);
    }
}
