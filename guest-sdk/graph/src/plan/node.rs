//! The action of a node in a checked plan.

use std::time::Duration;

use serde_json::Value;

use super::{CheckedPlan, Condition};

/// A node. The plan's topology has its name and its dependencies.
#[derive(Clone, Debug)]
pub struct PlanNode {
    /// The action of the node.
    pub kind: NodeAction,
    /// Condition for running the node; if it is false, the node is skipped. `None` means always.
    pub when: Option<Box<Condition>>,
    /// The template of its input. `None` if the default input applies.
    pub input: Option<Box<Value>>,
    /// The retry policy. `None` if the host decides.
    pub retry: Option<Box<NodeRetry>>,
    /// Time from the start of a node's attempt to its deadline, including all attempts that the
    /// host makes within it. `None` if there is no deadline.
    pub timeout: Option<Duration>,
    /// Maximum duration of each attempt that the host makes before the deadline. `None` if
    /// unlimited.
    pub attempt_timeout: Option<Duration>,
    /// Set if the node starts at most once because its effect must not be repeated.
    pub once: Option<LossRule>,
}

/// The outcome of a node that starts at most once, if its worker was lost and the effect is
/// unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRule {
    /// The node fails.
    Fails,
    /// The node completes with an output that reports the loss, for the conditions of other nodes.
    Tells,
}

/// The action of a node.
#[derive(Clone, Debug)]
pub enum NodeAction {
    /// Calls a function.
    Call(FunctionTarget),
    /// Sends an HTTP request.
    Http(Box<RequestTemplate>),
    /// Waits for this duration.
    Sleep(Duration),
    /// Waits until the node's promise is settled from outside.
    Promise,
    /// Waits for the run's signal with this name.
    Signal(Box<str>),
    /// Runs another graph as a child.
    Graph(SubGraph),
}

/// A function to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionTarget {
    /// A function of the plan's own module: its name, or `OBJECT@KEY/FUNCTION` for one of an
    /// object.
    Own(Box<str>),
    /// A function of another module, as the whole address `wasm://MODULE/FUNCTION`.
    Module(Box<str>),
    /// A handler of a service, as the whole address `restate://SERVICE/HANDLER`.
    Service(Box<str>),
    /// A function of an external worker.
    Worker {
        /// `poll://…`, `http://…` or `https://…`.
        address: Box<str>,
        /// The function's name.
        function: Box<str>,
    },
}

/// A request to send. Each part except the method may contain templates.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestTemplate {
    /// The method, such as `POST`.
    pub method: Box<str>,
    /// The address: a text or a template.
    pub url: Value,
    /// An object with texts or templates by header name.
    pub headers: Value,
    /// The body: any data or template; null for none.
    pub body: Value,
}

/// A graph to run.
#[derive(Clone, Debug)]
pub enum SubGraph {
    /// A plan nested in this one.
    Plan(Box<CheckedPlan>),
    /// A graph that a module offers: a name in the plan's own module, or `wasm://MODULE/NAME`.
    Offered(Box<str>),
}

/// The retry policy of a node. The host decides fields that are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeRetry {
    /// The delay before the second attempt.
    pub initial: Option<Duration>,
    /// The factor between consecutive delays; 1 or more.
    pub factor: Option<f64>,
    /// Maximum delay.
    pub max: Option<Duration>,
    /// Maximum number of attempts in total; 1 or more.
    pub max_attempts: Option<u32>,
}
