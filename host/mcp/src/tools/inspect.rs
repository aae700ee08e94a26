//! One execution.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use segno_model::{
    BudgetAccount, BudgetUnit, Invocation, InvocationState, OutcomeView, Wait, costs_in_words,
};
use serde::{Deserialize, Serialize};
use serde_json::{Number, json};

use crate::{
    access::HostAccess,
    answer::{NextCall, ToolAnswer, id_argument, relative},
    excerpt::{Excerpt, OutcomeExcerpt, cut},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Maximum number of awaited promises and of calls in an answer.
const SHOWN: usize = 20;

/// Arguments of `inspect_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InspectExecution {
    /// Id of the execution.
    id: String,
    /// Values with more bytes of JSON are cut (default 1000; at most 65536).
    #[serde(default)]
    max_value_bytes: Option<u32>,
}

/// An execution, without its journal.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InspectedExecution {
    id: String,
    /// Address of the function.
    target: String,
    /// Digest of the module to which it is pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    state: String,
    /// Number of failed attempts since the last progress.
    attempt: u32,
    /// The last error, or the reason of a halt.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    input: Excerpt,
    /// The outcome, if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeExcerpt>,
    /// The first awaited promises.
    waits: Vec<WaitLine>,
    /// Number of awaited promises.
    waits_count: u32,
    /// The newest calls.
    calls: Vec<CallLine>,
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Number of records in the journal.
    records: u32,
    /// The budgets that it draws on, the nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    budgets: Vec<BudgetLine>,
    /// The cost that its last attempt reported, by unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cost: BTreeMap<String, Number>,
    /// Names of sagas that have or had something to undo.
    sagas: Vec<String>,
    created_at_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at_ms: Option<i64>,
}

/// The budget of an execution.
#[derive(Debug, Serialize, JsonSchema)]
struct BudgetLine {
    /// Id of the execution that the budget belongs to.
    id: String,
    units: BTreeMap<String, BudgetLineUnit>,
    /// The budget on one line.
    #[serde(skip)]
    line: String,
}

/// Limit and use of a unit.
#[derive(Debug, Serialize, JsonSchema)]
struct BudgetLineUnit {
    limit: Number,
    spent: Number,
    remaining: Number,
}

/// An awaited promise.
#[derive(Debug, Serialize, JsonSchema)]
struct WaitLine {
    id: String,
    /// `call`, `turn`, `timer`, `signal` or `promise`.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_at_ms: Option<i64>,
}

/// A called execution.
#[derive(Debug, Serialize, JsonSchema)]
struct CallLine {
    id: String,
    target: String,
    state: String,
}

impl From<BudgetAccount> for BudgetLine {
    fn from(of: BudgetAccount) -> Self {
        let line = of.line();
        let unit =
            |BudgetUnit { limit, spent, remaining }| BudgetLineUnit { limit, spent, remaining };
        let units = of.units.into_iter().map(|(name, of)| (name, unit(of)));
        Self { id: of.id, units: units.collect(), line }
    }
}

impl From<Wait> for WaitLine {
    fn from(wait: Wait) -> Self {
        let kind = json!(wait.kind).as_str().unwrap_or_default().to_owned();
        Self { id: wait.id, kind, until_at_ms: wait.until_at_ms }
    }
}

impl InspectedExecution {
    fn new(of: Invocation, max_bytes: Option<u32>) -> Self {
        let outcome = OutcomeView { value: of.output, failure: of.failure };
        let calls = of.children.into_iter().take(SHOWN).map(|call| CallLine {
            id: call.id,
            target: call.target,
            state: call.state.to_string(),
        });
        Self {
            id: of.id,
            target: of.target,
            module: of.module,
            state: of.state.to_string(),
            attempt: of.attempt,
            note: of.note.map(|note| cut(format!("{}: {}", note.kind, note.message), 2_000)),
            input: Excerpt::new(of.input, max_bytes),
            outcome: of.state.is_settled().then(|| OutcomeExcerpt::new(outcome, max_bytes)),
            waits: of.waits.into_iter().take(SHOWN).map(WaitLine::from).collect(),
            waits_count: of.waits_count,
            calls: calls.collect(),
            labels: of.labels,
            parent: of.parent,
            records: of.journal_len,
            budgets: of.budget.into_iter().map(BudgetLine::from).collect(),
            cost: of.cost,
            sagas: of.sagas,
            created_at_ms: of.created_at_ms,
            settled_at_ms: of.settled_at_ms,
        }
    }

    fn text(&self, now_ms: i64) -> String {
        let mut lines = vec![
            format!("{}  {}  {}", self.id, self.target, self.state),
            format!("created {}, {} records", relative(self.created_at_ms, now_ms), self.records),
            format!("input: {}", self.input.line()),
        ];
        lines.extend(self.outcome.iter().map(|outcome| format!("outcome: {}", outcome.line())));
        if self.attempt > 0 {
            lines.push(format!("{} failed attempts since the last progress", self.attempt));
        }
        lines.extend(self.budgets.iter().map(|budget| format!("budget: {}", budget.line)));
        if !self.cost.is_empty() {
            lines.push(format!("cost: {}", costs_in_words(&self.cost)));
        }
        lines.extend(self.note.iter().map(|note| format!("note: {note}")));
        lines.extend(self.waits.iter().map(|wait| {
            let until = wait.until_at_ms.map(|at| format!(", {}", relative(at, now_ms)));
            format!("waits for {} {}{}", wait.kind, wait.id, until.unwrap_or_default())
        }));
        lines.extend(
            self.calls
                .iter()
                .map(|call| format!("calls {} {}  {}", call.target, call.id, call.state)),
        );
        lines.join("\n")
    }
}

impl HostTool for InspectExecution {
    type Output = InspectedExecution;
    const NAME: &'static str = "inspect_execution";
    const TITLE: &'static str = "Inspect an execution";
    const ABOUT: &'static str = "One execution: state, input, outcome, last error, what it waits for, its calls, labels and budgets. The resource segno://executions/ID has all of it whole.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(
        self,
        access: &HostAccess,
    ) -> Result<ToolAnswer<InspectedExecution>, ToolFailure> {
        let invocation = match access.client.invocation(&self.id).await {
            Ok(invocation) => invocation,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let next = next_calls(&invocation.id, invocation.state);
        let inspected = InspectedExecution::new(invocation, self.max_value_bytes);
        Ok(ToolAnswer::new(inspected.text(access.now_ms()), inspected).then_all(next))
    }
}

/// The calls that are useful for an execution in this state.
pub(super) fn next_calls(id: &str, state: InvocationState) -> Vec<NextCall> {
    let call = |tool, why| NextCall::new(tool, id_argument(id), why);
    match state {
        InvocationState::Pending | InvocationState::Acquired | InvocationState::Suspended => {
            vec![call("why_execution", "what it waits for"), call("journal", "what it did so far")]
        }
        InvocationState::Halted => vec![
            call("why_execution", "why it is halted"),
            call("replay_execution", "if its code still repeats its journal"),
            call("continue_execution", "set it going again"),
        ],
        InvocationState::Resolved => vec![call("journal", "how it came to its outcome")],
        InvocationState::Rejected | InvocationState::Cancelled | InvocationState::TimedOut => {
            vec![call("journal", "what it did"), call("logs", "what it logged")]
        }
    }
}
