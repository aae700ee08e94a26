//! A graph as a durable function: a workflow whose plan the host runs.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Graph, Output, nodes::BuiltPlan};
use crate::{
    context::Context,
    error::Result,
    function::{Function, Item},
    payload::{self, Payload},
};

/// A function with `#[segno::graph]`, which alone implements this.
pub trait GraphFunction: Function {
    #[doc(hidden)]
    fn build(graph: &Graph);
}

/// A graph that returns one output, and so can be a node of another.
#[diagnostic::on_unimplemented(
    message = "this graph does not return one output",
    note = "a graph within a graph returns one `Output<T>`; call it instead, by `graph.call`, and it may return several"
)]
pub trait OneOutput {}

/// The return type of a graph: an [`Output`], or a tuple of them.
#[diagnostic::on_unimplemented(
    message = "a graph cannot return `{Self}`",
    note = "it returns `Output<T>`, or a tuple of several"
)]
pub trait Returned {
    /// The result of the function.
    type Value;

    /// The nodes, each with true if its output may be missing; and true if it is a single one
    /// instead of a tuple.
    #[doc(hidden)]
    fn outputs(self) -> (Vec<(u32, bool)>, bool);
}

impl<T> Returned for Output<'_, T> {
    type Value = T;

    fn outputs(self) -> (Vec<(u32, bool)>, bool) {
        (vec![(self.node, self.may_be_missing)], true)
    }
}

macro_rules! tuple {
    ($($type:ident $place:tt),+) => {
        impl<$($type),+> Returned for ($(Output<'_, $type>,)+) {
            type Value = ($($type,)+);

            fn outputs(self) -> (Vec<(u32, bool)>, bool) {
                (vec![$((self.$place.node, self.$place.may_be_missing)),+], false)
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

/// The plan of a graph as data, for inspection, drawing or storage.
///
/// # Panics
/// If two nodes have the same name.
pub fn plan_of<A, I: Item<A>>(graph: I) -> Value
where
    I::Function: GraphFunction,
{
    let _ = graph;
    Graph::build::<I::Function>().plan
}

/// Refuses a graph that cannot be run, before the module is accepted. In a component this covers
/// duplicate node names; tests, and the host at the start of a run, check the whole plan.
#[cfg(target_arch = "wasm32")]
pub fn check<F: GraphFunction>() {
    drop(Graph::build::<F>());
}

/// Refuses a graph that cannot be run.
#[cfg(not(target_arch = "wasm32"))]
pub fn check<F: GraphFunction>() {
    let plan = Graph::build::<F>().plan.to_string();
    let checked = segno_graph::plan::Plan::from_json(&plan).and_then(|plan| plan.check());
    if let Err(errors) = checked {
        panic!("the graph `{}` cannot be run: {errors}", F::NAME);
    }
}

/// The workflow that the attribute generates.
pub async fn run<F: GraphFunction>(context: Context, input: F::Input) -> Result<F::Output>
where
    F::Input: Serialize,
    F::Output: DeserializeOwned,
{
    let BuiltPlan { plan, returned, is_one, entries } = Graph::build::<F>();
    entries.into_iter().for_each(|entry| context.learn(entry));
    let outputs: Value = context.graph(&plan, &input).await?;
    // A missing output belongs to a skipped node, and so becomes `None`.
    let value = |(name, at): &(String, String)| -> Value {
        outputs.get(name).and_then(|output| output.pointer(at)).cloned().unwrap_or_default()
    };
    let result = match (is_one, &returned[..]) {
        (true, [one]) => value(one),
        _ => returned.iter().map(value).collect(),
    };
    let what = format!("what the graph `{}` returns", F::NAME);
    payload::decode(&what, &Payload::Json(result.to_string()))
}
