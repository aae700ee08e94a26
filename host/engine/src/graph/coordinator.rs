//! What a run does next.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    command::FenceAct,
    graph::{NodeRow, NodeState, Start},
    id::PromiseId,
    promise::{Promise, RetryDecision, Verdict},
    reply::Refusal,
    time::Timestamp,
    value::Text,
};
use segno_graph::{
    NodeIndex, NodeName, Progress,
    plan::Kind,
    progress::{self, RecordRefused, RecoverError, Status},
    state::{FailureDetail, NodeOutcome, NodeStatus, RunOutcome, StepKind},
};
use segno_guest::{Failure, Outcome};

use super::{
    attempt::{self, OwnModule, after},
    outcome::{self, Place, Settled, place},
    outputs::Outputs,
    report::{self, End},
};
use crate::values;

/// The most bytes of the input of a node.
const MAX_INPUT: usize = 16 << 20;
/// How many bytes of outputs are kept in memory.
const KEPT_OUTPUTS: usize = 8 << 20;
/// A node whose attempts are cancelled so often is not begun again.
const MOST_CANCELLED: u32 = 10;

/// A run: what is known of it, and what is to be written.
#[derive(Debug)]
pub struct Coordinator {
    run: PromiseId,
    start: Start,
    module: OwnModule,
    progress: Progress,
    outputs: Outputs,
    /// What nodes failed with themselves, as far as it is known.
    failures: BTreeMap<NodeIndex, FailureDetail>,
    /// Nodes that failed themselves.
    failed: BTreeSet<NodeIndex>,
    /// Attempts that were found in the store, of nodes that are to be dispatched once more.
    made: BTreeSet<NodeIndex>,
    /// When the next attempts of nodes begin, where that is not at once.
    begins: BTreeMap<NodeIndex, Timestamp>,
    /// The nodes of the plan that wait for each signal.
    signals: BTreeMap<Box<str>, Vec<NodeIndex>>,
    acts: Vec<FenceAct>,
}

impl Coordinator {
    /// The run with these rows.
    ///
    /// # Errors
    /// [`RecoverError`]: the rows are not those of a run of this plan.
    pub fn recover(
        run: PromiseId,
        start: Start,
        module: OwnModule,
        rows: &[(Text, NodeRow)],
    ) -> Result<Self, RecoverError> {
        let plan = &start.plan;
        let topology = plan.topology().clone();
        let mut signals: BTreeMap<Box<str>, Vec<NodeIndex>> = BTreeMap::new();
        for node in topology.nodes() {
            if let Kind::Signal(name) = &plan.node(node).kind {
                signals.entry(name.clone()).or_default().push(node);
            }
        }
        let signal_of = |name: &str| match topology.index_of(name).map(|at| &plan.node(at).kind) {
            Some(Kind::Signal(signal)) => signal.to_string(),
            Some(_) | None => String::new(),
        };
        let stored = rows.iter().filter_map(|(name, row)| {
            let status = match row.state {
                NodeState::Pending => NodeStatus::Pending,
                NodeState::Running => NodeStatus::Running,
                NodeState::Waiting => NodeStatus::Waiting(signal_of(name)),
                NodeState::Completed => NodeStatus::Completed,
                NodeState::Failed => NodeStatus::Failed,
                NodeState::Skipped => NodeStatus::Skipped,
            };
            let node = NodeName::new(name).ok()?;
            Some(progress::NodeRow { node, status, attempt: row.attempt })
        });
        let progress = Progress::recover(topology.clone(), plan.on_failure(), stored, [])?;
        let in_state = |state| {
            let rows = rows.iter().filter(move |(_, row)| row.state == state);
            rows.filter_map(|(name, _)| topology.index_of(name)).collect::<BTreeSet<_>>()
        };
        Ok(Self {
            failed: in_state(NodeState::Failed),
            made: in_state(NodeState::Running),
            run,
            module,
            progress,
            outputs: Outputs::new(KEPT_OUTPUTS),
            failures: BTreeMap::new(),
            begins: BTreeMap::new(),
            signals,
            acts: Vec::new(),
            start,
        })
    }

    /// What the run was started with.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Where a node stands.
    pub fn status(&self, node: NodeIndex) -> Status {
        self.progress.status(node)
    }

    /// The nodes that can run, or do.
    pub fn frontier(&self) -> Vec<NodeIndex> {
        self.progress.frontier()
    }

    /// The attempts that the rows say were made.
    pub fn said_to_run(&self) -> Vec<PromiseId> {
        self.made.iter().map(|node| self.output_of(*node)).collect()
    }

    /// Only those of them exist that were found.
    pub fn found(&mut self, attempts: &BTreeSet<PromiseId>) {
        let made = std::mem::take(&mut self.made);
        self.made =
            made.into_iter().filter(|node| attempts.contains(&self.output_of(*node))).collect();
    }

    /// What the run waits for: attempts that run, and signals.
    pub fn awaits(&self) -> BTreeSet<PromiseId> {
        let attempts = self.progress.running().map(|node| self.output_of(node));
        let signals = self.progress.awaited_signals().map(|name| self.run.run_signal(name));
        attempts.chain(signals).collect()
    }

    /// Whether something runs that may end soon: not only timers and promises of people.
    pub fn is_busy(&self) -> bool {
        self.progress.running().any(|node| match self.start.plan.node(node).kind {
            Kind::Call(_) | Kind::Http(_) | Kind::Graph(_) => true,
            Kind::Sleep(_) | Kind::Promise | Kind::Signal(_) => false,
        })
    }

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

    /// Takes the nodes that begin now; none: nothing more can begin.
    pub fn dispatch(&mut self) -> Vec<NodeIndex> {
        let limit = self.start.plan.max_parallel() as usize;
        self.progress.dispatch(limit)
    }

    /// The promises whose outputs these nodes need and that are not in memory.
    pub fn missing(&self, nodes: &[NodeIndex]) -> BTreeSet<PromiseId> {
        let topology = self.start.plan.topology();
        let begin = nodes.iter().filter(|node| !self.made.contains(node));
        let needs = begin.flat_map(|node| topology.predecessors(*node)).copied();
        self.unread(needs)
    }

    /// The promises that the report needs and that are not in memory.
    pub fn missing_at_the_end(&self, end: End) -> BTreeSet<PromiseId> {
        match end {
            End::Completed => self.unread(self.start.plan.outputs().iter().copied()),
            End::Failed => {
                let unread = self.failed.iter().filter(|node| !self.failures.contains_key(node));
                unread.take(100).map(|node| self.output_of(*node)).collect()
            }
            End::Stuck => BTreeSet::new(),
        }
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

    /// Whether something is to be written.
    pub fn has_acts(&self) -> bool {
        !self.acts.is_empty()
    }

    /// The same run with other rows.
    ///
    /// # Errors
    /// [`RecoverError`]: the rows are not those of a run of this plan.
    pub fn again(self, rows: &[(Text, NodeRow)]) -> Result<Self, RecoverError> {
        Self::recover(self.run, self.start, self.module, rows)
    }

    /// The attempts of these nodes that were made under an earlier claim.
    pub fn made_before(&self, nodes: &[NodeIndex]) -> Vec<PromiseId> {
        let made = nodes.iter().filter(|node| self.made.contains(node));
        made.map(|node| self.output_of(*node)).collect()
    }

    /// What is to be written, in order.
    pub fn take_acts(&mut self) -> Vec<FenceAct> {
        self.outputs.trim();
        std::mem::take(&mut self.acts)
    }

    /// How the run has ended, if it has.
    pub fn end(&self) -> Option<End> {
        match self.progress.classify() {
            StepKind::Settled(RunOutcome::Completed) => Some(End::Completed),
            StepKind::Settled(RunOutcome::Failed) => Some(End::Failed),
            StepKind::Stuck => Some(End::Stuck),
            StepKind::Progressing | StepKind::Suspended => None,
        }
    }

    /// What the run's promise is settled with.
    pub fn report(&self, end: End) -> Outcome {
        match end {
            End::Completed => report::completed(&self.start.plan, &self.outputs),
            End::Failed => {
                report::failed(&self.start.plan, &self.progress, &self.failures, &self.failed)
            }
            End::Stuck => report::stuck(&self.progress),
        }
    }

    /// What the run takes of the memory, roughly, in bytes.
    pub fn footprint(&self) -> usize {
        let nodes = self.start.plan.topology().len();
        // Plans were measured at 1,000 to 1,500 bytes a node.
        4_096 + nodes * 1_500 + self.outputs.bytes()
    }

    /// Takes over what another run of the same plan has completed or left out, as far as this one
    /// knows nothing of it: nodes and the promises of their outputs.
    pub fn to_take_over(&self, from: &PromiseId, rows: &[(Text, NodeRow)]) -> Vec<TakenOver> {
        let taken = rows.iter().filter_map(|(name, row)| {
            let node = self.start.plan.topology().index_of(name)?;
            if self.progress.status(node) != Status::Pending || self.made.contains(&node) {
                return None;
            }
            let output = match (row.state, &self.start.plan.node(node).kind) {
                (NodeState::Skipped, _) => None,
                (NodeState::Completed, Kind::Signal(signal)) => Some(from.run_signal(signal)),
                (NodeState::Completed, _) => Some(from.attempt(name, row.attempt)),
                (
                    NodeState::Pending
                    | NodeState::Running
                    | NodeState::Waiting
                    | NodeState::Failed,
                    _,
                ) => return None,
            };
            Some(TakenOver { node, output })
        });
        taken.collect()
    }

    /// The acts by which a node of another run is taken over, with the promise of its output.
    pub fn take_over(&self, node: NodeIndex, output: Option<&Promise>) -> Vec<FenceAct> {
        let row = |state| self.row(node, state);
        let Some(value) = output.and_then(Promise::settlement) else {
            return vec![row(NodeState::Skipped)];
        };
        let id = self.output_of(node);
        vec![
            FenceAct::Create { new: attempt::bare(id.clone()) },
            FenceAct::Settle {
                id,
                verdict: Verdict::Resolved,
                value: value.value.clone().unwrap_or_default(),
            },
            row(NodeState::Completed),
        ]
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

    /// When the next attempt begins after a failure, if the plan wants one and nobody else has made
    /// it.
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

    fn fail(&mut self, node: NodeIndex, detail: FailureDetail) {
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

    /// Writes down where a node stands.
    fn note(&mut self, node: NodeIndex) {
        let state = match self.progress.status(node) {
            Status::Pending => NodeState::Pending,
            Status::Running => NodeState::Running,
            Status::Waiting => NodeState::Waiting,
            Status::Completed => NodeState::Completed,
            Status::Skipped => NodeState::Skipped,
            Status::Failed => NodeState::Failed,
        };
        self.acts.push(self.row(node, state));
    }

    fn row(&self, node: NodeIndex, state: NodeState) -> FenceAct {
        FenceAct::Node {
            node: Text::from(self.start.plan.topology().name(node).as_str()),
            row: NodeRow { state, attempt: self.progress.attempt(node) },
        }
    }

    /// The promises of outputs of completed nodes that are not in memory.
    fn unread(&self, nodes: impl Iterator<Item = NodeIndex>) -> BTreeSet<PromiseId> {
        let unread = nodes.filter(|node| {
            self.progress.status(*node) == Status::Completed && self.outputs.get(*node).is_none()
        });
        unread.map(|node| self.output_of(node)).collect()
    }

    /// The promise whose value is the output of a node: its newest attempt, or its signal.
    pub fn output_of(&self, node: NodeIndex) -> PromiseId {
        match &self.start.plan.node(node).kind {
            Kind::Signal(name) => self.run.run_signal(name),
            _ => {
                let name = self.start.plan.topology().name(node);
                self.run.attempt(name.as_str(), self.progress.attempt(node))
            }
        }
    }
}

/// A node of another run that is taken over.
#[derive(Debug)]
pub struct TakenOver {
    /// The node.
    pub node: NodeIndex,
    /// The promise of its output; none: it was left out.
    pub output: Option<PromiseId>,
}
