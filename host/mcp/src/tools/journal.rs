//! The journal of an execution.

use schemars::JsonSchema;
use segno_model::JournalRecord;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument, length},
    excerpt::{Excerpt, OutcomeExcerpt},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

const RECORDS: u32 = 50;
const RECORDS_MAX: u32 = 200;
/// Default size of a value that is shown whole, in bytes of JSON.
const RECORD_VALUE_BYTES: u32 = 300;

/// Arguments of `journal`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadJournal {
    /// Id of the execution.
    id: String,
    /// Index of the first record (default 0).
    #[serde(default)]
    from: Option<u32>,
    /// Maximum number of records (1 to 200; default 50).
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
    /// Values with more bytes of JSON are cut (default 300; at most 65536).
    #[serde(default)]
    max_value_bytes: Option<u32>,
}

/// A part of a journal.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JournalOutput {
    id: String,
    records: Vec<RecordLine>,
    /// The `from` of the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u32>,
}

/// A record.
#[derive(Debug, Serialize, JsonSchema)]
struct RecordLine {
    /// Index of the record.
    seq: u32,
    at_ms: i64,
    /// `started`, `command`, `notified`, `signal`, `cancelled` or `finished`.
    kind: String,
    /// Index of the command, for commands and their completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    /// Kind of the command: `call`, `sleep`, `run`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Name of the called function, the run or the signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Arguments of the command; the input, for the first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Excerpt>,
    /// Outcome of a completion or of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeExcerpt>,
}

impl RecordLine {
    fn new(record: JournalRecord, max_bytes: Option<u32>) -> Self {
        let max_bytes = max_bytes.or(Some(RECORD_VALUE_BYTES));
        Self {
            seq: record.seq,
            at_ms: record.at_ms,
            kind: json!(record.kind).as_str().unwrap_or_default().to_owned(),
            index: record.index,
            command: record.command,
            name: record.name,
            request: record.request.map(|request| Excerpt::new(request, max_bytes)),
            outcome: record.outcome.map(|outcome| OutcomeExcerpt::new(outcome, max_bytes)),
        }
    }

    fn line(&self, began_at_ms: i64) -> String {
        let mut parts = vec![
            self.seq.to_string(),
            format!("+{}", length(self.at_ms.saturating_sub(began_at_ms))),
            self.kind.clone(),
        ];
        parts.extend(self.index.map(|index| format!("#{index}")));
        parts.extend(self.command.clone());
        parts.extend(self.name.clone());
        parts.extend(self.request.as_ref().map(Excerpt::line));
        parts.extend(self.outcome.as_ref().map(|outcome| format!("→ {}", outcome.line())));
        parts.join(" ")
    }
}

impl HostTool for ReadJournal {
    type Output = JournalOutput;
    const NAME: &'static str = "journal";
    const TITLE: &'static str = "Journal of an execution";
    const ABOUT: &'static str = "The records of an execution: its input, each command with its completion, signals, and the end. Times are relative to the first record shown. For a whole long value: the record's `seq` as `from`, `limit: 1` and a high `max_value_bytes`.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<JournalOutput>, ToolFailure> {
        let limit = self.limit.unwrap_or(RECORDS).clamp(1, RECORDS_MAX);
        let page = match access.client.journal(&self.id, self.from.unwrap_or(0), limit).await {
            Ok(page) => page,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let began = page.records.first().map_or(0, |record| record.at_ms);
        let records = page.records.into_iter();
        let records: Vec<RecordLine> =
            records.map(|record| RecordLine::new(record, self.max_value_bytes)).collect();
        let text = match records.is_empty() {
            true => "no records: a workflow has one from its first commit on, an activity none"
                .to_owned(),
            false => records.iter().map(|it| it.line(began)).collect::<Vec<_>>().join("\n"),
        };
        let output = JournalOutput { id: page.id, records, from: page.next };
        let answer = match output.from {
            Some(from) => {
                let arguments = json!({"id": self.id, "from": from, "limit": limit});
                ToolAnswer::new(text, output).then(Self::NAME, arguments, "the next records")
            }
            None => ToolAnswer::new(text, output),
        };
        Ok(answer.then("logs", id_argument(&self.id), "what it logged"))
    }
}
