//! A run as it goes: what the definitions of [`rules`](crate::rules) say, kept up to date fact by
//! fact. It knows statuses and attempts; outputs stay with the caller.
//!
//! A fact costs what it touches: its node's edges, and for a failure those of the descendants that
//! it closes. Between calls the state is always closed and normalised: a dispatched node counts as
//! part of the frontier, so that [`Progress::classify`] may be asked at any time.

mod recover;
mod status;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    name::NodeName,
    state::{FailurePolicy, NodeOutcome, NodeStatus, RunOutcome, StepKind, StuckDiagnostic},
    topology::{NodeIndex, Topology},
};

pub use recover::{NodeRow, RecoverError};
pub use status::{Counts, Status};

/// A run over the nodes of a [`Topology`]: 9 bytes a node, and more for those that are ready, run or
/// wait.
#[derive(Clone, Debug)]
pub struct Progress {
    topology: Arc<Topology>,
    policy: FailurePolicy,
    status: Vec<Status>,
    /// How many predecessors do not unblock yet.
    blocking: Vec<u32>,
    attempts: Vec<u32>,
    /// Pending and unblocked, without a live attempt.
    ready: BTreeSet<NodeIndex>,
    /// Pending and unblocked, with an attempt that was made before the last recovery.
    live: BTreeSet<NodeIndex>,
    running: BTreeSet<NodeIndex>,
    waiting: BTreeMap<Arc<str>, BTreeSet<NodeIndex>>,
    waiting_for: BTreeMap<NodeIndex, Arc<str>>,
    delivered: BTreeMap<Arc<str>, Delivery>,
    counts: Counts,
}

/// What a signal brought; its payload stays with the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A value, the output of all that wait for it.
    Value,
    /// A failure, which fails them.
    Failure,
}

/// A fact that no run can bring forth. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordRefused {
    /// There is no such node.
    #[error("the run has no node {index}")]
    UnknownNode {
        /// What was given.
        index: u32,
    },
    /// The node could not have been dispatched.
    #[error("`{node}` ended although `{blocked_by}`, which comes before it, does not let it begin")]
    NotDispatchable {
        /// The node.
        node: NodeName,
        /// A predecessor that does not unblock.
        blocked_by: NodeName,
    },
    /// The attempt has not been made.
    #[error("attempt {attempt} of `{node}` ended, and {current} is the newest")]
    UnknownAttempt {
        /// The node.
        node: NodeName,
        /// What was given.
        attempt: u32,
        /// The newest.
        current: u32,
    },
}

impl Progress {
    /// A run of which nothing has happened.
    pub fn new(topology: Arc<Topology>, policy: FailurePolicy) -> Self {
        Self::recover(topology, policy, [], []).expect("no rows contradict nothing")
    }

    /// What it runs over.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Where a node stands.
    pub fn status(&self, node: NodeIndex) -> Status {
        self.status[node.at()]
    }

    /// The signal that a node waits for.
    pub fn waiting_for(&self, node: NodeIndex) -> Option<&str> {
        self.waiting_for.get(&node).map(AsRef::as_ref)
    }

    /// The same as a definition has it.
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

    /// The number of a node's attempt, from 0: the one that runs, or that would be next.
    pub fn attempt(&self, node: NodeIndex) -> u32 {
        self.attempts[node.at()]
    }

    /// How many nodes have each status.
    pub fn counts(&self) -> Counts {
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

    /// The nodes that can run or do, ascending: the frontier of the normalised state.
    pub fn frontier(&self) -> Vec<NodeIndex> {
        let sets = [&self.ready, &self.live, &self.running];
        let mut frontier: Vec<NodeIndex> = sets.into_iter().flatten().copied().collect();
        frontier.sort_unstable();
        frontier
    }

    /// What the state calls for, in constant time.
    pub fn classify(&self) -> StepKind {
        let Counts { pending, running, waiting, failed, .. } = self.counts;
        if failed > 0 && self.policy == FailurePolicy::FailFast {
            return StepKind::Settled(RunOutcome::Failed);
        }
        if !(self.ready.is_empty() && self.live.is_empty() && self.running.is_empty()) {
            return StepKind::Progressing;
        }
        if pending + running + waiting == 0 {
            let outcome = if failed > 0 { RunOutcome::Failed } else { RunOutcome::Completed };
            return StepKind::Settled(outcome);
        }
        if waiting > 0 { StepKind::Suspended } else { StepKind::Stuck }
    }

    /// Takes nodes to run, and marks them running: until `limit` run at once, those with a live
    /// attempt first, then ascending. None once the run has settled.
    ///
    /// Live attempts take places before others, so that with the same limit a recovery adds none.
    pub fn dispatch(&mut self, limit: usize) -> Vec<NodeIndex> {
        if self.classify() != StepKind::Progressing {
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

    /// Records how an attempt ended, and returns the nodes whose status changed: the node, then
    /// what its failure closed, ascending. The ready nodes are those of [`Progress::dispatch`].
    ///
    /// A fact of an older attempt, or of a node that has ended or waits, was recorded before:
    /// nothing changes. After an outcome that resets the node its attempt is one higher.
    ///
    /// # Errors
    /// [`RecordRefused`]: the fact is not one of this run.
    pub fn record<V>(
        &mut self,
        node: NodeIndex,
        attempt: u32,
        outcome: &NodeOutcome<V>,
    ) -> Result<Vec<NodeIndex>, RecordRefused> {
        if node.at() >= self.topology.len() {
            return Err(RecordRefused::UnknownNode { index: node.0 });
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
            return Err(RecordRefused::UnknownAttempt { node, attempt, current });
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

    /// Gives a node of the frontier its next attempt.
    ///
    /// # Errors
    /// [`RecordRefused`] if it is not in the frontier or has ended.
    pub fn reset(&mut self, node: NodeIndex) -> Result<Vec<NodeIndex>, RecordRefused> {
        let attempt = self.attempts.get(node.at()).copied().unwrap_or_default();
        self.record(node, attempt, &NodeOutcome::<()>::Shutdown)
    }

    /// Delivers a signal, and returns the nodes whose status changed: those that waited for it, each
    /// followed by what its failure closed. A signal has one payload a run: a second one changes
    /// nothing. Who comes to wait later gets it at once.
    pub fn deliver(&mut self, signal: &str, delivery: Delivery) -> Vec<NodeIndex> {
        if self.delivered.contains_key(signal) {
            return Vec::new();
        }
        self.delivered.insert(signal.into(), delivery);
        let waiting = self.waiting.remove(signal).unwrap_or_default();
        waiting.into_iter().flat_map(|node| self.resolve(node, delivery)).collect()
    }

    /// What blocks the nodes that have not ended, for a run that is stuck. Looks at every node.
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

    fn check_dispatchable(&self, node: NodeIndex) -> Result<(), RecordRefused> {
        let mut predecessors = self.topology.predecessors(node).iter();
        let blocking = match self.blocking[node.at()] {
            0 => None,
            _ => predecessors.find(|one| !self.status(**one).unblocks()),
        };
        blocking.map_or(Ok(()), |blocking| {
            Err(RecordRefused::NotDispatchable {
                node: self.topology.name(node).clone(),
                blocked_by: self.topology.name(*blocking).clone(),
            })
        })
    }

    fn resolve(&mut self, node: NodeIndex, delivery: Delivery) -> Vec<NodeIndex> {
        match delivery {
            Delivery::Value => self.unblock(node, Status::Completed),
            Delivery::Failure => self.fail(node),
        }
    }

    /// The node ended in a way that lets its successors begin.
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

    /// Fails the node and what depends on it. What has failed before has closed its descendants
    /// then, so the walk ends there.
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

    /// Takes the node out of whatever set its status put it in.
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
