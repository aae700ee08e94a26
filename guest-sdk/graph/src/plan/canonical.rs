//! The canonical form of a plan, which its digest is computed from.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use super::{
    CheckedPlan, Condition, ConditionTest, FunctionTarget, LossRule, NodeAction, NodeRetry,
    PlanNode, SubGraph,
};
use crate::{state::FailurePolicy, topology::NodeIndex};

/// The fields of an object, each already in canonical form.
type Fields = BTreeMap<&'static str, String>;

pub(super) fn text(plan: &CheckedPlan) -> String {
    let name = |node: NodeIndex| plan.topology.name(node).as_str();
    let names = |nodes: &[NodeIndex]| canonical(&nodes.iter().copied().map(name).collect());
    let nodes = plan.topology.nodes().map(|index| {
        let mut fields = node(plan.node(index));
        let needs = plan.topology.predecessors(index);
        if !needs.is_empty() {
            fields.insert("needs", names(needs));
        }
        (name(index), object(fields))
    });
    let on_failure = match plan.on_failure {
        FailurePolicy::Drain => "drain",
        FailurePolicy::FailFast => "fail-fast",
    };
    let mut fields = Fields::from([
        ("max_parallel", plan.max_parallel.to_string()),
        ("nodes", object(nodes)),
        ("on_failure", canonical(&json!(on_failure))),
        ("outputs", names(&plan.outputs)),
    ]);
    if let Some(name) = &plan.name {
        fields.insert("name", canonical(&json!(name)));
    }
    object(fields)
}

fn node(node: &PlanNode) -> Fields {
    let (key, what) = match &node.kind {
        NodeAction::Call(
            FunctionTarget::Own(text)
            | FunctionTarget::Module(text)
            | FunctionTarget::Service(text),
        ) => ("call", canonical(&json!(text))),
        NodeAction::Call(FunctionTarget::Worker { address, .. }) => {
            ("call", canonical(&json!(address)))
        }
        NodeAction::Http(http) => {
            let mut request = json!({"method": http.method, "url": http.url});
            if http.headers != json!({}) {
                request["headers"] = http.headers.clone();
            }
            if http.body != Value::Null {
                request["body"] = http.body.clone();
            }
            ("http", canonical(&request))
        }
        NodeAction::Sleep(length) => ("sleep", canonical(&duration(*length))),
        NodeAction::Promise => ("promise", canonical(&json!(true))),
        NodeAction::Signal(signal) => ("signal", canonical(&json!(signal))),
        NodeAction::Graph(SubGraph::Offered(graph)) => ("graph", canonical(&json!(graph))),
        NodeAction::Graph(SubGraph::Plan(plan)) => ("graph", text(plan)),
    };
    let mut fields = Fields::from([(key, what)]);
    if let NodeAction::Call(FunctionTarget::Worker { function, .. }) = &node.kind {
        fields.insert("function", canonical(&json!(function)));
    }
    let others = [
        ("when", node.when.as_deref().map(condition)),
        ("input", node.input.as_deref().cloned()),
        ("retry", node.retry.as_deref().map(retry)),
        ("timeout", node.timeout.map(duration)),
        ("attempt_timeout", node.attempt_timeout.map(duration)),
        ("once", node.once.map(once)),
    ];
    let given = others.iter().filter_map(|(key, value)| Some((*key, canonical(value.as_ref()?))));
    fields.extend(given);
    fields
}

fn once(once: LossRule) -> Value {
    match once {
        LossRule::Fails => json!(true),
        LossRule::Tells => json!("output"),
    }
}

fn retry(retry: &NodeRetry) -> Value {
    let fields = [
        ("initial", retry.initial.map(duration)),
        ("factor", retry.factor.map(|factor| json!(factor))),
        ("max", retry.max.map(duration)),
        ("max_attempts", retry.max_attempts.map(|most| json!(most))),
    ];
    let given = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(given.collect())
}

fn condition(one: &Condition) -> Value {
    match one {
        Condition::All(all) => json!({"all": all.iter().map(condition).collect::<Value>()}),
        Condition::Any(any) => json!({"any": any.iter().map(condition).collect::<Value>()}),
        Condition::Not(not) => json!({"not": condition(not)}),
        Condition::Value { from, at, test } => {
            let mut object = json!({"from": from});
            if !at.is_empty() {
                object["at"] = json!(at);
            }
            let (key, operand) = match test {
                ConditionTest::Is(value) => ("is", value.clone()),
                ConditionTest::IsNot(value) => ("is_not", value.clone()),
                ConditionTest::Above(number) => ("above", json!(number)),
                ConditionTest::Below(number) => ("below", json!(number)),
                ConditionTest::AtLeast(number) => ("at_least", json!(number)),
                ConditionTest::AtMost(number) => ("at_most", json!(number)),
                ConditionTest::Exists(exists) => ("exists", json!(exists)),
            };
            object[key] = operand;
            object
        }
    }
}

fn duration(length: Duration) -> Value {
    Value::String(humantime::format_duration(length).to_string())
}

/// The value without spaces and with ascending keys, independent of map order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let ascending: BTreeMap<&str, &Value> =
                map.iter().map(|(key, one)| (key.as_str(), one)).collect();
            object(ascending.into_iter().map(|(key, one)| (key, canonical(one))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// An object with ascending keys.
fn object<'k>(fields: impl IntoIterator<Item = (&'k str, String)>) -> String {
    let mut text = String::from("{");
    for (at, (key, value)) in fields.into_iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        text.push_str(&Value::from(key).to_string());
        text.push(':');
        text.push_str(&value);
    }
    text.push('}');
    text
}
