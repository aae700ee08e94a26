//! What a node of a checked plan does.

use std::time::Duration;

use serde_json::Value;

use super::{CheckedPlan, Condition};

/// A node. Its name and what it needs are in the plan's topology.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub kind: Kind,
    /// If false, the node is skipped.
    pub when: Option<Box<Condition>>,
    /// The template of its input.
    pub input: Option<Box<Value>>,
    /// How it is repeated after a failure.
    pub retry: Option<Box<Retry>>,
    /// How long an attempt may take.
    pub timeout: Option<Duration>,
    /// How long each attempt that the host makes within it may take.
    pub attempt_timeout: Option<Duration>,
    /// Whether it is begun once only, because its effect may not be repeated.
    pub once: Option<Once>,
}

/// The end of a node that is begun once and whose worker was lost, so that nobody knows whether it
/// acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Once {
    /// It fails.
    Fails,
    /// It completes with an output that says so, for the conditions of other nodes.
    Tells,
}

/// What a node does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Calls a function.
    Call(Call),
    /// Sends a request.
    Http(Box<Http>),
    /// Waits so long.
    Sleep(Duration),
    /// Waits until its promise is settled from outside.
    Promise,
    /// Waits for the run's signal with this name.
    Signal(Box<str>),
    /// Runs another graph.
    Graph(SubGraph),
}

/// A function to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// One of the plan's own module: its name, or of an object `OBJECT@KEY/FUNCTION`.
    Own(Box<str>),
    /// `wasm://MODULE/FUNCTION`; the whole address.
    Module(Box<str>),
    /// A handler of a service, `restate://SERVICE/HANDLER`; the whole address.
    Service(Box<str>),
    /// One that a worker offers.
    Worker {
        /// `poll://…`, `http://…` or `https://…`.
        address: Box<str>,
        /// The function's name.
        function: Box<str>,
    },
}

/// A request to send; each part but the method may have templates in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Http {
    /// The method.
    pub method: Box<str>,
    /// The address.
    pub url: Value,
    /// An object of texts by name.
    pub headers: Value,
    /// The body; null for none.
    pub body: Value,
}

/// A graph to run.
#[derive(Clone, Debug)]
pub enum SubGraph {
    /// A plan within this one.
    Plan(Box<CheckedPlan>),
    /// One that a module offers: a name of the plan's own module, or `wasm://MODULE/NAME`.
    Offered(Box<str>),
}

/// How a node is repeated; what is not given, the host decides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Retry {
    /// The delay before the second attempt.
    pub initial: Option<Duration>,
    /// By what each delay is longer than the one before; 1 or more.
    pub factor: Option<f64>,
    /// The longest delay.
    pub max: Option<Duration>,
    /// How many attempts there are in all; 1 or more.
    pub max_attempts: Option<u32>,
}
