//! The log of an execution.

use schemars::JsonSchema;
use segno_model::LogLine as ModelLine;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument},
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

const LINES: u32 = 100;
const LINES_MAX: u32 = 500;
/// Maximum size of a line, in bytes.
const LINE_BYTES: usize = 400;

/// Arguments of `logs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadLogs {
    /// Id of the execution.
    id: String,
    /// Number of the first line (default 0).
    #[serde(default)]
    from: Option<u32>,
    /// Maximum number of lines (1 to 500; default 100).
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// A part of a log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LogsOutput {
    id: String,
    lines: Vec<LoggedLine>,
    /// Lines since the last commit of a workflow that trapped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uncommitted: Vec<LoggedLine>,
    /// The `from` of the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u32>,
}

/// A line of a log.
#[derive(Debug, Serialize, JsonSchema)]
struct LoggedLine {
    line: u32,
    at_ms: i64,
    level: String,
    message: String,
}

impl From<ModelLine> for LoggedLine {
    fn from(line: ModelLine) -> Self {
        let level = line.level.as_str().to_owned();
        Self { line: line.line, at_ms: line.at_ms, level, message: cut(line.message, LINE_BYTES) }
    }
}

impl HostTool for ReadLogs {
    type Output = LogsOutput;
    const NAME: &'static str = "logs";
    const TITLE: &'static str = "Log of an execution";
    const ABOUT: &'static str = "The lines that a function logged, with those of the last failed attempt of a workflow that trapped.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<LogsOutput>, ToolFailure> {
        let limit = self.limit.unwrap_or(LINES).clamp(1, LINES_MAX);
        let page = match access.client.logs(&self.id, self.from.unwrap_or(0), limit).await {
            Ok(page) => page,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let lines = |lines: Vec<ModelLine>| lines.into_iter().map(LoggedLine::from).collect();
        let output = LogsOutput {
            id: page.id,
            lines: lines(page.lines),
            uncommitted: lines(page.uncommitted),
            from: page.next,
        };
        let all = output.lines.iter().chain(&output.uncommitted);
        let text: Vec<String> =
            all.map(|line| format!("{} {} {}", line.line, line.level, line.message)).collect();
        let text = if text.is_empty() { "no lines".to_owned() } else { text.join("\n") };
        Ok(match output.from {
            Some(from) => {
                let arguments = json!({"id": self.id, "from": from, "limit": limit});
                ToolAnswer::new(text, output).then(Self::NAME, arguments, "the next lines")
            }
            None => {
                let arguments = id_argument(&self.id);
                ToolAnswer::new(text, output).then("journal", arguments, "what it did")
            }
        })
    }
}
