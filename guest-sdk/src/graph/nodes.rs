//! A graph under construction: its nodes, in the form of a plan.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    Condition, GraphFunction, OneOutput, Order, Output, Request, Returned, Source,
    condition::ConditionExpression,
    source::{Expression, ValueOrigin},
};
use crate::{
    function::{Entry, Function, Item},
    http,
};

/// A graph under construction; see the [module](super).
///
/// Each method adds a node under a name of 1 to 64 letters, digits, `-` and `_`. The name appears
/// in lists and errors, and identifies the node's promise. A node starts when every node whose
/// output is part of its input or condition has ended.
///
/// # Panics
/// If two nodes have the same name.
pub struct Graph(RefCell<Nodes>);

#[derive(Default)]
pub(super) struct Nodes {
    list: Vec<NodeBuilder>,
    max_parallel: Option<u32>,
    fails_fast: bool,
    /// The nodes that are returned, and true if it is a single one instead of a tuple.
    returned: Vec<u32>,
    is_one: bool,
    /// The functions of this crate that nodes call.
    pub(super) entries: Vec<fn() -> Entry>,
}

struct NodeBuilder {
    name: String,
    /// Fields as in a plan, without `needs`.
    fields: Map<String, Value>,
    needs: BTreeSet<u32>,
    /// JSON pointer to the value in the output of the node.
    result: String,
    /// True if some use requires the output to be present.
    is_taken: bool,
}

/// A plan, and the way to build the function's result from its outputs.
pub(super) struct BuiltPlan {
    pub(super) plan: Value,
    /// Names of returned nodes, each with the JSON pointer of its value.
    pub(super) returned: Vec<(String, String)>,
    pub(super) is_one: bool,
    pub(super) entries: Vec<fn() -> Entry>,
}

impl Graph {
    pub(super) fn new() -> Self {
        Self(RefCell::default())
    }

    /// Adds a call of a durable function of this crate. The types of input and output are checked
    /// at compile time.
    ///
    /// ```compile_fail,E0277
    /// # extern crate segno_sdk as segno;
    /// # use segno::graph::{Graph, Input, Output};
    /// # #[segno::activity]
    /// # async fn ship(_ctx: segno::ActivityContext, item: String) -> segno::Result<u32> {
    /// #     Ok(item.len() as u32)
    /// # }
    /// #[segno::graph]
    /// fn order(graph: &Graph, item: Input<String>) -> Output<u32> {
    ///     let number = graph.call("ship", ship, item);
    ///     graph.call("ship_again", ship, number) // `ship` takes a `String`
    /// }
    /// ```
    pub fn call<A, I: Item<A>>(
        &self,
        node: impl Into<String>,
        function: I,
        input: impl Source<<I::Function as Function>::Input>,
    ) -> Output<'_, <I::Function as Function>::Output> {
        let _ = function;
        self.0.borrow_mut().entries.push(Entry::of::<I::Function>);
        self.call_named(node, <I::Function as Function>::NAME, input)
    }

    /// Adds a call of a function by name: a bare name belongs to this module,
    /// `wasm://MODULE/FUNCTION` to another. The types are not checked at compile time.
    pub fn call_named<In, Out>(
        &self,
        node: impl Into<String>,
        function: &str,
        input: impl Source<In>,
    ) -> Output<'_, Out> {
        self.add(node, "call", json!(function), Some(input.expression()))
    }

    /// Adds a call of a function of an external worker; `arguments` is the tuple of the function's
    /// arguments. See [`Context::call_remote`](crate::Context::call_remote).
    pub fn call_remote<In, Out>(
        &self,
        node: impl Into<String>,
        address: &str,
        function: &str,
        arguments: impl Source<In>,
    ) -> Output<'_, Out> {
        let output = self.add(node, "call", json!(address), Some(arguments.expression()));
        self.set(output.node, "function", json!(function));
        output
    }

    /// Adds an HTTP request by the host; see [`Context::http`](crate::Context::http).
    pub fn http(&self, node: impl Into<String>, request: Request) -> Output<'_, http::Response> {
        let output = self.add(node, "http", Value::Null, None);
        let template = self.template(output.node, request.into_expression());
        self.set(output.node, "http", template);
        output
    }

    /// Adds a wait of this duration, counted from the node's start.
    pub fn sleep(&self, node: impl Into<String>, length: Duration) -> Output<'_, ()> {
        self.add(node, "sleep", json!(written(length)), None)
    }

    /// Adds a promise that is settled from outside, for example by a person. Its id is
    /// `{run}/n/{node}/0`; `shown` becomes the promise's input, for display to the settling party.
    pub fn promise<In, Out>(
        &self,
        node: impl Into<String>,
        shown: impl Source<In>,
    ) -> Output<'_, Out> {
        self.add(node, "promise", json!(true), Some(shown.expression()))
    }

    /// Adds a wait for the run's signal with this name, the promise `{run}/sig/{name}`. Its value
    /// is the output of every node that waits for it, including nodes that start later.
    pub fn signal<Out>(&self, node: impl Into<String>, signal: &str) -> Output<'_, Out> {
        self.add(node, "signal", json!(signal), None)
    }

    /// Adds another graph of this crate as a node: its nodes run as children of this one, with a
    /// separate limit on concurrency.
    pub fn graph<A, I: Item<A>>(
        &self,
        node: impl Into<String>,
        graph: I,
        input: impl Source<<I::Function as Function>::Input>,
    ) -> Output<'_, <I::Function as Function>::Output>
    where
        I::Function: GraphFunction + OneOutput,
    {
        let _ = graph;
        let BuiltPlan { plan, returned, entries, .. } = Self::build::<I::Function>();
        self.0.borrow_mut().entries.extend(entries);
        let output = self.add(node, "graph", plan, Some(input.expression()));
        let [(name, at)] = &returned[..] else { unreachable!("a graph of one output returns one") };
        self.0.borrow_mut().list[output.node as usize].result = format!("/{name}{at}");
        output
    }

    /// Adds dependencies without data: `graph.order(a >> (b + c) >> d)`; see [`Order`].
    pub fn order(&self, order: Order) {
        let mut nodes = self.0.borrow_mut();
        for (before, after) in order.edges {
            nodes.list[after as usize].needs.insert(before);
        }
    }

    /// Sets the maximum number of concurrent nodes, 1 to 1000. Default: 16.
    pub fn max_parallel(&self, most: u32) -> &Self {
        self.0.borrow_mut().max_parallel = Some(most);
        self
    }

    /// Ends the run at the first failure. By default, nodes that do not depend on a failed one are
    /// finished first.
    pub fn fail_fast(&self) -> &Self {
        self.0.borrow_mut().fails_fast = true;
        self
    }

    #[doc(hidden)]
    pub fn returns<V>(&self, returned: impl Returned<Value = V>) {
        let (outputs, is_one) = returned.outputs();
        let mut nodes = self.0.borrow_mut();
        nodes.is_one = is_one;
        for (node, may_be_missing) in outputs {
            nodes.take(node, may_be_missing);
            nodes.returned.push(node);
        }
    }

    fn add<T>(
        &self,
        name: impl Into<String>,
        kind: &str,
        what: Value,
        input: Option<Expression>,
    ) -> Output<'_, T> {
        let name = name.into();
        let mut nodes = self.0.borrow_mut();
        let is_taken = nodes.list.iter().any(|node| node.name == name);
        assert!(!is_taken, "there are two nodes `{name}` in the graph: give each its own name");
        let node = u32::try_from(nodes.list.len()).expect("a graph has few nodes");
        nodes.list.push(NodeBuilder {
            name,
            fields: Map::from_iter([(kind.to_owned(), what)]),
            needs: BTreeSet::new(),
            result: String::new(),
            is_taken: false,
        });
        drop(nodes);
        if let Some(input) = input {
            let template = self.template(node, input);
            self.set(node, "input", template);
        }
        Output::new(self, node)
    }

    pub(super) fn set(&self, node: u32, field: &str, value: Value) {
        self.0.borrow_mut().list[node as usize].fields.insert(field.to_owned(), value);
    }

    /// Makes the node depend on the nodes of the order.
    pub(super) fn add_needs(&self, node: u32, before: Order) {
        self.0.borrow_mut().list[node as usize].needs.extend(before.nodes);
    }

    /// Adds a condition to the node's own.
    pub(super) fn add_condition(&self, node: u32, condition: Condition) {
        let mut nodes = self.0.borrow_mut();
        let NodeBuilder { name, is_taken, .. } = &nodes.list[node as usize];
        assert!(
            !is_taken,
            "the output of `{name}` is taken before its `when`, without which it would always be there"
        );
        let mut needs = BTreeSet::new();
        let mut written = nodes.condition(condition.0, &mut needs);
        let node = &mut nodes.list[node as usize];
        if let Some(earlier) = node.fields.remove("when") {
            written = json!({ "all": [earlier, written] });
        }
        node.fields.insert("when".to_owned(), written);
        node.needs.extend(needs);
    }

    /// The expression as the template of a node, which then depends on the nodes in it.
    fn template(&self, node: u32, expression: Expression) -> Value {
        let mut nodes = self.0.borrow_mut();
        let mut needs = BTreeSet::new();
        let template = nodes.written(expression, &mut needs);
        nodes.list[node as usize].needs.extend(needs);
        template
    }

    /// The plan of a function.
    pub(super) fn build<F: GraphFunction>() -> BuiltPlan {
        let graph = Self::new();
        F::build(&graph);
        graph.0.into_inner().built(F::NAME)
    }
}

impl Nodes {
    fn written(&mut self, expression: Expression, needs: &mut BTreeSet<u32>) -> Value {
        match expression {
            Expression::Value(value) => value,
            Expression::List(list) => {
                list.into_iter().map(|one| self.written(one, needs)).collect()
            }
            Expression::Object(fields) => {
                let fields = fields.into_iter();
                Value::Object(fields.map(|(key, one)| (key, self.written(one, needs))).collect())
            }
            Expression::Output { node, may_be_missing } => {
                self.take(node, may_be_missing);
                self.place(ValueOrigin::Node(node), "", "$from", needs)
            }
            Expression::Place { origin, at } => self.place(origin, &at, "$from", needs),
        }
    }

    /// Notes a use of a node's output, possibly a use that tolerates a missing output.
    fn take(&mut self, node: u32, may_be_missing: bool) {
        let NodeBuilder { name, fields, is_taken, .. } = &mut self.list[node as usize];
        assert!(
            may_be_missing || !fields.contains_key("when"),
            "the output of `{name}` may be missing: take the one that its `when` gives"
        );
        *is_taken |= !may_be_missing;
    }

    fn condition(&self, condition: ConditionExpression, needs: &mut BTreeSet<u32>) -> Value {
        let mut each = |list: Vec<ConditionExpression>| -> Value {
            list.into_iter().map(|one| self.condition(one, needs)).collect()
        };
        match condition {
            ConditionExpression::All(list) => json!({ "all": each(list) }),
            ConditionExpression::Any(list) => json!({ "any": each(list) }),
            ConditionExpression::Not(one) => json!({ "not": self.condition(*one, needs) }),
            ConditionExpression::Test { origin, at, test, value } => {
                let mut written = self.place(origin, &at, "from", needs);
                written[test] = value;
                written
            }
        }
    }

    /// The template of a value: a reference to the node, under this key, and a pointer into its
    /// output.
    fn place(&self, origin: ValueOrigin, at: &str, key: &str, needs: &mut BTreeSet<u32>) -> Value {
        let (name, at) = match origin {
            ValueOrigin::Input => ("input", at.to_owned()),
            ValueOrigin::Node(node) => {
                needs.insert(node);
                let NodeBuilder { name, result, .. } = &self.list[node as usize];
                (name.as_str(), format!("{result}{at}"))
            }
        };
        match at.is_empty() {
            true => json!({ key: name }),
            false => json!({ key: name, "at": at }),
        }
    }

    fn built(self, name: &str) -> BuiltPlan {
        let names: Vec<String> = self.list.iter().map(|node| node.name.clone()).collect();
        let returned = self.returned.iter().map(|node| &self.list[*node as usize]);
        let returned: Vec<(String, String)> =
            returned.map(|node| (node.name.clone(), node.result.clone())).collect();
        let outputs: BTreeSet<&String> = returned.iter().map(|(name, _)| name).collect();
        let mut plan = json!({ "name": name, "outputs": outputs });
        if let Some(most) = self.max_parallel {
            plan["max_parallel"] = json!(most);
        }
        if self.fails_fast {
            plan["on_failure"] = json!("fail-fast");
        }
        let mut nodes = BTreeMap::new();
        for NodeBuilder { name, mut fields, needs, .. } in self.list {
            if !needs.is_empty() {
                let needs: Vec<&String> = needs.iter().map(|need| &names[*need as usize]).collect();
                fields.insert("needs".to_owned(), json!(needs));
            }
            nodes.insert(name, fields);
        }
        plan["nodes"] = json!(nodes);
        BuiltPlan { plan, returned, is_one: self.is_one, entries: self.entries }
    }
}

/// Formats a duration as in a plan.
pub(super) fn written(length: Duration) -> String {
    humantime::format_duration(length).to_string()
}
