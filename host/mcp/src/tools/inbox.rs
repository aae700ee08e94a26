//! Promises and signals that wait for people or other systems.

use schemars::JsonSchema;
use segno_client::without_missing;
use segno_model::{PromiseQuery, PromiseSummary};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument, not_listed, relative},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

const ENTRIES: u32 = 50;
const ENTRIES_MAX: u32 = 200;

/// Arguments of `list_inbox`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInbox {
    /// Prefix of ids.
    #[serde(default)]
    prefix: Option<String>,
    /// Maximum number of entries (1 to 200; default 50).
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
    /// The `after` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

/// A page of the inbox.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InboxOutput {
    entries: Vec<InboxEntry>,
    /// The `after` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// A promise or a signal that an execution waits for.
#[derive(Debug, Serialize, JsonSchema)]
struct InboxEntry {
    /// Id of the promise.
    id: String,
    /// `promise` or `signal`.
    kind: String,
    /// Id of the execution that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_by: Option<String>,
    created_at_ms: i64,
    /// The deadline, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_at_ms: Option<i64>,
}

impl From<PromiseSummary> for InboxEntry {
    fn from(promise: PromiseSummary) -> Self {
        let signals = promise.made_by.as_ref().map(|maker| format!("{maker}/s/"));
        let is_signal = signals.is_some_and(|signals| promise.id.starts_with(&signals));
        Self {
            kind: if is_signal { "signal" } else { "promise" }.to_owned(),
            id: promise.id,
            made_by: promise.made_by,
            created_at_ms: promise.created_at_ms,
            timeout_at_ms: promise.timeout_at_ms,
        }
    }
}

impl InboxEntry {
    fn line(&self, now_ms: i64) -> String {
        let Self { id, kind, created_at_ms, .. } = self;
        let of = self.made_by.as_ref().map(|maker| format!(" of {maker}")).unwrap_or_default();
        let until = self.timeout_at_ms.map(|at| format!(", until {}", relative(at, now_ms)));
        let until = until.unwrap_or_default();
        format!("{kind} {id}{of}, created {}{until}", relative(*created_at_ms, now_ms))
    }
}

impl HostTool for ListInbox {
    type Output = InboxOutput;
    const NAME: &'static str = "list_inbox";
    const TITLE: &'static str = "Inbox";
    const ABOUT: &'static str = "Pending promises that people or other systems settle (approvals, answers), and signals that executions wait for.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<InboxOutput>, ToolFailure> {
        let query = PromiseQuery {
            state: Some("pending".to_owned()),
            external: Some(true),
            signals: Some(true),
            prefix: self.prefix.clone(),
            after: self.after,
            limit: Some(self.limit.unwrap_or(ENTRIES).clamp(1, ENTRIES_MAX)),
            ..PromiseQuery::default()
        };
        let ask = |partial| {
            let query = PromiseQuery { partial, ..query.clone() };
            async move { access.client.promises(&query).await }
        };
        let page = without_missing(ask).await?;
        let now = access.now_ms();
        let entries: Vec<InboxEntry> = page.items.into_iter().map(InboxEntry::from).collect();
        let text = match entries.is_empty() {
            true => "no execution waits for a promise or a signal".to_owned(),
            false => entries.iter().map(|it| it.line(now)).collect::<Vec<_>>().join("\n"),
        };
        let maker = entries.iter().find_map(|entry| entry.made_by.clone());
        let promise = entries.iter().find(|it| it.kind == "promise").map(|it| it.id.clone());
        let after = page.next.clone();
        let text = text + &not_listed(&page.missing);
        let mut answer = ToolAnswer::new(text, InboxOutput { entries, after: page.next });
        if let Some(maker) = maker {
            let why = "the execution that waits, and the value that it takes";
            answer = answer.then("why_execution", id_argument(&maker), why);
        }
        if let Some(promise) = promise {
            let arguments = json!({"id": promise, "value": null});
            answer =
                answer.then("settle_promise", arguments, "settle it; ask the person for the value");
        }
        if let Some(after) = after {
            let arguments = json!({"prefix": self.prefix, "after": after});
            answer = answer.then(Self::NAME, arguments, "the next page");
        }
        Ok(answer)
    }
}
