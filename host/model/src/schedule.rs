//! Schedules and backfills.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::UnreadableRow;

/// What happens at an occurrence while the schedule's last invocation has not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// A further invocation is started.
    #[default]
    Allow,
    /// The occurrence is skipped.
    Skip,
    /// A further invocation is created, which begins when the last one has ended.
    Queue,
}

/// The body of `POST /v1/schedules`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSchedule {
    /// The id of the schedule. The same id again answers the first schedule, unchanged.
    #[schema(
        example = "nightly-report",
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: String,
    /// The occurrences in UTC: minute, hour, day of month, month, weekday; with six fields the
    /// first is the second, with seven the last is the year.
    #[schema(example = "0 3 * * MON-FRI")]
    pub cron: String,
    /// The function to start: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`; or the address of an
    /// external worker: `poll://…`, `http(s)://…`.
    #[schema(example = "reports/daily")]
    pub target: String,
    /// Any JSON that matches the function's input schema; `null` if absent.
    #[serde(default)]
    pub input: Value,
    /// Template for the ids of invocations: `{{.id}}` is the schedule's id; `{{.timestamp}}`, which
    /// is required, is the occurrence in milliseconds. Absent: `{{.id}}@{{.timestamp}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation_id: Option<String>,
    /// The time from each occurrence to the deadline of its invocation; absent: the function's own
    /// default, else none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub timeout_ms: Option<u64>,
    /// The rule for occurrences while the last invocation has not ended.
    #[serde(default)]
    pub overlap: Overlap,
    /// Labels of the invocations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    /// The id of the schedule.
    pub id: String,
    /// The cron expression, in UTC.
    pub cron: String,
    /// The address of the function to start.
    pub target: String,
    /// The name of the function; absent for external workers if the name is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The input of the invocations.
    pub input: Value,
    /// The template for the ids of invocations.
    pub invocation_id: String,
    /// The time from an occurrence to the deadline of its invocation, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The rule for occurrences while the last invocation has not ended.
    pub overlap: Overlap,
    /// Labels of the invocations.
    pub labels: BTreeMap<String, String>,
    /// Whether the schedule is paused.
    pub paused: bool,
    /// When the schedule was created.
    pub created_at_ms: i64,
    /// The next occurrence; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at_ms: Option<i64>,
    /// The last occurrence for which an invocation was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at_ms: Option<i64>,
    /// The id of the last invocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_id: Option<String>,
    /// Number of skipped occurrences: they overlapped, or were missed too long ago.
    pub skipped: u64,
}

/// The answer to `POST /v1/schedules`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleCreated {
    /// False: a schedule with this id existed already; the answer shows that one.
    pub created: bool,
    /// The schedule.
    pub schedule: ScheduleView,
}

/// A page of schedules, by id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    /// The schedules.
    pub items: Vec<ScheduleView>,
    /// Schedules of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// The `after` of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Parameters of listing schedules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduleQuery {
    /// Prefix of ids.
    pub prefix: Option<String>,
    /// Label of the invocations, as `name=value`.
    #[param(pattern = "=")]
    pub label: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The body of `POST /v1/schedules/{id}/backfill`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Backfill {
    /// The beginning of the interval (inclusive).
    #[serde(deserialize_with = "super::whole::signed")]
    pub from_at_ms: i64,
    /// The end of the interval (exclusive); the present limits it in any case.
    #[serde(deserialize_with = "super::whole::signed")]
    pub to_at_ms: i64,
}

/// The result of a backfill, which handles up to 100 occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backfilled {
    /// Number of invocations started.
    pub started: u32,
    /// Number of invocations that existed already.
    pub existing: u32,
    /// Number of occurrences skipped by the overlap rule.
    pub skipped: u32,
    /// The `from_at_ms` to continue with; absent when the interval is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at_ms: Option<i64>,
}
