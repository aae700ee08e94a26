//! The attributes `#[segno::workflow]`, `#[segno::activity]`, `#[segno::query]`, `#[segno::update]`,
//! `#[segno::graph]`, `#[segno::object]` and `#[segno::data]`.
//! They write paths that begin with `::segno`, so the SDK has to be a dependency under that name.

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

use crate::{arguments::Arguments, function::Kind};

/// Makes a workflow of an `async fn`.
///
/// The function takes a `segno::Context`, then perhaps an input that serde and schemars can read,
/// and returns `segno::Result<T>`. Arguments:
///
/// - `name = "…"`: the name for calls, instead of the function's.
/// - `signals`: the workflow receives signals; while it waits, a signal wakes it.
/// - `timeout = "1h"`: default time from the call to its deadline, at which the workflow is ended.
/// - `retry(…)`: is accepted and does nothing, since the error of a workflow is its result.
/// - `limit(…)`: how many executions may run, and how fast they begin; see below.
///
/// # Limits
///
/// `limit(key = "customer.id", concurrency = 5, rate = "10/s", burst = 20, total_concurrency = 100,
/// total_rate = "100/s", total_burst = 200, priority = "urgency", priority_order = "weighted")`, of which
/// each part may be omitted:
///
/// - `key`: where the key stands in the input, as names and places with dots between. `concurrency`,
///   `rate` and `burst` are of each key; without `key`, of all executions.
/// - `concurrency`: how many executions may run, those that wait for something included.
/// - `rate`: how many may begin in a time: a number, `/`, and `s`, `m`, `h`, `d` or a length of time such
///   as `10s`. `burst` of them may begin at once, else as many as the number.
/// - `total_concurrency`, `total_rate`, `total_burst`: the same of all keys together.
/// - `priority`: where a number from 0 to 9 stands in the input. A higher one goes first
///   (`priority_order = "strict"`), or has more turns (`"weighted"`).
/// - `singleton = "skip"` or `"replace"`: an execution of a key that has one does not begin, or cancels
///   the other one.
/// - `debounce = "5s"`: of several executions of a key only the last begins, when no other has come for
///   so long; with `debounce_longest = "1m"` at the latest so long after the first.
///
/// An operator may set another limit. In native tests (`segno::testing`) an execution is alone, so limits
/// have no effect there.
#[proc_macro_attribute]
pub fn workflow(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(Kind::Workflow, arguments, item)
}

/// Makes an activity of an `async fn`.
///
/// The function takes a `segno::ActivityContext`, then perhaps an input that serde and schemars can
/// read, and returns `segno::Result<T>`. Arguments:
///
/// - `name = "…"`: the name for calls, instead of the function's.
/// - `timeout = "30s"`: default time from the call to its deadline, all attempts included.
/// - `retry(initial = "100ms", factor = 2.0, max = "1m", jitter = 0.2, max_attempts = 5,
///   non_retryable = [503])`: default policy for repeating failed attempts. Each part may be
///   omitted.
/// - `limit(…)`: how many executions may run, and how fast they begin, as of a [`macro@workflow`].
#[proc_macro_attribute]
pub fn activity(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(Kind::Activity, arguments, item)
}

fn expand(kind: Kind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as Arguments);
    let item = parse_macro_input!(item as ItemFn);
    function::expand(kind, &arguments, &item, &quote!())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a workflow of a function that builds a graph.
///
/// The function takes a `&segno::graph::Graph`, then perhaps a `segno::graph::Input<T>`, and returns
/// a `segno::graph::Output<T>`, or a tuple of them. It becomes a workflow that takes the `T` of the
/// input and gives those of the outputs. Arguments: `name = "…"`, `timeout = "1h"` and `limit(…)`, as
/// for a [`macro@workflow`].
#[proc_macro_attribute]
pub fn graph(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as Arguments);
    let item = parse_macro_input!(item as ItemFn);
    graph::expand(&arguments, &item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a kind of object: of a struct, the state; of its `impl` block, the functions.
///
/// The fields of the struct are `segno::State<T>`, `segno::StateMap<T>` and `segno::ObjectPromise<T>`. A
/// function is an `async fn` that takes `&mut self`, or `&self` under `#[shared]`, then a `segno::Context`, then perhaps an
/// input, and returns `segno::Result<T>`. Of the functions with `&mut self`, one execution of a key
/// runs at a time. `#[exclusive(…)]` and `#[shared(…)]` take the arguments of
/// [`macro@workflow`]. Other functions of the block stay as they are.
///
/// A function with `#[run]` takes `&mut self`, and runs once a key: a further call of it is refused with
/// code 409. All other functions of such an object are `#[shared]`.
///
/// List the kind of object in `segno::module!`, and call it by `ctx.object::<Kind>(key)`.
#[proc_macro_attribute]
pub fn object(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as Item);
    object::expand(&arguments.into(), item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a query of a function: a question about a workflow, which is answered while the workflow
/// runs and after its end.
///
/// The function takes a reference to what the workflow shares (`ctx.share(value)`), then perhaps an
/// input that serde and schemars can read, and returns `segno::Result<T>`. It only reads. Arguments:
///
/// - first, the workflow's function: `#[segno::query(order)]`.
/// - `name = "…"`: the name by which it is asked, instead of the function's.
///
/// List it in `segno::module!`.
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
    handle(handler::Kind::Query, arguments, item)
}

/// Makes an update of an `async fn`: a request to a workflow, which the workflow answers while it
/// runs.
///
/// The function takes a `segno::Context`, the `segno::Shared<T>` of the workflow, then perhaps an input
/// that serde and schemars can read, and returns `segno::Result<T>`. It is a part of the workflow and
/// may do all that the workflow may; it runs beside the workflow, and beside other updates. Updates
/// that are not answered when the workflow ends are cancelled; wait for them by
/// `ctx.updates_done()`. Arguments:
///
/// - first, the workflow's function: `#[segno::update(order)]`.
/// - `name = "…"`: the name by which it is asked for, instead of the function's.
/// - `validate = function`: a `fn(&T, &Input) -> Result<()>`, or `fn(&T) -> Result<()>` if there is no
///   input. It is asked before the update is accepted; what it refuses leaves no trace.
///
/// List it in `segno::module!`.
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
    handle(handler::Kind::Update, arguments, item)
}

fn handle(kind: handler::Kind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as handler::Arguments);
    let item = parse_macro_input!(item as ItemFn);
    handler::expand(kind, &arguments, &item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives the traits of inputs, outputs and messages (`Serialize`, `Deserialize` and
/// `JsonSchema`), from the crates that the SDK depends on, so that they need not be dependencies of
/// the module. Put it above other derives; the attributes of serde, such as `#[serde(default)]`,
/// work on the type.
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
