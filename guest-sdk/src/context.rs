//! The context of a workflow: all of its commands.

mod data;

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};

pub use self::data::Context;
use crate::{
    bindings::segno::workflow::types as wit,
    budget::{BUDGET, RemainingBudget},
    call::{Call, Send, no_options},
    error::{Error, Result},
    function::{Entry, Function, Item, announce, decode_result},
    handle::{Handle, Step},
    http,
    journal::{CommandTime, GenerationStart, WorkflowCommand},
    log::Level,
    object::{Object, ObjectRef},
    payload::{self, Payload},
    plan,
    promise::Promise,
    random::Random,
    run::{Run, RunOutput},
    saga::Saga,
    shared::Shared,
    signals::{Signal, Signals},
    stream::Stream,
    stream_reader::StreamReader,
    time::Timestamp,
};

impl Context {
    /// Registers a function of this crate that is about to be called by its name.
    #[cfg(feature = "graph")]
    pub(crate) fn learn(&self, entry: fn() -> Entry) {
        announce(&*self.0.journal, entry);
    }

    /// The id of this invocation.
    pub fn id(&self) -> &str {
        &self.0.facts.invocation
    }

    /// The id of the invocation that called this one. `None` if it was not called by one.
    pub fn parent(&self) -> Option<&str> {
        self.0.facts.parent.as_deref()
    }

    /// Start time of this invocation.
    pub fn started_at(&self) -> Timestamp {
        Timestamp::from_millis(self.0.facts.started_at_ms)
    }

    /// Logical time: the instant of the event that woke the workflow last. It does not advance
    /// while the workflow computes.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.journal.now())
    }

    /// A random generator with the same numbers in every replay.
    pub fn random(&self) -> Random {
        Random(self.0.clone())
    }

    /// Returns true if the invocation was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Adds a line to the invocation's log. A replay does not repeat it.
    pub fn log(&self, level: Level, message: impl AsRef<str>) {
        self.0.journal.log(level.into(), message.as_ref());
    }

    /// Calls a durable function of this crate and returns its result. The types of input and result
    /// are checked at compile time.
    ///
    /// ```
    /// # extern crate segno_sdk as segno;
    /// # use segno::{ActivityContext, Context};
    /// #[segno::activity]
    /// async fn ship(ctx: ActivityContext, item: String) -> segno::Result<u32> {
    ///     Ok(item.len() as u32)
    /// }
    ///
    /// #[segno::workflow]
    /// async fn order(ctx: Context, items: Vec<String>) -> segno::Result<u32> {
    ///     let shipments = items.iter().map(|item| ctx.call(ship, item));
    ///     Ok(segno::try_join_all(shipments).await?.into_iter().sum())
    /// }
    ///
    /// let total = segno::testing::Test::new().run(order, &vec!["hat".to_owned(), "coat".to_owned()]);
    /// assert_eq!(total.unwrap(), 7);
    ///
    /// ```
    ///
    /// A call with a wrong type does not compile:
    ///
    /// ```compile_fail,E0308
    /// # extern crate segno_sdk as segno;
    /// # #[segno::activity]
    /// # async fn ship(ctx: segno::ActivityContext, item: String) -> segno::Result<u32> {
    /// #     Ok(item.len() as u32)
    /// # }
    /// # async fn order(ctx: segno::Context) {
    /// ctx.call(ship, &5); // `ship` takes a `String`
    /// # }
    /// ```
    pub fn call<A, I: Item<A>>(
        &self,
        function: I,
        input: &<I::Function as Function>::Input,
    ) -> Call<<I::Function as Function>::Output>
    where
        <I::Function as Function>::Input: Serialize,
        <I::Function as Function>::Output: DeserializeOwned,
    {
        let _ = function;
        announce(&*self.0.journal, Entry::of::<I::Function>);
        self.call_named(<I::Function as Function>::NAME, input)
    }

    /// Calls a durable function by name. A bare name belongs to this module, in the code that this
    /// execution runs, not in code deployed since. `wasm://MODULE/FUNCTION` belongs to the module
    /// that has this name at the time of the call. The types are not checked at compile time.
    ///
    /// # Errors
    /// In addition to the function's own errors: code 404 if the module has no such function, 422
    /// if no module has this name, 400 if the input or the result does not match.
    pub fn call_named<In: Serialize + ?Sized, Out: DeserializeOwned>(
        &self,
        function: &str,
        input: &In,
    ) -> Call<Out> {
        let request = payload::encode(&format!("the input of `{function}`"), input).map(|input| {
            WorkflowCommand::Call {
                function: function.to_owned(),
                input,
                options: no_options(),
                step: None,
            }
        });
        Call(Step::new(&self.0, request, decode_result))
    }

    /// Asks what the budgets of this execution have left. Without a budget, no unit has a limit.
    pub fn budget(&self) -> Call<RemainingBudget> {
        self.call_named(BUDGET, &())
    }

    /// A client for the object of this module with this key:
    /// `ctx.object::<Cart>("ada").add(&item)`. Functions resolve to the module that has this
    /// module's name at the time of the call. [`Call::send`] starts a call without waiting for it.
    pub fn object<O: Object>(&self, key: impl AsRef<str>) -> O::Client {
        O::client(ObjectRef::new::<O>(&self.0, None, key.as_ref()))
    }

    /// A client for an object of another module, by the name of the module and the key.
    pub fn object_of<O: Object>(&self, module: &str, key: impl AsRef<str>) -> O::Client {
        O::client(ObjectRef::new::<O>(&self.0, Some(module), key.as_ref()))
    }

    /// The key of the object that this function belongs to.
    ///
    /// # Panics
    /// If the function belongs to no object.
    pub fn key(&self) -> String {
        self.0.journal.key()
    }

    /// The names in the state of this object, ascending: its fields that have a value, and
    /// `FIELD/KEY` for the entries of a [`StateMap`](crate::StateMap).
    pub fn state_names(&self) -> Step<Vec<String>> {
        crate::object::names(&self.0)
    }

    /// Removes the entire state of this object.
    pub fn clear_state(&self) {
        self.0.write(WorkflowCommand::ClearAllState);
    }

    /// Calls a function of an external worker, for example of a Resonate application: `address`
    /// names the workers, as in `poll://any@GROUP`, and `arguments` is the tuple of the function's
    /// arguments.
    ///
    /// ```
    /// # extern crate segno_sdk as segno;
    /// # async fn order(ctx: segno::Context) -> segno::Result<()> {
    /// let total: f64 = ctx.call_remote("poll://any@pricing", "total", &("hat", 3)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_remote<In: Serialize + ?Sized, Out: DeserializeOwned>(
        &self,
        address: &str,
        function: &str,
        arguments: &In,
    ) -> Call<Out> {
        self.call_named(&format!("{address}#{function}"), arguments)
    }

    /// Runs a plan, that is, a graph of steps built at run time: a value that serialises to JSON,
    /// or the plan's JSON as text. Bare function names in the plan belong to this module. For a
    /// graph that is known at compile time, see `#[segno::graph]`.
    ///
    /// The result is an object of the outputs of the plan's output nodes by name, without those of
    /// skipped nodes. Read it as a `serde_json::Value`, or as a type whose fields have the names of
    /// the nodes.
    ///
    /// ```
    /// # extern crate segno_sdk as segno;
    /// # use segno::{Context, Result, serde_json::Value};
    /// #[segno::data]
    /// struct Outputs {
    ///     report: Option<String>,
    /// }
    ///
    /// #[segno::workflow]
    /// async fn run(ctx: Context, (plan, url): (Value, String)) -> Result<Option<String>> {
    ///     let outputs: Outputs = ctx.graph(&plan, &url).await?;
    ///     Ok(outputs.report)
    /// }
    /// ```
    ///
    /// # Errors
    /// Code 422 if the plan is invalid; the message lists all faults. 500 if a node failed: the
    /// message names the first one, and the details are
    /// `{"failed": {NODE: {"code", "message", "details"}}, "not_run": [NODE]}`.
    pub fn graph<Plan, In, Out>(&self, plan: &Plan, input: &In) -> Call<Out>
    where
        Plan: Serialize + ?Sized,
        In: Serialize + ?Sized,
        Out: DeserializeOwned,
    {
        let request = plan::encode(plan, input).map(|input| WorkflowCommand::Call {
            function: plan::GRAPH.to_owned(),
            input,
            options: no_options(),
            step: None,
        });
        Call(Step::new(&self.0, request, decode_result))
    }

    /// Starts a durable function of this crate without waiting for its end. The new invocation
    /// outlives this one; the future returns its id.
    pub fn send<A, I: Item<A>>(&self, function: I, input: &<I::Function as Function>::Input) -> Send
    where
        <I::Function as Function>::Input: Serialize,
    {
        let _ = function;
        announce(&*self.0.journal, Entry::of::<I::Function>);
        self.send_named(<I::Function as Function>::NAME, input)
    }

    /// Starts a durable function by name; see [`call_named`](Self::call_named).
    pub fn send_named<In: Serialize + ?Sized>(&self, function: &str, input: &In) -> Send {
        let request = payload::encode(&format!("the input of `{function}`"), input).map(|input| {
            WorkflowCommand::Send {
                function: function.to_owned(),
                input,
                options: no_options(),
                when: None,
            }
        });
        Send(Step::new(&self.0, request, decode_result))
    }

    /// Computes a value once and records the result: for computations that a replay must not
    /// repeat, because they are slow or not deterministic. The closure returns a value, or a
    /// `Result` of one. It must only compute (effects belong in activities), and draws random
    /// numbers from a separate generator.
    pub fn run<S, R: RunOutput<S>>(
        &self,
        name: &str,
        closure: impl FnOnce() -> R + std::marker::Send + 'static,
    ) -> Run<R::Value> {
        Run::new(&self.0, name, closure)
    }

    /// Waits for this time, counted from the moment at which the sleep is issued. A sleep costs one
    /// row in the host's store, so it may last for years. It never ends early.
    pub fn sleep(&self, duration: Duration) -> Step<()> {
        self.sleeping(CommandTime::After(duration))
    }

    /// Sleeps until an instant, in milliseconds since the Unix epoch.
    pub fn sleep_until(&self, instant: Timestamp) -> Step<()> {
        self.sleeping(CommandTime::At(instant))
    }

    fn sleeping(&self, when: CommandTime) -> Step<()> {
        Step::new(&self.0, Ok(WorkflowCommand::Sleep { when }), ignore)
    }

    /// Creates a promise that is settled from outside. Its id is not known in advance: read
    /// [`Promise::id`] and pass it on.
    pub fn promise<T: DeserializeOwned>(&self) -> Promise<T> {
        self.promising(None)
    }

    /// Creates a promise that is settled from outside, with the id `{invocation}/p/{name}`, which
    /// other parties can compute in advance.
    pub fn named_promise<T: DeserializeOwned>(&self, name: impl Into<String>) -> Promise<T> {
        self.promising(Some(name.into()))
    }

    fn promising<T: DeserializeOwned>(&self, name: Option<String>) -> Promise<T> {
        let request =
            WorkflowCommand::Promise { name, options: wit::PromiseOptions { timeout_ms: None } };
        let decode = |payload: Payload| payload::decode("the value of a promise", &payload);
        Promise(RefCell::new(Step::new(&self.0, Ok(request), decode)))
    }

    /// Settles a promise, usually of another invocation: resolves it with a value, or rejects it
    /// with an error.
    ///
    /// # Errors
    /// Code 404 if the promise does not exist. The first settlement counts: a later one succeeds and
    /// changes nothing.
    pub fn settle<T: Serialize + ?Sized>(&self, promise: &str, outcome: Result<&T>) -> Step<()> {
        let outcome = match outcome {
            Ok(value) => payload::encode(&format!("the value of promise `{promise}`"), value)
                .map(wit::Outcome::Success),
            Err(error) => Ok(wit::Outcome::Failure(error.into_failure())),
        };
        let request =
            outcome.map(|outcome| WorkflowCommand::Settle { promise: promise.to_owned(), outcome });
        Step::new(&self.0, request, ignore)
    }

    /// The signals sent to this invocation. The function must be declared with
    /// `#[segno::workflow(signals)]`.
    pub fn signals(&self) -> Signals {
        Signals::new(&self.0)
    }

    /// Waits for the next signal with this name and returns its value.
    ///
    /// # Errors
    /// Code 499 if the invocation is cancelled meanwhile, 400 if the value is not a `T`.
    pub fn signal<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<T>> + use<T> {
        let mut signals = self.signals().named(name);
        async move { signals.receive().await.and_then(|signal: Signal| signal.json()) }
    }

    /// Sends a signal to another invocation, exactly once, however often this workflow is replayed.
    ///
    /// # Errors
    /// Code 404 if the invocation does not exist, 409 if it has ended.
    pub fn send_signal<T: Serialize + ?Sized>(
        &self,
        invocation: &str,
        name: &str,
        payload: &T,
    ) -> Step<()> {
        let payload = payload::encode(&format!("the payload of signal `{name}`"), payload);
        let request = payload.map(|payload| WorkflowCommand::SendSignal {
            invocation: invocation.to_owned(),
            name: name.to_owned(),
            payload,
        });
        Step::new(&self.0, request, ignore)
    }

    /// Ends this generation and starts the next one with `input` and an empty journal. Return the
    /// result: `return ctx.continue_as_new(&input)`. The invocation's id refers to the newest
    /// generation, which keeps the labels and the deadline, and receives every signal that was not
    /// received. It runs the newest code of the module; see
    /// [`continue_with_same_code`](Self::continue_with_same_code).
    ///
    /// Commands that the invocation issued and no longer awaits are cancelled, as at any end. If
    /// there are updates, wait for [`updates_done`](Self::updates_done).
    ///
    /// # Errors
    /// Always returns an error: code 308 ([`Error::CONTINUED`]), or 400 if the input cannot be
    /// written as JSON.
    ///
    /// # Panics
    /// If called in the closure of a [`run`](Self::run).
    pub fn continue_as_new<I: Serialize + ?Sized, T>(&self, input: &I) -> Result<T> {
        self.hand_over(input, false)
    }

    /// Like [`continue_as_new`](Self::continue_as_new), but the next generation runs the code of
    /// this one, even if a newer version exists.
    ///
    /// # Errors
    /// As [`continue_as_new`](Self::continue_as_new).
    ///
    /// # Panics
    /// As [`continue_as_new`](Self::continue_as_new).
    pub fn continue_with_same_code<I: Serialize + ?Sized, T>(&self, input: &I) -> Result<T> {
        self.hand_over(input, true)
    }

    fn hand_over<I: Serialize + ?Sized, T>(&self, input: &I, same_code: bool) -> Result<T> {
        let input = payload::encode("the input of the next generation", input)?;
        Err(self.0.continue_as_new(GenerationStart { input, same_code }))
    }

    /// Shares a value with the queries and updates of this workflow, which see it from now on and
    /// after the end. They are declared by [`macro@query`](macro@crate::query) and
    /// [`macro@update`](macro@crate::update). Share it before the first await: until then queries
    /// and updates fail with code 425.
    ///
    /// # Panics
    /// If this workflow already shares a value, or if called in the closure of a
    /// [`run`](Self::run).
    pub fn share<T: std::marker::Send + Sync + 'static>(&self, value: T) -> Shared<T> {
        Shared::begin(&self.0, value)
    }

    /// Waits until every accepted update has been answered. Updates that are unanswered when the
    /// workflow ends are cancelled.
    ///
    /// # Panics
    /// If called in the handler of an update, which would wait for itself.
    pub fn updates_done(&self) -> impl Future<Output = ()> + use<> {
        let invocation = self.0.clone();
        poll_fn(move |polling| invocation.poll_updates_done(polling.waker()))
    }

    /// Cancels a started command. A sleep, a promise or a request ends immediately, and its handle
    /// fails with code 499. A called workflow or activity is asked to stop, and its handle returns
    /// its answer.
    pub fn cancel<T>(&self, handle: &Handle<T>) -> Step<()> {
        Step::new(&self.0, Ok(WorkflowCommand::Cancel { command: handle.command() }), ignore)
    }

    /// Sends an HTTP request durably: the request is retried by its policy, survives a restart of
    /// the host, and carries an `Idempotency-Key` that is the same in every attempt. Transient
    /// responses (408, 425, 429 and 5xx) are retried like errors, and become an error when the
    /// policy is exhausted. Any other status is returned as a response; see
    /// [`Response::ok`](http::Response::ok).
    pub fn http(&self, request: http::Request) -> Call<http::Response> {
        let request = request.into_wit().map(|request| WorkflowCommand::Http {
            request,
            options: no_options(),
            step: None,
        });
        Call(Step::new(&self.0, request, http::Response::decode))
    }

    /// Begins a saga: its steps are undone, last first, if an error leaves the workflow. The name
    /// distinguishes it from other sagas of this workflow: 1 to 64 letters, digits, `-`, `_`, `.`.
    pub fn saga(&self, name: impl Into<String>) -> Saga {
        Saga::begin(&self.0, name.into())
    }

    /// Publishes an event, delivered at least once to the receiver of the topic. Awaiting it
    /// confirms that the event is stored.
    pub fn publish<T: Serialize + ?Sized>(&self, topic: &str, payload: &T) -> Step<()> {
        let request = payload::encode(&format!("the event for topic `{topic}`"), payload)
            .map(|payload| WorkflowCommand::Publish { topic: topic.to_owned(), payload });
        Step::new(&self.0, request, ignore)
    }

    /// A stream of JSON messages, which readers follow while the workflow runs.
    pub fn stream(&self, name: &str) -> Stream {
        Stream::new(&self.0, name)
    }

    /// A stream of JSON messages of this object. It outlives the executions, and is removed with the
    /// object's state. Only a function that is not shared may write it.
    ///
    /// ```
    /// # extern crate segno_sdk as segno;
    /// #[segno::object]
    /// pub struct Account {
    ///     balance: segno::State<i64>,
    /// }
    ///
    /// #[segno::object]
    /// impl Account {
    ///     async fn deposit(&mut self, ctx: segno::Context, amount: i64) -> segno::Result<()> {
    ///         let balance = self.balance.get().await?.unwrap_or_default();
    ///         self.balance.set(&(balance + amount))?;
    ///         ctx.object_stream("history").append(&amount)
    ///     }
    /// }
    ///
    /// let mut test = segno::testing::Test::new();
    /// for amount in [5, -2] {
    ///     test.run_object::<_, ()>(Account, "4711", "deposit", &amount).unwrap();
    /// }
    /// assert_eq!(test.object_stream::<i64>("Account@4711", "history"), [5, -2]);
    /// ```
    ///
    /// The host halts a function that writes it and is shared or belongs to no object.
    pub fn object_stream(&self, name: &str) -> Stream {
        Stream::of_object(&self.0, name)
    }

    /// A stream of any invocation, or of an object (`MODULE/OBJECT@KEY`), from its beginning. The
    /// workflow reads it while it grows.
    pub fn read_stream(&self, invocation: &str, name: &str) -> StreamReader {
        StreamReader::new(self, invocation, name)
    }

    /// Returns the output of `future`, if it is ready within `duration`; otherwise the future is
    /// dropped. Commands that it issued continue; [`Call::timeout`] ends the callee.
    ///
    /// # Errors
    /// Code 408 if the time has elapsed; otherwise the error of `future`.
    pub async fn timeout<T>(
        &self,
        duration: Duration,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match crate::select(future, self.sleep(duration)).await {
            crate::Either::Left(result) => result,
            crate::Either::Right(Ok(())) => {
                Err(Error::timed_out(humantime::format_duration(duration)))
            }
            crate::Either::Right(Err(error)) => Err(error),
        }
    }
}

/// Decodes a command without a value.
fn ignore(_: Payload) -> Result<()> {
    Ok(())
}
