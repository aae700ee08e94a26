//! Parts of schemas that types do not say, which become comments.

use serde_json::{Map, Value};

use crate::{merge::ANNOTATIONS, tree::TypeNote};

/// The whole numbers that every language has as literals: at most 53 bits.
pub(crate) const LITERAL_MAX: i64 = (1 << 53) - 1;

/// Keywords that types say.
const EXPRESSED: [&str; 17] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "allOf",
    "anyOf",
    "oneOf",
    "const",
    "enum",
    "nullable",
    "$ref",
    "discriminator",
    "unevaluatedProperties",
    "propertyNames",
];

/// Returns true if the schema has a keyword that types say, beside those named.
pub(crate) fn has_type(keywords: &Map<String, Value>, beside: &[&str]) -> bool {
    let says = |keyword: &String| EXPRESSED.contains(&keyword.as_str());
    keywords.keys().any(|keyword| {
        says(keyword) && !beside.contains(&keyword.as_str()) && keyword != "nullable"
    })
}

/// The comment with the description of the schema.
pub(crate) fn described(note: TypeNote, schema: &Value) -> TypeNote {
    match schema {
        Value::Object(keywords) => described_by(note, keywords),
        _ => note,
    }
}

pub(crate) fn described_by(mut note: TypeNote, keywords: &Map<String, Value>) -> TypeNote {
    if let Some(Value::String(text)) = keywords.get("description") {
        note.text.clone_from(text);
    }
    note.is_deprecated |= keywords.get("deprecated") == Some(&Value::Bool(true));
    note
}

/// Adds what types do not say of the schema to the comment.
pub(crate) fn remark(note: &mut TypeNote, keywords: &Map<String, Value>) {
    let is_expressed = |keyword: &str, value: &Value| match keyword {
        // The whole numbers of JavaScript, which zod writes with each one.
        "minimum" | "maximum" => value.as_i64().is_some_and(|bound| bound.abs() == LITERAL_MAX),
        _ => ANNOTATIONS.contains(&keyword) || EXPRESSED.contains(&keyword),
    };
    let left = keywords.iter().filter(|(keyword, value)| !is_expressed(keyword, value));
    remark_all(note, &left.map(|(keyword, value)| (keyword.clone(), value.clone())).collect());
}

pub(crate) fn remark_all(note: &mut TypeNote, keywords: &Map<String, Value>) {
    let text = Value::Object(keywords.clone()).to_string();
    if !keywords.is_empty() && !note.schema.contains(&text) {
        note.schema.push(text);
    }
}
