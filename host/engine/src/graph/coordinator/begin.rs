//! How nodes begin.

use segno_core::{
    command::FenceAct, graph::NodeState, id::PromiseId, promise::Verdict, reply::Refusal,
    time::Timestamp,
};
use segno_graph::{
    NodeIndex,
    plan::Kind,
    progress::{RecordRefused, Status},
    state::{FailureDetail, NodeOutcome},
};
use segno_guest::Failure;

use super::Coordinator;
use crate::{
    graph::{
        attempt,
        outcome::{Place, place},
    },
    values,
};

/// The most bytes of the input of a node.
const MAX_INPUT: usize = 16 << 20;

impl Coordinator {
    /// Begins nodes that were dispatched and whose inputs are in memory: makes their attempts, waits
    /// for their signals, or leaves them out.
    ///
    /// # Errors
    /// [`RecordRefused`]: a defect.
    pub fn begin(&mut self, nodes: &[NodeIndex], now: Timestamp) -> Result<(), RecordRefused> {
        for node in nodes {
            if !self.made.remove(node) {
                self.begin_one(*node, now)?;
            }
        }
        Ok(())
    }

    /// An attempt could not be made: its node has failed.
    ///
    /// # Errors
    /// [`RecordRefused`]: a defect.
    pub fn refused(&mut self, id: &PromiseId, refusal: &Refusal) -> Result<(), RecordRefused> {
        let Some(Place::Attempt(name, _)) = place(&self.run, id) else { return Ok(()) };
        let Some(node) = self.start.plan.topology().index_of(name) else { return Ok(()) };
        let code = u32::from(refusal.code());
        self.fail_at_once(node, Failure { code, message: refusal.to_string(), details: None })
    }

    fn begin_one(&mut self, node: NodeIndex, now: Timestamp) -> Result<(), RecordRefused> {
        let (plan, attempt) = (&self.start.plan, self.progress.attempt(node));
        let outputs = |need: NodeIndex| {
            (self.progress.status(need) == Status::Completed)
                .then(|| self.outputs.get(need))
                .flatten()
        };
        if !plan.wanted(node, &self.start.input, outputs) {
            self.progress.record(node, attempt, &NodeOutcome::<()>::Skipped)?;
            self.note(node);
            return Ok(());
        }
        let id = self.output_of(node);
        if let Kind::Signal(name) = &plan.node(node).kind {
            let new = attempt::signal(&self.run, name, plan.node(node), now);
            self.acts.push(FenceAct::Create { new });
            let waits = NodeOutcome::<()>::SuspendedOn(name.to_string());
            self.progress.record(node, attempt, &waits)?;
            if self.progress.status(node) == Status::Failed {
                self.failed.insert(node);
            }
            self.note(node);
            return Ok(());
        }
        let input = plan.input_of(node, &self.start.input, outputs);
        let begins = self.begins.remove(&node).unwrap_or(now);
        let new = attempt::promise(id, plan.node(node), input, &self.module, (now, begins));
        let size = new.param.data.len();
        if size > MAX_INPUT {
            let message = format!(
                "the input of the node takes {size} bytes, and {MAX_INPUT} are the most: take parts of \
                 the outputs before it with `input`, or have them written to a file"
            );
            return self.fail_at_once(node, Failure { code: 413, message, details: None });
        }
        self.acts.push(FenceAct::Create { new });
        self.acts.push(self.row(node, NodeState::Running));
        Ok(())
    }

    /// The node's failure is the value of a promise like any other.
    fn fail_at_once(&mut self, node: NodeIndex, failure: Failure) -> Result<(), RecordRefused> {
        let (id, attempt) = (self.output_of(node), self.progress.attempt(node));
        self.acts.push(FenceAct::Create { new: attempt::bare(id.clone()) });
        let (verdict, value) = (Verdict::Rejected, values::failure_value(&failure));
        self.acts.push(FenceAct::Settle { id, verdict, value });
        let Failure { code, message, .. } = failure;
        let detail = FailureDetail { code, message, details: None };
        self.progress.record(node, attempt, &NodeOutcome::<()>::Failed(detail.clone()))?;
        self.fail(node, detail);
        self.note(node);
        Ok(())
    }
}
