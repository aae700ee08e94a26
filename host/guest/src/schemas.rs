//! Validates values against the JSON schemas that modules declare. The check is the same
//! everywhere: in the API, and at the start of an execution.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::Validator;
use segno_core::id::Digest;
use serde_json::Value;

use super::{Failure, FunctionDescription, Payload};

/// Maximum number of misfits named in a refusal.
const MISFITS: usize = 8;
/// Maximum length of a reason, in characters: reasons quote the value.
const REASON: usize = 300;
/// Maximum number of modules whose compiled schemas are kept.
const MODULES: usize = 512;
/// Failure code for an input that does not match its schema.
const BAD_INPUT: u32 = 400;

/// A place in a value that does not match the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaMismatch {
    /// A JSON pointer into the value. Empty for the value itself.
    pub path: String,
    pub reason: String,
}

impl fmt::Display for SchemaMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "at {path}: {}", self.reason),
        }
    }
}

/// The subject of a schema of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaSubject<'a> {
    /// The function's input.
    Input,
    /// The function's result.
    Output,
    /// A promise, signal, query or update of the function: the kind and the name.
    Sent(&'static str, &'a str),
}

/// The compiled schemas of a module. `None` marks one that cannot be used.
type CompiledSchemas = HashMap<String, Option<Arc<Validator>>>;

/// Schemas by module, each compiled on first use.
#[derive(Debug, Default)]
pub struct Schemas {
    modules: Mutex<HashMap<Digest, CompiledSchemas>>,
}

impl Schemas {
    /// Lists the places where `value` does not match a schema of a function. A schema that cannot
    /// be used accepts everything.
    pub fn misfits(
        &self,
        module: Digest,
        function: &str,
        of: SchemaSubject<'_>,
        schema: &Value,
        value: &Value,
    ) -> Vec<SchemaMismatch> {
        let key = match of {
            SchemaSubject::Input => {
                return self.of_input(module, function, || Some(schema.clone()), value);
            }
            SchemaSubject::Output => format!("{function}\n"),
            SchemaSubject::Sent(kind, name) => format!("{function}\n{kind}\n{name}"),
        };
        let validator = self.validator(module, &key, || Some(schema.clone()));
        validator.map_or_else(Vec::new, |validator| misfits(&validator, value))
    }

    /// Validates the input of an execution that begins on this code against the schema of its
    /// function. Bytes that are not JSON are left to the function to reject.
    ///
    /// # Errors
    /// The failure of the execution, which names the function, the places and the reasons.
    pub fn check_input(
        &self,
        module: Digest,
        target: &str,
        function: &FunctionDescription,
        input: &Payload,
    ) -> Result<(), Failure> {
        let Some(schema) = &function.input_schema else { return Ok(()) };
        let bytes = match input {
            Payload::Json(text) => text.as_bytes(),
            Payload::Bytes(bytes) => bytes,
        };
        let errors = match (serde_json::from_slice::<Value>(bytes), input) {
            (Ok(value), _) => {
                let parsed = || serde_json::from_str(schema).ok();
                self.of_input(module, &function.name, parsed, &value)
            }
            (Err(_), Payload::Bytes(_)) => Vec::new(),
            (Err(error), Payload::Json(_)) => {
                vec![SchemaMismatch {
                    path: String::new(),
                    reason: format!("it is not JSON: {error}"),
                }]
            }
        };
        if errors.is_empty() {
            return Ok(());
        }
        let message =
            format!("the input does not fit the schema of `{target}`: {}", misfit_words(&errors));
        Err(Failure { code: BAD_INPUT, message, details: None })
    }

    fn of_input(
        &self,
        module: Digest,
        function: &str,
        schema: impl FnOnce() -> Option<Value>,
        value: &Value,
    ) -> Vec<SchemaMismatch> {
        let validator = self.validator(module, function, schema);
        validator.map_or_else(Vec::new, |validator| misfits(&validator, value))
    }

    fn validator(
        &self,
        module: Digest,
        key: &str,
        schema: impl FnOnce() -> Option<Value>,
    ) -> Option<Arc<Validator>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = modules.get(&module).and_then(|schemas| schemas.get(key)) {
            return known.clone();
        }
        if modules.len() >= MODULES && !modules.contains_key(&module) {
            modules.clear();
        }
        let compiled = schema().and_then(|schema| {
            let compiled = jsonschema::validator_for(&schema);
            let warn = |error: &_| tracing::warn!("a schema of {key} is not one: {error}");
            compiled.inspect_err(warn).ok().map(Arc::new)
        });
        modules.entry(module).or_default().insert(key.to_owned(), compiled.clone());
        compiled
    }
}

/// Formats misfits for people.
pub fn misfit_words(misfits: &[SchemaMismatch]) -> String {
    let words: Vec<String> = misfits.iter().map(ToString::to_string).collect();
    words.join("; ")
}

fn misfits(validator: &Validator, value: &Value) -> Vec<SchemaMismatch> {
    if validator.is_valid(value) {
        return Vec::new();
    }
    let errors = validator.iter_errors(value).take(MISFITS);
    errors
        .map(|error| SchemaMismatch {
            path: error.instance_path().to_string(),
            reason: error.to_string().chars().take(REASON).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionKind;

    fn function(schema: Option<&str>) -> FunctionDescription {
        FunctionDescription {
            name: "order".to_owned(),
            kind: FunctionKind::Workflow,
            summary: None,
            input_schema: schema.map(str::to_owned),
            output_schema: None,
            signals: false,
            timeout_ms: None,
            retry: None,
            commits_each: false,
        }
    }

    #[test]
    fn an_input_that_does_not_fit_is_a_failure_that_names_the_place() {
        let schemas = Schemas::default();
        let schema =
            r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
        let check = |schema: Option<&str>, module: u8, input: Payload| {
            let refused =
                schemas.check_input(Digest([module; 32]), "shop/order", &function(schema), &input);
            refused.err().map(|failure| (failure.code, failure.message))
        };
        let json = |text: &str| Payload::Json(text.to_owned());
        for (input, said) in [
            (json(r#"{"n": 1}"#), None),
            (
                json(r#"{"n": "x"}"#),
                Some("of `shop/order`: at /n: \"x\" is not of type \"integer\""),
            ),
            (json("{}"), Some("\"n\" is a required property")),
            (json("{"), Some("it is not JSON: EOF")),
            (Payload::Bytes(br#"{"n": 1}"#.to_vec()), None),
            (Payload::Bytes(b"{}".to_vec()), Some("\"n\" is a required property")),
            (Payload::Bytes(vec![0xff]), None),
        ] {
            let refused = check(Some(schema), 1, input.clone());
            assert_eq!(refused.as_ref().map(|(code, _)| *code), said.map(|_| 400), "{input:?}");
            let text = refused.map_or_else(String::new, |(_, message)| message);
            assert!(text.contains(said.unwrap_or_default()), "{text}");
        }
        // A schema of another module, a missing one, and an invalid one.
        assert_eq!(check(Some("true"), 2, json("{}")), None);
        assert_eq!(check(None, 1, json("{}")), None);
        assert_eq!(check(Some("{"), 3, json("{}")), None);
    }
}
