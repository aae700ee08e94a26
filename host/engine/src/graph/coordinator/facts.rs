//! What settled promises say of the nodes.

use segno_core::{
    id::PromiseId,
    promise::{Promise, RetryDecision},
    time::Timestamp,
};
use segno_graph::{
    NodeIndex,
    progress::{RecordRefused, Status},
    state::{FailureDetail, NodeOutcome},
};

use super::Coordinator;
use crate::graph::{
    attempt::{self, after},
    outcome::{self, Place, Settled, place},
};

/// A node whose attempts are cancelled so often is not begun again.
const MOST_CANCELLED: u32 = 10;

impl Coordinator {
    /// Takes note of a promise of the run that has settled; any other changes nothing.
    ///
    /// # Errors
    /// [`RecordRefused`]: the fact is not one of this run.
    pub fn settled(&mut self, settled: &Settled<'_>, now: Timestamp) -> Result<(), RecordRefused> {
        let Settled { promise, repeated } = settled;
        let Some(settlement) = promise.settlement() else { return Ok(()) };
        match place(&self.run, promise.id()) {
            Some(Place::Attempt(name, attempt)) => {
                let Some(node) = self.start.plan.topology().index_of(name) else { return Ok(()) };
                if self.progress.status(node) != Status::Running
                    || self.progress.attempt(node) != attempt
                {
                    return Ok(());
                }
                let (mut outcome, output) = outcome::outcome(settlement);
                if matches!(outcome, NodeOutcome::Failed(_) | NodeOutcome::TimedOut) && !repeated {
                    let code = outcome::detail(settlement).code;
                    if let Some(begins) = self.repeats(node, attempt, code, promise.id(), now) {
                        self.begins.insert(node, begins);
                        outcome = NodeOutcome::Shutdown;
                    }
                }
                if outcome == NodeOutcome::Cancelled && attempt + 1 >= MOST_CANCELLED {
                    outcome = NodeOutcome::Failed(outcome::detail(settlement));
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
                self.note(node);
            }
            Some(Place::Signal(name)) => {
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
                    self.note(node);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Keeps what was read of a promise that settled before.
    pub fn learn(&mut self, promise: &Promise) {
        let topology = self.start.plan.topology();
        let nodes: Vec<NodeIndex> = match place(&self.run, promise.id()) {
            Some(Place::Attempt(name, _)) => topology.index_of(name).into_iter().collect(),
            Some(Place::Signal(name)) => self.signals.get(name).cloned().unwrap_or_default(),
            None => Vec::new(),
        };
        nodes.into_iter().for_each(|node| self.learn_of(node, promise));
    }

    /// When the next attempt begins after a failure; none: the plan wants no other.
    fn repeats(
        &self,
        node: NodeIndex,
        attempt: u32,
        code: u32,
        id: &PromiseId,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let retry = self.start.plan.node(node).retry.as_deref()?;
        match attempt::policy(retry).decide(attempt + 1, code, id) {
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
