//! The list of executions.

use schemars::JsonSchema;
use segno_client::without_missing;
use segno_model::{InvocationQuery, InvocationSummary};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument, not_listed, relative},
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

const LIMIT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// Arguments of `list_executions`. All filters must match.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListExecutions {
    /// Name of the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    /// Name of the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    /// State: pending, acquired, suspended, halted, resolved, rejected, cancelled or timed-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// True for executions that do not continue without a person, each with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<bool>,
    /// Text in the failure, the last error, or the reason of a halt.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Prefix of ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    /// Label, as NAME=VALUE.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Id of the calling execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// True for executions without a caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    roots: Option<bool>,
    /// Maximum number of executions (1 to 100; default 20).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    /// The `after` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// A page of executions, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExecutionList {
    executions: Vec<ExecutionLine>,
    /// The `after` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// An execution in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExecutionLine {
    id: String,
    /// Address of the function.
    target: String,
    state: String,
    /// Number of failed attempts since the last progress.
    attempt: u32,
    /// The failure, the last error, or the reason of a halt.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Why it does not continue without a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Number of records in the journal.
    records: u32,
    created_at_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at_ms: Option<i64>,
}

impl ExecutionLine {
    pub(super) fn line(&self, now_ms: i64) -> String {
        let Self { id, target, state, attempt, .. } = self;
        let target = target.strip_prefix("wasm://").unwrap_or(target);
        let since = relative(self.created_at_ms, now_ms);
        let attempts =
            if *attempt > 0 { format!(", {attempt} failed attempts") } else { String::new() };
        let why = self.stuck.as_ref().or(self.error.as_ref());
        let why = why.map(|why| format!(": {}", why.replace('\n', " "))).unwrap_or_default();
        format!("{id}  {target}  {state}{attempts}, created {since}{why}")
    }
}

impl From<InvocationSummary> for ExecutionLine {
    fn from(of: InvocationSummary) -> Self {
        let failure =
            of.failure.map(|failure| format!("{} (code {})", failure.message, failure.code));
        let error = failure.or(of.note.map(|note| format!("{}: {}", note.kind, note.message)));
        Self {
            id: of.id,
            target: of.target,
            state: of.state.to_string(),
            attempt: of.attempt,
            error: error.map(|error| cut(error, 300)),
            stuck: of.stuck.map(|stuck| cut(format!("{}: {}", stuck.reason, stuck.why), 300)),
            parent: of.parent,
            records: of.journal_len,
            created_at_ms: of.created_at_ms,
            settled_at_ms: of.settled_at_ms,
        }
    }
}

impl HostTool for ListExecutions {
    type Output = ExecutionList;
    const NAME: &'static str = "list_executions";
    const TITLE: &'static str = "List executions";
    const ABOUT: &'static str = "Executions (invocations) of workflows and activities, newest first, by module, function, state, text of the error, prefix of the id, label or caller. `stuck: true` lists those that need a person.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ExecutionList>, ToolFailure> {
        let again = self.clone();
        let query = InvocationQuery {
            module: self.module,
            function: self.function,
            state: self.state,
            stuck: self.stuck,
            error: self.error,
            prefix: self.prefix,
            label: self.label,
            parent: self.parent,
            roots: self.roots,
            limit: Some(self.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX)),
            after: self.after,
            ..InvocationQuery::default()
        };
        let ask = |partial| {
            let query = InvocationQuery { partial, ..query.clone() };
            async move { access.client.list(&query).await }
        };
        let page = without_missing(ask).await?;
        let now = access.now_ms();
        let executions: Vec<ExecutionLine> =
            page.items.into_iter().map(ExecutionLine::from).collect();
        let lines: Vec<String> = executions.iter().map(|execution| execution.line(now)).collect();
        let text = match (lines.is_empty(), &page.next) {
            (true, None) => "no executions match".to_owned(),
            (true, Some(_)) => "none on this page, but there are further pages".to_owned(),
            (false, _) => lines.join("\n"),
        };
        let first = executions.iter().find(|it| it.stuck.is_some() || it.error.is_some());
        let first = first.or(executions.first()).map(|execution| {
            let needs_help = execution.stuck.is_some() || execution.settled_at_ms.is_none();
            let tool = if needs_help { "why_execution" } else { "inspect_execution" };
            (tool, id_argument(&execution.id))
        });
        let more = page
            .next
            .as_ref()
            .map(|after| json!(ListExecutions { after: Some(after.clone()), ..again }));
        let text = text + &not_listed(&page.missing);
        let mut answer = ToolAnswer::new(text, ExecutionList { executions, after: page.next });
        if let Some((tool, arguments)) = first {
            answer = answer.then(tool, arguments, "more about this one");
        }
        if let Some(arguments) = more {
            answer = answer.then(Self::NAME, arguments, "the next page");
        }
        Ok(answer)
    }
}
