//! Plans: the messages for their faults, the meaning of a valid one, and agreement with the schema.

use std::fmt::Write as _;

use proptest::prelude::*;
use segno_graph::{
    NodeIndex,
    plan::{self, CheckedPlan, NodeAction, Plan, SubGraph, json_schema},
    progress::Status,
};
use serde_json::{Value, json};

const TOML: &str = include_str!("plans/prices.toml");
const JSON: &str = include_str!("plans/prices.json");

fn checked(plan: &Value) -> CheckedPlan {
    let plan = Plan::from_json(&plan.to_string()).and_then(|plan| plan.check());
    plan.unwrap_or_else(|errors| panic!("{errors}"))
}

/// A checked plan with these nodes.
fn nodes(nodes: Value) -> CheckedPlan {
    checked(&json!({ "nodes": nodes }))
}

/// The faults reported for a plan in JSON.
fn told(text: &str) -> String {
    match Plan::from_json(text).and_then(|plan| plan.check()) {
        Ok(_) => String::new(),
        Err(errors) => errors.to_string(),
    }
}

fn index(plan: &CheckedPlan, name: &str) -> NodeIndex {
    plan.topology().index_of(name).expect("a node")
}

/// The place where a fault is visible: also to the schema, or only in the whole plan.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    InForm,
    InWhole,
}
use Seen::{InForm, InWhole};

/// One node `a` with these fields.
fn node(fields: &str) -> String {
    format!(r#"{{"nodes": {{"a": {{{fields}}}}}}}"#)
}

/// A node `b`, and a node `a` with these fields.
fn two(fields: &str) -> String {
    format!(r#"{{"nodes": {{"b": {{"call": "b"}}, "a": {{"call": "a", {fields}}}}}}}"#)
}

/// Invalid plans, each with its reported fault.
fn faults() -> Vec<(String, Seen, &'static str)> {
    vec![
        ("[]".into(), InForm, "this is a list: write a table with `name`, `max_parallel`, `on_failure`, `outputs` and `nodes`"),
        ("{}".into(), InForm, "nodes: a plan has at least one node: write a table for each, with its name as the key"),
        (r#"{"nodes": {}}"#.into(), InForm, "nodes: a plan has at least one node: write a table for each, with its name as the key"),
        (r#"{"nodes": ["a"]}"#.into(), InForm, "nodes: this is a list: write a table of nodes"),
        (r#"{"nodes": {"a": {"call": "a"}}, "max_parallel": 0}"#.into(), InForm, "max_parallel: write a whole number from 1 to 1000"),
        (r#"{"nodes": {"a": {"call": "a"}}, "max_parallel": 1001}"#.into(), InForm, "max_parallel: write a whole number from 1 to 1000"),
        (r#"{"nodes": {"a": {"call": "a"}}, "max_parallel": "8"}"#.into(), InForm, "max_parallel: write a whole number from 1 to 1000"),
        (r#"{"nodes": {"a": {"call": "a"}}, "on_failure": "stop"}"#.into(), InForm, "on_failure: `stop` is no policy: write `drain` or `fail-fast`"),
        (r#"{"nodes": {"a": {"call": "a"}}, "name": ""}"#.into(), InForm, "name: the text is empty: write something, or remove the field"),
        (r#"{"nodes": {"a": {"call": "a"}}, "output": ["a"]}"#.into(), InForm, "output: there is no field `output` here: the fields are `name`, `max_parallel`, `on_failure`, `outputs` and `nodes`"),
        (r#"{"nodes": {"a": {"call": "a"}}, "outputs": ["b"]}"#.into(), InWhole, "outputs: there is no node `b`: add it, or remove it here"),
        (r#"{"nodes": {"a": {"call": "a"}}, "outputs": []}"#.into(), InForm, "outputs: the list is empty: name a node, or remove `outputs`"),
        (r#"{"nodes": {"a": {"call": "a"}}, "name": "p", "name": "q"}"#.into(), InWhole, "name: `name` is written twice: remove one"),
        (r#"{"nodes": {"a b": {"call": "a"}}}"#.into(), InForm, "nodes.a b: `a b` is no name of a node: it has 1 to 64 letters, digits, `-` or `_`: rename it"),
        (r#"{"nodes": {"input": {"call": "a"}}}"#.into(), InForm, "nodes.input: `input` is the name of the input of the run: rename this node"),
        (r#"{"nodes": {"a": {"call": "a"}, "a": {"call": "b"}}}"#.into(), InWhole, "nodes.a: there are two nodes `a`: rename or remove one"),
        (r#"{"nodes": {"a": 7}}"#.into(), InForm, "nodes.a: this is a number: write a table with `call`, `http`, `sleep`, `promise`, `signal`, `graph`, `function`, `needs`, `when`, `input`, `retry`, `timeout`, `attempt_timeout` and `once`"),
        (node(""), InForm, "nodes.a: the node does nothing: write exactly one of `call`, `http`, `sleep`, `promise`, `signal` and `graph`"),
        (node(r#""call": "a", "sleep": "1s""#), InForm, "nodes.a: the node has `call` and `sleep`: keep exactly one"),
        (node(r#""call": "a", "need": ["b"]"#), InForm, "nodes.a.need: there is no field `need` here: the fields are `call`, `http`, `sleep`, `promise`, `signal`, `graph`, `function`, `needs`, `when`, `input`, `retry`, `timeout`, `attempt_timeout` and `once`"),
        (node(r#""call": "a", "timeout": "1s", "timeout": "2s""#), InWhole, "nodes.a.timeout: `timeout` is written twice: remove one"),
        (node(r#""call": """#), InForm, "nodes.a.call: the text is empty: write something, or remove the field"),
        (node(r#""call": "restate://A:b@c/d""#), InForm, "nodes.a.call: `restate://A:b@c/d` is nothing to call: write a function's name, `OBJECT@KEY/FUNCTION`, either also behind `wasm://MODULE/`, `restate://SERVICE/HANDLER`, or a worker's address, `poll://…` or `https://…`"),
        (node(r#""call": "ftp://x/y""#), InForm, "nodes.a.call: `ftp://x/y` is nothing to call: write a function's name, `OBJECT@KEY/FUNCTION`, either also behind `wasm://MODULE/`, `restate://SERVICE/HANDLER`, or a worker's address, `poll://…` or `https://…`"),
        (node(r#""call": "wasm://m""#), InForm, "nodes.a.call: `wasm://m` is nothing to call: write a function's name, `OBJECT@KEY/FUNCTION`, either also behind `wasm://MODULE/`, `restate://SERVICE/HANDLER`, or a worker's address, `poll://…` or `https://…`"),
        (node(r#""call": "restate://Greeter""#), InForm, "nodes.a.call: `restate://Greeter` is nothing to call: write a function's name, `OBJECT@KEY/FUNCTION`, either also behind `wasm://MODULE/`, `restate://SERVICE/HANDLER`, or a worker's address, `poll://…` or `https://…`"),
        (node(r#""call": "Cart@/add""#), InForm, "nodes.a.call: `Cart@/add` is nothing to call: write a function's name, `OBJECT@KEY/FUNCTION`, either also behind `wasm://MODULE/`, `restate://SERVICE/HANDLER`, or a worker's address, `poll://…` or `https://…`"),
        (node(r#""call": "f", "once": "yes""#), InForm, "nodes.a.once: write `true`, or `\"output\"` to continue with an output that reports the loss"),
        (node(r#""call": "f", "once": true, "retry": {}"#), InForm, "nodes.a.once: a node that is begun once is not repeated: remove `retry`"),
        (node(r#""call": "restate://Greeter/greet", "once": true"#), InForm, "nodes.a.once: a service repeats its steps itself, so it cannot be begun once: remove it"),
        (node(r#""sleep": "1s", "once": true"#), InForm, "nodes.a.once: `once` is only for `call` and `http`: remove it"),
        (node(r#""call": "poll://any@g""#), InForm, "nodes.a.function: a worker offers several functions: name one in `function`"),
        (node(r#""call": "f", "function": "g""#), InForm, "nodes.a.function: `function` is only for calls of a worker's address: remove it"),
        (node(r#""sleep": "1s", "function": "g""#), InForm, "nodes.a.function: `function` is only for `call`: remove it"),
        (node(r#""sleep": "1s", "retry": {}"#), InForm, "nodes.a.retry: `retry` is only for `call` and `http`: remove it"),
        (node(r#""sleep": "1s", "timeout": "2s""#), InForm, "nodes.a.timeout: `timeout` is only for `call`, `http`, `promise`, `signal` and `graph`: remove it"),
        (node(r#""signal": "s", "input": 1"#), InForm, "nodes.a.input: `input` is only for `call`, `promise` and `graph`: remove it"),
        (node(r#""sleep": "1 fortnight""#), InWhole, "nodes.a.sleep: `1 fortnight` is no duration: write for example `30s`, `5m` or `1h 30m`"),
        (node(r#""sleep": "soon""#), InForm, "nodes.a.sleep: `soon` is no duration: write for example `30s`, `5m` or `1h 30m`"),
        (node(r#""sleep": 30"#), InForm, "nodes.a.sleep: this is a number: write a duration as a text, for example `30s` or `1h 30m`"),
        (node(r#""sleep": "200years""#), InWhole, "nodes.a.sleep: `200years` is too long: 100 years are the most"),
        (node(r#""sleep": "1s", "attempt_timeout": "2s""#), InForm, "nodes.a.attempt_timeout: `attempt_timeout` is only for `call` and `http`: remove it"),
        (node(r#""call": "restate://A/b", "attempt_timeout": "2s""#), InForm, "nodes.a.attempt_timeout: only attempts of activities and requests are the host's: remove it, or write `timeout`"),
        (node(r#""call": "a", "timeout": "0s""#), InWhole, "nodes.a.timeout: in no time nothing can be done: write more, or remove it"),
        (node(r#""promise": false"#), InForm, "nodes.a.promise: write `true`, or another kind of node"),
        (node(r#""signal": "a b""#), InForm, "nodes.a.signal: `a b` is no name of a signal: it has 1 to 64 letters, digits, `-` or `_`"),
        (node(r#""graph": "a:b""#), InForm, "nodes.a.graph: `a:b` is no graph: write a name, or `wasm://MODULE/NAME`"),
        (node(r#""graph": 7"#), InForm, "nodes.a.graph: this is a number: write a plan, or the name of a graph that a module offers"),
        (node(r#""graph": {"nodes": {"x": {"call": "x", "needs": ["y"]}}}"#), InWhole, "nodes.a.graph.nodes.x.needs: there is no node `y`: add it, or remove it here"),
        (node(r#""call": "a", "retry": {"factor": 0.5, "max_attempts": 0, "max": 1}"#), InForm, "nodes.a.retry.factor: write a number of 1 or more\nnodes.a.retry.max: this is a number: write a duration as a text, for example `30s` or `1h 30m`\nnodes.a.retry.max_attempts: write a whole number from 1 to 4294967295"),
        (node(r#""http": {}"#), InForm, "nodes.a.http.url: the request lacks its address: write `url`"),
        (node(r#""http": {"url": "example.org", "method": "get"}"#), InForm, "nodes.a.http.method: write one of `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` and `OPTIONS`\nnodes.a.http.url: write a text that begins with `http://` or `https://`, or a `$from`"),
        (node(r#""http": {"url": "http://x", "headers": {"a": 1}}"#), InForm, "nodes.a.http.headers.a: this is a number: write a text or a `$from`"),
        (node(r#""http": {"url": "http://x", "headers": {"$from": "input"}}"#), InForm, "nodes.a.http.headers.$from: write each header by its name, with a text or a `$from`"),
        (node(r#""http": {"url": "http://x", "headers": {"a": "1", "a": "2"}}"#), InWhole, "nodes.a.http.headers.a: `a` is written twice: remove one"),
        (two(r#""needs": ["c"]"#), InWhole, "nodes.a.needs: there is no node `c`: add it, or remove it here"),
        (two(r#""needs": ["a"]"#), InWhole, "nodes.a.needs: the node needs itself: remove it from the list"),
        (two(r#""needs": ["b", "b"]"#), InForm, "nodes.a.needs: `b` is there twice: remove one"),
        (two(r#""needs": "b""#), InForm, "nodes.a.needs: this is a text: write a list of names"),
        (two(r#""needs": [1]"#), InForm, "nodes.a.needs: this is a number: write a text"),
        (two(r#""input": {"x": {"$from": "b"}}"#), InWhole, "nodes.a.input.x.$from: `b` is not among the `needs` of this node: add it there"),
        (two(r#""input": [{"$from": "c"}]"#), InWhole, "nodes.a.input.0.$from: there is no node `c`"),
        (two(r#""input": {"$from": 7}"#), InForm, "nodes.a.input.$from: this is a number: write a text"),
        (two(r#""input": {"$from": "input", "or": 1}"#), InForm, "nodes.a.input.or: there is no field `or` here: the fields are `$from` and `at`"),
        (two(r#""input": {"$from": "input", "at": "url"}"#), InForm, "nodes.a.input.at: `url` is no JSON pointer: begin each step with `/`, and write `~0` for `~` and `~1` for `/`"),
        (two(r#""input": {"x": 1, "x": 2}"#), InWhole, "nodes.a.input.x: `x` is written twice: remove one"),
        (two(r#""when": {"from": "b", "is": 1}"#), InWhole, "nodes.a.when.from: `b` is not among the `needs` of this node: add it there"),
        (two(r#""when": {"is": 1}"#), InForm, "nodes.a.when: the condition lacks `from`: name the node that it is about"),
        (two(r#""when": {"from": "input"}"#), InForm, "nodes.a.when: write exactly one of `is`, `is_not`, `above`, `below`, `at_least`, `at_most` and `exists`"),
        (two(r#""when": {"from": "input", "is": 1, "above": 2}"#), InForm, "nodes.a.when: write exactly one of `is`, `is_not`, `above`, `below`, `at_least`, `at_most` and `exists`"),
        (two(r#""when": {"from": "input", "above": "2"}"#), InForm, "nodes.a.when.above: this is a text: write a number"),
        (two(r#""when": {"from": "input", "exists": 1}"#), InForm, "nodes.a.when.exists: this is a number: write `true` or `false`"),
        (two(r#""when": {"from": "input", "at": "~", "exists": true}"#), InForm, "nodes.a.when.at: `~` is no JSON pointer: begin each step with `/`, and write `~0` for `~` and `~1` for `/`"),
        (two(r#""when": {"any": []}"#), InForm, "nodes.a.when.any: write a list of at least one condition"),
        (two(r#""when": {"all": [{"not": {"is": 1}}, {"any": 7}]}"#), InForm, "nodes.a.when.all.0.not: the condition lacks `from`: name the node that it is about\nnodes.a.when.all.1.any: write a list of at least one condition"),
        (two(r#""when": {"all": [{"from": "input", "is": 1}], "from": "input"}"#), InForm, "nodes.a.when.from: there is no field `from` here: the fields are `all`"),
        (two(r#""when": true"#), InForm, "nodes.a.when: this is a boolean: write a table with `from`, `at`, `is`, `is_not`, `above`, `below`, `at_least`, `at_most`, `exists`, `all`, `any` and `not`"),
        (
            r#"{"nodes": {"a": {"call": "a", "needs": ["b"]}, "b": {"call": "b", "needs": ["a"]}}}"#.into(),
            InWhole,
            "nodes: the graph has a cycle: a -> b -> a: remove one of these from the `needs` of the next",
        ),
        (
            (0..plan::MAX_DEPTH).fold(node(r#""call": "f""#), |plan, _| node(&format!(r#""graph": {plan}"#))),
            InWhole,
            "nodes.a.graph.nodes.a.graph.nodes.a.graph.nodes.a.graph.nodes.a.graph.nodes.a.graph.nodes.a.graph.nodes.a.graph: \
             plans lie more than 8 deep in each other: take this one out, and have a module offer it",
        ),
    ]
}

#[test]
fn each_fault_is_told_where_it_is_and_with_what_to_do() {
    let mut wrong = String::new();
    for (text, _, expected) in faults() {
        let found = told(&text);
        if found != expected {
            writeln!(wrong, "{text}\n  expected {expected}\n  found    {found}").expect("a line");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_schema_finds_what_the_form_shows_and_nothing_else() {
    let schema = jsonschema::draft202012::new(&json_schema()).expect("a schema");
    let mut wrong = String::new();
    for (text, seen, _) in faults() {
        let value: Value = serde_json::from_str(&text).expect("JSON");
        if schema.is_valid(&value) != (seen == InWhole) {
            writeln!(wrong, "{seen:?}: {text}").expect("a line");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    for good in good() {
        assert_eq!(schema.validate(&good).map_err(|error| error.to_string()), Ok(()), "{good}");
    }
}

/// Valid plans.
fn good() -> Vec<Value> {
    let one = |node: Value| json!({ "nodes": { "a": node } });
    vec![
        serde_json::from_str(JSON).expect("JSON"),
        toml::from_str(TOML).expect("TOML"),
        one(json!({"call": "sha-256.hash"})),
        one(json!({"call": "http://worker", "function": "f"})),
        one(json!({"call": "Cart@a/b: c@d/add", "once": "output"})),
        one(json!({"call": "wasm://m/Cart@ada/add"})),
        one(json!({"call": "restate://Cart/a/b/add"})),
        one(json!({"http": {"url": "http://x"}, "once": true})),
        one(
            json!({"call": "f", "needs": [], "retry": {}, "timeout": "1h 30m", "attempt_timeout": "20s"}),
        ),
        one(json!({"call": "f", "input": null})),
        one(json!({"call": "f", "input": {"at": "no pointer"}})),
        one(json!({"call": "f", "when": {"from": "input", "at": "/a~1b/~0", "is": {"$from": 1}}})),
        one(json!({"call": "f", "when": {"any": [{"from": "input", "at_most": 2.5}]}})),
        one(json!({"http": {"url": "http://x", "headers": {"a": {"$from": "input"}}}})),
        one(json!({"sleep": "0s"})),
        one(json!({"sleep": "0"})),
        one(json!({"sleep": "1.5h"})),
        json!({"max_parallel": 8.0, "nodes": {"a": {"call": "f"}}}),
        one(json!({"sleep": "1500 ms 2us"})),
        one(json!({"graph": "monthly"})),
    ]
}

#[test]
fn good_plans_are_read_and_their_canonical_form_is_the_same_plan() {
    for good in good() {
        let plan = checked(&good);
        let text = plan.canonical();
        let again = Plan::from_json(&text).and_then(|plan| plan.check());
        let again = again.unwrap_or_else(|errors| panic!("{text}\n{errors}"));
        assert_eq!(again.canonical(), text);
        assert_eq!(again.digest(), plan.digest());
    }
}

proptest! {
    #[test]
    fn every_number_and_text_survives_the_canonical_form(
        number in any::<f64>(), whole in any::<i64>(), text in any::<String>(), millis in 1..1_u64 << 40,
    ) {
        let length = format!("{millis}ms");
        let input = json!({ "number": number, "whole": whole, "text": text, format!("key {text}"): [null] });
        let when = json!({"from": "input", "at": "", "is": input});
        let plan = nodes(json!({"a": {"call": "f", "input": [input], "when": when, "timeout": length}}));
        let again = Plan::from_json(&plan.canonical()).and_then(|plan| plan.check()).expect("a plan");
        prop_assert_eq!(again.canonical(), plan.canonical());
        let a = index(&plan, "a");
        let read = plan.input_of(a, &Value::Null, |_| None);
        prop_assert_eq!(&read[0]["number"], &input["number"]);
        prop_assert_eq!(&again.node(a).input, &plan.node(a).input);
        prop_assert_eq!(again.node(a).timeout, plan.node(a).timeout);
    }
}

/// Replaces one part of the data, at a random place.
fn damaged(data: &mut Value, mut dice: impl Iterator<Item = usize>, with: Value) {
    let roll = dice.next().unwrap_or_default();
    let into = |len: usize| (!roll.is_multiple_of(8) && len > 0).then(|| roll / 8 % len);
    let part = match data {
        Value::Object(object) => into(object.len()).and_then(|at| object.values_mut().nth(at)),
        Value::Array(list) => into(list.len()).map(|at| &mut list[at]),
        _ => None,
    };
    match part {
        Some(part) => damaged(part, dice, with),
        None => *data = with,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn what_is_wrong_for_the_schema_is_wrong_for_the_check(
        which in any::<prop::sample::Index>(),
        with in any::<prop::sample::Index>(),
        dice in prop::collection::vec(any::<u16>().prop_map(usize::from), 12),
    ) {
        thread_local! {
            static SCHEMA: jsonschema::Validator =
                jsonschema::draft202012::new(&json_schema()).expect("a schema");
        }
        let junk = [
            json!(null), json!(true), json!(0), json!(1.5), json!(-1), json!(""), json!("x"),
            json!("1s"), json!([]), json!(["fetch"]), json!({}), json!({"$from": "input"}),
            json!({"from": "input", "is": 1}), json!("http://x"), json!({"call": "f"}),
            json!("wasm://m/f"), json!("poll://g"), json!("/a"), json!({"nodes": {}}),
        ];
        let mut data = which.get(&good()).clone();
        damaged(&mut data, dice.into_iter(), with.get(&junk).clone());
        if told(&data.to_string()).is_empty() {
            prop_assert!(SCHEMA.with(|schema| schema.is_valid(&data)), "{}", data);
        }
    }
}

#[test]
fn all_faults_of_a_plan_are_told_at_once_up_to_a_hundred() {
    let text = r#"{"max_parallel": 0, "nodes": {"a": {"call": "a", "needs": ["x"], "timeout": "?"}, "b": {}}}"#;
    let found = told(text);
    let paths: Vec<&str> =
        found.lines().map(|line| line.split(": ").next().expect("a path")).collect();
    assert_eq!(paths, ["max_parallel", "nodes.a.timeout", "nodes.b", "nodes.a.needs"]);
    let many: serde_json::Map<_, _> = (0..130).map(|at| (format!("n{at}"), json!({}))).collect();
    let found = told(&json!({ "nodes": many }).to_string());
    assert_eq!(found.lines().count(), 101);
    assert!(found.ends_with("\nand 30 more"), "{found}");
}

#[test]
fn a_plan_has_limits() {
    let node = |_| json!({"call": "f"});
    let many = |count: usize| {
        let nodes = (0..count).map(|at| (format!("n{at}"), node(at)));
        json!({ "nodes": nodes.collect::<serde_json::Map<_, _>>() }).to_string()
    };
    assert_eq!(told(&many(plan::MAX_NODES)), "");
    let text = "nodes: the plan has 100001 nodes, and 100000 are the most";
    assert_eq!(told(&many(plan::MAX_NODES + 1)), text);

    // 1,415 nodes, each of which needs all before it.
    let names: Vec<String> = (0..1_415).map(|at| format!("n{at}")).collect();
    let needy = names
        .iter()
        .enumerate()
        .map(|(at, name)| (name.clone(), json!({"call": "f", "needs": names[..at]})));
    let text = json!({ "nodes": needy.collect::<serde_json::Map<_, _>>() }).to_string();
    assert_eq!(told(&text), "nodes: the plan has 1000405 edges, and 1000000 are the most");

    let text = format!("{}{}", many(1), " ".repeat(plan::MAX_BYTES));
    assert!(told(&text).starts_with("the plan has 16777"), "{}", told(&text));
    let node = json!({"call": "f", "input": "x".repeat(plan::MAX_BYTES)});
    let long: Plan = serde_json::from_value(json!({"nodes": {"a": node}})).expect("data");
    let errors = long.check().expect_err("too long").to_string();
    assert!(errors.contains("split it into several"), "{errors}");
    assert!(told("{").starts_with("this is no JSON: EOF"), "{}", told("{"));
}

#[test]
fn the_digest_is_that_of_the_plan_and_not_of_its_layout() {
    let from_toml: Plan = toml::from_str(TOML).expect("TOML");
    let from_toml = from_toml.check().unwrap_or_else(|errors| panic!("{errors}"));
    let from_json = Plan::from_json(JSON).and_then(|plan| plan.check()).expect("a plan");
    assert_eq!(from_toml.canonical(), from_json.canonical());
    assert_eq!(from_toml.digest(), from_json.digest());

    let changes: [fn(&mut Value); 8] = [
        |plan| plan["name"] = json!("costs"),
        |plan| plan["max_parallel"] = json!(7),
        |plan| plan["on_failure"] = json!("fail-fast"),
        |plan| plan["outputs"] = json!(["gate"]),
        |plan| plan["nodes"]["fetch"]["timeout"] = json!("6m"),
        |plan| plan["nodes"]["fetch"]["input"] = json!(null),
        |plan| plan["nodes"]["gate"]["needs"] = json!([]),
        |plan| plan["nodes"]["report"]["when"]["all"][0]["is"] = json!(false),
    ];
    for change in changes {
        let mut plan = serde_json::from_str(JSON).expect("JSON");
        change(&mut plan);
        assert_ne!(checked(&plan).digest(), from_json.digest(), "{plan}");
    }
}

#[test]
fn the_canonical_form_is_golden() {
    let plan = json!({"nodes": {
        "b": {"needs": ["a"], "call": "b", "timeout": "90m"},
        "a": {"sleep": "1500ms"},
    }});
    let text = concat!(
        r#"{"max_parallel":16,"nodes":{"a":{"sleep":"1s 500ms"},"#,
        r#""b":{"call":"b","needs":["a"],"timeout":"1h 30m"}},"#,
        r#""on_failure":"drain","outputs":["b"]}"#,
    );
    assert_eq!(checked(&plan).canonical(), text);
}

#[test]
fn a_node_gets_its_template_or_what_it_needs_or_the_runs_input() {
    let plan = nodes(json!({
        "first": {"call": "f"},
        "second": {"call": "f"},
        "joined": {"call": "f", "needs": ["first", "second"]},
        "mapped": {"call": "f", "needs": ["first", "second"], "input": {
            "url": {"$from": "input", "at": "/url"},
            "n": {"$from": "first", "at": "/n"},
            "skipped": {"$from": "second"},
        }},
        "page": {"needs": ["first"], "http": {
            "url": {"$from": "input", "at": "/url"},
            "headers": {"n": {"$from": "first", "at": "/text"}},
        }},
    }));
    let (run_input, first) = (json!({"url": "http://x"}), json!({"n": 1, "text": "one"}));
    // The second node was skipped.
    let outputs = |node| (node == index(&plan, "first")).then_some(&first);
    for (node, input) in [
        ("first", run_input.clone()),
        ("joined", json!({"first": first})),
        ("mapped", json!({"url": "http://x", "n": 1, "skipped": null})),
        (
            "page",
            json!({"method": "GET", "url": "http://x", "headers": {"n": "one"}, "body": null}),
        ),
    ] {
        assert_eq!(plan.input_of(index(&plan, node), &run_input, outputs), input, "{node}");
    }
}

#[test]
fn a_node_is_wanted_unless_its_condition_is_false() {
    let plan = nodes(json!({
        "check": {"call": "f"},
        "always": {"call": "f"},
        "if-ok": {"call": "f", "needs": ["check"], "when": {"from": "check", "at": "/ok", "is": true}},
        "if-loud": {"call": "f", "when": {"not": {"from": "input", "at": "/quiet", "exists": true}}},
    }));
    let (ok, quiet, nothing) = (json!({"ok": true}), json!({"quiet": null}), json!({}));
    for (node, run_input, output, wanted) in [
        ("always", &nothing, None, true),
        ("if-ok", &nothing, Some(&ok), true),
        ("if-ok", &ok, Some(&nothing), false),
        ("if-ok", &ok, None, false),
        ("if-loud", &nothing, None, true),
        ("if-loud", &quiet, None, false),
    ] {
        let found = plan.wanted(index(&plan, node), run_input, |_| output);
        assert_eq!(found, wanted, "{node} {run_input} {output:?}");
    }
}

#[test]
fn outputs_are_the_sinks_unless_they_are_named() {
    let plan = json!({"nodes": {"a": {"call": "f"}, "b": {"call": "f", "needs": ["a"]}}});
    assert_eq!(checked(&plan).outputs(), [NodeIndex(1)]);
    let mut named = plan;
    named["outputs"] = json!(["a"]);
    assert_eq!(checked(&named).outputs(), [NodeIndex(0)]);
    assert_eq!(checked(&named).max_parallel(), 16);
}

#[test]
fn a_plan_in_a_plan_is_checked_with_it() {
    let from_json = Plan::from_json(JSON).and_then(|plan| plan.check()).expect("a plan");
    let NodeAction::Graph(SubGraph::Plan(inner)) = &from_json.node(index(&from_json, "inner")).kind
    else {
        panic!("a plan");
    };
    assert_eq!((inner.topology().len(), inner.max_parallel()), (2, 1));
}

#[test]
fn a_plan_is_drawn_with_its_statuses() {
    let plan = nodes(json!({
        "a": {"call": "f"},
        "b": {"call": "f", "needs": ["a"]},
        "c": {"call": "f", "needs": ["a", "b"]},
    }));
    let status = |node| match node {
        NodeIndex(0) => Some(Status::Completed),
        NodeIndex(1) => Some(Status::Running),
        _ => None,
    };
    let expected = "flowchart TD
  n0[\"a\"]:::completed
  n1[\"b\"]:::running
  n2[\"c\"]
  n0 --> n1
  n0 --> n2
  n1 --> n2
  classDef running fill:#9ecbff,color:#000000
  classDef completed fill:#a6e3a1,color:#000000
";
    assert_eq!(plan::mermaid(&plan, status), expected);
    let expected = "digraph plan {
  node [shape=box, style=\"rounded,filled\", fillcolor=white];
  \"a\" [fillcolor=\"#a6e3a1\"];
  \"b\" [fillcolor=\"#9ecbff\"];
  \"c\";
  \"a\" -> \"b\";
  \"a\" -> \"c\";
  \"b\" -> \"c\";
}
";
    assert_eq!(plan::dot(&plan, status), expected);
    assert_eq!(plan.layers(), [[NodeIndex(0)], [NodeIndex(1)], [NodeIndex(2)]]);
}
