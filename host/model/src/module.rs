//! Modules, their functions and imports.

use segno_core::{limit::AdmissionRule, object::ModuleFacts, value::Text};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Handler, LimitRule, UnreadableRow, flat::flattened};

/// The kind of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionKind {
    /// Journaled and replayed; does no direct I/O.
    Workflow,
    /// Performs I/O; runs at least once.
    Activity,
}

impl FunctionKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Activity => "activity",
        }
    }
}

/// The policy for repeating failed attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retry {
    /// Delay before the second attempt, in milliseconds.
    pub initial_ms: u64,
    /// Factor by which each delay exceeds the previous one.
    #[serde(deserialize_with = "number")]
    pub factor: f64,
    /// Maximum delay, in milliseconds.
    pub max_ms: u64,
    /// Random fraction of each delay, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub jitter: f64,
    /// Maximum number of attempts; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Failure codes that are never retried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_retryable: Vec<u32>,
}

/// Reads a number. Older hosts accepted numbers that are not finite and wrote them as `null`.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

/// The kinds of messages to a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageKind {
    /// The value of a named promise that the workflow awaits.
    Promise,
    /// A signal.
    Signal,
}

impl MessageKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Promise => "promise",
            Self::Signal => "signal",
        }
    }
}

/// A named promise that a workflow awaits, or a signal that it receives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// Kind of the message.
    pub kind: MessageKind,
    /// The name of the promise or signal.
    pub name: String,
    /// JSON schema of the value; the host rejects other values.
    pub schema: Value,
}

/// A function of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// The kind of the function.
    pub kind: FunctionKind,
    /// A description by the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The JSON schema of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Access to the object to which the function belongs; absent for functions without an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<ObjectAccess>,
    /// True if the function runs once for each key of its object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_once: bool,
    /// True if the function receives signals.
    #[serde(default)]
    pub signals: bool,
    /// Messages that the function accepts while it runs, as far as its author declares them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// Queries and updates that the function answers, during its execution and afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<Handler>,
    /// Default time limit of a call, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The default retry policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Bounds on the concurrency and the start rate of executions, as the module declares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<LimitRule>)]
    pub limit: Option<AdmissionRule>,
    /// True if the module declares that the host commits the result of each `run`, and the outcome
    /// of each call, before the workflow receives it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commits_each: bool,
    /// Protocols by which the author offers the function to others, such as `mcp`. An operator
    /// decides whose offers are taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expose: Vec<String>,
}

/// A function's access to the object to which it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectAccess {
    /// Reads and writes the state: one execution at a time, in the order of acceptance.
    Exclusive,
    /// Only reads the state, and never waits for a turn.
    Shared,
}

impl ModuleDescription {
    /// Parses the stored description of a module. The stored text is empty or `{}` if the module
    /// was not described.
    ///
    /// # Errors
    /// The text is not a description.
    pub fn read(stored: &str) -> Result<Self, serde_json::Error> {
        match stored.trim_ascii() {
            "" | "{}" => Ok(Self::default()),
            described => serde_json::from_str(described),
        }
    }

    /// The properties of the module that the core's decisions depend on.
    pub fn facts(&self) -> ModuleFacts {
        let is_shared = |function: &&Function| function.access == Some(ObjectAccess::Shared);
        let name = |function: &Function| Text::from(function.name.as_str());
        let limit = |function: &Function| Some((name(function), function.limit.clone()?));
        ModuleFacts {
            shared: self.functions.iter().filter(is_shared).map(name).collect(),
            limits: self.functions.iter().filter_map(limit).collect(),
            runs: self.functions.iter().filter(|function| function.runs_once).map(name).collect(),
        }
    }
}

/// Treatment of an import by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImportStatus {
    /// The host provides it.
    Provided,
    /// The host provides it in a deterministic form.
    Deterministic,
    /// A call fails with an error that names an alternative.
    Refused,
}

/// Imported functions of one interface with the same treatment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Import {
    /// The name of the interface.
    pub name: String,
    /// Treatment of a workflow's calls. Activities get real I/O as far as the host's policy allows.
    pub status: ImportStatus,
    /// The names of the functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// The alternative to refused functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The description of a component, made at its upload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModuleDescription {
    /// The functions of the component.
    pub functions: Vec<Function>,
    /// The imports of the component.
    pub imports: Vec<Import>,
    /// The exports of the component.
    pub exports: Vec<String>,
    /// Why the host makes no snapshots of long executions and replays them in full. Absent if the
    /// code shows no reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_snapshots: Option<String>,
}

/// A stored module.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Module {
    /// The SHA-256 of the component, in hexadecimal.
    pub digest: String,
    /// The size of the component, in bytes.
    pub size: u64,
    /// When the module was first uploaded.
    pub created_at_ms: i64,
    /// The current aliases of the module.
    pub aliases: Vec<String>,
    /// Number of unfinished executions of the module (counted up to 10,000).
    pub in_use: u64,
    /// The functions and imports.
    #[serde(flatten)]
    pub description: ModuleDescription,
}

flattened!(Module, description, digest, size, created_at_ms, aliases, in_use);

/// The stored modules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModuleList {
    /// The modules, newest first.
    pub modules: Vec<Module>,
    /// Modules whose descriptions cannot be read: they are listed without functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
}

/// The answer to an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Deployed {
    /// The module.
    pub module: Module,
    /// True if this request stored the component; false if it was stored before.
    pub created: bool,
    /// The alias of the upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The module to which the alias pointed before, if it was another one. Executions that began
    /// on that module finish on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// The answer to `DELETE /v1/modules/{alias}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Undeployed {
    /// The removed alias.
    pub alias: String,
    /// The module to which the alias pointed. Executions that began on it finish on it.
    pub module: Module,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_an_older_host_is_read_with_its_null_for_a_number() {
        let stored = r#"{"functions":[{"name":"f","kind":"activity","retry":{"initial_ms":1,"factor":null,"max_ms":2,"jitter":null,"max_attempts":3}}],"imports":[],"exports":[]}"#;
        let read = ModuleDescription::read(stored).expect("it is read");
        let retry = read.functions[0].retry.as_ref().expect("a policy");
        assert_eq!((retry.factor, retry.max_attempts), (f64::INFINITY, Some(3)));
        assert!(ModuleDescription::read("{").is_err());
        assert_eq!(ModuleDescription::read("").expect("nothing"), ModuleDescription::default());
    }

    #[test]
    fn the_facts_of_a_module_are_what_its_functions_declare() {
        let description: ModuleDescription = serde_json::from_str(
            r#"{
                "functions": [
                    {"name": "order", "kind": "workflow", "limit": {"per_key": {"concurrency": 5}}},
                    {"name": "Cart/total", "kind": "workflow", "access": "shared"},
                    {"name": "Signup/run", "kind": "workflow", "access": "exclusive", "runs_once": true},
                    {"name": "send", "kind": "activity", "limit": {"key": "id", "singleton": "skip"}}
                ],
                "imports": [],
                "exports": []
            }"#,
        )
        .expect("a description");
        let facts = description.facts();
        assert_eq!(facts.shared, [Text::from("Cart/total")].into());
        assert_eq!(facts.runs, [Text::from("Signup/run")].into());
        let limited: Vec<&str> = facts.limits.keys().map(Text::as_str).collect();
        assert_eq!(limited, ["order", "send"]);
        assert_eq!(facts.limits.get("order"), description.functions[0].limit.as_ref());
    }

    #[test]
    fn a_description_from_before_there_were_limits_has_none() {
        let text = r#"{"name":"order","kind":"workflow","signals":false}"#;
        let function: Function = serde_json::from_str(text).expect("a function");
        assert_eq!(function.limit, None);
        assert_eq!(serde_json::to_string(&function).expect("JSON"), text);
    }
}
