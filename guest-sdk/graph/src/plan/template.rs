//! Templates: inputs with places to fill in. An object whose only keys are `$from` and optionally
//! `at` stands for the output of that node, or for the part that a JSON pointer selects in it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The name of the run's input in templates and conditions.
pub const INPUT: &str = "input";

const FROM: &str = "$from";
const AT: &str = "at";

/// Fills the places of a template from `source`, which returns parts of outputs by node name and
/// JSON pointer. A missing part becomes null.
pub(super) fn fill<'a>(
    template: &Value,
    source: &impl Fn(&str, &str) -> Option<&'a Value>,
) -> Value {
    match template {
        Value::Object(object) => match object.get(FROM) {
            Some(from) => {
                let at = object.get(AT).and_then(Value::as_str).unwrap_or_default();
                let found = from.as_str().and_then(|from| source(from, at));
                found.cloned().unwrap_or_default()
            }
            None => {
                let filled = object.iter().map(|(key, one)| (key.clone(), fill(one, source)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
        },
        Value::Array(list) => list.iter().map(|one| fill(one, source)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => template.clone(),
    }
}

/// Adds the places of a template: node names with JSON pointers.
pub(super) fn sources<'t>(template: &'t Value, found: &mut BTreeSet<(&'t str, &'t str)>) {
    match template {
        Value::Object(object) => match object.get(FROM) {
            Some(from) => {
                let at = object.get(AT).and_then(Value::as_str).unwrap_or_default();
                found.extend(from.as_str().map(|from| (from, at)));
            }
            None => object.values().for_each(|one| sources(one, found)),
        },
        Value::Array(list) => list.iter().for_each(|one| sources(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns true if the text is a valid JSON pointer (RFC 6901).
pub(super) fn is_pointer(text: &str) -> bool {
    let escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_filled_wherever_they_are_and_what_is_missing_is_null() {
        let output = json!({"a": [1, {"b/c": 2}], "n": null});
        let source = |name: &str, at: &str| output.pointer(at).filter(|_| name == "fetch");
        for (template, filled) in [
            (json!({"$from": "fetch", "at": "/a/0"}), json!(1)),
            (json!({"$from": "fetch", "at": "/a/1/b~1c"}), json!(2)),
            (json!([{"x": {"$from": "fetch", "at": "/a"}}, 7]), json!([{"x": output["a"]}, 7])),
            (json!({"$from": "fetch"}), output.clone()),
            (json!({"$from": "fetch", "at": "/none/of/it"}), json!(null)),
            (json!({"$from": "skipped"}), json!(null)),
            (json!({"at": "/a"}), json!({"at": "/a"})),
        ] {
            assert_eq!(fill(&template, &source), filled, "{template}");
        }
    }

    #[test]
    fn a_pointer_begins_with_a_slash_and_escapes_only_two_characters() {
        for (text, readable) in
            [("", true), ("/", true), ("/a/0", true), ("/~0~1", true), ("a", false), ("/~2", false)]
        {
            assert_eq!(is_pointer(text), readable, "{text}");
        }
    }
}
