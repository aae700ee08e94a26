//! One schema in place of several that hold at the same time (`allOf`).

use serde_json::{Map, Value};

/// Keywords that say something about a schema, and nothing about its values.
pub(crate) const ANNOTATIONS: [&str; 12] = [
    "title",
    "description",
    "deprecated",
    "examples",
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$defs",
    "definitions",
    "readOnly",
    "writeOnly",
];

/// Adds the keywords of `more` to `schema`. Where both have a keyword that cannot be joined, the
/// first one stays, and the other one is returned: the result is never narrower than both.
pub(crate) fn join(
    schema: &mut Map<String, Value>,
    more: &Map<String, Value>,
) -> Map<String, Value> {
    let mut left_out = Map::new();
    for (keyword, value) in more {
        let Some(known) = schema.get_mut(keyword) else {
            schema.insert(keyword.clone(), value.clone());
            continue;
        };
        if known == value || ANNOTATIONS.contains(&keyword.as_str()) {
            continue;
        }
        match (keyword.as_str(), &mut *known, value) {
            ("properties", Value::Object(known), Value::Object(new)) => {
                for (name, property) in new {
                    join_property(known, name, property);
                }
            }
            ("required", Value::Array(known), Value::Array(new)) => {
                for name in new {
                    if !known.contains(name) {
                        known.push(name.clone());
                    }
                }
            }
            ("type", known, new) => *known = common_types(known, new),
            ("enum", Value::Array(known), Value::Array(new)) => {
                known.retain(|value| new.contains(value));
            }
            // Each closes the object over its own fields.
            ("additionalProperties", known, new) => {
                if *known == Value::Bool(false) {
                    *known = new.clone();
                }
            }
            _ => {
                left_out.insert(keyword.clone(), value.clone());
            }
        }
    }
    left_out
}

fn join_property(known: &mut Map<String, Value>, name: &str, property: &Value) {
    match known.get_mut(name) {
        None => {
            known.insert(name.to_owned(), property.clone());
        }
        Some(same) if same == property => {}
        Some(other) => {
            let both = vec![other.take(), property.clone()];
            *other = Value::Object(Map::from_iter([("allOf".to_owned(), Value::Array(both))]));
        }
    }
}

/// The types that both lists have; all numbers include the whole ones.
fn common_types(one: &Value, other: &Value) -> Value {
    let list = |types: &Value| match types {
        Value::Array(types) => types.clone(),
        one => vec![one.clone()],
    };
    let (one, other) = (list(one), list(other));
    let whole = Value::from("integer");
    let number = Value::from("number");
    let is_in = |name: &Value, types: &[Value]| {
        types.contains(name) || (*name == whole && types.contains(&number))
    };
    let mut common: Vec<Value> = one.iter().filter(|name| is_in(name, &other)).cloned().collect();
    for name in &other {
        if is_in(name, &one) && !common.contains(name) {
            common.push(name.clone());
        }
    }
    match common.len() {
        1 => common.remove(0),
        _ => Value::Array(common),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn joined(one: Value, other: Value) -> (Value, Value) {
        let (Value::Object(mut schema), Value::Object(more)) = (one, other) else {
            panic!("not two objects");
        };
        let left_out = join(&mut schema, &more);
        (Value::Object(schema), Value::Object(left_out))
    }

    #[test]
    fn fields_of_both_schemas_are_fields_of_the_joined_one() {
        let (schema, left_out) = joined(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {"minLength": 1}, "b": true}, "required": ["b"]}),
        );
        let a = json!({"allOf": [{"type": "string"}, {"minLength": 1}]});
        assert_eq!(
            schema,
            json!({"type": "object", "properties": {"a": a, "b": true}, "required": ["a", "b"]})
        );
        assert_eq!(left_out, json!({}));
    }

    #[test]
    fn a_keyword_that_cannot_be_joined_is_left_out() {
        let (schema, left_out) =
            joined(json!({"pattern": "^a"}), json!({"pattern": "b$", "title": "B"}));
        assert_eq!(
            (schema, left_out),
            (json!({"pattern": "^a", "title": "B"}), json!({"pattern": "b$"}))
        );
    }

    #[test]
    fn a_value_has_the_types_that_both_schemas_allow() {
        assert_eq!(common_types(&json!("number"), &json!(["integer", "null"])), json!("integer"));
        assert_eq!(common_types(&json!("string"), &json!("null")), json!([]));
    }
}
