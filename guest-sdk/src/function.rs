//! Durable functions as types, so that calls are checked at compile time.

use std::{
    future::Future,
    pin::Pin,
    task::{Context as Polling, Poll},
    time::Duration,
};

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    activity::ActivityContext,
    bindings::{exports::segno::workflow::limits::FunctionLimits, segno::workflow::types as wit},
    context::Context,
    error::{Error, Result},
    journal::CommandJournal,
    message::Message,
    object::ObjectAccess,
    payload::{self, Payload},
    retry::RetryPolicy,
    task::OutcomeFuture,
    time::millis,
};

/// The description of a function, implemented by `#[segno::workflow]` and `#[segno::activity]`
/// only.
pub trait Function: 'static {
    /// [`Context`] for a workflow, [`ActivityContext`] for an activity.
    type Context: FunctionContext;
    /// The input type; `()` for a function without input.
    type Input: FunctionInput;
    /// The output of a success.
    type Output: FunctionOutput;

    /// The name for calls.
    const NAME: &'static str;
    /// The first paragraph of its documentation. `None` if it has none.
    const SUMMARY: Option<&'static str>;

    /// The access to its object. `None` if it is not a function of an object.
    const ACCESS: Option<ObjectAccess> = None;

    /// True if it runs once per key of its object.
    #[doc(hidden)]
    const RUNS_ONCE: bool = false;

    /// True if each result is committed before the workflow receives it.
    #[doc(hidden)]
    const COMMITS_EACH: bool = false;

    /// True if its author offers it as a tool of the Model Context Protocol.
    #[doc(hidden)]
    const IS_MCP_TOOL: bool = false;

    /// The defaults of calls.
    fn defaults() -> Defaults;

    /// The promises and signals that it accepts while it runs.
    fn messages() -> Vec<Message> {
        Vec::new()
    }

    /// The limits on concurrency and rate. `None` if unlimited.
    #[doc(hidden)]
    fn limits() -> Option<FunctionLimits> {
        None
    }

    /// Panics on faults that show only at run time.
    #[doc(hidden)]
    fn check() {}

    /// Begins the function.
    fn begin(context: Self::Context, input: Self::Input) -> Body<Self>
    where
        Self: Sized;

    /// The list of the crate's functions, if [`module!`](crate::module!) created one at its root;
    /// for tests.
    #[cfg(not(target_arch = "wasm32"))]
    #[doc(hidden)]
    fn module() -> Option<crate::Module> {
        None
    }
}

/// A type that a durable function can take as input. Every type with `#[segno::data]` qualifies.
// The bounds are on the implementation only: repeated here, the compiler would report them instead
// of the missing attribute.
#[diagnostic::on_unimplemented(
    message = "a durable function cannot take `{Self}`",
    label = "this type cannot be stored",
    note = "put `#[segno::data]` on `{Self}`"
)]
pub trait FunctionInput: Sized + 'static {
    #[doc(hidden)]
    fn decode(what: &str, payload: &Payload) -> Result<Self>;

    #[doc(hidden)]
    fn schema() -> Schema;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + 'static> FunctionInput for T {
    fn decode(what: &str, payload: &Payload) -> Result<Self> {
        payload::decode(what, payload)
    }

    fn schema() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        settings.into_generator().into_root_schema_for::<T>()
    }
}

/// A type that a durable function can return. Every type with `#[segno::data]` qualifies.
#[diagnostic::on_unimplemented(
    message = "a durable function cannot return `{Self}`",
    label = "this type cannot be stored",
    note = "put `#[segno::data]` on `{Self}`"
)]
pub trait FunctionOutput: 'static {
    #[doc(hidden)]
    fn encode(&self, what: &str) -> Result<Payload>;

    #[doc(hidden)]
    fn schema() -> Schema;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema + 'static> FunctionOutput for T {
    fn encode(&self, what: &str) -> Result<Payload> {
        payload::encode(what, self)
    }

    fn schema() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<T>()
    }
}

/// The defaults for calls of a function.
#[derive(Default)]
pub struct Defaults {
    /// True if the workflow receives signals.
    pub signals: bool,
    /// Time from the call to its deadline. `None` if there is no deadline.
    pub timeout: Option<Duration>,
    /// The retry policy. `None` for the host's default.
    pub retry: Option<RetryPolicy>,
}

/// The first parameter of a durable function.
pub trait FunctionContext: Sized + 'static {
    #[doc(hidden)]
    fn kind<F: Function<Context = Self>>() -> EntryPoint;
}

/// The return value of a durable function: a future of its result. It can be awaited directly,
/// without a journal record.
pub struct Body<F: Function> {
    future: Pin<Box<dyn Future<Output = Result<F::Output>>>>,
}

impl<F: Function> Body<F> {
    #[doc(hidden)]
    pub fn new<R>(future: impl Future<Output = R> + 'static) -> Self
    where
        R: Returns<Value = F::Output>,
    {
        Self { future: Box::pin(async { future.await.into_result() }) }
    }
}

impl<F: Function> Future for Body<F> {
    type Output = Result<F::Output>;

    fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        self.future.as_mut().poll(polling)
    }
}

/// The return value of the `async fn` under an attribute: a `Result` whose error converts into
/// [`Error`].
#[diagnostic::on_unimplemented(
    message = "a durable function cannot return `{Self}`",
    note = "it returns `segno::Result<T>`, or another `Result` whose error converts into `segno::Error`"
)]
pub trait Returns {
    /// The value of a success.
    type Value;

    #[doc(hidden)]
    fn into_result(self) -> Result<Self::Value>;
}

impl<T, E: Into<Error>> Returns for std::result::Result<T, E> {
    type Value = T;

    fn into_result(self) -> Result<T> {
        self.map_err(Into::into)
    }
}

/// A function with an attribute of the SDK. `Arguments` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a durable function",
    note = "put `#[segno::workflow]` or `#[segno::activity]` on it"
)]
pub trait Item<Arguments>: Copy + 'static {
    /// The type of the function.
    type Function: Function;
}

#[diagnostic::do_not_recommend]
impl<I, C, In, F> Item<(C, In)> for I
where
    I: Fn(C, In) -> Body<F> + Copy + 'static,
    F: Function<Context = C, Input = In>,
{
    type Function = F;
}

/// The entry point of a function, by its kind.
#[derive(Clone, Copy)]
pub enum EntryPoint {
    #[doc(hidden)]
    Workflow(fn(Context, &Payload) -> Result<OutcomeFuture, wit::Failure>),
    #[doc(hidden)]
    Activity(fn(ActivityContext, &Payload) -> Result<OutcomeFuture, wit::Failure>),
}

/// A durable function with its types erased.
#[derive(Clone, Copy)]
pub struct Entry {
    pub(crate) name: &'static str,
    pub(crate) kind: EntryPoint,
    pub(crate) describe: fn() -> wit::FunctionDescription,
    pub(crate) messages: fn() -> Vec<Message>,
    pub(crate) limits: fn() -> Option<FunctionLimits>,
    pub(crate) access: Option<ObjectAccess>,
    pub(crate) runs_once: bool,
    pub(crate) commits_each: bool,
    pub(crate) is_mcp_tool: bool,
    /// The list of its crate's functions.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) module: fn() -> Option<crate::Module>,
}

impl Entry {
    #[doc(hidden)]
    pub fn of_item<A, I: Item<A>>(_: I) -> Self {
        Self::of::<I::Function>()
    }

    #[doc(hidden)]
    pub fn of_function<F: Function>() -> Self {
        Self::of::<F>()
    }

    pub(crate) fn of<F: Function>() -> Self {
        Self {
            name: F::NAME,
            kind: F::Context::kind::<F>(),
            describe: describe::<F>,
            messages: F::messages,
            limits: F::limits,
            access: F::ACCESS,
            runs_once: F::RUNS_ONCE,
            commits_each: F::COMMITS_EACH,
            is_mcp_tool: F::IS_MCP_TOOL,
            #[cfg(not(target_arch = "wasm32"))]
            module: F::module,
        }
    }
}

/// Announces a function that is about to be called. Its type is unknown to the journal: an entry
/// begins a context, which holds a journal.
pub(crate) fn announce(journal: &dyn CommandJournal, entry: fn() -> Entry) {
    journal.learn(&entry);
}

/// The entry of a function that was [announced](announce).
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn announced(entry: &dyn std::any::Any) -> Entry {
    let entry = entry.downcast_ref::<fn() -> Entry>();
    entry.expect("only entries are announced")()
}

impl FunctionContext for Context {
    fn kind<F: Function<Context = Self>>() -> EntryPoint {
        EntryPoint::Workflow(begin::<F>)
    }
}

impl FunctionContext for ActivityContext {
    fn kind<F: Function<Context = Self>>() -> EntryPoint {
        EntryPoint::Activity(begin::<F>)
    }
}

/// Decodes the input, begins the function, and encodes its result as an outcome.
fn begin<F: Function>(context: F::Context, input: &Payload) -> Result<OutcomeFuture, wit::Failure> {
    let what = format!("the input of `{}`", F::NAME);
    let null = Payload::Json("null".to_owned());
    let input = if payload::is_empty(input) { &null } else { input };
    let input = F::Input::decode(&what, input).map_err(Error::into_failure)?;
    let body = F::begin(context, input);
    Ok(Box::pin(async {
        let encoded =
            body.await.and_then(|value| value.encode(&format!("the result of `{}`", F::NAME)));
        match encoded {
            Ok(payload) => wit::Outcome::Success(payload),
            Err(error) => wit::Outcome::Failure(error.into_failure()),
        }
    }))
}

fn describe<F: Function>() -> wit::FunctionDescription {
    F::check();
    let defaults = F::defaults();
    let (input, output) = (F::Input::schema(), F::Output::schema());
    wit::FunctionDescription {
        name: F::NAME.to_owned(),
        kind: match F::Context::kind::<F>() {
            EntryPoint::Workflow(_) => wit::FunctionKind::Workflow,
            EntryPoint::Activity(_) => wit::FunctionKind::Activity,
        },
        summary: F::SUMMARY.map(str::to_owned),
        input_schema: Some(input.as_value().to_string()),
        output_schema: Some(output.as_value().to_string()),
        signals: defaults.signals,
        timeout_ms: defaults.timeout.map(millis),
        retry: defaults.retry.map(RetryPolicy::into_options),
    }
}

/// Decodes the result of a call.
pub(crate) fn decode_result<T: DeserializeOwned>(payload: Payload) -> Result<T> {
    payload::decode("the result of a call", &payload)
}
