//! Reruns of recorded executions with a change.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use segno_client::{RerunGroup, RerunSums};
use segno_model::{
    FunctionName, GivenResult, RerunFilter, RerunRequest, RerunRow, RerunVerdict, UnansweredPolicy,
    ValueDifference,
};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use super::fork::ReplacedResult;
use crate::{
    access::HostAccess,
    answer::{ToolAnswer, length},
    excerpt::{Excerpt, cut},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Maximum number of executions of a call.
const LIMIT_MAX: u32 = 20;
/// Maximum number of ids named with each difference.
const NAMED: usize = 3;
/// Maximum number of differences in an answer.
const GROUPS_MAX: usize = 10;
/// Maximum length of a reason.
const REASON_MAX: usize = 300;
/// Maximum size of a value at a difference, in bytes of JSON.
const VALUE_BYTES_MAX: u32 = 200;

/// Arguments of `rerun`. All filters must match; `ids` are an alternative to filters.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RerunExecutions {
    /// The function, as MODULE/FUNCTION or MODULE/OBJECT/FUNCTION.
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    /// State: resolved, rejected, cancelled or timed-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Text in the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Prefix of ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    /// Labels, as NAME=VALUE.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
    /// Only executions created at this instant or later, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_at_ms: Option<i64>,
    /// Only executions created before this instant, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_at_ms: Option<i64>,
    /// Ids of executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<String>>,
    /// Number of records that each execution begins with (default 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    at: Option<u32>,
    /// Results of commands, in place of the recorded ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    set: Vec<ReplacedResult>,
    /// Name or digest of the code to run (default: the module of each execution).
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    /// Treatment of commands without a recorded answer: stop (default), fail or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    unanswered: Option<UnansweredChoice>,
    /// Maximum number of executions (1 to 20; default 20).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 20))]
    limit: Option<u32>,
    /// The `after` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// The treatment of commands without a recorded answer.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum UnansweredChoice {
    Stop,
    Fail,
    Null,
}

impl From<UnansweredChoice> for UnansweredPolicy {
    fn from(of: UnansweredChoice) -> Self {
        match of {
            UnansweredChoice::Stop => Self::Stop,
            UnansweredChoice::Fail => Self::Fail,
            UnansweredChoice::Null => Self::Null,
        }
    }
}

/// The result of a rerun.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RerunOutput {
    /// Number of executions of this page.
    executions: usize,
    /// Numbers of executions by verdict: `same`, `differs`, `failed`, `diverged`, `unanswered`,
    /// `skipped`.
    verdicts: BTreeMap<String, usize>,
    /// Number of commands that recordings answered.
    answered_commands: u64,
    /// Number of commands without a recorded answer.
    unanswered_commands: u64,
    /// The costs that the recorded calls reported, by unit.
    recorded_cost: BTreeMap<String, Number>,
    /// The costs of those calls whose results the new runs have.
    cost: BTreeMap<String, Number>,
    /// Length of the recorded executions that were run.
    duration_ms: i64,
    /// Executions that do not end as recorded, by difference; the largest group first.
    groups: Vec<RerunGroupLine>,
    /// Number of further groups.
    more_groups: usize,
    /// The `after` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// Executions with the same difference.
#[derive(Debug, Serialize, JsonSchema)]
struct RerunGroupLine {
    verdict: String,
    difference: String,
    /// Number of executions.
    count: usize,
    /// The first executions.
    ids: Vec<String>,
    /// The difference in the first execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<RerunDifference>,
}

/// The first difference in an execution.
#[derive(Debug, Serialize, JsonSchema)]
struct RerunDifference {
    /// The reason of the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Place in the output at which both differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The value there before. Absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Excerpt>,
    /// The value there after. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Excerpt>,
}

impl RerunDifference {
    fn new(row: &RerunRow) -> Self {
        let excerpt = |value: &Value| Excerpt::new(value.clone(), Some(VALUE_BYTES_MAX));
        let reason = row.reason.clone().map(|reason| cut(reason, REASON_MAX));
        match &row.output {
            None => Self { reason, path: None, before: None, after: None },
            Some(ValueDifference { path, before, after }) => Self {
                reason,
                path: Some(path.clone()),
                before: before.as_ref().map(excerpt),
                after: after.as_ref().map(excerpt),
            },
        }
    }

    fn line(&self) -> String {
        let value = |value: &Option<Excerpt>| {
            value.as_ref().map_or_else(|| "(absent)".to_owned(), Excerpt::line)
        };
        let output = self
            .path
            .as_ref()
            .map(|path| format!("{path}: {} → {}", value(&self.before), value(&self.after)));
        let reason = self.reason.as_ref().map(|reason| reason.replace('\n', " "));
        reason.into_iter().chain(output).collect::<Vec<_>>().join("; ")
    }
}

impl RerunGroupLine {
    fn new(group: RerunGroup, rows: &[RerunRow]) -> Self {
        let first = rows.iter().find(|row| group.executions.first() == Some(&row.id));
        let count = group.executions.len();
        Self {
            verdict: group.verdict.as_str().to_owned(),
            difference: cut(group.difference, REASON_MAX),
            count,
            ids: group.executions.into_iter().take(NAMED).collect(),
            first: first.map(RerunDifference::new),
        }
    }

    fn text(&self) -> String {
        let more = match self.count.saturating_sub(self.ids.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let difference = self.difference.replace('\n', " ");
        let line = format!("{} {}: {difference}", self.count, self.verdict);
        let ids = format!("  {}{more}", self.ids.join(", "));
        let first = self.first.as_ref().map(|first| format!("  {}", first.line()));
        [line, ids].into_iter().chain(first).collect::<Vec<_>>().join("\n")
    }
}

impl RerunOutput {
    fn new(rows: &[RerunRow], after: Option<String>) -> (Self, String) {
        let sums = RerunSums::of(rows);
        let mut verdicts = BTreeMap::new();
        for row in rows {
            *verdicts.entry(row.verdict.as_str().to_owned()).or_insert(0) += 1;
        }
        let all = RerunGroup::all(rows);
        let more_groups = all.len().saturating_sub(GROUPS_MAX);
        let groups = all.into_iter().take(GROUPS_MAX);
        let groups: Vec<_> = groups.map(|group| RerunGroupLine::new(group, rows)).collect();
        let mut lines = vec![match (rows.is_empty(), &after) {
            (true, None) => "no executions match".to_owned(),
            (true, Some(_)) => "none on this page, but there are further pages".to_owned(),
            (false, _) => sums.in_words(&length(sums.duration_ms)),
        }];
        lines.extend(groups.iter().map(RerunGroupLine::text));
        if more_groups > 0 {
            lines.push(format!("and {more_groups} more differences"));
        }
        let output = Self {
            executions: sums.executions,
            verdicts,
            answered_commands: sums.answered_commands,
            unanswered_commands: sums.unanswered_commands,
            recorded_cost: sums.recorded_cost,
            cost: sums.cost,
            duration_ms: sums.duration_ms,
            groups,
            more_groups,
            after,
        };
        (output, lines.join("\n"))
    }
}

impl RerunExecutions {
    fn request(self) -> Result<RerunRequest, ToolFailure> {
        let bad = |reason| ToolFailure::new("invalid-field", format!("`function`: {reason}"));
        let function = self.function.as_deref().map(FunctionName::parse).transpose();
        Ok(RerunRequest {
            filter: RerunFilter {
                function: function.map_err(bad)?,
                state: self.state,
                error: self.error,
                prefix: self.prefix,
                labels: self.labels,
                since_at_ms: self.since_at_ms,
                until_at_ms: self.until_at_ms,
            },
            ids: self.ids,
            at: self.at.unwrap_or(1),
            set: self.set.into_iter().map(GivenResult::from).collect(),
            module: self.module,
            unanswered: self.unanswered.map(UnansweredPolicy::from).unwrap_or_default(),
            after: self.after,
            limit: Some(self.limit.unwrap_or(LIMIT_MAX).clamp(1, LIMIT_MAX)),
        })
    }
}

impl HostTool for RerunExecutions {
    type Output = RerunOutput;
    const NAME: &'static str = "rerun";
    const TITLE: &'static str = "Run executions again";
    const ABOUT: &'static str = "Runs recorded executions again in memory with other code or other results, answered by their own journals, and compares how they end, what they ask for and what they cost. At most 20 a call. Stores nothing and has no effects.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<RerunOutput>, ToolFailure> {
        let again = self.clone();
        let page = access.client.rerun(&self.request()?).await?;
        let was_run =
            |row: &&RerunRow| !matches!(row.verdict, RerunVerdict::Same | RerunVerdict::Skipped);
        let first = page.items.iter().find(was_run).map(|row| match row.verdict {
            RerunVerdict::Diverged => {
                ("replay_execution", json!({"id": row.id, "module": again.module}))
            }
            _ => {
                let at = again.at.unwrap_or(1);
                let fork =
                    json!({"id": row.id, "at": at, "set": again.set, "module": again.module});
                ("fork_dry_run", fork)
            }
        });
        let more =
            page.next.clone().map(|after| json!(RerunExecutions { after: Some(after), ..again }));
        let (output, text) = RerunOutput::new(&page.items, page.next);
        let mut answer = ToolAnswer::new(text, output);
        if let Some((tool, arguments)) = first {
            answer = answer.then(tool, arguments, "one difference in full");
        }
        if let Some(arguments) = more {
            answer = answer.then(Self::NAME, arguments, "the next executions");
        }
        Ok(answer)
    }
}
