//! The host's role in a test: starts invocations, executes their commands, and advances virtual
//! time.

mod calls;
mod commands;
pub(super) mod generations;
#[cfg(feature = "graph")]
mod graph;
mod invocations;
mod objects;
mod promises;
mod reads;
mod updates;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

pub(super) use self::objects::TestObjects;
use self::{invocations::TestInvocation, objects::ObjectCall};
use super::{
    attempt::PlannedAttempt,
    doubles::Doubles,
    recorder::TestState,
    replay::WorkflowHistory,
    scenario::{Arrival, HandlerExchange, Settler, TestScenario},
    streams::StreamRead,
};
use crate::{
    bindings::segno::workflow::types as wit,
    error::Error,
    function::Entry,
    handler::Handlers,
    invocation::CurrentInvocation,
    journal::WorkflowCommand,
    module::Module,
    payload::Payload,
    time::{Timestamp, millis},
};

/// The results of a run.
pub(super) struct TestReport {
    pub(super) outcome: wit::Outcome,
    pub(super) ended_at_ms: u64,
    /// The commands of all invocations with the time of each.
    pub(super) commands: Vec<(u64, WorkflowCommand)>,
    pub(super) histories: Vec<WorkflowHistory>,
    /// Indices of forgotten commands of the workflow under test.
    pub(super) forgotten: Vec<u32>,
    pub(super) common: Arc<Mutex<TestState>>,
    /// The workflow under test, for queries after the run.
    pub(super) invocation: Arc<CurrentInvocation>,
    pub(super) handlers: Handlers,
    /// The functions of the module, if the workflow is listed there.
    pub(super) listing: Option<Module>,
}

pub(super) struct TestWorld<'a> {
    now_ms: u64,
    seed: u64,
    doubles: Arc<Mutex<Doubles>>,
    scenario: &'a mut TestScenario,
    common: Arc<Mutex<TestState>>,
    invocations: BTreeMap<String, TestInvocation>,
    /// The newest generations of invocations that have continued as new.
    newest: BTreeMap<String, String>,
    /// Future actions by time; actions at equal times are ordered by their definition.
    due: BTreeMap<(u64, u64), TestAction>,
    decided: u64,
    /// Unanswered commands by issuer and index, with descriptions for messages. A node of a graph
    /// is a command of its run.
    open: BTreeMap<(String, u32), String>,
    #[cfg(feature = "graph")]
    runs: BTreeMap<String, graph::TestGraphRun>,
    promises: BTreeMap<String, PromiseWaiters>,
    unnamed_promises: usize,
    /// Accepted updates by their promises.
    updates: BTreeMap<String, Arc<Mutex<HandlerExchange>>>,
    /// Reads of streams that wait for data.
    reads: Vec<StreamRead>,
    commands: Vec<(u64, WorkflowCommand)>,
    /// The list of functions of the crate under test.
    module: Option<Module>,
    /// The names of the module's functions, if the function under test is listed there.
    listed: Option<Vec<&'static str>>,
}

/// The commands that wait for a promise, and its outcome.
#[derive(Default)]
struct PromiseWaiters {
    commands: Vec<(String, u32)>,
    outcome: Option<wit::Outcome>,
}

enum TestAction {
    Complete {
        invocation: String,
        command: u32,
        outcome: wit::Outcome,
    },
    Attempt {
        invocation: String,
        command: u32,
        attempting: PlannedAttempt,
    },
    Begin {
        id: String,
        function: String,
        input: Payload,
    },
    #[cfg(feature = "graph")]
    BeginNode {
        run: String,
        command: u32,
    },
    Settle {
        promise: String,
        settler: Settler,
    },
    SettleOfObject {
        object: String,
        name: String,
        settler: Settler,
    },
    Tell {
        invocation: String,
        event: wit::Event,
    },
    Ask {
        invocation: String,
        ask: Arc<Mutex<HandlerExchange>>,
    },
}

impl TestAction {
    /// True if the action begins this invocation.
    fn begins(&self, invocation: &str) -> bool {
        matches!(self, Self::Begin { id, .. } if id == invocation)
    }
}

fn null() -> wit::Outcome {
    wit::Outcome::Success(Payload::Json("null".to_owned()))
}

fn failure(error: Error) -> wit::Outcome {
    wit::Outcome::Failure(error.into_failure())
}

impl<'a> TestWorld<'a> {
    pub(super) fn new(
        started_at: Timestamp,
        seed: u64,
        doubles: Arc<Mutex<Doubles>>,
        scenario: &'a mut TestScenario,
        common: Arc<Mutex<TestState>>,
    ) -> Self {
        Self {
            now_ms: started_at.as_millis(),
            seed,
            doubles,
            scenario,
            common,
            invocations: BTreeMap::new(),
            newest: BTreeMap::new(),
            due: BTreeMap::new(),
            decided: 0,
            open: BTreeMap::new(),
            #[cfg(feature = "graph")]
            runs: BTreeMap::new(),
            promises: BTreeMap::new(),
            unnamed_promises: 0,
            updates: BTreeMap::new(),
            reads: Vec::new(),
            commands: Vec::new(),
            module: None,
            listed: None,
        }
    }

    /// Runs the invocation `root`, of an object's function if one is given, until it has an
    /// outcome.
    pub(super) fn run(
        mut self,
        root: &str,
        entry: Entry,
        object: Option<String>,
        input: Payload,
    ) -> TestReport {
        for arrival in std::mem::take(&mut self.scenario.arrivals) {
            let (after, event) = match arrival {
                Arrival::Event { after, event } => (after, event),
                Arrival::Ask(ask) => {
                    self.expect_ask(root, ask);
                    continue;
                }
            };
            if let wit::Event::Signal(signal) = &event {
                assert!(
                    (entry.describe)().signals,
                    "signal `{}` for `{name}`, which takes none: declare it with `#[segno::workflow(signals)]`",
                    signal.name,
                    name = entry.name,
                );
            }
            let at_ms = self.now_ms + millis(after);
            self.decide(at_ms, TestAction::Tell { invocation: root.to_owned(), event });
        }
        self.expect_promises_of_objects();
        self.module = (entry.module)();
        let listing = self.module.as_ref().filter(|module| module.find(entry.name).is_some());
        self.listed = listing.map(|module| module.names().collect());
        match object.as_deref().and_then(ObjectCall::parse) {
            Some(keyed) => self.enter(root.to_owned(), entry, input, None, keyed.object),
            None => self.begin(root.to_owned(), entry, input, None),
        }
        loop {
            let root = self.newest(root);
            let running = &self.invocations[&root];
            if let Some(outcome) = running.outcome.clone() {
                return self.report(&root, outcome);
            }
            let Some(((at_ms, _), action)) = self.due.pop_first() else { self.stuck(&root) };
            self.now_ms = self.now_ms.max(at_ms);
            self.act(action);
            self.serve_reads();
        }
    }

    fn report(mut self, root: &str, outcome: wit::Outcome) -> TestReport {
        self.cancel_updates();
        let running = self.invocations.get_mut(root).expect("it has an outcome");
        let invocation = running.execution.invocation().clone();
        let handlers = running.execution.handlers().clone();
        let forgotten = (0..).take_while(|command| *command < running.recorder.length());
        let forgotten =
            forgotten.filter(|command| running.recorder.is_forgotten(*command)).collect();
        let histories = self.invocations.into_values().map(|mut running| WorkflowHistory {
            name: running.name(),
            handlers: running.execution.handlers().clone(),
            entry: running.entry,
            input: running.input,
            facts: running.facts,
            key: running.object.map(|object| object.key),
            records: running.recorder.records(),
        });
        TestReport {
            outcome,
            ended_at_ms: self.now_ms,
            commands: self.commands,
            histories: histories.collect(),
            forgotten,
            common: self.common,
            invocation,
            handlers,
            listing: self.module.filter(|_| self.listed.is_some()),
        }
    }

    fn decide(&mut self, at_ms: u64, action: TestAction) {
        self.due.insert((at_ms, self.decided), action);
        self.decided += 1;
    }

    fn answer(&mut self, at_ms: u64, invocation: &str, command: u32, outcome: wit::Outcome) {
        self.decide(
            at_ms,
            TestAction::Complete { invocation: invocation.to_owned(), command, outcome },
        );
    }

    fn open(&mut self, id: &str, command: u32, description: String) {
        self.open.insert((id.to_owned(), command), description);
    }

    /// The name of the invocation's function, for messages.
    fn name_of(&self, id: &str) -> &str {
        #[cfg(feature = "graph")]
        if let Some(run) = self.runs.get(id) {
            return run.name();
        }
        self.invocations[id].entry.name
    }

    fn act(&mut self, action: TestAction) {
        match action {
            TestAction::Complete { invocation, command, outcome } => {
                self.complete(&invocation, command, outcome)
            }
            TestAction::Tell { invocation, event } => self.tell(&self.newest(&invocation), event),
            TestAction::Ask { invocation, ask } => self.ask(&self.newest(&invocation), &ask),
            TestAction::Settle { promise, mut settler } => {
                let outcome = settler(&promise);
                self.settle(&promise, outcome);
            }
            TestAction::SettleOfObject { object, name, mut settler } => {
                let outcome = settler(&name);
                // An already settled promise stays unchanged, as on a host.
                let _ = self.settle_of_object(&object, &name, outcome);
            }
            TestAction::Attempt { invocation, command, mut attempting } => {
                if !self.open.contains_key(&(invocation.clone(), command)) {
                    return;
                }
                match attempting.attempt(self.now_ms, &self.doubles, &self.common) {
                    Ok(outcome) => self.complete(&invocation, command, outcome),
                    Err(delay_ms) => {
                        let at_ms = self.now_ms.saturating_add(delay_ms);
                        self.decide(at_ms, TestAction::Attempt { invocation, command, attempting });
                    }
                }
            }
            TestAction::Begin { id, function, input } => self.begin_sent(id, &function, input),
            #[cfg(feature = "graph")]
            TestAction::BeginNode { run, command } => self.begin_again(&run, command),
        }
    }

    fn complete(&mut self, id: &str, command: u32, outcome: wit::Outcome) {
        // Only the first answer counts, and a forgotten command gets none.
        if self.open.remove(&(id.to_owned(), command)).is_none() {
            return;
        }
        #[cfg(feature = "graph")]
        if self.runs.contains_key(id) {
            return self.node_ended(id, command, outcome);
        }
        #[cfg(feature = "graph")]
        self.stop_graph(&format!("{id}/{command}"));
        let Some(running) = self.invocations.get(id) else { return };
        if running.recorder.is_forgotten(command) {
            return;
        }
        self.tell(id, wit::Event::Completed(wit::Completion { command, outcome }));
    }

    fn stuck(&self, root: &str) -> ! {
        let mut waits = Vec::new();
        for ((id, command), what) in &self.open {
            let command = match self.invocations.get(id) {
                Some(running) if running.outcome.is_some() => continue,
                Some(running) if running.recorder.is_forgotten(*command) => continue,
                Some(_) => format!("command {command}, "),
                None => String::new(),
            };
            waits.push(format!("`{}` ({id}): {command}{what}", self.name_of(id)));
        }
        let name = self.invocations[root].entry.name;
        if waits.is_empty() {
            panic!(
                "`{name}` waits, but for none of its commands: if it waits for a signal, add `test.signal(name, value)`, if for an update, `test.update(update, input)`"
            );
        }
        panic!(
            "`{name}` waits, and this test never settles:\n  {}\nadd for instance `test.promise(name).resolve(value)`, or give the wait a time limit",
            waits.join("\n  ")
        );
    }
}
