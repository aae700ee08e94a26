//! The form of tools: schemas, annotations, and the call with typed arguments.

use std::{future::Future, pin::Pin};

use rmcp::{
    ErrorData,
    model::{CallToolResult, JsonObject, Tool, ToolAnnotations},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    access::HostAccess,
    answer::{ToolAnswer, TypedAnswer},
    failure::ToolFailure,
};

type ToolResult = Result<Result<CallToolResult, ToolFailure>, ErrorData>;
type BoxedCall<'a> = Pin<Box<dyn Future<Output = ToolResult> + Send + 'a>>;

/// The effect of a tool on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// Changes nothing.
    Reads,
    /// Adds something; the same call again adds nothing.
    Adds,
    /// Continues what has stopped; the same call again is refused.
    Continues,
    /// Makes a change that cannot be undone; the same call again changes nothing.
    Decides,
}

impl ToolEffect {
    fn annotations(self, title: &str) -> ToolAnnotations {
        let of = ToolAnnotations::with_title(title).open_world(false);
        match self {
            Self::Reads => of.read_only(true).destructive(false).idempotent(true),
            Self::Adds => of.read_only(false).destructive(false).idempotent(true),
            Self::Continues => of.read_only(false).destructive(false).idempotent(false),
            Self::Decides => of.read_only(false).destructive(true).idempotent(true),
        }
    }
}

/// A tool; the type is that of its arguments.
pub(crate) trait HostTool: DeserializeOwned + JsonSchema + Send + 'static {
    /// The output.
    type Output: Serialize + JsonSchema + Send + 'static;
    const NAME: &'static str;
    const TITLE: &'static str;
    /// The description for the assistant.
    const ABOUT: &'static str;
    const EFFECT: ToolEffect;

    /// Calls the tool.
    fn call(
        self,
        access: &HostAccess,
    ) -> impl Future<Output = Result<ToolAnswer<Self::Output>, ToolFailure>> + Send;
}

/// The filter for the next calls of an answer.
pub(crate) type AvailableTools<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// A tool of the list.
pub(crate) struct ToolEntry {
    pub(crate) tool: Tool,
    pub(crate) effect: ToolEffect,
    call: for<'a> fn(JsonObject, &'a HostAccess, AvailableTools<'a>) -> BoxedCall<'a>,
}

impl ToolEntry {
    pub(crate) fn of<T: HostTool>() -> Self {
        let mut tool = Tool::new(T::NAME, T::ABOUT, JsonObject::new())
            .with_title(T::TITLE)
            .with_input_schema::<T>()
            .with_output_schema::<TypedAnswer<T::Output>>()
            .with_annotations(T::EFFECT.annotations(T::TITLE));
        tool.input_schema = without_widths(&tool.input_schema).into();
        tool.output_schema = tool.output_schema.map(|schema| without_widths(&schema).into());
        Self { tool, effect: T::EFFECT, call: call::<T> }
    }

    /// Calls the tool with these arguments.
    ///
    /// # Errors
    /// Invalid parameters; the message names the field.
    pub(crate) fn call<'a>(
        &self,
        arguments: JsonObject,
        access: &'a HostAccess,
        available: AvailableTools<'a>,
    ) -> BoxedCall<'a> {
        (self.call)(arguments, access, available)
    }
}

fn call<'a, T: HostTool>(
    arguments: JsonObject,
    access: &'a HostAccess,
    available: AvailableTools<'a>,
) -> BoxedCall<'a> {
    Box::pin(async move {
        let arguments: T = read_arguments(T::NAME, arguments)?;
        let answered = arguments.call(access).await;
        Ok(answered.and_then(|answer| answer.result(available)))
    })
}

/// The schema without formats like `uint32`, which are no formats of JSON Schema: clients warn of
/// them.
fn without_widths(schema: &JsonObject) -> JsonObject {
    let kept = schema.iter().filter(|(name, value)| {
        let format = value.as_str().filter(|_| *name == "format");
        !format.is_some_and(|format| format.starts_with("uint") || format.starts_with("int"))
    });
    let member = |value: &Value| match value {
        Value::Object(schema) => Value::Object(without_widths(schema)),
        other => other.clone(),
    };
    kept.map(|(name, value)| (name.clone(), member(value))).collect()
}

/// Reads the arguments of a call.
///
/// # Errors
/// Invalid parameters; the message names the field.
pub(crate) fn read_arguments<T: DeserializeOwned>(
    name: &str,
    arguments: JsonObject,
) -> Result<T, ErrorData> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let field = error.path().to_string();
        let reason = error.inner().to_string();
        let message = match field.as_str() {
            "." | "?" => format!("the arguments of `{name}`: {reason}"),
            field => format!("the argument `{field}` of `{name}`: {reason}"),
        };
        ErrorData::invalid_params(message, Some(json!({ "tool": name, "field": field })))
    })
}
