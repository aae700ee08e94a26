//! The public interface of a test.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    doubles::{Doubles, SeenRequest},
    journal,
    recorder::{TestState, lock},
    replay::{self, WorkflowHistory},
    scenario::{Arrival, PromiseScript, PromiseSelector, SignalScript, TestScenario},
    world::{TestReport, TestWorld, generations::generation},
};
use crate::{
    bindings::segno::workflow::types as wit,
    blob::Blob,
    budget::Amount,
    error::{Error, Result},
    function::{Entry, Function, Item},
    http::Response,
    journal::WorkflowCommand,
    log::Level,
    module::Module,
    object::ObjectEntries,
    payload::{self, Payload},
    time::Timestamp,
};

/// Minimum length of a secret, in bytes: so that it can be found in other text.
const SECRET_BYTES_MIN: usize = 8;

/// One run of a workflow in a controlled environment. See the [module](super).
pub struct Test {
    invocation: String,
    started_at: Timestamp,
    seed: u64,
    doubles: Arc<Mutex<Doubles>>,
    pub(super) scenario: TestScenario,
    /// The budget of the invocation, in millionths by unit.
    budget: BTreeMap<String, u64>,
    report: Option<TestReport>,
}

impl Default for Test {
    fn default() -> Self {
        Self::new()
    }
}

impl Test {
    /// Creates a test without events from outside.
    pub fn new() -> Self {
        Self {
            invocation: "test".to_owned(),
            started_at: Timestamp::from_millis(1_750_000_000_000),
            seed: 0,
            doubles: Arc::default(),
            scenario: TestScenario::default(),
            budget: BTreeMap::new(),
            report: None,
        }
    }

    /// Sets the id of the invocation under test (default `test`).
    pub fn invocation(&mut self, id: impl Into<String>) -> &mut Self {
        self.invocation = id.into();
        self
    }

    /// Sets the logical time at which the invocation starts.
    pub fn start_at(&mut self, instant: Timestamp) -> &mut Self {
        self.started_at = instant;
        self
    }

    /// Sets the seed of its random numbers.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// Replaces a function by `answer`, which may fail: an activity is then retried by its policy.
    pub fn on<A, I: Item<A>>(
        &mut self,
        function: I,
        answer: impl FnMut(
            <I::Function as Function>::Input,
        ) -> Result<<I::Function as Function>::Output>
        + Send
        + 'static,
    ) -> &mut Self
    where
        <I::Function as Function>::Input: DeserializeOwned,
        <I::Function as Function>::Output: Serialize,
    {
        let _ = function;
        self.on_named(<I::Function as Function>::NAME, answer)
    }

    /// Replaces a function by `answer`, by the name for calls.
    pub fn on_named<In: DeserializeOwned, Out: Serialize>(
        &mut self,
        function: &str,
        answer: impl FnMut(In) -> Result<Out> + Send + 'static,
    ) -> &mut Self {
        lock(&self.doubles).add_function(function, answer);
        self
    }

    /// Answers requests whose address begins with `url` with `answer`; the longest match applies.
    pub fn on_http(
        &mut self,
        method: &str,
        url: &str,
        answer: impl FnMut(&SeenRequest) -> Result<Response> + Send + 'static,
    ) -> &mut Self {
        lock(&self.doubles).add_web(method, url, answer);
        self
    }

    /// Gives the invocation under test a budget: at most this amount of a unit for it and
    /// everything below it. Attempts of activities and requests count as `calls`.
    ///
    /// # Panics
    /// If the amount is negative, not finite or too large.
    pub fn budget(&mut self, unit: &str, limit: impl Into<Amount>) -> &mut Self {
        let limit = limit.into().millionths().unwrap_or_else(|error| panic!("{error}"));
        self.budget.insert(unit.to_owned(), limit);
        self
    }

    /// Sets the value that activities read with `ctx.env`.
    pub fn env(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        lock(&self.doubles).env.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the value that activities read with `ctx.secret`.
    ///
    /// # Panics
    /// If the value has fewer than 8 bytes, which a host refuses.
    pub fn secret(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        let value = value.into();
        let length = value.len();
        assert!(
            length >= SECRET_BYTES_MIN,
            "the secret `{name}` has {length} bytes, and a host takes {SECRET_BYTES_MIN} or more: put a setting in `env`",
        );
        lock(&self.doubles).secrets.insert(name.to_owned(), value);
        self
    }

    /// Creates a file for activities (`ctx.files()`). The files of a test are in memory.
    pub fn file(&mut self, path: &str, content: impl Into<Vec<u8>>) -> &mut Self {
        lock(&self.doubles).files.0.insert(path.to_owned(), content.into());
        self
    }

    /// The current content of a file. `None` if it does not exist.
    pub fn file_content(&self, path: &str) -> Option<Vec<u8>> {
        lock(&self.doubles).files.0.get(path).cloned()
    }

    /// Stores a blob, as a client does before it starts the workflow. The blobs of a test are in
    /// memory.
    pub fn blob(&mut self, content_type: &str, content: impl Into<Vec<u8>>) -> Blob {
        let json = lock(&self.doubles).blobs.store(&self.invocation, content_type, content.into());
        serde_json::from_str(&json).expect("it is written as a reference")
    }

    /// The content of a blob. `None` if it does not exist.
    pub fn blob_content(&self, blob: &Blob) -> Option<Vec<u8>> {
        lock(&self.doubles).blobs.content(blob.id()).cloned()
    }

    /// Plans the settlement of the promise with this name, or this whole id. In a graph, the
    /// promise of a node has the node's name, and a signal is the promise `sig/{name}`, which is
    /// created at the start of the run.
    pub fn promise(&mut self, name: &str) -> PromiseScript<'_> {
        let which = PromiseSelector::Named(name.to_owned());
        PromiseScript { scenario: &mut self.scenario, which, after: Duration::ZERO }
    }

    /// Plans the settlement of the `n`-th promise without a name, from 0.
    pub fn unnamed_promise(&mut self, n: usize) -> PromiseScript<'_> {
        PromiseScript {
            scenario: &mut self.scenario,
            which: PromiseSelector::Unnamed(n),
            after: Duration::ZERO,
        }
    }

    /// Plans the arrival of a signal.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn signal<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> SignalScript<'_> {
        let payload = payload::encode("the value of a signal", value)
            .unwrap_or_else(|error| panic!("{error}"));
        let event = wit::Event::Signal(wit::Signal { name: name.to_owned(), payload });
        self.scenario.arrivals.push(Arrival::Event { after: Duration::ZERO, event });
        match self.scenario.arrivals.last_mut() {
            Some(Arrival::Event { after, .. }) => SignalScript(after),
            _ => unreachable!("an event was just added"),
        }
    }

    /// Plans the cancellation of the invocation this long after its start.
    pub fn cancel_after(&mut self, delay: Duration) -> &mut Self {
        self.scenario.arrivals.push(Arrival::Event { after: delay, event: wit::Event::Cancelled });
        self
    }

    /// Runs a workflow to its end and returns its result.
    ///
    /// # Panics
    /// If the workflow waits for an event that this test does not define; the message names it.
    pub fn run<A, I: Item<A>>(
        &mut self,
        function: I,
        input: &<I::Function as Function>::Input,
    ) -> Result<<I::Function as Function>::Output>
    where
        <I::Function as Function>::Input: Serialize,
        <I::Function as Function>::Output: DeserializeOwned,
    {
        let _ = function;
        let payload = payload::encode("the input", input)?;
        match self.run_raw(Entry::of::<I::Function>(), None, payload) {
            wit::Outcome::Success(payload) => payload::decode("the result", &payload),
            wit::Outcome::Failure(failure) => Err(Error::from_failure(failure)),
        }
    }

    /// Runs a workflow with an input of any JSON type.
    ///
    /// # Errors
    /// The workflow's own error, and code 400 if the input has a wrong type.
    pub fn run_json<A, I: Item<A>>(&mut self, function: I, input: &Value) -> Result<Value> {
        let _ = function;
        match self.run_raw(Entry::of::<I::Function>(), None, Payload::Json(input.to_string())) {
            wit::Outcome::Success(payload) => payload::decode("the result", &payload),
            wit::Outcome::Failure(failure) => Err(Error::from_failure(failure)),
        }
    }

    /// Runs a workflow of a module, by its name for calls, with an input of any JSON type:
    /// `test.run_named(&segno_module(), "order", &input)`.
    ///
    /// # Errors
    /// The workflow's own error, and code 400 if the input has a wrong type.
    ///
    /// # Panics
    /// If the module has no such function.
    pub fn run_named(&mut self, module: &Module, function: &str, input: &Value) -> Result<Value> {
        let entry = module.find(function).copied();
        let entry = entry.unwrap_or_else(|| panic!("the module has no function `{function}`"));
        match self.run_raw(entry, None, Payload::Json(input.to_string())) {
            wit::Outcome::Success(payload) => payload::decode("the result", &payload),
            wit::Outcome::Failure(failure) => Err(Error::from_failure(failure)),
        }
    }

    /// Runs a function of an object to its end and returns its result:
    /// `test.run_object(Cart, "ada", "add", &item)`. The state of objects is kept for the next run.
    ///
    /// # Errors
    /// The function's own error. Code 409 if it runs once per key and has already run.
    ///
    /// # Panics
    /// If the kind of object has no such function, or the function waits for an event that this test
    /// does not define.
    pub fn run_object<In: Serialize + ?Sized, Out: DeserializeOwned>(
        &mut self,
        object: ObjectEntries,
        key: &str,
        function: &str,
        input: &In,
    ) -> Result<Out> {
        let entries = (object.0)();
        let is_it = |entry: &&Entry| {
            entry.name.split_once('/').is_some_and(|(_, method)| method == function)
        };
        let entry = entries.iter().find(is_it).copied();
        let entry = entry.unwrap_or_else(|| panic!("the object has no function `{function}`"));
        let (kind, _) = entry.name.split_once('/').expect("its name has two parts");
        let path = format!("{kind}@{key}/{function}");
        self.scenario.objects.accept(&self.invocation, &entry, &format!("{kind}@{key}"))?;
        let payload = payload::encode("the input", input)?;
        match self.run_raw(entry, Some(path), payload) {
            wit::Outcome::Success(payload) => payload::decode("the result", &payload),
            wit::Outcome::Failure(failure) => Err(Error::from_failure(failure)),
        }
    }

    /// Sets an entry of an object's state, by the object (`Cart@ada`) and the name of the field;
    /// for a [`StateMap`](crate::StateMap), `FIELD/KEY`.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn state<T: Serialize + ?Sized>(
        &mut self,
        object: &str,
        name: &str,
        value: &T,
    ) -> &mut Self {
        let value = payload::encode("a value of the state", value)
            .unwrap_or_else(|error| panic!("{error}"));
        self.scenario.objects.set(object, name, value);
        self
    }

    /// The current value of an entry of an object's state. `None` if it is not set.
    pub fn state_of<T: DeserializeOwned>(&self, object: &str, name: &str) -> Option<T> {
        self.scenario.objects.get(object, name).map(|value| read(name, value))
    }

    /// Plans the settlement of an object's promise from outside, by the object (`Signup@ada`) and
    /// the name of the field. It is settled at the start of the next run, or
    /// [`after`](PromiseScript::after) a delay.
    pub fn object_promise(&mut self, object: &str, name: &str) -> PromiseScript<'_> {
        let which = PromiseSelector::OfObject(object.to_owned(), name.to_owned());
        PromiseScript { scenario: &mut self.scenario, which, after: Duration::ZERO }
    }

    /// The value or the error of a promise of an object. `None` if it is pending.
    pub fn object_promise_of<T: DeserializeOwned>(
        &self,
        object: &str,
        name: &str,
    ) -> Option<Result<T>> {
        self.scenario.objects.outcome(object, name).map(|outcome| match outcome {
            wit::Outcome::Success(value) => payload::decode("the value of a promise", value),
            wit::Outcome::Failure(failure) => Err(Error::from_failure(failure.clone())),
        })
    }

    fn run_raw(&mut self, entry: Entry, object: Option<String>, input: Payload) -> wit::Outcome {
        let common = Arc::new(Mutex::new(TestState::default()));
        for (unit, limit) in &self.budget {
            lock(&common).budgets.grant(&self.invocation, unit, *limit);
        }
        let world = TestWorld::new(
            self.started_at,
            self.seed,
            self.doubles.clone(),
            &mut self.scenario,
            common,
        );
        let report = world.run(&self.invocation, entry, object, input);
        let outcome = report.outcome.clone();
        self.report = Some(report);
        outcome
    }

    pub(super) fn report(&self) -> &TestReport {
        self.report.as_ref().expect("ask after `run`: nothing was run in this test yet")
    }

    /// The inputs of the calls of a function, in order.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn calls<A, I: Item<A>>(&self, function: I) -> Vec<<I::Function as Function>::Input>
    where
        <I::Function as Function>::Input: DeserializeOwned,
    {
        let _ = function;
        self.inputs(<I::Function as Function>::NAME)
    }

    /// The inputs of the calls of a function, in order, by its name.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn calls_named(&self, function: &str) -> Vec<Value> {
        self.inputs(function)
    }

    fn inputs<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        let commands = self.report().commands.iter();
        let inputs = commands.filter_map(|(_, request)| match request {
            WorkflowCommand::Call { function, input, .. } if function == name => Some(input),
            WorkflowCommand::Undo { step, input, .. } if step.compensate == name => Some(input),
            _ => None,
        });
        inputs.map(|input| read(name, input)).collect()
    }

    /// The inputs of the sends to a function, each with its earliest start.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn sent<A, I: Item<A>>(
        &self,
        function: I,
    ) -> Vec<(<I::Function as Function>::Input, Option<Timestamp>)>
    where
        <I::Function as Function>::Input: DeserializeOwned,
    {
        let _ = function;
        let name = <I::Function as Function>::NAME;
        let commands = self.report().commands.iter();
        let sends = commands.filter_map(|(now_ms, request)| match request {
            WorkflowCommand::Send { function, input, when, .. } if function == name => Some((
                read(name, input),
                when.map(|when| Timestamp::from_millis(when.resolve(*now_ms))),
            )),
            _ => None,
        });
        sends.collect()
    }

    /// The published events, each with its topic.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn published(&self) -> Vec<(String, Value)> {
        let commands = self.report().commands.iter();
        let events = commands.filter_map(|(_, request)| match request {
            WorkflowCommand::Publish { topic, payload } => {
                Some((topic.clone(), read(topic, payload)))
            }
            _ => None,
        });
        events.collect()
    }

    /// The items of a stream of the workflow under test, in order, including those of its
    /// activities.
    ///
    /// # Panics
    /// If there was no run yet, or an item is not a `T`.
    pub fn stream<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        let common = lock(&self.report().common);
        let items = common.streams.items(&self.invocation, name);
        items.into_iter().map(|item| read(name, item)).collect()
    }

    /// The items of a stream of an object, by the object (`Account@4711`), of all runs.
    ///
    /// # Panics
    /// If an item is not a `T`.
    pub fn object_stream<T: DeserializeOwned>(&self, object: &str, name: &str) -> Vec<T> {
        let items = self.scenario.object_streams.items(object, name);
        items.into_iter().map(|item| read(name, item)).collect()
    }

    /// The amount of a unit that the invocation under test and everything below it used. `None` if
    /// its budget does not limit the unit.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn spent(&self, unit: &str) -> Option<f64> {
        lock(&self.report().common).budgets.spent(&self.invocation, unit)
    }

    /// The HTTP requests, including those of activities and retries.
    pub fn requests(&self) -> Vec<SeenRequest> {
        lock(&self.doubles).requests.clone()
    }

    /// The progress that activities passed to `heartbeat`.
    pub fn heartbeats(&self) -> Vec<Value> {
        lock(&self.doubles).heartbeats.iter().map(|progress| read("heartbeat", progress)).collect()
    }

    /// The log lines of workflows and activities.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn logs(&self) -> Vec<(Level, String)> {
        lock(&self.report().common).logs.clone()
    }

    /// Returns true if a line that contains `text` was logged.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn logged(&self, text: &str) -> bool {
        self.logs().iter().any(|(_, line)| line.contains(text))
    }

    /// The commands of the workflow under test whose handles were dropped before their answer, for
    /// example the losers of a `select`.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn forgotten(&self) -> Vec<u32> {
        self.report().forgotten.clone()
    }

    /// The records of an invocation's journal, by its id, in the form in which a host shows them
    /// (`GET /v1/invocations/{id}/journal`). Digests are left out. Of a workflow that continued as
    /// new it is that of the newest generation; the older ones are `{id}/g/1` and so on.
    ///
    /// # Panics
    /// If there was no run yet, or no workflow with this id in it.
    pub fn journal(&self, invocation: &str) -> Vec<Value> {
        let histories = &self.report().histories;
        let (first, number) = generation(invocation);
        let generations =
            histories.iter().filter(|one| generation(&one.facts.invocation).0 == first);
        let number_of = |one: &&WorkflowHistory| generation(&one.facts.invocation).1;
        let found = match first == invocation {
            true => generations.max_by_key(number_of),
            false => generations.into_iter().find(|one| number_of(one) == number),
        };
        let found = found.unwrap_or_else(|| {
            let known = histories.iter().map(|history| history.facts.invocation.as_str());
            let known: Vec<&str> = known.collect();
            panic!("no workflow `{invocation}` ran; there are {}", known.join(", "))
        });
        journal::records(found)
    }

    /// The virtual time that has passed.
    ///
    /// # Panics
    /// If there was no run yet.
    pub fn elapsed(&self) -> Duration {
        Timestamp::from_millis(self.report().ended_at_ms).since(self.started_at)
    }

    /// Replays every workflow of the last run from its journal, with the same events in the same
    /// order, and compares each command, like a host after a restart.
    ///
    /// # Panics
    /// At the first difference, which the message names: the workflow depends on more than its
    /// input and its context.
    pub fn replay_check(&self) {
        for history in &self.report().histories {
            replay::check(history);
        }
    }
}

fn read<T: DeserializeOwned>(what: &str, payload: &Payload) -> T {
    payload::decode(&format!("a value of `{what}`"), payload)
        .unwrap_or_else(|error| panic!("{error}"))
}
