//! Dry runs of forks.

use schemars::JsonSchema;
use segno_model::{DryRun, DryStep, DryStream, FailureView, ForkInvocation, GivenResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    access::HostAccess,
    answer::ToolAnswer,
    excerpt::{Excerpt, OutcomeExcerpt, cut},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Maximum number of steps in an answer.
const STEPS_MAX: usize = 100;

/// Arguments of `fork_dry_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkDryRun {
    /// Id of the execution.
    id: String,
    /// Number of records that the fork begins with.
    #[schemars(range(min = 1))]
    at: u32,
    /// Results of commands, in place of the recorded ones.
    #[serde(default)]
    set: Vec<ReplacedResult>,
    /// Name or digest of other code (default: the module of the execution).
    #[serde(default)]
    module: Option<String>,
}

/// A result of a command: a value, or a failure.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplacedResult {
    /// Index of the command.
    command: u32,
    /// The value (default: null).
    #[serde(default)]
    value: Value,
    /// Message of the failure, in place of a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// Code of the failure (default 500).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<u32>,
}

impl From<ReplacedResult> for GivenResult {
    fn from(of: ReplacedResult) -> Self {
        let code = of.code.unwrap_or(500);
        let failure = of.failure.map(|message| FailureView { code, message, details: None });
        let value = failure.is_none().then_some(of.value);
        Self { command: of.command, value, failure }
    }
}

/// The course of a fork.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForkOutput {
    /// Digest of the module that ran.
    module: String,
    /// `ended`, `waits` (for commands that the journal does not answer) or `failed`.
    end: String,
    /// True if it ended with the recorded outcome.
    same_end: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeExcerpt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_outcome: Option<OutcomeExcerpt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The commands from the fork on.
    steps: Vec<ForkStep>,
    /// Number of further commands.
    more_steps: usize,
    /// Commands of the original that the fork did not issue.
    left_out: Vec<String>,
    /// Streams whose items differ from those of the original, with the first difference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    streams: Vec<String>,
}

/// A command of a fork.
#[derive(Debug, Serialize, JsonSchema)]
struct ForkStep {
    index: u32,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    request: Excerpt,
    /// Source of the result: `recorded`, `clock`, `left-out` or `open`.
    answered: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeExcerpt>,
    /// True if the original issued the same command under this index.
    recorded: bool,
}

impl From<DryStep> for ForkStep {
    fn from(of: DryStep) -> Self {
        Self {
            index: of.index,
            command: of.command,
            name: of.name,
            request: Excerpt::new(of.request, Some(300)),
            answered: json!(of.answered).as_str().unwrap_or_default().to_owned(),
            outcome: of.outcome.map(|outcome| OutcomeExcerpt::new(outcome, Some(300))),
            recorded: of.recorded,
        }
    }
}

impl ForkStep {
    fn line(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        let outcome = self.outcome.as_ref().map(|it| format!(" → {}", it.line()));
        let new = if self.recorded { "" } else { " (not in the original)" };
        format!(
            "#{} {} {name} {} [{}]{}{new}",
            self.index,
            self.command,
            self.request.line(),
            self.answered,
            outcome.unwrap_or_default()
        )
    }
}

impl ForkOutput {
    fn new(module: String, run: DryRun) -> Self {
        let excerpt = |outcome| OutcomeExcerpt::new(outcome, None);
        let more_steps = run.steps.len().saturating_sub(STEPS_MAX);
        let left_out = run
            .left_out
            .into_iter()
            .take(STEPS_MAX)
            .map(|it| format!("#{} {} {}", it.index, it.command, it.name.unwrap_or_default()));
        Self {
            module,
            end: json!(run.end).as_str().unwrap_or_default().to_owned(),
            same_end: run.same_end,
            outcome: run.outcome.map(excerpt),
            recorded_outcome: run.recorded_outcome.map(excerpt),
            error: run.error.map(|error| cut(error, 2_000)),
            steps: run.steps.into_iter().take(STEPS_MAX).map(ForkStep::from).collect(),
            more_steps,
            left_out: left_out.collect(),
            streams: run.streams.iter().filter_map(stream_line).collect(),
        }
    }

    fn text(&self) -> String {
        let mut lines: Vec<String> = self.steps.iter().map(ForkStep::line).collect();
        if self.more_steps > 0 {
            lines.push(format!("and {} more commands", self.more_steps));
        }
        lines.extend(self.left_out.iter().map(|it| format!("no longer issued: {it}")));
        lines.extend(self.streams.iter().map(|it| format!("stream {it}")));
        let outcome = self.outcome.as_ref().map(|it| format!(": {}", it.line()));
        let error = self.error.as_ref().map(|error| format!(": {error}"));
        let alike = if self.same_end { ", as recorded" } else { "" };
        let what = outcome.or(error).unwrap_or_default();
        lines.push(format!("dry run {}{alike}{what}; nothing was stored", self.end));
        lines.join("\n")
    }
}

/// A stream that differs. `None` if it is equal.
fn stream_line(of: &DryStream) -> Option<String> {
    if of.same {
        return None;
    }
    let Some(at) = of.differs_at else {
        return Some(format!("`{}` has too much data to be compared", of.name));
    };
    let first = |items: &[String]| items.first().cloned().unwrap_or_else(|| "its end".to_owned());
    let (recorded, forked) = (first(&of.recorded), first(&of.forked));
    Some(format!("`{}` differs from position {at} on: {recorded} → {forked}", of.name))
}

impl HostTool for ForkDryRun {
    type Output = ForkOutput;
    const NAME: &'static str = "fork_dry_run";
    const TITLE: &'static str = "Try a fork";
    const ABOUT: &'static str = "Continues an execution in memory from one of its records, with other results or other code, answered by its own journal. Stores nothing and has no effects.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ForkOutput>, ToolFailure> {
        let fork = ForkInvocation {
            at: self.at,
            set: self.set.into_iter().map(GivenResult::from).collect(),
            module: self.module,
            dry_run: true,
            ..ForkInvocation::default()
        };
        let forked = match access.client.fork(&self.id, &fork).await {
            Ok(forked) => forked,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let Some(run) = forked.dry_run else {
            return Err(ToolFailure::new("unexpected-answer", "the host did no dry run"));
        };
        let output = ForkOutput::new(forked.module, run);
        let around = json!({"id": self.id, "from": self.at.saturating_sub(3), "limit": 20});
        Ok(ToolAnswer::new(output.text(), output).then("journal", around, "the original records"))
    }
}
