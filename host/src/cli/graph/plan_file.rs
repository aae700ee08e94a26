//! Plans in files.

use std::{io::Read as _, path::Path};

use segno_graph::plan::{CheckedPlan, Plan, PlanErrors};
use serde_json::Value;

use crate::cli::CliError;

/// Reads and checks the plan in a file, or on standard input (`-`): TOML, or JSON if the extension
/// or the first character indicates it.
pub(super) fn read(path: &str) -> Result<CheckedPlan, CliError> {
    let refused = |source| CliError::File { what: "read", path: path.to_owned(), source };
    let text = match path {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => std::fs::read_to_string(path),
    };
    parse(path, &text.map_err(refused)?)
}

fn parse(path: &str, text: &str) -> Result<CheckedPlan, CliError> {
    let is_json = Path::new(path).extension().is_some_and(|extension| extension == "json")
        || text.trim_start().starts_with('{');
    let plan = match is_json {
        true => Plan::from_json(text).map_err(|errors| invalid(path, &errors))?,
        false => toml::from_str(text).map_err(|error| {
            let message = format!("{path} is no TOML:\n{}", error.to_string().trim_end());
            CliError::Other { code: "invalid-plan", message }
        })?,
    };
    plan.check().map_err(|errors| invalid(path, &errors))
}

/// The plan in the API's form.
pub(super) fn to_send(plan: &CheckedPlan) -> Result<Value, CliError> {
    serde_json::from_str(&plan.canonical()).map_err(|error| CliError::Other {
        code: "invalid-plan",
        message: format!("the plan cannot be sent: {error}"),
    })
}

fn invalid(path: &str, errors: &PlanErrors) -> CliError {
    let faults = errors.to_string();
    let lines: Vec<String> = faults.lines().map(|line| format!("  {line}")).collect();
    let message = format!("{path} cannot be run:\n{}", lines.join("\n"));
    CliError::Other { code: "invalid-plan", message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_toml_or_json_and_its_faults_are_told_with_its_file() {
        let toml = "name = \"p\"\n[nodes.a]\ncall = \"f\"\n";
        let json = r#"{"name": "p", "nodes": {"a": {"call": "f"}}}"#;
        let digest = |path, text| parse(path, text).expect("a plan").digest_text();
        assert_eq!(digest("p.toml", toml), digest("p.json", json));
        assert_eq!(digest("-", toml), digest("-", json));
        let told = |path, text| parse(path, text).expect_err("no plan").to_string();
        assert!(told("p.toml", "nodes = [").starts_with("p.toml is no TOML:\n"));
        assert!(told("p.json", "{").starts_with("p.json cannot be run:\n  this is no JSON"));
        let faults = told("p.toml", "[nodes.a]\ncall = \"f\"\nneeds = [\"b\", \"a\"]\n");
        assert_eq!(faults.lines().count(), 3, "{faults}");
    }
}
