//! Reads one node of a plan.

use serde_json::{Map, Value, json};

use super::{Fields, NodeDraft, PlanReader, join, listed};
use crate::{
    name::NodeName,
    plan::{
        FunctionTarget, LossRule, NodeAction, NodeRetry, PlanNode, RequestTemplate, SubGraph,
        tree::PlanValue,
    },
};

const KINDS: [&str; 6] = ["call", "http", "sleep", "promise", "signal", "graph"];
const FIELDS: [&str; 14] = [
    "call",
    "http",
    "sleep",
    "promise",
    "signal",
    "graph",
    "function",
    "needs",
    "when",
    "input",
    "retry",
    "timeout",
    "attempt_timeout",
    "once",
];
/// Fields that are allowed for some kinds only.
const OF_KINDS: [(&str, &[&str]); 6] = [
    ("function", &["call"]),
    ("input", &["call", "promise", "graph"]),
    ("retry", &["call", "http"]),
    ("timeout", &["call", "http", "promise", "signal", "graph"]),
    ("attempt_timeout", &["call", "http"]),
    ("once", &["call", "http"]),
];
/// The address schemes of workers.
const WORKERS: [&str; 3] = ["poll://", "http://", "https://"];
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl PlanReader {
    pub(super) fn node<'t>(
        &mut self,
        tree: &'t PlanValue,
        draft: &mut NodeDraft<'t>,
        depth: usize,
    ) {
        let path = draft.path.clone();
        let Some(fields) = self.table(tree, &path, &FIELDS) else { return };
        let kind = self.kind(&fields, draft, depth);
        if let Some(needs) = fields.get("needs") {
            draft.needs = self.texts(needs, &join(&path, "needs"));
        }
        let when = fields.get("when").map(|when| self.condition(when, &join(&path, "when"), draft));
        let input =
            fields.get("input").map(|input| self.template(input, &join(&path, "input"), draft));
        let retry = fields.get("retry").map(|retry| self.retry(retry, &join(&path, "retry")));
        let timeout =
            fields.get("timeout").map(|timeout| self.positive(timeout, &join(&path, "timeout")));
        let attempt_timeout = fields.get("attempt_timeout").and_then(|timeout| {
            let path = join(&path, "attempt_timeout");
            if fields.get("call").is_some_and(|call| is_elsewhere(call)) {
                let message = "only attempts of activities and requests are the host's: remove it, or \
                               write `timeout`";
                self.fault(&path, message);
            }
            self.positive(timeout, &path)
        });
        let once = fields.get("once").and_then(|once| self.once(once, &fields, &path));
        // Parts that are missing here already have a fault, so the plan is rejected.
        draft.node = kind.map(|kind| PlanNode {
            kind,
            when: when.flatten().map(Box::new),
            input: input.map(Box::new),
            retry: retry.flatten().map(Box::new),
            timeout: timeout.flatten(),
            attempt_timeout,
            once,
        });
    }

    fn once(&mut self, tree: &PlanValue, fields: &Fields<'_>, path: &str) -> Option<LossRule> {
        let place = join(path, "once");
        if fields.contains_key("retry") {
            self.fault(&place, "a node that is begun once is not repeated: remove `retry`");
        }
        let called = fields.get("call");
        if called.is_some_and(|call| matches!(call, PlanValue::Text(text) if is_service(text))) {
            let message =
                "a service repeats its steps itself, so it cannot be begun once: remove it";
            self.fault(&place, message);
        }
        match tree {
            PlanValue::Bool(true) => Some(LossRule::Fails),
            PlanValue::Text(text) if text == "output" => Some(LossRule::Tells),
            _ => {
                let message = "write `true`, or `\"output\"` to continue with an output that reports the loss";
                self.fault(&place, message);
                None
            }
        }
    }

    fn kind<'t>(
        &mut self,
        fields: &Fields<'t>,
        draft: &mut NodeDraft<'t>,
        depth: usize,
    ) -> Option<NodeAction> {
        let path = draft.path.clone();
        let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| fields.contains_key(kind)).collect();
        let [kind] = kinds[..] else {
            let all = listed(&KINDS);
            let message = if kinds.is_empty() {
                format!("the node does nothing: write exactly one of {all}")
            } else {
                format!("the node has {}: keep exactly one", listed(&kinds))
            };
            self.fault(&path, message);
            return None;
        };
        for (field, of) in OF_KINDS {
            if fields.contains_key(field) && !of.contains(&kind) {
                let message = format!("`{field}` is only for {}: remove it", listed(of));
                self.fault(&join(&path, field), message);
            }
        }
        let (tree, path) = (fields[kind], join(&path, kind));
        match kind {
            "call" => self.call(tree, &path, fields.get("function").copied(), draft),
            "http" => self.http(tree, &path, draft),
            "sleep" => Some(NodeAction::Sleep(self.duration(tree, &path)?)),
            "promise" => match tree {
                PlanValue::Bool(true) => Some(NodeAction::Promise),
                _ => {
                    self.fault(&path, "write `true`, or another kind of node");
                    None
                }
            },
            "signal" => {
                let text = self.text(tree, &path)?;
                if NodeName::new(text).is_err() {
                    let message = format!(
                        "`{text}` is no name of a signal: it has 1 to 64 letters, digits, `-` or `_`"
                    );
                    self.fault(&path, message);
                }
                Some(NodeAction::Signal(text.into()))
            }
            _ => self.graph(tree, &path, depth),
        }
    }

    fn call<'t>(
        &mut self,
        tree: &'t PlanValue,
        path: &str,
        function: Option<&'t PlanValue>,
        draft: &NodeDraft<'t>,
    ) -> Option<NodeAction> {
        let text = self.text(tree, path)?;
        let function_path = join(&draft.path, "function");
        let function = function.map(|function| self.text(function, &function_path));
        let is_worker = WORKERS
            .into_iter()
            .any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if is_worker {
            if function.is_none() {
                let message = "a worker offers several functions: name one in `function`";
                self.fault(&function_path, message);
            }
            return Some(NodeAction::Call(FunctionTarget::Worker {
                address: text.into(),
                function: function??.into(),
            }));
        }
        if function.is_some() {
            let message = "`function` is only for calls of a worker's address: remove it";
            self.fault(&function_path, message);
        }
        if is_service(text) {
            return Some(NodeAction::Call(FunctionTarget::Service(text.into())));
        }
        let in_module = text.strip_prefix("wasm://").and_then(|rest| rest.split_once('/'));
        if in_module.is_some_and(|(module, path)| is_module(module) && is_callable(path)) {
            return Some(NodeAction::Call(FunctionTarget::Module(text.into())));
        }
        if in_module.is_none() && is_callable(text) {
            return Some(NodeAction::Call(FunctionTarget::Own(text.into())));
        }
        let message = format!(
            "`{text}` is nothing to call: write a function's name, `OBJECT@KEY/FUNCTION`, either also \
             behind `wasm://MODULE/`, `restate://SERVICE/HANDLER`, or a worker's address, `poll://…` or \
             `https://…`"
        );
        self.fault(path, message);
        None
    }

    fn http<'t>(
        &mut self,
        tree: &'t PlanValue,
        path: &str,
        draft: &mut NodeDraft<'t>,
    ) -> Option<NodeAction> {
        let fields = self.table(tree, path, &["method", "url", "headers", "body"])?;
        let method = match fields.get("method") {
            None => Some("GET"),
            Some(PlanValue::Text(text)) if METHODS.contains(&text.as_str()) => Some(text.as_str()),
            Some(_) => {
                let message = format!("write one of {}", listed(&METHODS));
                self.fault(&join(path, "method"), message);
                None
            }
        };
        let url = match fields.get("url") {
            None => {
                self.fault(&join(path, "url"), "the request lacks its address: write `url`");
                None
            }
            Some(url) => self.address(url, &join(path, "url"), draft),
        };
        let headers = match fields.get("headers") {
            None => json!({}),
            Some(headers) => self.headers(headers, &join(path, "headers"), draft),
        };
        let body = fields.get("body").map(|body| self.template(body, &join(path, "body"), draft));
        let (body, method) = (body.unwrap_or_default(), method?.into());
        Some(NodeAction::Http(Box::new(RequestTemplate { method, url: url?, headers, body })))
    }

    fn address<'t>(
        &mut self,
        url: &'t PlanValue,
        path: &str,
        draft: &mut NodeDraft<'t>,
    ) -> Option<Value> {
        match url {
            PlanValue::Table(_) => self.text_or_place(url, path, draft),
            PlanValue::Text(text)
                if text.starts_with("http://") || text.starts_with("https://") =>
            {
                Some(Value::from(text.as_str()))
            }
            _ => {
                let message = "write a text that begins with `http://` or `https://`, or a `$from`";
                self.fault(path, message);
                None
            }
        }
    }

    fn headers<'t>(&mut self, tree: &'t PlanValue, path: &str, draft: &mut NodeDraft<'t>) -> Value {
        let PlanValue::Table(table) = tree else {
            self.wrong_type(path, tree, "a table of texts");
            return Value::Null;
        };
        let mut headers = Map::new();
        for (name, value) in table {
            let path = join(path, name);
            if name == "$from" {
                self.fault(&path, "write each header by its name, with a text or a `$from`");
            } else if headers.contains_key(name) {
                self.fault(&path, format!("`{name}` is written twice: remove one"));
            }
            let value = self.text_or_place(value, &path, draft);
            headers.insert(name.clone(), value.unwrap_or_default());
        }
        Value::Object(headers)
    }

    fn text_or_place<'t>(
        &mut self,
        tree: &'t PlanValue,
        path: &str,
        draft: &mut NodeDraft<'t>,
    ) -> Option<Value> {
        match tree {
            PlanValue::Text(_) => {}
            PlanValue::Table(table) if table.iter().any(|(key, _)| key == "$from") => {}
            other => {
                self.wrong_type(path, other, "a text or a `$from`");
                return None;
            }
        }
        Some(self.template(tree, path, draft))
    }

    fn graph(&mut self, tree: &PlanValue, path: &str, depth: usize) -> Option<NodeAction> {
        if matches!(tree, PlanValue::Table(_)) {
            let plan = self.plan(tree, path, depth + 1)?;
            return Some(NodeAction::Graph(SubGraph::Plan(Box::new(plan))));
        }
        let PlanValue::Text(text) = tree else {
            self.wrong_type(path, tree, "a plan, or the name of a graph that a module offers");
            return None;
        };
        if !is_plain(text) && !is_in_module(text) {
            let message = format!("`{text}` is no graph: write a name, or `wasm://MODULE/NAME`");
            self.fault(path, message);
        }
        Some(NodeAction::Graph(SubGraph::Offered(text.as_str().into())))
    }

    fn retry(&mut self, tree: &PlanValue, path: &str) -> Option<NodeRetry> {
        let fields = self.table(tree, path, &["initial", "factor", "max", "max_attempts"])?;
        let at = |key: &str| join(path, key);
        let factor = fields.get("factor").and_then(|tree| {
            let number = match tree {
                PlanValue::Number(number) => number.as_f64().filter(|factor| *factor >= 1.0),
                _ => None,
            };
            if number.is_none() {
                self.fault(&at("factor"), "write a number of 1 or more");
            }
            number
        });
        Some(NodeRetry {
            initial: fields.get("initial").and_then(|one| self.duration(one, &at("initial"))),
            factor,
            max: fields.get("max").and_then(|one| self.duration(one, &at("max"))),
            max_attempts: fields
                .get("max_attempts")
                .and_then(|one| self.whole(one, &at("max_attempts"), u32::MAX)),
        })
    }

    /// Reads a duration longer than zero.
    fn positive(&mut self, tree: &PlanValue, path: &str) -> Option<std::time::Duration> {
        let length = self.duration(tree, path)?;
        if length.is_zero() {
            self.fault(path, "in no time nothing can be done: write more, or remove it");
        }
        Some(length)
    }
}

/// Returns true if a service or a worker runs the callee, so that the host does not control its
/// attempts.
fn is_elsewhere(call: &PlanValue) -> bool {
    let PlanValue::Text(text) = call else { return false };
    is_service(text) || WORKERS.into_iter().any(|scheme| text.starts_with(scheme))
}

/// Matches `wasm://MODULE/NAME`.
fn is_in_module(text: &str) -> bool {
    let parts = text.strip_prefix("wasm://").and_then(|rest| rest.split_once('/'));
    parts.is_some_and(|(module, name)| is_module(module) && is_plain(name))
}

/// Matches an alias, or `sha256:` and digits.
fn is_module(text: &str) -> bool {
    !text.is_empty() && !text.contains(|one: char| one.is_whitespace() || one.is_control())
}

/// Matches a function, or a function of an object with any key.
fn is_callable(path: &str) -> bool {
    let of_object = path.split_once('@').and_then(|(object, rest)| {
        let (key, function) = rest.rsplit_once('/')?;
        Some((object, key, function))
    });
    match of_object {
        Some((object, key, function)) => {
            let is_name = |name: &str| is_plain(name) && !name.contains(['?', '#', '@']);
            is_name(object) && !key.is_empty() && is_name(function)
        }
        None => is_plain(path),
    }
}

/// Matches `restate://SERVICE/HANDLER` or `restate://SERVICE/KEY/HANDLER`, within a scope
/// `restate://SERVICE:SCOPE/…`.
fn is_service(text: &str) -> bool {
    let parts = text.strip_prefix("restate://").and_then(|rest| rest.split_once('/'));
    parts.is_some_and(|(service, rest)| {
        let (key, handler) = match rest.rsplit_once('/') {
            Some((key, handler)) => (Some(key), handler),
            None => (None, rest),
        };
        let (service, scope) = service.split_once(':').unwrap_or((service, "-"));
        is_plain(service) && is_scope(scope) && is_plain(handler) && key != Some("")
    })
}

/// Matches 1 to 36 letters, digits, `_`, `.` or `-`: the host's rule for scopes.
fn is_scope(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=36).contains(&text.len()) && text.bytes().all(is_letter)
}

/// Matches the name of a function or a graph.
fn is_plain(text: &str) -> bool {
    let other = |one: char| one == '/' || one == ':' || one.is_whitespace() || one.is_control();
    !text.is_empty() && !text.contains(other)
}
