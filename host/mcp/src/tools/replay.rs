//! Replays of journals.

use schemars::JsonSchema;
use segno_model::{Replay, ReplayVerdict};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument},
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Arguments of `replay_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayExecution {
    /// Id of the execution.
    id: String,
    /// Name or digest of another module to run (default: the module that wrote the journal).
    #[serde(default)]
    module: Option<String>,
    /// Number of records to replay, from the first on (default: all). The answer then names the
    /// commands that are open at that place.
    #[serde(default)]
    #[schemars(range(min = 1))]
    at: Option<u32>,
}

/// The result of a replay.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayOutput {
    id: String,
    /// Digest of the module that ran.
    module: String,
    /// `identical`, `diverged` or `failed`.
    verdict: String,
    /// Number of records that were repeated.
    matched: u32,
    /// Number of records to repeat.
    records: u32,
    /// The first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    divergence: Option<DivergenceText>,
    /// Commands that are open at the end, if `at` was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<String>,
    /// The error that ended the replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A difference between a journal and the commands of a module.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DivergenceText {
    /// Index of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u32>,
    /// The difference in one sentence.
    message: String,
    /// Differing fields: `NAME: recorded R, asked A`.
    fields: Vec<String>,
}

impl From<Replay> for ReplayOutput {
    fn from(of: Replay) -> Self {
        let divergence = of.divergence.map(|divergence| DivergenceText {
            seq: divergence.seq,
            message: cut(divergence.message, 1_000),
            fields: divergence
                .fields
                .into_iter()
                .map(|it| {
                    let (recorded, asked) = (cut(it.recorded, 300), cut(it.asked, 300));
                    format!("{}: recorded {recorded}, asked {asked}", it.field)
                })
                .collect(),
        });
        let open = of.open.into_iter().map(|place| {
            let promise = place.promise.map(|promise| format!(" ({promise})"));
            format!("#{} {}{}", place.index, place.command, promise.unwrap_or_default())
        });
        Self {
            id: of.id,
            module: of.module,
            verdict: json!(of.verdict).as_str().unwrap_or_default().to_owned(),
            matched: of.matched,
            records: of.journal_len,
            divergence,
            open: open.collect(),
            error: of.error.map(|error| cut(error, 2_000)),
        }
    }
}

impl ReplayOutput {
    pub(super) fn text(&self) -> String {
        let Self { id, verdict, matched, records, .. } = self;
        let mut lines = vec![format!("{id}: {verdict}, {matched} of {records} records repeated")];
        if let Some(divergence) = &self.divergence {
            let seq = divergence.seq.map(|seq| format!("at record {seq}: ")).unwrap_or_default();
            lines.push(format!("{seq}{}", divergence.message));
            lines.extend(divergence.fields.clone());
        }
        lines.extend(self.open.iter().map(|open| format!("open: {open}")));
        lines.extend(self.error.iter().map(|error| format!("error: {error}")));
        lines.join("\n")
    }
}

impl HostTool for ReplayExecution {
    type Output = ReplayOutput;
    const NAME: &'static str = "replay_execution";
    const TITLE: &'static str = "Replay an execution";
    const ABOUT: &'static str = "Runs the code of an execution against its journal, without effects, and reports the first difference. With `module`, on other code; with `at`, up to a record.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ReplayOutput>, ToolFailure> {
        let replay = access.client.replay_to(&self.id, self.module.as_deref(), self.at).await;
        let replay = match replay {
            Ok(replay) => replay,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let verdict = replay.verdict;
        let matched = replay.matched;
        let output = ReplayOutput::from(replay);
        let answer = ToolAnswer::new(output.text(), output);
        Ok(match verdict {
            ReplayVerdict::Identical => answer,
            ReplayVerdict::Diverged => {
                let around = json!({"id": self.id, "from": matched.saturating_sub(3), "limit": 10});
                answer.then("journal", around, "the records around the difference").then(
                    "search_docs",
                    json!({"query": "what may change in a workflow"}),
                    "the rules",
                )
            }
            ReplayVerdict::Failed => {
                answer.then("logs", id_argument(&self.id), "what it logged before it failed")
            }
        })
    }
}
