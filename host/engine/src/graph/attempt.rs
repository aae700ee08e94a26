//! The promise of a node's attempt: an invocation, a timer, or a promise that a client settles.

use std::time::Duration;

use segno_core::{
    address::{self, GRAPH_RUN, ObjectFunctionPath},
    graph::{self, Persistence},
    id::PromiseId,
    promise::{NewPromise, RetryPolicy},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_graph::plan::{
    FunctionTarget, LossRule, NodeAction, NodeRequest, NodeRetry, PlanNode, RequestTextError,
    SubGraph,
};
use segno_guest::{Failure, FunctionDescription, HttpRequest, Payload};
use serde_json::{Value as Json, json};

use crate::{
    target::HTTP,
    values::{self, code},
};

/// The module of a run: it has the functions that the plan names without a module.
#[derive(Debug, Default)]
pub struct OwnModule {
    /// The module's name, which policies refer to.
    pub name: String,
    /// The module's functions.
    pub functions: Vec<FunctionDescription>,
    /// True if the plan may send requests under the module's policy.
    pub may_request: bool,
}

impl OwnModule {
    fn timeout(&self, function: &str) -> Option<Duration> {
        let described = self.functions.iter().find(|described| described.name == function)?;
        described.timeout_ms.map(Duration::from_millis)
    }

    /// The address of one of the module's functions: in the code that the run uses, or, for a
    /// function of an object, under the name of the module, to which objects belong.
    fn target(&self, function: &str) -> String {
        match ObjectFunctionPath::parse(function) {
            Some(_) => format!("wasm://{}/{function}", self.name),
            None => format!("wasm:///{function}"),
        }
    }

    /// Refuses requests that no policy allows, or that the author of the plan may not send.
    fn check_policy(&self) -> Result<(), Failure> {
        let refuse =
            |code, message: &str| Err(Failure { code, message: message.to_owned(), details: None });
        if self.name.is_empty() {
            return refuse(
                code::REFUSED,
                "a request is sent under the policy of a module: start the run with one (`module`)",
            );
        }
        if !self.may_request {
            return refuse(
                403,
                "the run was started with rights over some ids only, and a request is sent with the \
                 secrets of its module: have a function of the module send it",
            );
        }
        Ok(())
    }

    fn header(&self) -> Tags {
        Tags::from([(tags::MODULE_HEADER.into(), self.name.clone())])
    }
}

/// The promise of an attempt that begins at `begins`, with its input.
///
/// # Errors
/// The failure of a node whose input does not fit its kind.
///
/// # Panics
/// For a node that waits for a signal, which has no attempts.
pub(super) fn promise(
    id: PromiseId,
    node: &PlanNode,
    input: Json,
    module: &OwnModule,
    (now, begins): (Timestamp, Timestamp),
) -> Result<NewPromise, Failure> {
    let mut tags = Tags::new();
    let mut timeout = node.timeout;
    let mut param = match &node.kind {
        NodeAction::Call(FunctionTarget::Own(function)) => {
            tags.insert(tags::TARGET.into(), module.target(function));
            let name = address::function_of(function);
            timeout = timeout.or_else(|| module.timeout(&name));
            values::param(&name, &json_payload(&input), module.header())
        }
        NodeAction::Call(FunctionTarget::Module(address) | FunctionTarget::Service(address)) => {
            called(address, &input, &mut tags)
        }
        NodeAction::Call(FunctionTarget::Worker { address, function }) => {
            tags.insert(tags::TARGET.into(), address.to_string());
            values::param_of_arguments(function, &json_payload(&input), Tags::new())
        }
        NodeAction::Http(_) => {
            tags.insert(tags::TARGET.into(), HTTP.into());
            module.check_policy()?;
            values::request_param(&request(&input)?, module.header())
        }
        NodeAction::Graph(SubGraph::Plan(plan)) => {
            tags.insert(tags::TARGET.into(), GRAPH_RUN.into());
            graph::parameter((plan, &input), Persistence::Wave, None, module.header())
        }
        NodeAction::Graph(SubGraph::Offered(name)) if name.contains(':') => {
            called(name, &input, &mut tags)
        }
        NodeAction::Graph(SubGraph::Offered(name)) => {
            tags.insert(tags::TARGET.into(), format!("wasm:///{name}"));
            values::param(name, &json_payload(&input), module.header())
        }
        NodeAction::Sleep(length) => {
            tags.insert(tags::TIMER.into(), "true".into());
            timeout = Some(*length);
            Value::default()
        }
        NodeAction::Promise => values::value(&json_payload(&input)),
        NodeAction::Signal(_) => unreachable!("a signal is waited for, and not attempted"),
    };
    let once = node.once.map(|once| {
        let mark = match once {
            LossRule::Fails => "true",
            LossRule::Tells => "output",
        };
        tags.insert(tags::ONCE.into(), mark.into());
        NodeRetry { max_attempts: Some(1), ..NodeRetry::default() }
    });
    if let Some(retry) = once.as_ref().or(node.retry.as_deref()) {
        let policy = json!(policy(retry)).to_string();
        param.headers.insert(tags::RETRY_HEADER.into(), policy);
    }
    if let Some(limit) = node.attempt_timeout {
        let ms = limit.as_millis().max(1).to_string();
        param.headers.insert(tags::ATTEMPT_TIMEOUT_HEADER.into(), ms);
    }
    if begins > now {
        tags.insert(tags::DELAY.into(), begins.0.to_string());
    }
    Ok(NewPromise { id, param, tags, timeout_at: deadline(timeout, begins) })
}

fn request(input: &Json) -> Result<HttpRequest, Failure> {
    let refused = |wrong: RequestTextError| Failure {
        code: code::BAD_REQUEST,
        message: wrong.to_string(),
        details: None,
    };
    let NodeRequest { method, url, headers, body } = NodeRequest::of(input).map_err(refused)?;
    Ok(HttpRequest { method, url, headers, body: body.as_ref().map(json_payload) })
}

/// The promise of a signal that a node starts to wait for.
pub(super) fn signal(run: &PromiseId, name: &str, node: &PlanNode, now: Timestamp) -> NewPromise {
    NewPromise {
        id: run.run_signal(name),
        param: Value::default(),
        tags: Tags::new(),
        timeout_at: deadline(node.timeout, now),
    }
}

/// A promise without a target, which the coordinator settles itself.
pub(super) fn bare(id: PromiseId) -> NewPromise {
    NewPromise { id, param: Value::default(), tags: Tags::new(), timeout_at: Timestamp::NEVER }
}

/// The retry policy of a node. The host's defaults fill what the plan leaves open.
pub(super) fn policy(retry: &NodeRetry) -> RetryPolicy {
    let default = RetryPolicy::default();
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    RetryPolicy {
        initial_ms: retry.initial.map_or(default.initial_ms, ms),
        factor: retry.factor.unwrap_or(default.factor),
        max_ms: retry.max.map_or(default.max_ms, ms),
        max_attempts: retry.max_attempts,
        ..default
    }
}

/// A call of a function of another module, under that module's policy.
fn called(target: &str, input: &Json, tags: &mut Tags) -> Value {
    tags.insert(tags::TARGET.into(), target.to_owned());
    let function = address::function_of(target);
    values::param(&function, &json_payload(input), Tags::new())
}

fn json_payload(input: &Json) -> Payload {
    Payload::Json(input.to_string())
}

fn deadline(timeout: Option<Duration>, begins: Timestamp) -> Timestamp {
    timeout.map_or(Timestamp::NEVER, |timeout| {
        let length = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        Timestamp(begins.0.saturating_add(length)).min(Timestamp::NEVER)
    })
}

/// The instant after a wait before the next attempt.
pub(super) fn after(now: Timestamp, wait: Millis) -> Timestamp {
    Timestamp(now.0.saturating_add(wait.0))
}
