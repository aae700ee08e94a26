//! The attributes `#[segno::workflow]`, `#[segno::activity]`, `#[segno::query]`,
//! `#[segno::update]`, `#[segno::graph]`, `#[segno::object]` and `#[segno::data]`. They generate
//! paths that begin with `::segno`, so the SDK must be a dependency under that name.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arguments;
mod function;
mod graph;
mod handler;
mod limit;
mod object;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, Item, ItemFn, parse_macro_input};

use crate::{arguments::AttributeArguments, function::DurableKind};

/// Declares an `async fn` as a workflow.
///
/// The function takes a `segno::Context`, then optionally an input that serde and schemars can
/// read, and returns `segno::Result<T>`. Arguments:
///
/// - `name = "…"`: the name for calls, instead of the function's name.
/// - `signals`: the workflow receives signals; while it waits, a signal wakes it.
/// - `timeout = "1h"`: default time from the call to its deadline, at which the workflow is ended.
/// - `retry(…)`: accepted without effect, since the error of a workflow is its result.
/// - `limit(…)`: limits on concurrency and rate; see below.
/// - `commit = "each"`: the host commits the result of each `run`, and the outcome of each call,
///   before the workflow receives it. By default (`"gathered"`) one commit covers several of them,
///   and the commands that follow.
/// - `expose = "mcp"`: offers the function as a tool of the Model Context Protocol. It is one where
///   an operator takes the offers of the module: `segno mcp --expose MODULE`.
///
/// # Limits
///
/// `limit(key = "customer.id", concurrency = 5, rate = "10/s", burst = 20, total_concurrency = 100,
/// total_rate = "100/s", total_burst = 200, priority = "urgency", priority_order = "weighted")`.
/// Each part is optional:
///
/// - `key`: path of the key in the input, as names and indices separated by dots. `concurrency`,
///   `rate` and `burst` apply to each key; without `key`, to all executions together.
/// - `concurrency`: maximum number of concurrent executions, including those that wait.
/// - `rate`: maximum rate of starts: a number, `/`, and `s`, `m`, `h`, `d` or a duration such as
///   `10s`. `burst` is the number of executions that may start together; default: the number in
///   `rate`.
/// - `total_concurrency`, `total_rate`, `total_burst`: the same limits over all keys together.
/// - `priority`: path of a number from 0 to 9 in the input. A higher priority goes first
///   (`priority_order = "strict"`), or gets more turns (`"weighted"`).
/// - `singleton = "skip"` or `"replace"`: a new execution whose key already has one does not start,
///   or cancels the other one.
/// - `debounce = "5s"`: of several executions of a key only the last starts, once no other has
///   arrived for this time; with `debounce_longest = "1m"`, at the latest this time after the
///   first.
///
/// An operator may set another limit. In native tests (`segno::testing`) an execution runs alone,
/// so limits have no effect.
#[proc_macro_attribute]
pub fn workflow(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(DurableKind::Workflow, arguments, item)
}

/// Declares an `async fn` as an activity.
///
/// The function takes a `segno::ActivityContext`, then optionally an input that serde and schemars
/// can read, and returns `segno::Result<T>`. Arguments:
///
/// - `name = "…"`: the name for calls, instead of the function's name.
/// - `timeout = "30s"`: default time from the call to its deadline, all attempts included.
/// - `retry(initial = "100ms", factor = 2.0, max = "1m", jitter = 0.2, max_attempts = 5, non_retryable = [503])`:
///   default retry policy for failed attempts. Each part is optional.
/// - `limit(…)`: limits on concurrency and rate, as for a [`macro@workflow`].
#[proc_macro_attribute]
pub fn activity(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(DurableKind::Activity, arguments, item)
}

fn expand(kind: DurableKind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as AttributeArguments);
    let item = parse_macro_input!(item as ItemFn);
    function::expand(kind, &arguments, &item, &quote!())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Declares a function that builds a graph as a workflow.
///
/// The function takes a `&segno::graph::Graph`, then optionally a `segno::graph::Input<T>`, and
/// returns a `segno::graph::Output<T>`, or a tuple of them. It becomes a workflow that takes the
/// `T` of the input and returns those of the outputs. Arguments: `name = "…"`, `timeout = "1h"` and
/// `limit(…)`, as for a [`macro@workflow`].
#[proc_macro_attribute]
pub fn graph(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as AttributeArguments);
    let item = parse_macro_input!(item as ItemFn);
    graph::expand(&arguments, &item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a kind of object: the struct is its state, and the `impl` block has its functions.
///
/// The fields of the struct are `segno::State<T>`, `segno::StateMap<T>` and
/// `segno::ObjectPromise<T>`. A function is an `async fn` that takes `&mut self`, or `&self` under
/// `#[shared]`, then a `segno::Context`, then optionally an input, and returns `segno::Result<T>`.
/// Of the functions with `&mut self`, one execution per key runs at a time. `#[exclusive(…)]` and
/// `#[shared(…)]` take the arguments of [`macro@workflow`]. Other functions of the block are left
/// unchanged.
///
/// A function with `#[run]` takes `&mut self` and runs once per key: a further call is refused with
/// code 409. All other functions of such an object must be `#[shared]`.
///
/// List the kind of object in `segno::module!`, and call it by `ctx.object::<Kind>(key)`.
#[proc_macro_attribute]
pub fn object(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as Item);
    object::expand(&arguments.into(), item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a function as a query: a question about a workflow, answered while the workflow runs
/// and after its end.
///
/// The function takes a reference to the value that the workflow shares (`ctx.share(value)`), then
/// optionally an input that serde and schemars can read, and returns `segno::Result<T>`. It only
/// reads. Arguments:
///
/// - first, the workflow's function: `#[segno::query(order)]`.
/// - `name = "…"`: the name for callers, instead of the function's name.
///
/// List the query in `segno::module!`.
///
/// ```ignore
/// /// Which step it is at.
/// #[segno::query(order)]
/// fn step(progress: &Progress) -> Result<String> {
///     Ok(progress.step.clone())
/// }
/// ```
#[proc_macro_attribute]
pub fn query(arguments: TokenStream, item: TokenStream) -> TokenStream {
    handle(handler::AnswerKind::Query, arguments, item)
}

/// Declares an `async fn` as an update: a request to a workflow, which answers it while it runs.
///
/// The function takes a `segno::Context`, the `segno::Shared<T>` of the workflow, then optionally
/// an input that serde and schemars can read, and returns `segno::Result<T>`. It is a part of the
/// workflow with all of the workflow's abilities, and runs concurrently with the workflow and other
/// updates. Updates that are unanswered when the workflow ends are cancelled; `ctx.updates_done()`
/// waits for them. Arguments:
///
/// - first, the workflow's function: `#[segno::update(order)]`.
/// - `name = "…"`: the name for callers, instead of the function's name.
/// - `validate = function`: a `fn(&T, &Input) -> Result<()>`, or `fn(&T) -> Result<()>` without
///   input. It is called before the update is accepted; an update that it refuses leaves no trace.
///
/// List the update in `segno::module!`.
///
/// ```ignore
/// /// Adds a note.
/// #[segno::update(order, validate = fits)]
/// async fn add_note(_ctx: Context, progress: Shared<Progress>, text: String) -> Result<usize> {
///     Ok(progress.write(|progress| {
///         progress.notes.push(text);
///         progress.notes.len()
///     }))
/// }
///
/// fn fits(_progress: &Progress, text: &str) -> Result<()> {
///     match text.is_empty() {
///         true => Err(Error::terminal(422, "a note says something")),
///         false => Ok(()),
///     }
/// }
/// ```
#[proc_macro_attribute]
pub fn update(arguments: TokenStream, item: TokenStream) -> TokenStream {
    handle(handler::AnswerKind::Update, arguments, item)
}

fn handle(kind: handler::AnswerKind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as handler::HandlerArguments);
    let item = parse_macro_input!(item as ItemFn);
    handler::expand(kind, &arguments, &item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives the traits of inputs, outputs and messages (`Serialize`, `Deserialize` and `JsonSchema`)
/// from the crates that the SDK depends on, so that they need not be dependencies of the module.
/// Place it above other derives; serde attributes, such as `#[serde(default)]`, work on the type.
#[proc_macro_attribute]
pub fn data(_: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    quote! {
        #[derive(::segno::Serialize, ::segno::Deserialize, ::segno::JsonSchema)]
        #[serde(crate = "::segno::serde")]
        #[schemars(crate = "::segno::schemars")]
        #item
    }
    .into()
}
