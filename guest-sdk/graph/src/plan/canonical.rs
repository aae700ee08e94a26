//! The one form of a plan, of which the digest is taken.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};

use super::{Call, CheckedPlan, Condition, Kind, Node, Retry, SubGraph, Test};
use crate::{state::FailurePolicy, topology::NodeIndex};

pub fn text(plan: &CheckedPlan) -> String {
    let mut text = String::new();
    write(&value(plan), &mut text);
    text
}

fn value(plan: &CheckedPlan) -> Value {
    let name = |node: &NodeIndex| plan.topology.name(*node).as_str();
    let names = |nodes: &[NodeIndex]| nodes.iter().map(name).collect::<Value>();
    let nodes = plan.topology.nodes().map(|index| {
        let mut object = node(plan.node(index));
        let needs = plan.topology.predecessors(index);
        if !needs.is_empty() {
            object.insert("needs".into(), names(needs));
        }
        (name(&index).to_owned(), Value::Object(object))
    });
    let mut object = Map::new();
    if let Some(name) = &plan.name {
        object.insert("name".into(), json!(name));
    }
    object.insert("max_parallel".into(), json!(plan.max_parallel));
    let on_failure = match plan.on_failure {
        FailurePolicy::Drain => "drain",
        FailurePolicy::FailFast => "fail-fast",
    };
    object.insert("on_failure".into(), json!(on_failure));
    object.insert("outputs".into(), names(&plan.outputs));
    object.insert("nodes".into(), Value::Object(nodes.collect()));
    Value::Object(object)
}

fn node(node: &Node) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    match &node.kind {
        Kind::Call(Call::Own(function) | Call::Module(function)) => put("call", json!(function)),
        Kind::Call(Call::Worker { address, function }) => {
            put("function", json!(function));
            put("call", json!(address))
        }
        Kind::Http(http) => {
            let mut request = json!({"method": http.method, "url": http.url});
            if http.headers != json!({}) {
                request["headers"] = http.headers.clone();
            }
            if http.body != Value::Null {
                request["body"] = http.body.clone();
            }
            put("http", request)
        }
        Kind::Sleep(length) => put("sleep", duration(*length)),
        Kind::Promise => put("promise", json!(true)),
        Kind::Signal(signal) => put("signal", json!(signal)),
        Kind::Graph(SubGraph::Offered(graph)) => put("graph", json!(graph)),
        Kind::Graph(SubGraph::Plan(plan)) => put("graph", value(plan)),
    };
    if let Some(when) = &node.when {
        put("when", condition(when));
    }
    if let Some(input) = &node.input {
        put("input", (**input).clone());
    }
    if let Some(all) = &node.retry {
        put("retry", retry(all));
    }
    if let Some(timeout) = node.timeout {
        put("timeout", duration(timeout));
    }
    object
}

fn retry(retry: &Retry) -> Value {
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
                Test::Is(value) => ("is", value.clone()),
                Test::IsNot(value) => ("is_not", value.clone()),
                Test::Above(number) => ("above", json!(number)),
                Test::Below(number) => ("below", json!(number)),
                Test::AtLeast(number) => ("at_least", json!(number)),
                Test::AtMost(number) => ("at_most", json!(number)),
                Test::Exists(exists) => ("exists", json!(exists)),
            };
            object[key] = operand;
            object
        }
    }
}

fn duration(length: Duration) -> Value {
    Value::String(humantime::format_duration(length).to_string())
}

/// Writes the value without spaces, keys ascending, in whatever order the map keeps them.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(list) => {
            text.push('[');
            for (at, one) in list.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write(one, text);
            }
            text.push(']');
        }
        Value::Object(object) => {
            text.push('{');
            let ascending: BTreeMap<&String, &Value> = object.iter().collect();
            for (at, (key, one)) in ascending.into_iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(one, text);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}
