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
    call::{Call, Send, no_options},
    error::{Error, Result},
    function::{Entry, Function, Item, announce, decode_result},
    handle::{Handle, Step},
    http,
    journal::{Next, Request, When},
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
    time::Timestamp,
};

impl Context {
    /// Announces a function of this crate that is about to be called by its name.
    #[cfg(feature = "graph")]
    pub(crate) fn learn(&self, entry: fn() -> Entry) {
        announce(&*self.0.journal, entry);
    }

    /// The id of this invocation.
    pub fn id(&self) -> &str {
        &self.0.facts.invocation
    }

    /// The id of the invocation that called this one.
    pub fn parent(&self) -> Option<&str> {
        self.0.facts.parent.as_deref()
    }

    /// When this invocation began.
    pub fn started_at(&self) -> Timestamp {
        Timestamp::from_millis(self.0.facts.started_at_ms)
    }

    /// Logical time: the instant of the event that woke the workflow last. It does not pass while
    /// the workflow computes.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.journal.now())
    }

    /// A random generator with the same numbers in every replay.
    pub fn random(&self) -> Random {
        Random(self.0.clone())
    }

    /// Whether the invocation was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Adds a line to the invocation's log. A replay does not repeat it.
    pub fn log(&self, level: Level, message: impl AsRef<str>) {
        self.0.journal.log(level.into(), message.as_ref());
    }

    /// Calls a durable function of this crate and gives its result. The types of input and result
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

    /// Calls a durable function by name. A bare name is of this module: of the code that this
    /// execution runs, and not of what was deployed since. `wasm://MODULE/FUNCTION` is of the module that
    /// has this name at the time of the call. The types are not checked at compile time.
    ///
    /// # Errors
    /// Beside the function's own: code 404 if the module has no such function, 422 if no module has
    /// this name, 400 if the input or the result does not fit.
    pub fn call_named<In: Serialize + ?Sized, Out: DeserializeOwned>(
        &self,
        function: &str,
        input: &In,
    ) -> Call<Out> {
        let request = payload::encode(&format!("the input of `{function}`"), input).map(|input| {
            Request::Call {
                function: function.to_owned(),
                input,
                options: no_options(),
                step: None,
            }
        });
        Call(Step::new(&self.0, request, decode_result))
    }

    /// An object of this module, by its key, to be called: `ctx.object::<Cart>("ada").add(&item)`. The
    /// functions are those of the module that has this module's name at the time of the call. With
    /// [`Call::send`], a call is not waited for.
    pub fn object<O: Object>(&self, key: impl AsRef<str>) -> O::Client {
        O::client(ObjectRef::new::<O>(&self.0, None, key.as_ref()))
    }

    /// An object of another module, by the name of the module and the key.
    pub fn object_of<O: Object>(&self, module: &str, key: impl AsRef<str>) -> O::Client {
        O::client(ObjectRef::new::<O>(&self.0, Some(module), key.as_ref()))
    }

    /// The key of the object whose function this is.
    ///
    /// # Panics
    /// In a function of no object.
    pub fn key(&self) -> String {
        self.0.journal.key()
    }

    /// The names in the state of this object, in their order: those of its fields that have a value,
    /// and `FIELD/KEY` for those of a [`StateMap`](crate::StateMap).
    pub fn state_names(&self) -> Step<Vec<String>> {
        crate::object::names(&self.0)
    }

    /// Removes all of the state of this object.
    pub fn clear_state(&self) {
        self.0.write(Request::ClearAllState);
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

    /// Runs a plan, a graph of steps that was made at run time: a value that is written as JSON, or
    /// the JSON of one as text. Functions that the plan names plainly are of this module. For a graph
    /// that is known when the crate is compiled, see `#[segno::graph]`.
    ///
    /// The result is an object of the outputs of the plan's output nodes by name, without those of
    /// nodes that were skipped; read it as a `serde_json::Value`, or as a type whose fields have
    /// the names of the nodes.
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
    /// Code 422 if something is wrong with the plan; the message has all of it. 500 if a node
    /// failed: the message names the first one that did, and the details are
    /// `{"failed": {NODE: {"code", "message", "details"}}, "not_run": [NODE]}`.
    pub fn graph<Plan, In, Out>(&self, plan: &Plan, input: &In) -> Call<Out>
    where
        Plan: Serialize + ?Sized,
        In: Serialize + ?Sized,
        Out: DeserializeOwned,
    {
        let request = plan::encode(plan, input).map(|input| Request::Call {
            function: plan::GRAPH.to_owned(),
            input,
            options: no_options(),
            step: None,
        });
        Call(Step::new(&self.0, request, decode_result))
    }

    /// Starts a durable function of this crate without waiting for its end. It outlives this
    /// invocation; its id is the value of the future.
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
            Request::Send {
                function: function.to_owned(),
                input,
                options: no_options(),
                when: None,
            }
        });
        Send(Step::new(&self.0, request, decode_result))
    }

    /// Computes a value once and records the result: for computations that a replay must not
    /// repeat, because they are slow or could give another result. The closure returns a value, or
    /// a `Result` of one; it only computes (effects belong in activities), and draws random numbers
    /// from a generator of its own.
    pub fn run<S, R: RunOutput<S>>(
        &self,
        name: &str,
        closure: impl FnOnce() -> R + std::marker::Send + 'static,
    ) -> Run<R::Value> {
        Run::new(&self.0, name, closure)
    }

    /// Waits for this time, counted from the moment at which the sleep is issued. A sleep costs a
    /// row in the host's store, so it may last for years. It is never early.
    pub fn sleep(&self, duration: Duration) -> Step<()> {
        self.sleeping(When::After(duration))
    }

    /// Waits until an instant.
    pub fn sleep_until(&self, instant: Timestamp) -> Step<()> {
        self.sleeping(When::At(instant))
    }

    fn sleeping(&self, when: When) -> Step<()> {
        Step::new(&self.0, Ok(Request::Sleep { when }), ignore)
    }

    /// A promise that is settled from outside. Its id is not known in advance: read
    /// [`Promise::id`] and hand it on.
    pub fn promise<T: DeserializeOwned>(&self) -> Promise<T> {
        self.promising(None)
    }

    /// A promise that is settled from outside, with the id `{invocation}/p/{name}`, which others
    /// know in advance.
    pub fn named_promise<T: DeserializeOwned>(&self, name: impl Into<String>) -> Promise<T> {
        self.promising(Some(name.into()))
    }

    fn promising<T: DeserializeOwned>(&self, name: Option<String>) -> Promise<T> {
        let request = Request::Promise { name, options: wit::PromiseOptions { timeout_ms: None } };
        let decode = |payload: Payload| payload::decode("the value of a promise", &payload);
        Promise(RefCell::new(Step::new(&self.0, Ok(request), decode)))
    }

    /// Settles a promise, usually of another invocation: resolves it with a value, or rejects it
    /// with an error.
    ///
    /// # Errors
    /// Code 404 if there is no such promise, 409 if it is settled already.
    pub fn settle<T: Serialize + ?Sized>(&self, promise: &str, outcome: Result<&T>) -> Step<()> {
        let outcome = match outcome {
            Ok(value) => payload::encode(&format!("the value of promise `{promise}`"), value)
                .map(wit::Outcome::Success),
            Err(error) => Ok(wit::Outcome::Failure(error.into_failure())),
        };
        let request =
            outcome.map(|outcome| Request::Settle { promise: promise.to_owned(), outcome });
        Step::new(&self.0, request, ignore)
    }

    /// The signals sent to this invocation. The function must be declared with
    /// `#[segno::workflow(signals)]`.
    pub fn signals(&self) -> Signals {
        Signals::new(&self.0)
    }

    /// The value of the next signal with this name.
    ///
    /// # Errors
    /// Code 499 if the invocation is cancelled meanwhile, 400 if the value is no `T`.
    pub fn signal<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<T>> + use<T> {
        let mut signals = self.signals().named(name);
        async move { signals.receive().await.and_then(|signal: Signal| signal.json()) }
    }

    /// Sends another invocation a signal, once, however often this workflow is replayed.
    ///
    /// # Errors
    /// Code 404 if there is no such invocation, 409 if it has ended.
    pub fn send_signal<T: Serialize + ?Sized>(
        &self,
        invocation: &str,
        name: &str,
        payload: &T,
    ) -> Step<()> {
        let payload = payload::encode(&format!("the payload of signal `{name}`"), payload);
        let request = payload.map(|payload| Request::SendSignal {
            invocation: invocation.to_owned(),
            name: name.to_owned(),
            payload,
        });
        Step::new(&self.0, request, ignore)
    }

    /// Ends this generation, and has the next one begin with `input` and an empty journal: return what this
    /// gives, `return ctx.continue_as_new(&input)`. Whoever knows the id of the invocation finds the newest
    /// generation; it has the labels and the deadline, and receives every signal that was not received. It
    /// runs the newest code of the module; see
    /// [`continue_with_same_code`](Self::continue_with_same_code).
    ///
    /// What the invocation has asked for and does not wait for any more is cancelled, as at any end; wait for
    /// [`updates_done`](Self::updates_done) if there are updates.
    ///
    /// # Errors
    /// Always: code 308 ([`Error::CONTINUED`]), or 400 if the input cannot be written as JSON.
    ///
    /// # Panics
    /// Inside the closure of a [`run`](Self::run).
    pub fn continue_as_new<I: Serialize + ?Sized, T>(&self, input: &I) -> Result<T> {
        self.hand_over(input, false)
    }

    /// The same, with the code of this generation also if there is newer one.
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
        Err(self.0.continue_as_new(Next { input, same_code }))
    }

    /// Shares a value with the queries and updates of this workflow, which see it from now on, also
    /// after the end; they are declared by [`macro@query`](macro@crate::query) and
    /// [`macro@update`](macro@crate::update). Share it before the first await: until then queries
    /// and updates fail with code 425.
    ///
    /// # Panics
    /// If this workflow shares a value already, and inside the closure of a [`run`](Self::run).
    pub fn share<T: std::marker::Send + Sync + 'static>(&self, value: T) -> Shared<T> {
        Shared::begin(&self.0, value)
    }

    /// Waits until every update that was accepted has been answered. Those that are not when the
    /// workflow ends are cancelled.
    ///
    /// # Panics
    /// In the handler of an update, which would wait for itself.
    pub fn updates_done(&self) -> impl Future<Output = ()> + use<> {
        let invocation = self.0.clone();
        poll_fn(move |polling| invocation.poll_updates_done(polling.waker()))
    }

    /// Cancels something that was started. A sleep, a promise or a request ends at once, and its
    /// handle fails with code 499. A called workflow or activity is asked to stop, and its handle
    /// gives what it answers.
    pub fn cancel<T>(&self, handle: &Handle<T>) -> Step<()> {
        Step::new(&self.0, Ok(Request::Cancel { command: handle.command() }), ignore)
    }

    /// Sends an HTTP request, durably: the request is repeated by its retry policy, survives the
    /// host's restart, and carries an `Idempotency-Key` that is the same in every attempt.
    /// Transient answers (408, 425, 429 and 5xx) are repeated like errors, and become one when the
    /// policy ends; any other status is an answer; see [`Response::ok`](http::Response::ok).
    pub fn http(&self, request: http::Request) -> Call<http::Response> {
        let request = request.into_wit().map(|request| Request::Http {
            request,
            options: no_options(),
            step: None,
        });
        Call(Step::new(&self.0, request, http::Response::decode))
    }

    /// Begins a saga: steps that are undone, the last one first, when an error leaves the workflow.
    /// Its name tells it from the others of this workflow: 1 to 64 letters, digits, `-`, `_`, `.`.
    pub fn saga(&self, name: impl Into<String>) -> Saga {
        Saga::begin(&self.0, name.into())
    }

    /// Publishes an event, delivered at least once to the receiver of the topic. Awaiting it says
    /// that the event is stored.
    pub fn publish<T: Serialize + ?Sized>(&self, topic: &str, payload: &T) -> Step<()> {
        let request = payload::encode(&format!("the event for topic `{topic}`"), payload)
            .map(|payload| Request::Publish { topic: topic.to_owned(), payload });
        Step::new(&self.0, request, ignore)
    }

    /// The output of `future`, if it is ready within `duration`; otherwise the future is dropped.
    /// What it had asked for goes on; [`Call::timeout`] ends what was called.
    ///
    /// # Errors
    /// Code 408 when the time is over; otherwise the error of `future`.
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

/// For commands whose value is empty.
fn ignore(_: Payload) -> Result<()> {
    Ok(())
}
