//! Functions of deployed modules as tools: a call is a durable execution.

mod call;
mod function;
mod pattern;
mod schema;

use std::collections::BTreeMap;

use rmcp::model::Tool;
use segno_model::Module;

use super::{access::HostAccess, failure::ToolFailure, tools};

pub(crate) use call::{ExposedCall, RunningCalls};
pub(crate) use function::ExposedFunction;
pub use pattern::ExposedPattern;

/// The functions that `patterns` expose, as far as they are deployed.
///
/// # Errors
/// The host did not answer.
pub(crate) async fn functions(
    access: &HostAccess,
    patterns: &[ExposedPattern],
) -> Result<Vec<ExposedFunction>, ToolFailure> {
    if patterns.is_empty() {
        return Ok(Vec::new());
    }
    let list = access.client.modules().await?;
    Ok(exposed(&list.modules, patterns))
}

/// The exposed functions with distinct tool names.
fn exposed(modules: &[Module], patterns: &[ExposedPattern]) -> Vec<ExposedFunction> {
    let mut found = BTreeMap::new();
    for module in modules {
        for alias in &module.aliases {
            for function in &module.description.functions {
                if patterns.iter().any(|pattern| pattern.matches(alias, function)) {
                    let exposed = ExposedFunction::new(alias, function.clone());
                    found.insert((alias.clone(), function.name.clone()), exposed);
                }
            }
        }
    }
    let mut functions: Vec<ExposedFunction> = found.into_values().collect();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for function in &functions {
        *uses.entry(function.name.clone()).or_default() += 1;
    }
    for function in &mut functions {
        if uses.get(&function.name).is_some_and(|uses| *uses > 1)
            || tools::named(&function.name).is_some()
        {
            function.name_by_hash();
        }
    }
    functions
}

/// The tools of these functions.
pub(crate) fn tools(functions: &[ExposedFunction]) -> impl Iterator<Item = Tool> + '_ {
    functions.iter().map(ExposedFunction::tool)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn module(alias: &str, functions: &[&str]) -> Module {
        let functions: Vec<_> =
            functions.iter().map(|name| json!({"name": name, "kind": "workflow"})).collect();
        serde_json::from_value(json!({
            "digest": "00", "size": 1, "created_at_ms": 1, "aliases": [alias], "in_use": 0,
            "functions": functions, "imports": [], "exports": [],
        }))
        .expect("a module")
    }

    #[test]
    fn tools_have_names_of_their_own() {
        let modules = [
            module("shop", &["order", "re.turn"]),
            module("shop-re", &["turn"]),
            module("list", &["executions"]),
        ];
        let patterns = ["shop/*", "shop-re/turn", "list/executions"]
            .map(|text| text.parse().expect("a pattern"));
        let functions = exposed(&modules, &patterns);
        let names: Vec<&str> = functions.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names[1..3], ["shop_order", "shop_re_turn"]);
        assert!(names[0].starts_with("list_executions_"), "{names:?}");
        assert_eq!(names[3], "shop-re_turn");
        let same = [module("a.b", &["c"]), module("a-b", &["c"]), module("a_b", &["c"])];
        let patterns = ["a.b/*", "a_b/*"].map(|text| text.parse().expect("a pattern"));
        let names: Vec<String> = exposed(&same, &patterns).into_iter().map(|it| it.name).collect();
        assert!(
            names.iter().all(|name| name.starts_with("a_b_c_")) && names[0] != names[1],
            "{names:?}"
        );
    }

    #[test]
    fn only_what_is_named_is_exposed() {
        let modules = [module("shop", &["order", "refund"]), module("bank", &["order"])];
        let patterns = ["shop/order"].map(|text| text.parse().expect("a pattern"));
        let functions = exposed(&modules, &patterns);
        assert_eq!(functions.len(), 1);
        assert_eq!(functions[0].target(None).ok().as_deref(), Some("shop/order"));
    }
}
