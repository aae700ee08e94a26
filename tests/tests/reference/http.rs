//! The page of the HTTP API, generated from its OpenAPI document: the routes by subject, and the
//! types.

use std::fmt::Write as _;

use segno_api::document;
use serde_json::{Map, Value};

use super::table::table;

const BEGIN: &str = "# The HTTP API, route by route

Made from the OpenAPI document, which a host serves at `/openapi.json`. [The HTTP API](api.md) shows how the routes are used, who
may ask, and what a client does with [problems](api.md#problems).

";

/// Generates the page.
pub(super) fn page() -> String {
    let document = serde_json::to_value(document()).expect("the document is JSON");
    let mut page = BEGIN.to_owned();
    page += &problems(&document);
    for tag in list(&document["tags"]) {
        let name = text(&tag["name"]);
        let _ = write!(page, "## {}\n\n{}.\n\n", capital(name), text(&tag["description"]));
        for (path, item) in entries(&document["paths"]) {
            for (method, operation) in entries(item) {
                if list(&operation["tags"]).first().map(text) == Some(name) {
                    page += &route(method, path, operation);
                }
            }
        }
    }
    page += "## Types\n\n";
    for (name, schema) in entries(&document["components"]["schemas"]) {
        page += &described_type(name, schema);
    }
    format!("{}\n", page.trim_end())
}

/// Error answers of every route. They are the same for all, so the page lists them once.
fn problems(document: &Value) -> String {
    let responses = &document["paths"]["/v1/invocations"]["get"]["responses"];
    let is_problem = |(status, _): &(&str, &Value)| !status.starts_with('2');
    let rows: Vec<[String; 2]> = entries(responses)
        .filter(is_problem)
        .map(|(status, response)| {
            let codes = text(&response["description"]).trim_end_matches('.');
            [status.to_owned(), codes.to_owned()]
        })
        .collect();
    let table = table(["status", "codes"], &rows);
    format!(
        "## What any route may answer\n\nA problem document (`application/problem+json`, \
         [Problem](#problem)) with a code. These are the codes by status; \
         [Problems](api.md#problems) says when each occurs.\n\n{table}"
    )
}

fn route(method: &str, path: &str, operation: &Value) -> String {
    let mut section = format!("### `{} {path}`\n\n", method.to_uppercase());
    for part in ["summary", "description"] {
        if let Some(said) = operation[part].as_str() {
            let _ = write!(section, "{said}\n\n");
        }
    }
    let parameters = list(&operation["parameters"]).iter().map(|parameter| {
        let name = format!("`{}`", text(&parameter["name"]));
        let place = text(&parameter["in"]).to_owned();
        let kind = type_of(&parameter["schema"]);
        [name, place, kind, text(&parameter["description"]).to_owned()]
    });
    let parameters: Vec<[String; 4]> = parameters.collect();
    section += &table(["parameter", "in", "type", "meaning"], &parameters);
    let body = &operation["requestBody"];
    if body.is_object() {
        let is_optional = body["required"] == Value::Bool(false);
        let optional = if is_optional { ", which may be omitted" } else { "" };
        let _ = write!(section, "Body{optional}: {}\n\n", content(&body["content"]));
    }
    let answers = entries(&operation["responses"]).filter(|(status, response)| {
        status.starts_with(['1', '2', '3'])
            || !response["content"]["application/problem+json"].is_object()
    });
    for (status, response) in answers {
        let said = text(&response["description"]).trim_end_matches('.');
        let said = if said == "It is done" { String::new() } else { format!(": {said}") };
        let content = content(&response["content"]);
        let content = if content.is_empty() { content } else { format!(" {content}") };
        let _ = writeln!(section, "- **{status}**{content}{said}");
    }
    section + "\n"
}

/// Types of a body or an answer, each with its media type unless it is JSON.
fn content(content: &Value) -> String {
    let types = entries(content).map(|(media, body)| match media {
        "application/json" => type_of(&body["schema"]),
        media => format!("`{media}`"),
    });
    types.collect::<Vec<String>>().join(" or ")
}

fn described_type(name: &str, schema: &Value) -> String {
    let mut section = format!("### {name}\n\n");
    if let Some(said) = schema["description"].as_str() {
        let _ = write!(section, "{said}\n\n");
    }
    let required = list(&schema["required"]);
    let fields: Vec<[String; 3]> = entries(&schema["properties"])
        .map(|(field, schema)| {
            let is_required = required.iter().any(|name| name == field);
            let kind = type_of(schema);
            let kind = if is_required { kind } else { format!("{kind}, optional") };
            [format!("`{field}`"), kind, text(&schema["description"]).to_owned()]
        })
        .collect();
    if fields.is_empty() {
        let _ = write!(section, "{}\n\n", capital(&type_of(schema)));
    }
    section + &table(["field", "type", "meaning"], &fields)
}

/// A schema in a few words.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for joined in ["oneOf", "anyOf", "allOf"] {
        let parts = list(&schema[joined]).iter().filter(|part| part["type"] != "null");
        let parts: Vec<String> = parts.map(type_of).collect();
        if !parts.is_empty() {
            return parts.join(if joined == "allOf" { " with " } else { " or " });
        }
    }
    let values = list(&schema["enum"]).iter().filter_map(Value::as_str);
    let values: Vec<String> = values.map(|value| format!("`{value}`")).collect();
    if !values.is_empty() {
        return values.join(", ");
    }
    let one = [schema["type"].clone()];
    let kinds = schema["type"].as_array().map_or(&one[..], Vec::as_slice);
    let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
    let kinds: Vec<String> = kinds.map(|kind| of_kind(kind, schema)).collect();
    if kinds.is_empty() { "any JSON".to_owned() } else { kinds.join(" or ") }
}

fn of_kind(kind: &str, schema: &Value) -> String {
    let properties = entries(&schema["properties"]);
    let properties: Vec<String> =
        properties.map(|(name, schema)| format!("`{name}`: {}", type_of(schema))).collect();
    match kind {
        "array" => format!("list of {}", type_of(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&schema["additionalProperties"]))
        }
        "object" if !properties.is_empty() => format!("object with {}", properties.join(", ")),
        "integer" => range(schema),
        kind => kind.to_owned(),
    }
}

/// A number, with its bounds if they say more than its format.
fn range(schema: &Value) -> String {
    match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
        (Some(least), Some(most)) if most < u64::from(u32::MAX) => {
            format!("number, {least} to {most}")
        }
        _ => "number".to_owned(),
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let entries = value.as_object().into_iter().flat_map(Map::iter);
    entries.map(|(name, value)| (name.as_str(), value))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().to_string());
    first + letters.as_str()
}
