//! Verification of a workflow on this machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    access::{HostAccess, WritePermission},
    answer::ToolAnswer,
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Default number of runs.
const RUNS: u32 = 500;
const RUNS_MAX: u32 = 5_000;
/// Maximum number of findings in an answer.
const FINDINGS_MAX: usize = 5;
/// Exit codes of a verification without findings, and with some.
const DONE: [i32; 2] = [0, 10];

/// Arguments of `verify_workflow`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyWorkflow {
    /// Path of a component or module file (.wasm, .module) on the machine of this server. The
    /// folder of a project, which is built first, needs the permission to write.
    path: String,
    /// Name of the workflow.
    function: String,
    /// Its input (default: null).
    #[serde(default)]
    input: Value,
    /// Path of a script (TOML) with outcomes of activities and messages to the workflow.
    #[serde(default)]
    script: Option<String>,
    /// Maximum number of runs (default 500; at most 5000).
    #[serde(default)]
    #[schemars(range(min = 1, max = 5_000))]
    runs: Option<u32>,
    /// Only this schedule, as a finding has it.
    #[serde(default)]
    schedule: Option<String>,
}

/// The report of a verification.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifyOutcome {
    /// Number of runs.
    runs: u64,
    /// Number of findings.
    found: usize,
    /// The first findings.
    findings: Vec<VerifyFinding>,
    /// Numbers of runs by outcome.
    outcomes: Value,
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
struct VerifyFinding {
    kind: String,
    text: String,
    /// Advice on fixing it.
    advice: String,
    /// The shortest schedule that shows it.
    schedule: String,
}

impl VerifyWorkflow {
    fn arguments(&self) -> Vec<String> {
        let runs = self.runs.unwrap_or(RUNS).clamp(1, RUNS_MAX);
        let mut arguments =
            vec!["verify".to_owned(), format!("--runs={runs}"), format!("--input={}", self.input)];
        arguments.extend(self.script.as_ref().map(|script| format!("--script={script}")));
        arguments.extend(self.schedule.as_ref().map(|schedule| format!("--schedule={schedule}")));
        // The arguments after `--` are no options, even if they begin with a dash.
        arguments.extend(["--".to_owned(), self.path.clone(), self.function.clone()]);
        arguments
    }
}

impl HostTool for VerifyWorkflow {
    type Output = VerifyOutcome;
    const NAME: &'static str = "verify_workflow";
    const TITLE: &'static str = "Verify a workflow";
    const ABOUT: &'static str = "Runs a workflow on this machine, in virtual time and without effects, under every fault the engine knows: other orders of results, crashes, lost claims, cancellation, activities delivered twice. Each finding has the shortest schedule that repeats it.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<VerifyOutcome>, ToolFailure> {
        let is_file = self.path.ends_with(".wasm") || self.path.ends_with(".module");
        if !is_file && access.permission == WritePermission::ReadOnly {
            let message = format!(
                "`{}` is no component file, and building a project runs its code, which a read-only server does not: give a .wasm file that `segno build` has made, or start `segno mcp --allow-writes`",
                self.path
            );
            return Err(ToolFailure::new("read-only", message));
        }
        let arguments = self.arguments();
        let output = access.command.run(&arguments).await;
        let output = output.map_err(|why| ToolFailure::new("no-command", why))?;
        if !output.exit.is_some_and(|exit| DONE.contains(&exit)) {
            let said = if output.stderr.is_empty() { output.stdout } else { output.stderr };
            return Err(ToolFailure::new("not-verified", cut(said.trim().to_owned(), 2_000)));
        }
        let report: Value = serde_json::from_str(&output.stdout).map_err(|error| {
            ToolFailure::new("unexpected-answer", format!("the report is no JSON: {error}"))
        })?;
        let failures = report["failures"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| cut(value.as_str().unwrap_or_default().to_owned(), 2_000);
        let findings = failures.iter().take(FINDINGS_MAX).map(|finding| VerifyFinding {
            kind: text(&finding["kind"]),
            text: text(&finding["text"]),
            advice: text(&finding["advice"]),
            schedule: text(&finding["schedule"]),
        });
        let outcome = VerifyOutcome {
            runs: report["runs"].as_u64().unwrap_or_default(),
            found: failures.len(),
            findings: findings.collect(),
            outcomes: report["outcomes"].clone(),
        };
        let mut lines = vec![format!("{} findings in {} runs", outcome.found, outcome.runs)];
        lines.extend(outcome.findings.iter().map(|it| {
            format!("{}: {}\nadvice: {}\nschedule: {}", it.kind, it.text, it.advice, it.schedule)
        }));
        let search = json!({"query": "verify finding"});
        Ok(ToolAnswer::new(lines.join("\n"), outcome).then(
            "search_docs",
            search,
            "what findings mean",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_can_become_an_option() {
        let call: VerifyWorkflow = serde_json::from_value(json!({
            "path": "--real=policy.toml", "function": "--help", "input": {"a": 1}, "script": "-x",
        }))
        .expect("arguments");
        let arguments = call.arguments();
        let end = arguments.iter().position(|it| it == "--").expect("options end");
        assert_eq!(arguments[end + 1..], ["--real=policy.toml", "--help"]);
        let expected = ["verify", "--runs=500", "--input={\"a\":1}", "--script=-x"];
        assert_eq!(arguments[..end], expected);
    }
}
