//! Schemas of exposed functions. Arguments and results of tools are objects, so other inputs and
//! outputs become members of one.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// Keywords that hold definitions; references lead to them from the root of a schema.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Returns true if the schema describes an object, so that the input itself can be the arguments.
pub(super) fn describes_object(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| schema["type"] == "object")
}

/// The schema of the arguments. With `key`, they have the key of an object.
pub(super) fn of_arguments(input: Option<&Value>, key: bool) -> JsonObject {
    match (input, key) {
        (Some(Value::Object(schema)), false) if describes_object(input) => schema.clone(),
        _ => {
            let about = "Key of the object.";
            let mut members = Map::new();
            if key {
                members.insert("key".to_owned(), json!({"type": "string", "description": about}));
            }
            let (input, definitions) = member(input);
            members.insert("input".to_owned(), input);
            let required: Vec<String> = members.keys().cloned().collect();
            object(members, required, definitions)
        }
    }
}

/// The schema of the result.
pub(super) fn of_result(output: Option<&Value>) -> JsonObject {
    let (output, definitions) = member(output);
    let text = |about: &str| json!({"type": "string", "description": about});
    let members = [
        ("id", text("Id of the execution.")),
        ("state", text("State of the execution; `resolved` if it has an output.")),
        ("created", json!({"type": "boolean", "description": "True if this call started it."})),
        ("output", output),
        (
            "next",
            json!({"type": "array", "items": {"type": "object"}, "description": "Next calls."}),
        ),
    ];
    let members = members.map(|(name, schema)| (name.to_owned(), schema));
    let required = ["id", "state", "created", "next"].map(str::to_owned);
    object(members.into_iter().collect(), required.to_vec(), definitions)
}

fn object(
    members: Map<String, Value>,
    required: Vec<String>,
    definitions: JsonObject,
) -> JsonObject {
    let mut schema = definitions;
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(members));
    schema.insert("required".to_owned(), json!(required));
    schema
}

/// The schema of a member, and the definitions that it refers to. Anything, if there is no schema.
fn member(schema: Option<&Value>) -> (Value, JsonObject) {
    let Some(Value::Object(schema)) = schema else { return (json!({}), JsonObject::new()) };
    let mut schema = schema.clone();
    schema.remove("$schema");
    let mut definitions = JsonObject::new();
    for keyword in DEFINITIONS {
        if let Some(found) = schema.remove(keyword) {
            definitions.insert(keyword.to_owned(), found);
        }
    }
    (Value::Object(schema), definitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_the_arguments_and_other_inputs_are_a_member() {
        let order = json!({"type": "object", "properties": {"id": {"type": "string"}}});
        assert_eq!(Value::Object(of_arguments(Some(&order), false)), order);
        let keyed = of_arguments(Some(&order), true);
        assert_eq!(keyed["properties"]["input"], order);
        assert_eq!(keyed["required"], json!(["input", "key"]));
        let text = of_arguments(Some(&json!({"type": "string"})), false);
        assert_eq!(text["properties"], json!({"input": {"type": "string"}}));
        assert_eq!(of_arguments(None, false)["properties"], json!({"input": {}}));
    }

    #[test]
    fn definitions_stay_where_references_lead() {
        let schema = json!({
            "$schema": "x", "$ref": "#/$defs/Verdict", "$defs": {"Verdict": {"type": "string"}},
        });
        let result = of_result(Some(&schema));
        assert_eq!(result["$defs"], json!({"Verdict": {"type": "string"}}));
        assert_eq!(result["properties"]["output"], json!({"$ref": "#/$defs/Verdict"}));
        assert_eq!(result["type"], "object");
    }
}
