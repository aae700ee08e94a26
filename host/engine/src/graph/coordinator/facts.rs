//! Facts: the effect of settled promises on nodes.

use segno_core::{
    graph::ResetReason,
    id::PromiseId,
    promise::{Promise, RetryDecision},
    time::Timestamp,
};
use segno_graph::{
    NodeIndex,
    progress::{RecordRefusal, Status},
    state::{FailureDetail, NodeOutcome},
};

use super::Coordinator;
use crate::graph::{
    attempt::{self, after},
    outcome::{self, RunPosition, SettledPromise, place},
};

/// Maximum number of cancelled attempts of a node before it fails.
const MOST_CANCELLED: u32 = 10;

impl Coordinator {
    /// Records the settlement of a promise of the run. Other promises change nothing. Returns true
    /// if it was a fact.
    ///
    /// # Errors
    /// [`RecordRefusal`]: the fact does not belong to this run.
    pub fn settled(
        &mut self,
        settled: &SettledPromise<'_>,
        now: Timestamp,
    ) -> Result<bool, RecordRefusal> {
        let known = self.acts.len();
        self.take_note(settled, now)?;
        Ok(self.acts.len() > known)
    }

    fn take_note(
        &mut self,
        settled: &SettledPromise<'_>,
        now: Timestamp,
    ) -> Result<(), RecordRefusal> {
        let SettledPromise { promise, repeated } = settled;
        let Some(settlement) = promise.settlement() else { return Ok(()) };
        match place(&self.run, promise.id()) {
            Some(RunPosition::Attempt(name, attempt)) => {
                let Some(node) = self.start.plan.topology().index_of(name) else { return Ok(()) };
                // An attempt that was created earlier may end before its node is dispatched again.
                let is_live =
                    self.made.contains(&node) || self.progress.status(node) == Status::Running;
                if !is_live || self.progress.attempt(node) != attempt {
                    return Ok(());
                }
                self.made.remove(&node);
                let (mut outcome, output) = outcome::outcome(settlement);
                let mut reset = None;
                if matches!(outcome, NodeOutcome::Failed(_) | NodeOutcome::TimedOut) && !repeated {
                    let code = outcome::detail(settlement).code;
                    if let Some(begins) = self.repeats(node, attempt, code, promise.id(), now) {
                        self.begins.insert(node, begins);
                        reset = Some(ResetReason::Failed { begins_at: begins });
                        outcome = NodeOutcome::Shutdown;
                    }
                }
                if outcome == NodeOutcome::Cancelled {
                    let cancelled = self.cancelled.entry(node).or_default();
                    let is_over =
                        *cancelled >= MOST_CANCELLED || self.start.plan.node(node).once.is_some();
                    if is_over {
                        outcome = NodeOutcome::Failed(outcome::detail(settlement));
                    } else {
                        *cancelled += 1;
                        reset = Some(ResetReason::Cancelled);
                    }
                }
                self.progress.record(node, attempt, &outcome)?;
                match outcome {
                    NodeOutcome::Succeeded(()) => self.keep(node, promise, output),
                    NodeOutcome::Failed(_) | NodeOutcome::TimedOut => {
                        self.fail(node, outcome::detail(settlement));
                    }
                    NodeOutcome::Skipped
                    | NodeOutcome::SuspendedOn(_)
                    | NodeOutcome::Cancelled
                    | NodeOutcome::Shutdown
                    | NodeOutcome::RunCancelled => {}
                }
                self.note(node, reset);
            }
            Some(RunPosition::Signal(name)) => {
                let waiting: Vec<NodeIndex> = self
                    .signals
                    .get(name)
                    .into_iter()
                    .flatten()
                    .copied()
                    .filter(|node| self.progress.status(*node) == Status::Waiting)
                    .collect();
                self.progress.deliver(name, outcome::delivery(settlement));
                for node in waiting {
                    self.learn_of(node, promise);
                    self.note(node, None);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Keeps the output or failure of a promise that settled earlier.
    pub fn learn(&mut self, promise: &Promise) {
        let topology = self.start.plan.topology();
        let nodes: Vec<NodeIndex> = match place(&self.run, promise.id()) {
            Some(RunPosition::Attempt(name, _)) => topology.index_of(name).into_iter().collect(),
            Some(RunPosition::Signal(name)) => self.signals.get(name).cloned().unwrap_or_default(),
            None => Vec::new(),
        };
        nodes.into_iter().for_each(|node| self.learn_of(node, promise));
    }

    /// The start of the next attempt after a failure. `None` if the plan does not retry the node.
    fn repeats(
        &self,
        node: NodeIndex,
        attempt: u32,
        code: u32,
        id: &PromiseId,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let retry = self.start.plan.node(node).retry.as_deref()?;
        // Cancellations from outside do not count as failures.
        let cancelled = self.cancelled.get(&node).copied().unwrap_or_default();
        match attempt::policy(retry).decide((attempt + 1).saturating_sub(cancelled), code, id) {
            RetryDecision::After(wait) => Some(after(now, wait)),
            RetryDecision::GiveUp => None,
        }
    }

    pub(super) fn fail(&mut self, node: NodeIndex, detail: FailureDetail) {
        self.failed.insert(node);
        self.failures.insert(node, detail);
    }

    fn keep(&mut self, node: NodeIndex, promise: &Promise, output: serde_json::Value) {
        let value = promise.settlement().and_then(|settlement| settlement.value.as_ref());
        self.outputs.put(node, output, value.map_or(0, |value| value.data.len()));
    }

    fn learn_of(&mut self, node: NodeIndex, promise: &Promise) {
        let Some(settlement) = promise.settlement() else { return };
        match self.progress.status(node) {
            Status::Completed => self.keep(node, promise, outcome::output(settlement)),
            Status::Failed => self.fail(node, outcome::detail(settlement)),
            Status::Pending | Status::Running | Status::Waiting | Status::Skipped => {}
        }
    }
}
