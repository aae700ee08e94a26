//! Graphs in a test. The rules of the host decide the next step of a run; the world executes its
//! nodes like the commands of a workflow.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use segno_graph::{
    NodeIndex, RunProgress,
    plan::{
        self, CheckedPlan, FunctionTarget, NodeAction, NodeRetry, Plan, PlanErrors, PlanNode,
        SubGraph,
    },
    progress::{SignalDelivery, Status},
    state::{ClassificationKind, FailureDetail, NodeOutcome, RunOutcome},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{TestAction, TestWorld, failure, null};
use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, is_final},
    function::EntryPoint,
    journal::WorkflowCommand,
    payload::{self, Payload},
    plan::GRAPH,
    retry::RetryPolicy,
    testing::attempt::{AttemptSubject, PlannedAttempt},
    time::millis,
};

/// The output of a node, or its failure.
type SignalOutcome = Result<Value, FailureDetail>;

/// One run of a plan. Its nodes are commands with their index as number, followed by its signals.
pub(super) struct TestGraphRun {
    plan: Arc<CheckedPlan>,
    progress: RunProgress,
    input: Value,
    outputs: BTreeMap<NodeIndex, Value>,
    /// The nodes that failed on their own, in order of failure.
    failed: Vec<(NodeIndex, FailureDetail)>,
    /// Number of failed attempts of nodes that begin again.
    attempts: BTreeMap<NodeIndex, u32>,
    /// The names of its signals, ascending.
    signals: Vec<Box<str>>,
    /// The delivered signals.
    delivered: BTreeMap<Box<str>, SignalOutcome>,
    /// The command that awaits the outputs.
    parent: (String, u32),
}

/// The input of the call that starts a run.
#[derive(Deserialize)]
struct RunInput {
    plan: Plan,
    #[serde(default)]
    input: Value,
}

impl TestGraphRun {
    fn new(plan: Arc<CheckedPlan>, input: Value, parent: (String, u32)) -> Self {
        let kinds = plan.topology().nodes().map(|node| &plan.node(node).kind);
        let signals: BTreeSet<Box<str>> = kinds
            .filter_map(|kind| match kind {
                NodeAction::Signal(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let progress = RunProgress::new(plan.topology().clone(), plan.on_failure());
        Self {
            plan,
            progress,
            input,
            outputs: BTreeMap::new(),
            failed: Vec::new(),
            attempts: BTreeMap::new(),
            signals: signals.into_iter().collect(),
            delivered: BTreeMap::new(),
            parent,
        }
    }

    /// The name of the plan.
    pub(super) fn name(&self) -> &str {
        self.plan.name().unwrap_or(GRAPH)
    }

    fn node_name(&self, node: NodeIndex) -> &str {
        self.plan.topology().name(node).as_str()
    }

    /// The id of a node's current attempt in the run with this id.
    fn attempt(&self, run: &str, node: NodeIndex) -> String {
        let attempt = self.attempts.get(&node).copied().unwrap_or_default();
        format!("{run}/n/{}/{attempt}", self.node_name(node))
    }

    /// The name of the function that a node calls in this module, if the run repeats it.
    fn repeated_call(&self, node: NodeIndex) -> Option<(&str, wit::RetryOptions)> {
        let PlanNode { kind, retry, .. } = self.plan.node(node);
        match kind {
            NodeAction::Call(FunctionTarget::Own(name)) => {
                Some((name, retry_options(retry.as_deref()?)))
            }
            _ => None,
        }
    }

    /// The command number of a signal.
    fn signal_command(&self, signal: &str) -> u32 {
        let place = self.signals.iter().position(|known| **known == *signal);
        let place = place.expect("a run knows its signals");
        u32::try_from(self.plan.topology().len() + place).expect("a plan has few nodes")
    }

    fn input_of(&self, node: NodeIndex) -> Value {
        self.plan.input_of(node, &self.input, |node| self.outputs.get(&node))
    }

    /// Takes the nodes that can run. A node whose condition is false is skipped.
    fn dispatch(&mut self) -> Vec<NodeIndex> {
        let limit = self.plan.max_parallel() as usize;
        let mut wanted = Vec::new();
        loop {
            let nodes = self.progress.dispatch(limit);
            if nodes.is_empty() {
                return wanted;
            }
            for node in nodes {
                match self.plan.wanted(node, &self.input, |node| self.outputs.get(&node)) {
                    true => wanted.push(node),
                    false => self.record(node, &NodeOutcome::Skipped),
                }
            }
        }
    }

    fn record(&mut self, node: NodeIndex, outcome: &NodeOutcome<Value>) {
        self.progress.record(node, 0, outcome).expect("only a node that was begun ends");
    }

    /// Processes the end of a node's attempt.
    fn ended(&mut self, node: NodeIndex, answer: SignalOutcome) {
        let outcome = match &answer {
            Ok(value) => NodeOutcome::Succeeded(value.clone()),
            Err(detail) => NodeOutcome::Failed(detail.clone()),
        };
        self.record(node, &outcome);
        self.keep(node, answer);
    }

    /// Suspends a node until a signal, which may have been delivered already.
    fn wait(&mut self, node: NodeIndex, signal: &str) {
        self.record(node, &NodeOutcome::SuspendedOn(signal.to_owned()));
        if let Some(answer) = self.delivered.get(signal).cloned() {
            self.keep(node, answer);
        }
    }

    fn deliver(&mut self, signal: &str, answer: SignalOutcome) {
        let nodes = self.plan.topology().nodes();
        let waits = |node: &NodeIndex| self.progress.waiting_for(*node) == Some(signal);
        let waiting: Vec<NodeIndex> = nodes.filter(waits).collect();
        let delivery = if answer.is_ok() { SignalDelivery::Value } else { SignalDelivery::Failure };
        self.progress.deliver(signal, delivery);
        for node in waiting {
            self.keep(node, answer.clone());
        }
        self.delivered.insert(signal.into(), answer);
    }

    fn keep(&mut self, node: NodeIndex, answer: SignalOutcome) {
        match answer {
            Ok(value) => drop(self.outputs.insert(node, value)),
            Err(detail) => self.failed.push((node, detail)),
        }
    }

    /// The outcome of the run. `None` if it has not ended.
    fn outcome(&self) -> Option<wit::Outcome> {
        match self.progress.classify() {
            ClassificationKind::Progressing | ClassificationKind::Suspended => None,
            ClassificationKind::Settled(RunOutcome::Completed) => {
                let outputs = self.plan.outputs().iter().filter_map(|node| {
                    Some((self.node_name(*node).to_owned(), self.outputs.get(node)?.clone()))
                });
                let outputs = Value::Object(outputs.collect::<Map<_, _>>());
                Some(wit::Outcome::Success(Payload::Json(outputs.to_string())))
            }
            ClassificationKind::Settled(RunOutcome::Failed) => Some(failure(self.error())),
            ClassificationKind::Stuck => panic!(
                "the graph `{}` is stuck, which is a defect of Segno: {:?}",
                self.name(),
                self.progress.diagnose()
            ),
        }
    }

    fn error(&self) -> Error {
        let (first, detail) = self.failed.first().expect("a run fails with a node");
        let message = format!("node `{}` failed: {}", self.node_name(*first), detail.message);
        let failed = self.failed.iter().map(|(node, detail)| (self.node_name(*node), detail));
        let failed: BTreeMap<&str, &FailureDetail> = failed.collect();
        let message = match self.failed.len() {
            1 => message,
            2 => format!("{message}; another node failed as well"),
            all => format!("{message}; {} other nodes failed as well", all - 1),
        };
        let did_not_run = |node: &NodeIndex| match self.progress.status(*node) {
            Status::Completed | Status::Skipped => false,
            Status::Failed | Status::Pending | Status::Running | Status::Waiting => true,
        };
        let others = self.plan.topology().nodes().filter(did_not_run);
        let others = others.map(|node| self.node_name(node));
        let not_run: Vec<&str> = others.filter(|name| !failed.contains_key(name)).collect();
        Error::retryable(message).with_details(&json!({ "failed": failed, "not_run": not_run }))
    }
}

impl TestWorld<'_> {
    /// Starts a run for a workflow.
    pub(super) fn begin_graph(&mut self, id: String, input: &Payload, parent: (String, u32)) {
        let refused = |errors: PlanErrors| Error::terminal(Error::REFUSED, errors.to_string());
        let asked = payload::decode(&format!("the input of `{GRAPH}`"), input);
        let checked =
            asked.and_then(|RunInput { plan, input }| Ok((plan.check().map_err(refused)?, input)));
        match checked {
            Ok((plan, input)) => self.begin_run(id, plan, input, parent),
            Err(error) => self.answer(self.now_ms, &parent.0, parent.1, failure(error)),
        }
    }

    fn begin_run(&mut self, id: String, plan: CheckedPlan, input: Value, parent: (String, u32)) {
        let run = TestGraphRun::new(Arc::new(plan), input, parent);
        let signals: Vec<(u32, Box<str>)> =
            run.signals.iter().map(|name| (run.signal_command(name), name.clone())).collect();
        self.runs.insert(id.clone(), run);
        for (command, signal) in signals {
            let name = format!("sig/{signal}");
            self.open(&id, command, format!("signal `{signal}`, the promise `{name}`"));
            self.promise(&id, command, format!("{id}/{name}"), Some(name), None);
        }
        self.advance(&id);
    }

    /// Starts the ready nodes, and ends the run if it has settled.
    fn advance(&mut self, id: &str) {
        loop {
            let run = self.runs.get_mut(id).expect("only a pending run is advanced");
            let nodes = run.dispatch();
            if nodes.is_empty() {
                break;
            }
            for node in nodes {
                self.begin_node(id, node);
            }
        }
        let run = &self.runs[id];
        if let Some(outcome) = run.outcome() {
            let (parent, command) = run.parent.clone();
            self.stop_graph(id);
            self.answer(self.now_ms, &parent, command, outcome);
        }
    }

    fn begin_node(&mut self, id: &str, node: NodeIndex) {
        let run = self.runs.get_mut(id).expect("the run of a node is pending");
        let (plan, name) = (run.plan.clone(), run.node_name(node).to_owned());
        let (attempt, input, command) = (run.attempt(id, node), run.input_of(node), node.0);
        let PlanNode { kind, retry, timeout, .. } = plan.node(node);
        let timeout_ms = timeout.map(millis);
        if let NodeAction::Signal(signal) = kind {
            run.wait(node, signal);
            let signal = run.signal_command(signal);
            // A delivered signal is not awaited.
            if self.open.contains_key(&(id.to_owned(), signal)) {
                self.overdue(id, signal, timeout_ms);
            }
            return;
        }
        self.open(id, command, format!("node `{name}`"));
        let options = wit::CallOptions {
            timeout_ms,
            retry: retry.as_deref().map(retry_options),
            ..crate::call::no_options()
        };
        match kind {
            NodeAction::Call(call) => {
                let function = match call {
                    FunctionTarget::Own(function)
                    | FunctionTarget::Module(function)
                    | FunctionTarget::Service(function) => function.to_string(),
                    FunctionTarget::Worker { address, function } => format!("{address}#{function}"),
                };
                self.call_of_node(id, command, attempt, function, &input, options);
            }
            // A graph that a module offers is one of its functions.
            NodeAction::Graph(SubGraph::Offered(function)) => {
                self.call_of_node(id, command, attempt, function.to_string(), &input, options);
            }
            NodeAction::Graph(SubGraph::Plan(plan)) => {
                self.overdue(id, command, timeout_ms);
                self.begin_run(attempt, (**plan).clone(), input, (id.to_owned(), command));
            }
            NodeAction::Http(_) => match request(&input) {
                Ok(request) => {
                    let body = AttemptSubject::Http(request);
                    let input = Payload::Json("null".to_owned());
                    let attempting = PlannedAttempt::new(body, input, attempt, &options, None);
                    self.attempt_until(id, command, attempting, timeout_ms);
                }
                Err(error) => self.answer(self.now_ms, id, command, failure(error)),
            },
            NodeAction::Sleep(length) => {
                self.answer(self.now_ms.saturating_add(millis(*length)), id, command, null());
            }
            NodeAction::Promise => self.promise(id, command, attempt, Some(name), timeout_ms),
            NodeAction::Signal(_) => unreachable!("it waits already"),
        }
    }

    fn call_of_node(
        &mut self,
        id: &str,
        command: u32,
        attempt: String,
        function: String,
        input: &Value,
        options: wit::CallOptions,
    ) {
        let input = Payload::Json(input.to_string());
        let request = WorkflowCommand::Call {
            function: function.clone(),
            input: input.clone(),
            options: options.clone(),
            step: None,
        };
        self.commands.push((self.now_ms, request));
        self.call(id, command, attempt, &function, input, options);
    }

    /// Processes the end of a node, or a signal.
    pub(super) fn node_ended(&mut self, id: &str, command: u32, outcome: wit::Outcome) {
        let run = self.runs.get_mut(id).expect("only the end of a node of a run is taken");
        let answer = answer(outcome);
        let nodes = run.plan.topology().len();
        match (command as usize).checked_sub(nodes) {
            Some(signal) => {
                let signal = run.signals[signal].clone();
                run.deliver(&signal, answer);
            }
            None => {
                let node = NodeIndex(command);
                if let Err(failure) = &answer
                    && let Some(delay_ms) = self.delay_of_next(id, node, failure.code)
                {
                    let begin = TestAction::BeginNode { run: id.to_owned(), command };
                    return self.decide(self.now_ms.saturating_add(delay_ms), begin);
                }
                let run = self.runs.get_mut(id).expect("only the end of a node of a run is taken");
                run.ended(node, answer);
                // An attempt past its deadline is stopped.
                let attempt = run.attempt(id, node);
                self.stop_graph(&attempt);
            }
        }
        self.advance(id);
    }

    /// Counts a failed attempt of a workflow. Returns the delay in milliseconds before the next
    /// one. Activities and requests are repeated where they run.
    fn delay_of_next(&mut self, id: &str, node: NodeIndex, code: u32) -> Option<u64> {
        let (name, retry) = self.runs[id].repeated_call(node)?;
        let is_workflow =
            self.known(name).is_some_and(|entry| matches!(entry.kind, EntryPoint::Workflow(_)));
        if !is_workflow || is_final(code) {
            return None;
        }
        let run = self.runs.get_mut(id).expect("the run of a node is pending");
        let attempts = run.attempts.entry(node).or_default();
        if retry.max_attempts.is_some_and(|most| *attempts + 1 >= most) {
            return None;
        }
        let exponent = i32::try_from(*attempts).unwrap_or(i32::MAX);
        *attempts += 1;
        Some(((retry.initial_ms as f64 * retry.factor.powi(exponent)) as u64).min(retry.max_ms))
    }

    /// Begins the next attempt of a node, unless its run has ended.
    pub(super) fn begin_again(&mut self, id: &str, command: u32) {
        if self.runs.contains_key(id) {
            self.begin_node(id, NodeIndex(command));
        }
    }

    /// Ends a run: its callees are asked to stop, and their answers are ignored.
    pub(super) fn stop_graph(&mut self, id: &str) {
        let Some(run) = self.runs.remove(id) else { return };
        self.open.retain(|(owner, _), _| owner != id);
        for node in run.progress.running() {
            let attempt = run.attempt(id, node);
            self.stop_graph(&attempt);
            if self.invocations.contains_key(&attempt) {
                let event = wit::Event::Cancelled;
                self.decide(self.now_ms, TestAction::Tell { invocation: attempt, event });
            }
        }
    }

    /// Ends the runs that this workflow started.
    pub(super) fn stop_graphs_of(&mut self, workflow: &str) {
        let of = |run: &TestGraphRun| run.parent.0 == workflow;
        let runs: Vec<String> =
            self.runs.iter().filter(|(_, run)| of(run)).map(|(id, _)| id.clone()).collect();
        runs.iter().for_each(|id| self.stop_graph(id));
    }
}

fn answer(outcome: wit::Outcome) -> SignalOutcome {
    let detail = |failure: wit::Failure| FailureDetail {
        code: failure.code,
        message: failure.message,
        details: failure.details.and_then(|details| payload::decode("details", &details).ok()),
    };
    match outcome {
        wit::Outcome::Success(payload) => payload::decode("the output of a node", &payload)
            .map_err(|error| detail(error.into_failure())),
        wit::Outcome::Failure(failure) => Err(detail(failure)),
    }
}

/// The request of a node, after its template was filled in.
fn request(input: &Value) -> Result<wit::HttpRequest, Error> {
    let refused =
        |wrong: plan::RequestTextError| Error::terminal(Error::REFUSED, wrong.to_string());
    let plan::NodeRequest { method, url, headers, body } =
        plan::NodeRequest::of(input).map_err(refused)?;
    let body = body.map(|body| Payload::Json(body.to_string()));
    Ok(wit::HttpRequest { method, url, headers, body })
}

/// Fields that a plan omits have the defaults of calls in a test.
fn retry_options(retry: &NodeRetry) -> wit::RetryOptions {
    let NodeRetry { initial, factor, max, max_attempts } = *retry;
    let default = RetryPolicy::default().into_options();
    wit::RetryOptions {
        initial_ms: initial.map_or(default.initial_ms, millis),
        factor: factor.unwrap_or(default.factor),
        max_ms: max.map_or(default.max_ms, millis),
        max_attempts,
        ..default
    }
}
