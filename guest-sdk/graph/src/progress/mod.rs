//! A run in progress: implements the definitions of [`rules`](crate::rules) incrementally, fact by
//! fact. It tracks statuses and attempts; the caller keeps outputs.
//!
//! A fact costs the edges of its node, and, for a failure, those of the descendants that it closes.
//! Between calls the state is always closed and normalised: a dispatched node counts as part of the
//! frontier, so that [`RunProgress::classify`] may be called at any time.

mod recover;
mod status;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    name::NodeName,
    state::{
        ClassificationKind, FailurePolicy, NodeOutcome, NodeStatus, RunOutcome, StuckDiagnostic,
    },
    topology::{NodeIndex, Topology},
};

pub use recover::{RecoverError, RecoveredNode};
pub use status::{Status, StatusCounts};

/// A run over the nodes of a [`Topology`]. It takes 9 bytes per node, and more for nodes that are
/// ready, running or waiting.
#[derive(Clone, Debug)]
pub struct RunProgress {
    topology: Arc<Topology>,
    policy: FailurePolicy,
    status: Vec<Status>,
    /// Number of predecessors that do not unblock yet, by node.
    blocking: Vec<u32>,
    attempts: Vec<u32>,
    /// Nodes that are pending and unblocked, without a live attempt.
    ready: BTreeSet<NodeIndex>,
    /// Nodes that are pending and unblocked, with an attempt from before the last recovery.
    live: BTreeSet<NodeIndex>,
    running: BTreeSet<NodeIndex>,
    waiting: BTreeMap<Arc<str>, BTreeSet<NodeIndex>>,
    waiting_for: BTreeMap<NodeIndex, Arc<str>>,
    delivered: BTreeMap<Arc<str>, SignalDelivery>,
    counts: StatusCounts,
}

/// The result that a signal delivers; the caller keeps its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalDelivery {
    /// A value, which becomes the output of all nodes that wait for it.
    Value,
    /// A failure, which fails all nodes that wait for it.
    Failure,
}

/// A fact that no run can produce. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordRefusal {
    /// There is no such node.
    #[error("the run has no node {index}")]
    UnknownNode {
        /// The given index.
        index: u32,
    },
    /// The node could not have been dispatched.
    #[error("`{node}` ended although `{blocked_by}`, which comes before it, does not let it begin")]
    NotDispatchable {
        /// The node that ended.
        node: NodeName,
        /// A predecessor that does not unblock.
        blocked_by: NodeName,
    },
    /// The attempt has not been made.
    #[error("attempt {attempt} of `{node}` ended, and {current} is the newest")]
    UnknownAttempt {
        /// The node of the attempt.
        node: NodeName,
        /// The given attempt number.
        attempt: u32,
        /// The newest attempt number.
        current: u32,
    },
}

impl RunProgress {
    /// Creates a run in which nothing has happened.
    pub fn new(topology: Arc<Topology>, policy: FailurePolicy) -> Self {
        Self::recover(topology, policy, [], []).expect("no rows contradict nothing")
    }

    /// The nodes and edges of the run.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The status of a node.
    pub fn status(&self, node: NodeIndex) -> Status {
        self.status[node.at()]
    }

    /// The signal that a node waits for. `None` if it does not wait.
    pub fn waiting_for(&self, node: NodeIndex) -> Option<&str> {
        self.waiting_for.get(&node).map(AsRef::as_ref)
    }

    /// The status of a node, in the form that the definitions use.
    pub fn node_status(&self, node: NodeIndex) -> NodeStatus {
        match self.status(node) {
            Status::Pending => NodeStatus::Pending,
            Status::Running => NodeStatus::Running,
            Status::Waiting => {
                NodeStatus::Waiting(self.waiting_for(node).expect("it waits for a signal").into())
            }
            Status::Completed => NodeStatus::Completed,
            Status::Skipped => NodeStatus::Skipped,
            Status::Failed => NodeStatus::Failed,
        }
    }

    /// The number of a node's attempt, from 0: the running one, or the next one.
    pub fn attempt(&self, node: NodeIndex) -> u32 {
        self.attempts[node.at()]
    }

    /// Number of nodes by status.
    pub fn counts(&self) -> StatusCounts {
        self.counts
    }

    /// The signals that nodes wait for, ascending.
    pub fn awaited_signals(&self) -> impl Iterator<Item = &str> {
        self.waiting.keys().map(AsRef::as_ref)
    }

    /// The nodes that run, ascending.
    pub fn running(&self) -> impl Iterator<Item = NodeIndex> {
        self.running.iter().copied()
    }

    /// The nodes that can run or are running, ascending: the frontier of the normalised state.
    pub fn frontier(&self) -> Vec<NodeIndex> {
        let sets = [&self.ready, &self.live, &self.running];
        let mut frontier: Vec<NodeIndex> = sets.into_iter().flatten().copied().collect();
        frontier.sort_unstable();
        frontier
    }

    /// Classifies the state, in constant time.
    pub fn classify(&self) -> ClassificationKind {
        let StatusCounts { pending, running, waiting, failed, .. } = self.counts;
        if failed > 0 && self.policy == FailurePolicy::FailFast {
            return ClassificationKind::Settled(RunOutcome::Failed);
        }
        if !(self.ready.is_empty() && self.live.is_empty() && self.running.is_empty()) {
            return ClassificationKind::Progressing;
        }
        if pending + running + waiting == 0 {
            let outcome = if failed > 0 { RunOutcome::Failed } else { RunOutcome::Completed };
            return ClassificationKind::Settled(outcome);
        }
        if waiting > 0 { ClassificationKind::Suspended } else { ClassificationKind::Stuck }
    }

    /// Selects nodes to run and marks them running, up to `limit` running nodes in total: first
    /// those with a live attempt, then ascending. Empty once the run has settled.
    ///
    /// Live attempts take places first, so a recovery with the same limit starts no additional
    /// attempts.
    pub fn dispatch(&mut self, limit: usize) -> Vec<NodeIndex> {
        if self.classify() != ClassificationKind::Progressing {
            return Vec::new();
        }
        let room = limit.saturating_sub(self.running.len());
        let mut taken = Vec::new();
        while taken.len() < room
            && let Some(node) = self.live.pop_first().or_else(|| self.ready.pop_first())
        {
            self.running.insert(node);
            self.put(node, Status::Running);
            taken.push(node);
        }
        taken
    }

    /// Notes that a ready node has a live attempt, found in the store.
    pub fn mark_live(&mut self, node: NodeIndex) {
        if self.ready.remove(&node) {
            self.live.insert(node);
        }
    }

    /// Records the outcome of an attempt. Returns the nodes whose status changed: the node, then
    /// those that its failure closed, ascending. [`RunProgress::dispatch`] has the nodes that became
    /// ready.
    ///
    /// A fact of an older attempt, or of a node that has ended or waits, was recorded before and
    /// changes nothing. An outcome that resets the node increments its attempt number.
    ///
    /// # Errors
    /// [`RecordRefusal`] if the fact does not belong to this run.
    pub fn record<V>(
        &mut self,
        node: NodeIndex,
        attempt: u32,
        outcome: &NodeOutcome<V>,
    ) -> Result<Vec<NodeIndex>, RecordRefusal> {
        if node.at() >= self.topology.len() {
            return Err(RecordRefusal::UnknownNode { index: node.0 });
        }
        match self.status(node) {
            Status::Pending | Status::Running => {}
            Status::Waiting | Status::Completed | Status::Skipped | Status::Failed => {
                return Ok(Vec::new());
            }
        }
        let current = self.attempt(node);
        if attempt < current {
            return Ok(Vec::new());
        }
        self.check_dispatchable(node)?;
        if attempt > current {
            let node = self.topology.name(node).clone();
            return Err(RecordRefusal::UnknownAttempt { node, attempt, current });
        }
        Ok(match outcome {
            NodeOutcome::Succeeded(_) => self.unblock(node, Status::Completed),
            NodeOutcome::Skipped => self.unblock(node, Status::Skipped),
            NodeOutcome::SuspendedOn(signal) => match self.delivered.get(signal.as_str()) {
                Some(delivery) => self.resolve(node, *delivery),
                None => self.wait(node, signal.as_str().into()),
            },
            NodeOutcome::Failed(_) | NodeOutcome::TimedOut => self.fail(node),
            NodeOutcome::Cancelled | NodeOutcome::Shutdown | NodeOutcome::RunCancelled => {
                self.begin_again(node)
            }
        })
    }

    /// Starts the next attempt number for a node of the frontier.
    ///
    /// # Errors
    /// [`RecordRefusal`] if the node is not in the frontier or has ended.
    pub fn reset(&mut self, node: NodeIndex) -> Result<Vec<NodeIndex>, RecordRefusal> {
        let attempt = self.attempts.get(node.at()).copied().unwrap_or_default();
        self.record(node, attempt, &NodeOutcome::<()>::Shutdown)
    }

    /// Delivers a signal. Returns the nodes whose status changed: those that waited for it, each
    /// followed by the nodes that its failure closed. A signal has one payload per run: a second
    /// delivery changes nothing. A node that waits for it later receives it immediately.
    pub fn deliver(&mut self, signal: &str, delivery: SignalDelivery) -> Vec<NodeIndex> {
        if self.delivered.contains_key(signal) {
            return Vec::new();
        }
        self.delivered.insert(signal.into(), delivery);
        let waiting = self.waiting.remove(signal).unwrap_or_default();
        waiting.into_iter().flat_map(|node| self.resolve(node, delivery)).collect()
    }

    /// Lists what blocks the nodes that have not ended, for a stuck run. Visits every node.
    pub fn diagnose(&self) -> StuckDiagnostic {
        let name = |node: NodeIndex| self.topology.name(node).clone();
        let blocking = |node| {
            let predecessors = self.topology.predecessors(node).iter().copied();
            let blocking = predecessors.filter(|one| !self.status(*one).unblocks());
            blocking.map(|one| (name(one), self.node_status(one))).collect()
        };
        let open = self.topology.nodes().filter(|node| !self.status(*node).is_terminal());
        StuckDiagnostic { blocked: open.map(|node| (name(node), blocking(node))).collect() }
    }

    fn check_dispatchable(&self, node: NodeIndex) -> Result<(), RecordRefusal> {
        let mut predecessors = self.topology.predecessors(node).iter();
        let blocking = match self.blocking[node.at()] {
            0 => None,
            _ => predecessors.find(|one| !self.status(**one).unblocks()),
        };
        blocking.map_or(Ok(()), |blocking| {
            Err(RecordRefusal::NotDispatchable {
                node: self.topology.name(node).clone(),
                blocked_by: self.topology.name(*blocking).clone(),
            })
        })
    }

    fn resolve(&mut self, node: NodeIndex, delivery: SignalDelivery) -> Vec<NodeIndex> {
        match delivery {
            SignalDelivery::Value => self.unblock(node, Status::Completed),
            SignalDelivery::Failure => self.fail(node),
        }
    }

    /// Ends the node with a status that unblocks its successors.
    fn unblock(&mut self, node: NodeIndex, status: Status) -> Vec<NodeIndex> {
        self.leave(node);
        self.put(node, status);
        for next in self.topology.successors(node) {
            self.blocking[next.at()] -= 1;
            if self.blocking[next.at()] == 0 && self.status[next.at()] == Status::Pending {
                self.ready.insert(*next);
            }
        }
        vec![node]
    }

    fn wait(&mut self, node: NodeIndex, signal: Arc<str>) -> Vec<NodeIndex> {
        self.leave(node);
        self.put(node, Status::Waiting);
        self.waiting.entry(signal.clone()).or_default().insert(node);
        self.waiting_for.insert(node, signal);
        vec![node]
    }

    fn begin_again(&mut self, node: NodeIndex) -> Vec<NodeIndex> {
        self.leave(node);
        self.put(node, Status::Pending);
        self.attempts[node.at()] += 1;
        self.ready.insert(node);
        vec![node]
    }

    /// Fails the node and its descendants. An already failed node has closed its descendants
    /// before, so the walk stops there.
    fn fail(&mut self, node: NodeIndex) -> Vec<NodeIndex> {
        let topology = self.topology.clone();
        self.leave(node);
        self.put(node, Status::Failed);
        let mut changed = vec![node];
        let mut walked = 0;
        while let Some(failed) = changed.get(walked).copied() {
            walked += 1;
            for next in topology.successors(failed) {
                if matches!(self.status(*next), Status::Pending | Status::Waiting) {
                    self.leave(*next);
                    self.put(*next, Status::Failed);
                    changed.push(*next);
                }
            }
        }
        changed[1..].sort_unstable();
        changed
    }

    /// Removes the node from the set that its status put it in.
    fn leave(&mut self, node: NodeIndex) {
        match self.status(node) {
            Status::Running => {
                self.running.remove(&node);
            }
            Status::Pending => {
                self.ready.remove(&node);
                self.live.remove(&node);
            }
            Status::Waiting => {
                let signal = self.waiting_for.remove(&node).expect("it waits for a signal");
                if let Some(waiting) = self.waiting.get_mut(&signal) {
                    waiting.remove(&node);
                    if waiting.is_empty() {
                        self.waiting.remove(&signal);
                    }
                }
            }
            Status::Completed | Status::Skipped | Status::Failed => {}
        }
    }

    fn put(&mut self, node: NodeIndex, status: Status) {
        *self.counts.of(self.status[node.at()]) -= 1;
        *self.counts.of(status) += 1;
        self.status[node.at()] = status;
    }
}

#[cfg(test)]
mod tests;
