//! The host's role in a test: starts invocations, executes their commands, and advances virtual
//! time.

pub(super) mod generations;
#[cfg(feature = "graph")]
mod graph;
mod objects;
mod updates;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chacha20::{
    ChaCha12Rng,
    rand_core::{Rng, SeedableRng},
};

pub(super) use self::objects::TestObjects;
use self::objects::{InvocationObject, ObjectCall};
use super::{
    attempt::{AttemptSubject, PlannedAttempt},
    doubles::Doubles,
    recorder::{TestRecorder, TestState, WorldRequest, lock},
    replay::WorkflowHistory,
    scenario::{Arrival, HandlerExchange, PromiseSelector, Settler, TestScenario},
};
use crate::{
    bindings::segno::workflow::types as wit,
    error::Error,
    execution::WorkflowExecution,
    function::{Entry, EntryPoint},
    handler::Handlers,
    invocation::CurrentInvocation,
    journal::WorkflowCommand,
    message::Message,
    module::Module,
    payload::Payload,
    plan,
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
    commands: Vec<(u64, WorkflowCommand)>,
    /// The list of functions of the crate under test.
    module: Option<Module>,
    /// The names of the module's functions, if the function under test is listed there.
    listed: Option<Vec<&'static str>>,
}

struct TestInvocation {
    entry: Entry,
    input: Payload,
    facts: wit::Context,
    recorder: Arc<TestRecorder>,
    execution: WorkflowExecution,
    object: Option<InvocationObject>,
    /// The command that awaits the result.
    parent: Option<(String, u32)>,
    outcome: Option<wit::Outcome>,
}

impl TestInvocation {
    /// The name of its function in journals.
    fn name(&self) -> String {
        let name = self.entry.name;
        match (&self.object, name.split_once('/')) {
            (Some(object), Some((_, method))) => object.name_of(method),
            _ => name.to_owned(),
        }
    }
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

    fn begin(&mut self, id: String, entry: Entry, input: Payload, parent: Option<(String, u32)>) {
        self.begin_of(id, entry, input, parent, None);
    }

    fn begin_of(
        &mut self,
        id: String,
        entry: Entry,
        input: Payload,
        parent: Option<(String, u32)>,
        object: Option<InvocationObject>,
    ) {
        // Each invocation has its own generator, seeded from its id.
        let name = id
            .bytes()
            .fold(self.seed, |seed, byte| seed.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
        let mut seed = vec![0; 32];
        ChaCha12Rng::seed_from_u64(name).fill_bytes(&mut seed);
        let parent_id = parent.as_ref().map(|(parent, _)| parent.clone());
        let facts = wit::Context {
            invocation: id.clone(),
            parent: parent_id,
            started_at_ms: self.now_ms,
            seed,
        };
        let key = object.as_ref().map(|object| object.key.clone());
        let recorder = TestRecorder::new(&id, key, self.now_ms, false, &self.common);
        let handlers = match &self.module {
            Some(module) => Handlers::of(module, entry.name),
            None => Handlers::new(entry.name, Vec::new()),
        };
        let (begun, journal) = (facts.clone(), recorder.clone());
        let execution =
            WorkflowExecution::start(Some(&entry), entry.name, &input, handlers, begun, journal);
        let running = TestInvocation {
            entry,
            input,
            facts,
            recorder,
            execution,
            object,
            parent,
            outcome: None,
        };
        self.invocations.insert(id.clone(), running);
        self.attend(&id);
    }

    fn tell(&mut self, id: &str, event: wit::Event) {
        let now_ms = self.now_ms;
        let Some(running) = self.invocations.get_mut(id) else { return };
        if running.outcome.is_some() {
            return;
        }
        running.recorder.tell(now_ms, &event);
        running.execution.resume(event);
        self.attend(id);
    }

    /// Executes the commands that the invocation issued since the last call.
    fn attend(&mut self, id: &str) {
        let recorder = self.invocations[id].recorder.clone();
        while let Some(todo) = recorder.next_todo() {
            match todo {
                WorldRequest::Command(command, request) => {
                    if !request.is_write() {
                        self.open(id, command, request.describe());
                    }
                    self.commands.push((self.now_ms, request.clone()));
                    self.perform(id, command, request);
                }
                WorldRequest::Ran(command, outcome) => {
                    self.open(id, command, "run".to_owned());
                    self.answer(self.now_ms, id, command, outcome);
                }
                WorldRequest::Finished(outcome) => {
                    let running =
                        self.invocations.get_mut(id).expect("only a known invocation is attended");
                    running.outcome = Some(outcome.clone());
                    let parent = running.parent.clone();
                    #[cfg(feature = "graph")]
                    self.stop_graphs_of(id);
                    self.stop_calls_of(id);
                    if let Some((parent, command)) = parent {
                        self.answer(self.now_ms, &parent, command, outcome);
                    }
                    self.leave(id);
                }
                WorldRequest::Continued(next) => {
                    let running =
                        self.invocations.get_mut(id).expect("only a known invocation is attended");
                    running.outcome = Some(null());
                    #[cfg(feature = "graph")]
                    self.stop_graphs_of(id);
                    self.stop_calls_of(id);
                    self.continue_as_new(id, next);
                }
            }
        }
    }

    /// Asks the workflows to stop that this one called and that have not ended.
    fn stop_calls_of(&mut self, id: &str) {
        let is_called = |invocation: &TestInvocation| {
            invocation.outcome.is_none()
                && invocation.parent.as_ref().is_some_and(|(parent, _)| parent == id)
        };
        let called: Vec<String> = self
            .invocations
            .iter()
            .filter(|(_, invocation)| is_called(invocation))
            .map(|(id, _)| id.clone())
            .collect();
        for invocation in called {
            let event = wit::Event::Cancelled;
            self.decide(self.now_ms, TestAction::Tell { invocation, event });
        }
    }

    fn open(&mut self, id: &str, command: u32, description: String) {
        self.open.insert((id.to_owned(), command), description);
    }

    fn perform(&mut self, id: &str, command: u32, request: WorkflowCommand) {
        let now_ms = self.now_ms;
        match request {
            WorkflowCommand::Call { function, input, options, .. } => {
                let child = format!("{id}/{command}");
                self.call(id, command, child, &function, input, options)
            }
            WorkflowCommand::Undo { step, input, options } => {
                let child = format!("{id}/c/{}/{}", step.saga, step.seq);
                self.call(id, command, child, &step.compensate, input, options)
            }
            WorkflowCommand::Ask { step } => {
                let name = format!("u/{}/{}", step.saga, step.seq);
                let promise = format!("{id}/{name}");
                self.promise(id, command, promise, Some(name), None);
            }
            WorkflowCommand::Send { function, input, when, .. } => {
                self.check_list("sends", id, &function);
                let sent = format!("{id}/{command}");
                if let Err(refused) = self.accept(&sent, &function) {
                    return self.answer(now_ms, id, command, failure(refused));
                }
                let value = Payload::Json(serde_json::Value::from(sent.clone()).to_string());
                self.answer(now_ms, id, command, wit::Outcome::Success(value));
                let at_ms = when.map_or(now_ms, |when| when.resolve(now_ms));
                self.decide(at_ms, TestAction::Begin { id: sent, function, input });
            }
            WorkflowCommand::Sleep { when } => {
                self.answer(when.resolve(now_ms), id, command, null())
            }
            WorkflowCommand::Promise { name, options } => {
                let promise = match &name {
                    Some(name) => format!("{id}/p/{name}"),
                    None => format!("{id}/{command}"),
                };
                self.promise(id, command, promise, name, options.timeout_ms);
            }
            WorkflowCommand::Settle { promise, outcome } => {
                let answer = self.settle(&promise, outcome);
                self.answer(now_ms, id, command, answer);
            }
            WorkflowCommand::Http { request, options, .. } => {
                let key = format!("{id}/{command}");
                let attempting = PlannedAttempt::new(
                    AttemptSubject::Http(request),
                    Payload::Json("null".into()),
                    key,
                    &options,
                    None,
                );
                self.attempt_until(id, command, attempting, options.timeout_ms);
            }
            WorkflowCommand::Cancel { command: cancelled } => {
                let refused = self.refuse_cancel(id, cancelled);
                if refused.is_none() {
                    self.cancel(id, cancelled);
                }
                self.answer(now_ms, id, command, refused.map_or_else(null, failure));
            }
            WorkflowCommand::Publish { .. } => self.answer(now_ms, id, command, null()),
            WorkflowCommand::SendSignal { invocation, name, payload } => {
                let answer = self.send_signal(invocation, wit::Signal { name, payload });
                self.answer(now_ms, id, command, answer);
            }
            request @ (WorkflowCommand::GetState { .. }
            | WorkflowCommand::StateNames
            | WorkflowCommand::SetState { .. }
            | WorkflowCommand::ClearState { .. }
            | WorkflowCommand::ClearAllState) => self.perform_on_state(id, command, request),
            request @ (WorkflowCommand::WaitObjectPromise { .. }
            | WorkflowCommand::PeekObjectPromise { .. }
            | WorkflowCommand::SettleObjectPromise { .. }) => {
                self.perform_on_promises(id, command, request)
            }
        }
    }

    /// The function of the crate under test with this name, if it was called by its item or is in
    /// the list.
    fn known(&self, function: &str) -> Option<Entry> {
        let learned = lock(&self.common).learned.get(function).copied();
        learned.or_else(|| self.module.as_ref()?.find(function).copied())
    }

    /// The name of the invocation's function, for messages.
    fn name_of(&self, id: &str) -> &str {
        #[cfg(feature = "graph")]
        if let Some(run) = self.runs.get(id) {
            return run.name();
        }
        self.invocations[id].entry.name
    }

    #[cfg(not(feature = "graph"))]
    fn begin_graph(&mut self, id: String, _: &Payload, _: (String, u32)) {
        panic!(
            "`{id}` is a graph, which a test runs only with the feature `graph` of the SDK; without it, add `test.on_named(\"{}\", |input| …)`",
            plan::GRAPH,
        );
    }

    /// Panics for a function that `segno::module!` does not list: a test could run it, but a host
    /// could not.
    fn check_list(&self, does: &str, id: &str, function: &str) {
        let Some(listed) = &self.listed else { return };
        let keyed = ObjectCall::parse(function);
        let is_elsewhere =
            function.starts_with("wasm://") || (keyed.is_none() && function.contains(':'));
        let name = keyed.as_ref().map_or(function, |keyed| &keyed.name);
        if is_elsewhere || listed.contains(&name) {
            return;
        }
        // A kind of object is listed as a whole.
        let missing = keyed.as_ref().map_or(function, |keyed| {
            keyed.name.split_once('/').map_or(function, |(kind, _)| kind)
        });
        panic!(
            "`{caller}` {does} `{function}`, which is not in the list of the module: a host would answer 404. \
             Add it: `segno::module!({listed}, {missing});`",
            caller = self.name_of(id),
            listed = listed.join(", "),
        );
    }

    fn call(
        &mut self,
        id: &str,
        command: u32,
        child: String,
        function: &str,
        input: Payload,
        options: wit::CallOptions,
    ) {
        self.check_list("calls", id, function);
        let called = function;
        let keyed = ObjectCall::parse(function);
        let function = keyed.as_ref().map_or(function, |keyed| keyed.name.as_str());
        let entry = self.known(function);
        let defaults = entry.map(|entry| (entry.describe)());
        let timeout_ms =
            options.timeout_ms.or(defaults.as_ref().and_then(|defaults| defaults.timeout_ms));
        let retry = defaults.and_then(|defaults| defaults.retry);
        let doubled = lock(&self.doubles).functions.contains_key(function);
        let body = match entry.map(|entry| (entry, entry.kind)) {
            Some((_, EntryPoint::Activity(_))) | None if doubled => {
                AttemptSubject::Double(function.to_owned())
            }
            Some((_, EntryPoint::Workflow(_))) if doubled => {
                AttemptSubject::Final(function.to_owned())
            }
            Some((entry, EntryPoint::Activity(_))) => AttemptSubject::Activity(entry),
            Some((entry, EntryPoint::Workflow(_))) => {
                if let Err(refused) = self.accept(&child, called) {
                    return self.answer(self.now_ms, id, command, failure(refused));
                }
                self.overdue(id, command, timeout_ms);
                let parent = Some((id.to_owned(), command));
                return match keyed {
                    Some(keyed) => self.enter(child, entry, input, parent, keyed.object),
                    None => self.begin(child, entry, input, parent),
                };
            }
            None if function == plan::GRAPH => {
                self.overdue(id, command, timeout_ms);
                return self.begin_graph(child, &input, (id.to_owned(), command));
            }
            None => panic!(
                "`{caller}` calls `{function}`, which this test does not define: add `test.on_named(\"{function}\", |input| …)`",
                caller = self.name_of(id),
            ),
        };
        let attempting = PlannedAttempt::new(body, input, child, &options, retry);
        self.attempt_until(id, command, attempting, timeout_ms);
    }

    fn attempt_until(
        &mut self,
        id: &str,
        command: u32,
        attempting: PlannedAttempt,
        timeout_ms: Option<u64>,
    ) {
        self.decide(
            self.now_ms,
            TestAction::Attempt { invocation: id.to_owned(), command, attempting },
        );
        self.overdue(id, command, timeout_ms);
    }

    /// Fails the command at its deadline, unless it was answered.
    fn overdue(&mut self, id: &str, command: u32, timeout_ms: Option<u64>) {
        if let Some(timeout_ms) = timeout_ms {
            self.answer(
                self.now_ms.saturating_add(timeout_ms),
                id,
                command,
                failure(Error::with_code(Error::TIMED_OUT, "timed out")),
            );
        }
    }

    fn promise(
        &mut self,
        id: &str,
        command: u32,
        promise: String,
        name: Option<String>,
        timeout_ms: Option<u64>,
    ) {
        let waiters = self.promises.entry(promise.clone()).or_default();
        waiters.commands.push((id.to_owned(), command));
        if let Some(outcome) = waiters.outcome.clone() {
            return self.answer(self.now_ms, id, command, outcome);
        }
        let place = self.scenario.promises.iter().position(|plan| match &plan.which {
            PromiseSelector::Named(wanted) => *wanted == promise || name.as_ref() == Some(wanted),
            PromiseSelector::Unnamed(n) => name.is_none() && *n == self.unnamed_promises,
            PromiseSelector::OfObject(..) => false,
        });
        if name.is_none() {
            self.unnamed_promises += 1;
        }
        if let Some(place) = place {
            let plan = self.scenario.promises.remove(place);
            let at_ms = self.now_ms.saturating_add(millis(plan.after));
            self.decide(at_ms, TestAction::Settle { promise, settler: plan.settler });
        }
        self.overdue(id, command, timeout_ms);
    }

    /// Settles a promise that exists and is pending. Returns the answer for the settling party.
    fn settle(&mut self, promise: &str, outcome: wit::Outcome) -> wit::Outcome {
        if let Some(answer) = self.settle_update(promise, &outcome) {
            return answer;
        }
        let Some(waiters) = self.promises.get_mut(promise) else {
            return failure(Error::terminal(
                Error::NOT_FOUND,
                format!("`{promise}` does not exist"),
            ));
        };
        // The first settlement counts; a later one changes nothing.
        if waiters.outcome.is_none() {
            waiters.outcome = Some(outcome.clone());
            for (owner, command) in waiters.commands.clone() {
                self.answer(self.now_ms, &owner, command, outcome.clone());
            }
        }
        null()
    }

    /// Sends a signal to another invocation. Returns the answer for the sender.
    fn send_signal(&mut self, invocation: String, signal: wit::Signal) -> wit::Outcome {
        let Some(receiver) = self.invocations.get(&self.newest(&invocation)) else {
            let message = format!("`{invocation}` does not exist");
            return failure(Error::terminal(Error::NOT_FOUND, message));
        };
        if receiver.outcome.is_some() {
            return failure(Error::terminal(409, format!("`{invocation}` has ended")));
        }
        let known: Vec<&str> =
            (receiver.entry.messages)().iter().filter_map(Message::signal_name).collect();
        let is_unknown = !known.is_empty() && !known.contains(&signal.name.as_str());
        if !(receiver.entry.describe)().signals || is_unknown {
            let takes = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!(
                "`{called}` of `{invocation}` does not take the signal `{}`: it takes {takes}",
                signal.name,
                called = receiver.entry.name,
            );
            return failure(Error::terminal(Error::REFUSED, message));
        }
        let event = wit::Event::Signal(signal);
        self.decide(self.now_ms, TestAction::Tell { invocation, event });
        null()
    }

    fn cancel(&mut self, id: &str, command: u32) {
        let child = format!("{id}/{command}");
        match self.invocations.get(&child) {
            // The workflow receives the cancellation, and determines its own outcome.
            Some(_) => self.decide(
                self.now_ms,
                TestAction::Tell { invocation: child, event: wit::Event::Cancelled },
            ),
            None => self.answer(self.now_ms, id, command, failure(Error::cancelled())),
        }
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

    /// Runs a sent function, if this test knows it; its result is not awaited.
    fn begin_sent(&mut self, id: String, function: &str, input: Payload) {
        let keyed = ObjectCall::parse(function);
        let function = keyed.as_ref().map_or(function, |keyed| keyed.name.as_str());
        if let Some(double) = lock(&self.doubles).functions.get_mut(function) {
            double(&input);
            return;
        }
        let Some(entry) = self.known(function) else { return };
        match entry.kind {
            EntryPoint::Workflow(_) => match keyed {
                Some(keyed) => self.enter(id, entry, input, None, keyed.object),
                None => self.begin(id, entry, input, None),
            },
            EntryPoint::Activity(_) => {
                let options = crate::call::no_options();
                let mut attempting =
                    PlannedAttempt::new(AttemptSubject::Activity(entry), input, id, &options, None);
                // A single attempt suffices: its result is not visible in this test.
                let _ = attempting.attempt(self.now_ms, &self.doubles, &self.common);
            }
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
