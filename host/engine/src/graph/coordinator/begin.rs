//! Start of nodes.

use segno_core::{
    command::FenceOperation, graph::NodeState, id::PromiseId, json, promise::Verdict,
    reply::Refusal, time::Timestamp,
};
use segno_graph::{
    NodeIndex,
    plan::NodeAction,
    progress::{RecordRefusal, Status},
    state::{FailureDetail, NodeOutcome},
};
use segno_guest::Failure;
use serde_json::Value as Json;

use super::Coordinator;
use crate::{
    graph::{
        attempt,
        outcome::{RunPosition, place},
        parts::OutputParts,
    },
    values,
};

/// Maximum size of the input of a node, in bytes.
pub const MAX_INPUT: u64 = 16 << 20;

impl Coordinator {
    /// Begins dispatched nodes whose inputs are in memory: creates their attempts, waits for their
    /// signals, or skips them.
    ///
    /// # Errors
    /// [`RecordRefusal`]: a defect.
    pub fn begin(&mut self, nodes: &[NodeIndex], now: Timestamp) -> Result<(), RecordRefusal> {
        nodes.iter().try_for_each(|node| self.begin_with(*node, &OutputParts::default(), now))
    }

    /// Begins a dispatched node, with these parts of outputs that are too large to keep in memory.
    ///
    /// # Errors
    /// [`RecordRefusal`]: a defect.
    pub fn begin_with(
        &mut self,
        node: NodeIndex,
        parts: &OutputParts,
        now: Timestamp,
    ) -> Result<(), RecordRefusal> {
        if self.made.remove(&node) {
            return Ok(());
        }
        if !self.wanted(node, parts) {
            let attempt = self.progress.attempt(node);
            self.progress.record(node, attempt, &NodeOutcome::<()>::Skipped)?;
            self.note(node, None);
            return Ok(());
        }
        if let NodeAction::Signal(name) = &self.start.plan.node(node).kind {
            let new = attempt::signal(&self.run, name, self.start.plan.node(node), now);
            self.acts.push(FenceOperation::Create { new, request: None });
            let waits = NodeOutcome::<()>::SuspendedOn(name.to_string());
            self.progress.record(node, self.progress.attempt(node), &waits)?;
            if self.progress.status(node) == Status::Failed {
                self.failed.insert(node);
            }
            self.note(node, None);
            return Ok(());
        }
        let plan = &self.start.plan;
        let input =
            plan.input_of_parts(node, &self.start.input, |need, at| self.part(parts, need, at));
        let begins = self.begins.remove(&node).unwrap_or(now).max(now);
        let id = self.output_of(node);
        // A template nests values, so the depth can exceed that of each value.
        if let Err(reason) = json::check_depth(&input) {
            let message = format!("the input of the node has {}", reason.reason);
            return self.fail_at_once(node, Failure { code: 400, message, details: None });
        }
        let new = attempt::promise(id, plan.node(node), input, &self.module, (now, begins));
        let new = match new {
            Ok(new) => new,
            Err(failure) => return self.fail_at_once(node, failure),
        };
        let size = new.param.data.len() as u64;
        if size > MAX_INPUT {
            return self.too_large(node, size);
        }
        self.acts.push(FenceOperation::Create { new, request: None });
        self.acts.push(self.row(node, NodeState::Running, None));
        Ok(())
    }

    /// True if the condition of a node holds, given these parts and the outputs in memory.
    pub fn wanted(&self, node: NodeIndex, parts: &OutputParts) -> bool {
        let source = |need, at: &str| self.part(parts, need, at);
        self.start.plan.wanted_by_parts(node, &self.start.input, source)
    }

    /// Fails a node whose input would have `size` bytes or more.
    ///
    /// # Errors
    /// [`RecordRefusal`]: a defect.
    pub fn too_large(&mut self, node: NodeIndex, size: u64) -> Result<(), RecordRefusal> {
        let message = format!(
            "the input of the node takes {size} bytes, and {MAX_INPUT} are the most: take parts of the \
             outputs before it with `input`, or have them written to a file"
        );
        self.fail_at_once(node, Failure { code: 413, message, details: None })
    }

    /// Fails the node of an attempt that could not be created.
    ///
    /// # Errors
    /// [`RecordRefusal`]: a defect.
    pub fn refused(&mut self, id: &PromiseId, refusal: &Refusal) -> Result<(), RecordRefusal> {
        let Some(RunPosition::Attempt(name, _)) = place(&self.run, id) else { return Ok(()) };
        let Some(node) = self.start.plan.topology().index_of(name) else { return Ok(()) };
        let code = u32::from(refusal.code());
        self.fail_at_once(node, Failure { code, message: refusal.to_string(), details: None })
    }

    fn part<'a>(&'a self, parts: &'a OutputParts, need: NodeIndex, at: &str) -> Option<&'a Json> {
        if self.progress.status(need) != Status::Completed {
            return None;
        }
        match parts.get(need, at) {
            Some(part) => part.as_ref(),
            None => self.outputs.get(need)?.pointer(at),
        }
    }

    /// Fails a node immediately. The failure becomes the value of a promise, as for every failed
    /// node.
    fn fail_at_once(&mut self, node: NodeIndex, failure: Failure) -> Result<(), RecordRefusal> {
        let (id, attempt) = (self.output_of(node), self.progress.attempt(node));
        self.acts.push(FenceOperation::Create { new: attempt::bare(id.clone()), request: None });
        let (verdict, value) = (Verdict::Rejected, values::failure_value(&failure));
        self.acts.push(FenceOperation::Settle { id, verdict, value });
        let Failure { code, message, .. } = failure;
        let detail = FailureDetail { code, message, details: None };
        self.progress.record(node, attempt, &NodeOutcome::<()>::Failed(detail.clone()))?;
        self.fail(node, detail);
        self.note(node, None);
        Ok(())
    }
}
