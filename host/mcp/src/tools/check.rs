//! Checks of new code against the journals of executions in flight.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use segno_model::{CheckRequest, CheckVerdict, CheckedExecution};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::replay::ReplayOutput;
use crate::{
    access::HostAccess,
    answer::ToolAnswer,
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Number of executions that one call checks.
const EXECUTIONS: u32 = 100;
/// Maximum number of differences in an answer.
const DIFFERENCES_MAX: usize = 10;

/// Arguments of `check_module`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckModule {
    /// Name of the module whose executions are replayed.
    module: String,
    /// Name or digest of the new code, which must be stored: `segno deploy PROJECT --as NAME
    /// --check` stores it without activating it, and prints its digest.
    candidate: String,
    /// Number of ended executions that are replayed as well, the latest first (default 0).
    #[serde(default)]
    ended: u32,
    /// The `after` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

/// The result of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckOutput {
    /// Digest of the candidate.
    candidate: String,
    /// True if no execution of this page diverges, fails or is damaged.
    safe: bool,
    /// Numbers of executions by verdict: `same`, `diverges`, `fails`, `not-started`,
    /// `incomparable`, `there`, `damaged`.
    verdicts: BTreeMap<String, usize>,
    /// The first executions that cannot continue on the candidate.
    differences: Vec<CheckDifference>,
    /// The `after` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// An execution that cannot continue on a candidate.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckDifference {
    id: String,
    verdict: String,
    /// The replay that shows the difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayOutput>,
    /// The reason why there is no replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn word(verdict: CheckVerdict) -> String {
    json!(verdict).as_str().unwrap_or_default().to_owned()
}

impl From<CheckedExecution> for CheckDifference {
    fn from(of: CheckedExecution) -> Self {
        Self {
            id: of.id,
            verdict: word(of.verdict),
            replay: of.replay.map(ReplayOutput::from),
            reason: of.reason.map(|reason| cut(reason, 500)),
        }
    }
}

impl CheckDifference {
    fn line(&self) -> String {
        let why = self.replay.as_ref().map(ReplayOutput::text).or(self.reason.clone());
        format!("{} {}: {}", self.id, self.verdict, why.unwrap_or_default().replace('\n', "; "))
    }
}

impl HostTool for CheckModule {
    type Output = CheckOutput;
    const NAME: &'static str = "check_module";
    const TITLE: &'static str = "Check new code";
    const ABOUT: &'static str = "Replays the executions of a module in flight on other stored code, without effects, and counts those that would diverge. It proves the past only.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<CheckOutput>, ToolFailure> {
        let request = CheckRequest {
            candidate: self.candidate.clone(),
            ended: self.ended,
            after: self.after,
            limit: Some(EXECUTIONS),
            ..CheckRequest::default()
        };
        let page = access.client.check(&self.module, &request).await?;
        let mut verdicts = BTreeMap::new();
        let mut differences = Vec::new();
        for execution in page.items {
            *verdicts.entry(word(execution.verdict)).or_insert(0) += 1;
            let is_bad = matches!(
                execution.verdict,
                CheckVerdict::Diverges | CheckVerdict::Fails | CheckVerdict::Damaged
            );
            if is_bad {
                differences.push(execution);
            }
        }
        let safe = differences.is_empty();
        let differences: Vec<CheckDifference> =
            differences.into_iter().take(DIFFERENCES_MAX).map(CheckDifference::from).collect();
        let counts: Vec<String> =
            verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let mut lines = vec![match counts.as_slice() {
            [] => "nothing is in flight".to_owned(),
            counts => counts.join(", "),
        }];
        lines.extend(differences.iter().map(CheckDifference::line));
        let first = differences.first().map(|it| json!({"id": it.id, "module": self.candidate}));
        let next = page.next.clone().map(|after| {
            json!({"module": self.module, "candidate": self.candidate, "ended": page.ended, "after": after})
        });
        let output = CheckOutput {
            candidate: page.candidate,
            safe,
            verdicts,
            differences,
            after: page.next,
        };
        let mut answer = ToolAnswer::new(lines.join("\n"), output);
        if let Some(first) = first {
            answer = answer.then("replay_execution", first, "one difference in full");
        }
        if let Some(next) = next {
            answer = answer.then(Self::NAME, next, "the next executions");
        }
        Ok(answer)
    }
}
