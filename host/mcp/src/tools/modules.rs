//! Modules and their functions.

use schemars::JsonSchema;
use segno_model::{Function, Module};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    access::HostAccess,
    answer::ToolAnswer,
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Maximum number of modules in an answer.
const MODULES_MAX: usize = 50;

/// Arguments of `list_modules`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListModules {
    /// Prefix of names.
    #[serde(default)]
    prefix: Option<String>,
    /// True to list modules without a name, too: candidates of checks, and earlier versions.
    #[serde(default)]
    unnamed: bool,
}

/// The stored modules, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModulesOutput {
    modules: Vec<ModuleLine>,
    /// Number of further modules; a longer `prefix` narrows the list.
    more: usize,
}

/// A module.
#[derive(Debug, Serialize, JsonSchema)]
struct ModuleLine {
    /// Names of the module.
    names: Vec<String>,
    digest: String,
    /// Functions, each with its kind.
    functions: Vec<FunctionLine>,
    /// Number of unfinished executions.
    in_use: u64,
}

/// A function of a module.
#[derive(Debug, Serialize, JsonSchema)]
struct FunctionLine {
    name: String,
    /// `workflow` or `activity`.
    kind: String,
    /// Description by the author.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
}

impl From<Module> for ModuleLine {
    fn from(module: Module) -> Self {
        let functions = module.description.functions.into_iter().map(|function| FunctionLine {
            name: function.name,
            kind: function.kind.as_str().to_owned(),
            summary: function.summary.map(|summary| cut(summary, 200)),
        });
        Self {
            names: module.aliases,
            digest: module.digest,
            functions: functions.collect(),
            in_use: module.in_use,
        }
    }
}

impl ModuleLine {
    fn line(&self) -> String {
        let name = match self.names.as_slice() {
            [] => self.digest.chars().take(12).collect(),
            names => names.join(", "),
        };
        let functions = self.functions.iter().map(|it| format!("{} ({})", it.name, it.kind));
        let functions = functions.collect::<Vec<_>>().join(", ");
        format!("{name}: {functions}; {} unfinished executions", self.in_use)
    }
}

impl HostTool for ListModules {
    type Output = ModulesOutput;
    const NAME: &'static str = "list_modules";
    const TITLE: &'static str = "List modules";
    const ABOUT: &'static str = "Deployed modules with their workflows and activities.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ModulesOutput>, ToolFailure> {
        let list = access.client.modules().await?;
        let prefix = self.prefix.unwrap_or_default();
        let wanted = |module: &Module| match module.aliases.is_empty() {
            true => self.unnamed && module.digest.starts_with(&prefix),
            false => module.aliases.iter().any(|alias| alias.starts_with(&prefix)),
        };
        let mut modules: Vec<ModuleLine> =
            list.modules.into_iter().filter(wanted).map(ModuleLine::from).collect();
        let more = modules.len().saturating_sub(MODULES_MAX);
        modules.truncate(MODULES_MAX);
        let mut lines: Vec<String> = modules.iter().map(ModuleLine::line).collect();
        match (lines.is_empty(), more) {
            (true, _) => {
                lines.push("no modules; `segno deploy PROJECT --as NAME` deploys one".to_owned())
            }
            (false, 0) => {}
            (false, more) => lines.push(format!("and {more} more: narrow the list by `prefix`")),
        }
        let first = modules.iter().find_map(|module| {
            Some(json!({"module": module.names.first()?, "function": &module.functions.first()?.name}))
        });
        let answer = ToolAnswer::new(lines.join("\n"), ModulesOutput { modules, more });
        Ok(match first {
            Some(function) => {
                answer.then(DescribeFunction::NAME, function, "its schemas and messages")
            }
            None => answer.then("search_docs", json!({"query": "deploy"}), "how to deploy"),
        })
    }
}

/// Arguments of `describe_function`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribeFunction {
    /// Name or digest of the module.
    module: String,
    /// Name of the function.
    function: String,
}

/// A function with its schemas.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DescribedFunction {
    /// Target of a start; KEY stands for the key of an object.
    target: String,
    /// The function as the module declares it: kind, `input_schema`, `output_schema`, messages,
    /// handlers, retries, limits.
    function: Value,
}

impl HostTool for DescribeFunction {
    type Output = DescribedFunction;
    const NAME: &'static str = "describe_function";
    const TITLE: &'static str = "Describe a function";
    const ABOUT: &'static str = "A function of a module: JSON schemas of its input and output, signals and promises that it accepts, queries, updates, retries and limits.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<DescribedFunction>, ToolFailure> {
        let module = access.client.module(&self.module).await?;
        let functions = module.description.functions;
        let Some(function) = functions.iter().find(|function| function.name == self.function)
        else {
            let names: Vec<&str> = functions.iter().map(|it| it.name.as_str()).collect();
            let message = format!(
                "`{}` has no function `{}`; it has {}",
                self.module,
                self.function,
                names.join(", ")
            );
            return Err(ToolFailure::new("unknown-function", message));
        };
        let target = target(&self.module, function, "KEY");
        let text = format!(
            "{target}  {}{}\ninput schema: {}",
            function.kind.as_str(),
            function.summary.as_ref().map(|text| format!(": {text}")).unwrap_or_default(),
            function.input_schema.as_ref().unwrap_or(&Value::Null)
        );
        let start = json!({"id": "ID", "target": target, "input": null});
        let output = DescribedFunction { target, function: json!(function) };
        Ok(ToolAnswer::new(cut(text, 8_000), output)
            .then("start_execution", start, "start it, with an id and an input of this schema")
            .then(
                "list_executions",
                json!({"module": self.module, "function": self.function}),
                "its executions",
            ))
    }
}

/// The target of a call; `key` is that of the object, for functions of objects.
pub(crate) fn target(module: &str, function: &Function, key: &str) -> String {
    match (function.access, function.name.split_once('/')) {
        (Some(_), Some((object, name))) => format!("{module}/{object}@{key}/{name}"),
        _ => format!("{module}/{}", function.name),
    }
}
