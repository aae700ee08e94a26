//! Schedules.

use schemars::JsonSchema;
use segno_client::without_missing;
use segno_model::{ScheduleQuery, ScheduleView};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument, not_listed, relative},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

const SCHEDULES: u32 = 50;

/// Arguments of `list_schedules`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSchedules {
    /// Prefix of ids.
    #[serde(default)]
    prefix: Option<String>,
    /// The `after` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

/// A page of schedules, by id.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchedulesOutput {
    schedules: Vec<ScheduleLine>,
    /// The `after` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// A schedule.
#[derive(Debug, Serialize, JsonSchema)]
struct ScheduleLine {
    id: String,
    /// Cron expression.
    cron: String,
    /// Time zone of the expression.
    zone: String,
    target: String,
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at_ms: Option<i64>,
    /// Id of the last execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// State of the last execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_state: Option<String>,
    /// Number of skipped occurrences.
    skipped: u64,
    /// Why the next occurrence cannot be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl From<ScheduleView> for ScheduleLine {
    fn from(of: ScheduleView) -> Self {
        Self {
            id: of.id,
            cron: of.cron,
            zone: of.zone,
            target: of.target,
            paused: of.paused,
            next_at_ms: of.next_at_ms,
            last: of.last_id,
            last_state: of.last.map(|last| last.state.to_string()),
            skipped: of.skipped,
            problem: of.problem,
        }
    }
}

impl ScheduleLine {
    fn line(&self, now_ms: i64) -> String {
        let Self { id, cron, zone, target, .. } = self;
        let next = match (self.paused, self.next_at_ms) {
            (true, _) => "paused".to_owned(),
            (false, Some(at)) => format!("next {}", relative(at, now_ms)),
            (false, None) => "no next occurrence".to_owned(),
        };
        let last = self.last_state.as_ref().map(|state| format!(", last {state}"));
        let problem = self.problem.as_ref().map(|problem| format!(": {problem}"));
        let (last, problem) = (last.unwrap_or_default(), problem.unwrap_or_default());
        format!("{id}  `{cron}` {zone}  {target}  {next}{last}{problem}")
    }
}

impl HostTool for ListSchedules {
    type Output = SchedulesOutput;
    const NAME: &'static str = "list_schedules";
    const TITLE: &'static str = "List schedules";
    const ABOUT: &'static str =
        "Schedules (cron), with their next occurrence and the state of their last execution.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<SchedulesOutput>, ToolFailure> {
        let query = ScheduleQuery {
            prefix: self.prefix.clone(),
            after: self.after,
            limit: Some(SCHEDULES),
            ..ScheduleQuery::default()
        };
        let ask = |partial| {
            let query = ScheduleQuery { partial, ..query.clone() };
            async move { access.client.schedules(&query).await }
        };
        let page = without_missing(ask).await?;
        let now = access.now_ms();
        let schedules: Vec<ScheduleLine> = page.items.into_iter().map(ScheduleLine::from).collect();
        let text = match schedules.is_empty() {
            true => "no schedules".to_owned(),
            false => schedules.iter().map(|it| it.line(now)).collect::<Vec<_>>().join("\n"),
        };
        let last = schedules.iter().find_map(|schedule| schedule.last.clone());
        let after = page.next.clone();
        let text = text + &not_listed(&page.missing);
        let mut answer = ToolAnswer::new(text, SchedulesOutput { schedules, after: page.next });
        if let Some(last) = last {
            answer = answer.then("inspect_execution", id_argument(&last), "its last execution");
        }
        if let Some(after) = after {
            let arguments = json!({"prefix": self.prefix, "after": after});
            answer = answer.then(Self::NAME, arguments, "the next page");
        }
        Ok(answer)
    }
}
