//! The decisions of a graph run: the next nodes to begin, the rows to write, and the end.

mod begin;
mod facts;
mod take_over;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use segno_core::{
    command::FenceOperation,
    graph::{
        GraphRunParameters, NodeEvent, NodeRow, NodeState, Persistence, ResetHistory, ResetReason,
    },
    id::PromiseId,
    promise::Promise,
    time::Timestamp,
    value::Text,
};
use segno_graph::{
    NodeIndex, RunProgress,
    plan::NodeAction,
    progress::{RecoverError, Status},
    state::FailureDetail,
};
use segno_guest::Outcome;

pub use begin::MAX_INPUT;
pub use take_over::ReusedNode;

use super::{
    attempt::OwnModule,
    outcome,
    outputs::OutputCache,
    report::{self, RunEnd},
};

/// Maximum size of the outputs kept in memory, in bytes.
pub const KEPT_OUTPUTS: usize = 8 << 20;
/// Maximum size of the outputs of a run, in bytes.
pub const MAX_OUTPUT: u64 = 64 << 20;

/// A graph run: its known state, and the pending writes.
#[derive(Debug)]
pub struct Coordinator {
    run: PromiseId,
    start: GraphRunParameters,
    module: OwnModule,
    progress: RunProgress,
    outputs: OutputCache,
    /// The failures of nodes that failed themselves, as far as they are in memory.
    failures: BTreeMap<NodeIndex, FailureDetail>,
    /// The nodes that failed themselves.
    failed: BTreeSet<NodeIndex>,
    /// Nodes whose attempts exist in the store, but that have to be dispatched again.
    made: BTreeSet<NodeIndex>,
    /// The start times of next attempts that are delayed.
    begins: BTreeMap<NodeIndex, Timestamp>,
    /// The number of attempts of each node that were cancelled from outside.
    cancelled: BTreeMap<NodeIndex, u32>,
    /// The nodes of the plan that wait for each signal.
    signals: BTreeMap<Box<str>, Vec<NodeIndex>>,
    acts: Vec<FenceOperation>,
}

impl Coordinator {
    /// The run with these rows and this history.
    ///
    /// # Errors
    /// [`RecoverError`]: the rows do not belong to a run of this plan.
    pub fn recover(
        run: PromiseId,
        start: GraphRunParameters,
        module: OwnModule,
        rows: &[(Text, NodeRow)],
        history: &[NodeEvent],
    ) -> Result<Self, RecoverError> {
        let plan = &start.plan;
        let topology = plan.topology().clone();
        let mut signals: BTreeMap<Box<str>, Vec<NodeIndex>> = BTreeMap::new();
        for node in topology.nodes() {
            if let NodeAction::Signal(name) = &plan.node(node).kind {
                signals.entry(name.clone()).or_default().push(node);
            }
        }
        let progress = start.recover(rows.iter().map(|(node, row)| (node, row)))?;
        let in_state = |state| {
            let rows = rows.iter().filter(move |(_, row)| row.state == state);
            rows.filter_map(|(name, _)| topology.index_of(name)).collect::<BTreeSet<_>>()
        };
        let resets = ResetHistory::of(history);
        let cancelled = resets.cancelled.iter();
        let cancelled =
            cancelled.filter_map(|(name, count)| Some((topology.index_of(name)?, *count)));
        let pending = rows.iter().filter(|(_, row)| row.state == NodeState::Pending);
        let begins = pending.filter_map(|(name, row)| {
            let begins_at = resets.begins_at.get(&(name.clone(), row.attempt))?;
            Some((topology.index_of(name)?, *begins_at))
        });
        Ok(Self {
            begins: begins.collect(),
            cancelled: cancelled.collect(),
            failed: in_state(NodeState::Failed),
            made: in_state(NodeState::Running),
            run,
            module,
            progress,
            outputs: OutputCache::new(KEPT_OUTPUTS),
            failures: BTreeMap::new(),
            signals,
            acts: Vec::new(),
            start,
        })
    }

    /// The plan, the input and the settings of the run.
    pub fn start(&self) -> &GraphRunParameters {
        &self.start
    }

    /// The attempts that exist according to the rows.
    pub fn said_to_run(&self) -> Vec<PromiseId> {
        self.made.iter().map(|node| self.output_of(*node)).collect()
    }

    /// Reduces the existing attempts to those that were found in the store.
    pub fn found(&mut self, attempts: &BTreeSet<PromiseId>) {
        let made = std::mem::take(&mut self.made);
        self.made =
            made.into_iter().filter(|node| attempts.contains(&self.output_of(*node))).collect();
    }

    /// The promises that the run waits for: running attempts, and signals.
    pub fn awaits(&self) -> BTreeSet<PromiseId> {
        let attempts = self.progress.running().map(|node| self.output_of(node));
        let signals = self.progress.awaited_signals().map(|name| self.run.run_signal(name));
        attempts.chain(signals).collect()
    }

    /// True if work is running that may end soon: not only timers and promises that clients settle.
    pub fn is_busy(&self) -> bool {
        self.progress.running().any(|node| match self.start.plan.node(node).kind {
            NodeAction::Call(_) | NodeAction::Http(_) | NodeAction::Graph(_) => true,
            NodeAction::Sleep(_) | NodeAction::Promise | NodeAction::Signal(_) => false,
        })
    }

    /// The promises that may have settled while no host held the claim: the ones the run waits for,
    /// and attempts that were created.
    pub fn unseen(&self) -> VecDeque<PromiseId> {
        let mut unseen = self.awaits();
        unseen.extend(self.said_to_run());
        unseen.into_iter().collect()
    }

    /// True if facts are handled one by one: each is written, and its consequences are computed,
    /// before the next.
    pub fn is_sequential(&self) -> bool {
        match self.start.persistence {
            Persistence::Each => true,
            Persistence::Wave => false,
        }
    }

    /// Takes the nodes that begin now. Returns an empty list if no more nodes can begin.
    pub fn dispatch(&mut self) -> Vec<NodeIndex> {
        let limit = self.start.plan.max_parallel() as usize;
        self.progress.dispatch(match self.is_sequential() {
            true => limit.min(self.progress.running().count() + 1),
            false => limit,
        })
    }

    /// True if a node has ended.
    pub fn has_ended(&self, node: NodeIndex) -> bool {
        self.progress.status(node).is_terminal()
    }

    /// The promises of outputs that these nodes read, in conditions and inputs, and that are not in
    /// memory.
    pub fn missing(&self, nodes: &[NodeIndex]) -> BTreeSet<PromiseId> {
        let begin = nodes.iter().filter(|node| !self.made.contains(node));
        let sources = begin.flat_map(|node| {
            let [condition, input] = self.start.plan.sources(*node);
            condition.into_iter().chain(input).map(|(need, _)| need)
        });
        self.unread(sources)
    }

    /// The parts of outputs that decide if a node is wanted, and the parts that its input takes: by
    /// node, with the promise of the output and JSON pointers.
    pub fn sources(&self, node: NodeIndex) -> [Vec<(NodeIndex, PromiseId, Vec<String>)>; 2] {
        self.start.plan.sources(node).map(|sources| {
            let mut by_node: BTreeMap<NodeIndex, Vec<String>> = BTreeMap::new();
            for (need, at) in sources {
                if self.progress.status(need) == Status::Completed {
                    by_node.entry(need).or_default().push(at.to_owned());
                }
            }
            let named = |(need, pointers)| (need, self.output_of(need), pointers);
            by_node.into_iter().map(named).collect()
        })
    }

    /// The output in a resolved promise.
    pub fn output(&self, promise: &Promise) -> serde_json::Value {
        promise.settlement().map(outcome::output).unwrap_or_default()
    }

    /// Drops outputs beyond the memory limit.
    pub fn trim(&mut self) {
        self.outputs.trim();
    }

    /// The promises that the report needs and that are not in memory.
    pub fn missing_at_the_end(&self, end: RunEnd) -> BTreeSet<PromiseId> {
        match end {
            RunEnd::Completed => self.unread(self.start.plan.outputs().iter().copied()),
            RunEnd::Failed => {
                let unread = self.failed.iter().filter(|node| !self.failures.contains_key(node));
                unread.take(100).map(|node| self.output_of(*node)).collect()
            }
            RunEnd::Stuck => BTreeSet::new(),
        }
    }

    /// True if there are pending writes.
    pub fn has_acts(&self) -> bool {
        !self.acts.is_empty()
    }

    /// The same run with other rows and their history.
    ///
    /// # Errors
    /// [`RecoverError`]: the rows do not belong to a run of this plan.
    pub fn again(
        self,
        rows: &[(Text, NodeRow)],
        history: &[NodeEvent],
    ) -> Result<Self, RecoverError> {
        Self::recover(self.run, self.start, self.module, rows, history)
    }

    /// Takes the pending writes, in order.
    pub fn take_acts(&mut self) -> Vec<FenceOperation> {
        self.outputs.trim();
        std::mem::take(&mut self.acts)
    }

    /// The end of the run. `None` if the run continues.
    pub fn end(&self) -> Option<RunEnd> {
        RunEnd::of(self.progress.classify())
    }

    /// The outcome with which the run's promise is settled.
    pub fn report(&self, end: RunEnd) -> Outcome {
        match end {
            RunEnd::Completed => report::completed(&self.start.plan, &self.outputs),
            RunEnd::Failed => {
                report::failed(&self.start.plan, &self.progress, &self.failures, &self.failed)
            }
            RunEnd::Stuck => report::stuck(&self.progress),
        }
    }

    /// The approximate memory use of the run, in bytes.
    pub fn footprint(&self) -> usize {
        let nodes = self.start.plan.topology().len();
        // Plans were measured at 1,000 to 1,500 bytes per node.
        4_096 + nodes * 1_500 + self.outputs.bytes()
    }

    /// Writes the state of a node, and the reason if it begins again.
    fn note(&mut self, node: NodeIndex, reset: Option<ResetReason>) {
        let state = match self.progress.status(node) {
            Status::Pending => NodeState::Pending,
            Status::Running => NodeState::Running,
            Status::Waiting => NodeState::Waiting,
            Status::Completed => NodeState::Completed,
            Status::Skipped => NodeState::Skipped,
            Status::Failed => NodeState::Failed,
        };
        self.acts.push(self.row(node, state, reset));
    }

    fn row(&self, node: NodeIndex, state: NodeState, reset: Option<ResetReason>) -> FenceOperation {
        FenceOperation::Node {
            reset,
            node: Text::from(self.start.plan.topology().name(node).as_str()),
            row: NodeRow { state, attempt: self.progress.attempt(node) },
        }
    }

    /// The output promises of completed nodes whose outputs are not in memory.
    fn unread(&self, nodes: impl Iterator<Item = NodeIndex>) -> BTreeSet<PromiseId> {
        let unread = nodes.filter(|node| {
            self.progress.status(*node) == Status::Completed && self.outputs.get(*node).is_none()
        });
        unread.map(|node| self.output_of(node)).collect()
    }

    /// The promise whose value is the output of a node: its newest attempt, or its signal.
    fn output_of(&self, node: NodeIndex) -> PromiseId {
        match &self.start.plan.node(node).kind {
            NodeAction::Signal(name) => self.run.run_signal(name),
            _ => {
                let name = self.start.plan.topology().name(node);
                self.run.attempt(name.as_str(), self.progress.attempt(node))
            }
        }
    }
}
