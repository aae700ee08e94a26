//! The commits of a turn, and the end of a run.

use segno_core::{
    command::{FenceAction, FenceOperation},
    id::CommandIndex,
    reply::{FenceResult, Refusal},
};

use super::{ClaimedRun, RunStop, failure};
use crate::{
    claim::{ActionResults, ClaimBatch, ExecutionError},
    graph::{MAX_OUTPUT, RunEnd},
    metrics::ClaimEnd,
    notifier::SettlementNotice,
    values,
};

/// Number of acts after which a transaction ends at the next node row.
const MOST_ACTS: usize = 2_048;
/// Number of bytes of new promises after which a transaction ends at the next node row.
const MOST_BYTES: usize = 4 << 20;

impl ClaimedRun {
    /// Commits these acts. Promises that had settled before are read later.
    pub(super) async fn commit(&mut self, acts: Vec<FenceOperation>) -> Result<(), RunStop> {
        for part in parts(acts) {
            let batch = self.batch(&part);
            let results = self.session.fence(batch).await?;
            self.fenced(&part, results)?;
        }
        Ok(())
    }

    /// Ends the run.
    pub(super) async fn finish(mut self, end: RunEnd) -> Result<ClaimEnd, RunStop> {
        let missing = self.coordinator.missing_at_the_end(end);
        let outcome = match self.bytes_of(&missing).await? {
            size if size > MAX_OUTPUT => failure(
                413,
                format!(
                    "the outputs of the run take {size} bytes, and {MAX_OUTPUT} are the most: name fewer \
                     nodes in `outputs`; the outputs of its nodes are kept"
                ),
            ),
            _ => {
                self.learn(missing).await?;
                self.coordinator.report(end)
            }
        };
        if end == RunEnd::Stuck {
            tracing::error!(run = %self.id, "a graph run is stuck");
        }
        let acts = self.coordinator.take_acts();
        let mut parts = parts(acts);
        let last = parts.pop();
        self.commit(parts.concat()).await?;
        let batches = last.iter().map(|acts| self.batch(acts)).collect();
        self.session.fulfil(batches, values::verdict(&outcome)).await?;
        self.worker.host.metrics.worker.graph_ended(end);
        Ok(ClaimEnd::Finished)
    }

    /// The batch of these acts, whose promises are watched from now on.
    pub(super) fn batch(&mut self, acts: &[FenceOperation]) -> ClaimBatch {
        let made = acts.iter().filter_map(|act| match act {
            FenceOperation::Create { new, .. } => Some(&new.id),
            _ => None,
        });
        made.for_each(|id| self.watch.add(id));
        self.session.active.advance(acts.len() as u64);
        let states = acts.iter().filter_map(|act| match act {
            FenceOperation::Node { row, .. } => Some(row.state),
            _ => None,
        });
        states.for_each(|state| self.worker.host.metrics.worker.graph_node(state));
        let actions = acts
            .iter()
            .cloned()
            .zip(0..)
            .map(|(act, index)| FenceAction { index: CommandIndex(index), act });
        ClaimBatch { actions: actions.collect(), ..ClaimBatch::default() }
    }

    /// Notes promises that existed already and have settled, and promises that were refused.
    pub(super) fn fenced(
        &mut self,
        acts: &[FenceOperation],
        results: ActionResults,
    ) -> Result<(), RunStop> {
        for (act, (_, outcome)) in acts.iter().zip(results) {
            match (act, outcome) {
                (FenceOperation::Create { new, .. }, Err(refusal)) => {
                    self.coordinator.refused(&new.id, &refusal)?
                }
                (FenceOperation::Create { .. }, Ok(FenceResult::Promise { promise, .. }))
                    if !promise.is_pending() =>
                {
                    self.unseen.push_back(SettlementNotice::unread(promise.id().clone()));
                }
                // The promise of the node was refused.
                (FenceOperation::Node { .. }, Err(Refusal::Unprocessable(_))) => {}
                (_, Err(refusal)) => return Err(ExecutionError::refused(refusal).into()),
                (_, Ok(_)) => {}
            }
        }
        Ok(())
    }
}

/// The acts in groups, one per transaction. Each group is as large as the limits allow.
pub(super) fn parts(acts: Vec<FenceOperation>) -> Vec<Vec<FenceOperation>> {
    let mut parts: Vec<Vec<FenceOperation>> = Vec::new();
    let (mut part, mut bytes) = (Vec::new(), 0);
    for act in acts {
        bytes += match &act {
            FenceOperation::Create { new, .. } | FenceOperation::CreateLoose { new } => {
                new.param.data.len()
            }
            FenceOperation::Settle { value, .. } => value.data.len(),
            FenceOperation::Signal { payload, .. } => payload.data.len(),
            FenceOperation::Fulfill(fulfillment) => fulfillment.value.data.len(),
            FenceOperation::Cancel { .. }
            | FenceOperation::CancelLoose { .. }
            | FenceOperation::Publish { .. }
            | FenceOperation::Node { .. }
            | FenceOperation::State(_)
            | FenceOperation::Stream(_)
            | FenceOperation::Elapsed { .. }
            | FenceOperation::UnlessAsked
            | FenceOperation::ObjectPromise { .. } => 0,
        };
        // A node's row is in the transaction that creates its promise.
        let may_end = matches!(act, FenceOperation::Node { .. });
        part.push(act);
        if may_end && (part.len() >= MOST_ACTS || bytes >= MOST_BYTES) {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}
