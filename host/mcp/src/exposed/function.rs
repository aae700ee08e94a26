//! One exposed function.

use rmcp::{
    ErrorData,
    model::{JsonObject, Tool, ToolAnnotations},
};
use segno_model::Function;
use serde_json::{Value, json};

use super::schema::{describes_object, of_arguments, of_result};
use crate::{failure::ToolFailure, tools::target};

/// Maximum length of a tool's name: some clients accept no longer one.
const NAME_MAX: usize = 56;

/// A function of a deployed module as a tool.
#[derive(Debug, Clone)]
pub(crate) struct ExposedFunction {
    /// Name of the tool: `MODULE_FUNCTION`, with `_` for characters that clients do not accept.
    pub(crate) name: String,
    module: String,
    function: Function,
}

impl ExposedFunction {
    pub(super) fn new(module: &str, function: Function) -> Self {
        let name = format!("{module}_{}", function.name);
        let accepted = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let name: String =
            name.chars().map(|letter| if accepted(letter) { letter } else { '_' }).collect();
        let is_long = name.len() > NAME_MAX;
        let mut exposed = Self { name, module: module.to_owned(), function };
        if is_long {
            exposed.name_by_hash();
        }
        exposed
    }

    /// Adds a hash of the full name to the name of the tool, which another one has, too.
    pub(super) fn name_by_hash(&mut self) {
        let full = format!("{}/{}", self.module, self.function.name);
        // FNV-1a: the names stay the same in every version.
        let hash = full
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        self.name.truncate(NAME_MAX - 9);
        self.name = format!("{}_{hash:08x}", self.name);
    }

    fn has_key(&self) -> bool {
        self.function.access.is_some()
    }

    /// The tool, with the schemas and the description of the function.
    pub(crate) fn tool(&self) -> Tool {
        let Self { module, function, .. } = self;
        let summary = function.summary.as_deref().unwrap_or("A function without a description.");
        let about = format!(
            "{summary}\n\nRuns {module}/{} as a durable execution and waits for its end. Give the same string as `segno/idempotency-key` in `_meta` to repeat a call safely.",
            function.name
        );
        let title = format!("{module}/{}", function.name);
        let schema = of_arguments(function.input_schema.as_ref(), self.has_key());
        let annotations =
            ToolAnnotations::with_title(title.clone()).read_only(false).idempotent(false);
        Tool::new(self.name.clone(), about, schema)
            .with_title(title)
            .with_raw_output_schema(of_result(function.output_schema.as_ref()).into())
            .with_annotations(annotations)
    }

    /// The target of a call. `key` is that of the object.
    ///
    /// # Errors
    /// The function belongs to an object, and there is no key.
    pub(super) fn target(&self, key: Option<&str>) -> Result<String, ToolFailure> {
        match (self.has_key(), key) {
            (true, None | Some("")) => {
                let message = format!("`{}` needs the argument `key`", self.name);
                Err(ToolFailure::new("no-key", message))
            }
            (_, key) => Ok(target(&self.module, &self.function, key.unwrap_or_default())),
        }
    }

    /// The key and the input in the arguments of a call.
    ///
    /// # Errors
    /// Invalid parameters: an argument is missing or unknown.
    pub(super) fn input(
        &self,
        mut arguments: JsonObject,
    ) -> Result<(Option<String>, Value), ErrorData> {
        if describes_object(self.function.input_schema.as_ref()) && !self.has_key() {
            return Ok((None, Value::Object(arguments)));
        }
        let invalid = |field: &str, reason: &str| {
            let message = format!("the argument `{field}` of `{}`: {reason}", self.name);
            ErrorData::invalid_params(message, Some(json!({"tool": self.name, "field": field})))
        };
        let key = match (self.has_key(), arguments.remove("key")) {
            (true, Some(Value::String(key))) => Some(key),
            (true, Some(_)) => return Err(invalid("key", "it is no string")),
            (true, None) => return Err(invalid("key", "it is missing")),
            (false, Some(_)) => return Err(invalid("key", "the function belongs to no object")),
            (false, None) => None,
        };
        let input = arguments.remove("input").unwrap_or_default();
        match arguments.keys().next() {
            Some(other) => Err(invalid(other, "it is unknown; the input goes into `input`")),
            None => Ok((key, input)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(described: Value) -> ExposedFunction {
        ExposedFunction::new("shop", serde_json::from_value(described).expect("a function"))
    }

    #[test]
    fn arguments_are_the_input_or_hold_it() {
        let order = function(json!({
            "name": "order", "kind": "workflow", "input_schema": {"type": "object"},
        }));
        let arguments = JsonObject::from_iter([("input".to_owned(), json!(1))]);
        let (key, input) = order.input(arguments.clone()).expect("arguments");
        assert_eq!((key, input), (None, json!({"input": 1})));

        let add = function(json!({"name": "Cart/add", "kind": "workflow", "access": "exclusive"}));
        let refused = add.input(arguments.clone()).expect_err("no key");
        assert!(refused.message.contains("`key`"), "{}", refused.message);
        let mut keyed = arguments;
        keyed.insert("key".to_owned(), json!("ada"));
        let (key, input) = add.input(keyed.clone()).expect("arguments");
        assert_eq!(add.target(key.as_deref()).ok().as_deref(), Some("shop/Cart@ada/add"));
        assert_eq!(input, json!(1));
        keyed.insert("more".to_owned(), json!(2));
        let refused = add.input(keyed).expect_err("unknown");
        assert!(refused.message.contains("`more`"), "{}", refused.message);
    }

    #[test]
    fn a_long_name_is_cut_and_stays_distinct() {
        let long = |end: &str| {
            function(json!({"name": format!("{}{end}", "f".repeat(80)), "kind": "workflow"})).name
        };
        assert!(long("a").len() <= NAME_MAX && long("a") != long("b"), "{}", long("a"));
    }
}
