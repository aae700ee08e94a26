//! The first difference of two JSON values.

use serde_json::Value;

use crate::model::ValueDifference;

/// Finds the first difference, in the order of lists and of sorted names. `None` if the values are
/// equal.
pub(super) fn first_difference(before: &Value, after: &Value) -> Option<ValueDifference> {
    let mut path = "$".to_owned();
    let (before, after) = descend(Some(before), Some(after), &mut path)?;
    Some(ValueDifference { path, before: before.cloned(), after: after.cloned() })
}

/// The values at the first difference, either of which may be absent. Its path is added to `path`.
type DifferingValues<'a> = (Option<&'a Value>, Option<&'a Value>);

fn descend<'a>(
    before: Option<&'a Value>,
    after: Option<&'a Value>,
    path: &mut String,
) -> Option<DifferingValues<'a>> {
    if before == after {
        return None;
    }
    match (before, after) {
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            let at = (0..before.len().max(after.len()))
                .find(|at| before.get(*at) != after.get(*at))
                .expect("lists that differ have an item that differs");
            path.push_str(&["[", &at.to_string(), "]"].concat());
            descend(before.get(at), after.get(at), path)
        }
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let name = before
                .keys()
                .chain(after.keys())
                .filter(|name| before.get(*name) != after.get(*name))
                .min()
                .expect("objects that differ have a field that differs");
            path.push_str(&segment(name));
            descend(before.get(name), after.get(name), path)
        }
        differing => Some(differing),
    }
}

/// A name as part of a path.
fn segment(name: &str) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    match !name.is_empty() && name.chars().all(is_word) {
        true => format!(".{name}"),
        false => format!("[{}]", Value::from(name)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_has_a_path_and_both_values() {
        let absent = || None;
        for (before, after, path, values) in [
            (json!(1), json!("1"), "$", (Some(json!(1)), Some(json!("1")))),
            (json!([1, 2, 3]), json!([1, 5, 6]), "$[1]", (Some(json!(2)), Some(json!(5)))),
            (json!([1]), json!([1, null]), "$[1]", (absent(), Some(json!(null)))),
            (
                json!({ "b": 1, "a": { "x y": [true] } }),
                json!({ "b": 2, "a": { "x y": [false] } }),
                "$.a[\"x y\"][0]",
                (Some(json!(true)), Some(json!(false))),
            ),
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), "$.b", (Some(json!(2)), absent())),
            (json!({ "z": 1 }), json!({ "c": 1 }), "$.c", (absent(), Some(json!(1)))),
            (json!({ "": 1 }), json!({ "": 2 }), "$[\"\"]", (Some(json!(1)), Some(json!(2)))),
            (json!([]), json!({}), "$", (Some(json!([])), Some(json!({})))),
        ] {
            let found = first_difference(&before, &after).expect("they differ");
            assert_eq!(found.path, path, "{before} {after}");
            assert_eq!((found.before, found.after), values, "{before} {after}");
        }
        assert_eq!(first_difference(&json!({ "a": [] }), &json!({ "a": [] })), None);
    }
}
