//! Schedules as they are made and shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::UnreadableRow;

/// What happens at an occurrence while what the schedule started last is still going on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Another is started beside it.
    #[default]
    Allow,
    /// None is started.
    Skip,
    /// Another is made, and begins when it has ended.
    Queue,
}

/// The body of `POST /v1/schedules`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSchedule {
    /// The schedule's id. Making the same id again answers the first one, unchanged.
    #[schema(
        example = "nightly-report",
        min_length = 1,
        max_length = 2048,
        pattern = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: String,
    /// When it occurs, in UTC: minute, hour, day of month, month, weekday; with six fields the first is the second, with
    /// seven the last is the year.
    #[schema(example = "0 3 * * MON-FRI")]
    pub cron: String,
    /// The function that is started: `MODULE/FUNCTION` or `wasm://MODULE/FUNCTION`; or where a worker outside is told:
    /// `poll://…`, `http(s)://…`.
    #[schema(example = "reports/daily")]
    pub target: String,
    /// Any JSON that fits the function's input schema; `null` if it is left out.
    #[serde(default)]
    pub input: Value,
    /// The ids of what is started. `{{.id}}` stands for the schedule's id, `{{.timestamp}}` for the occurrence in
    /// milliseconds, which must be there. Left out: `{{.id}}@{{.timestamp}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation_id: Option<String>,
    /// From each occurrence to the deadline of what it starts; left out: the function's own default, else none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub timeout_ms: Option<u64>,
    /// What happens while the last one is still going on.
    #[serde(default)]
    pub overlap: Overlap,
    /// Labels of what is started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    /// Its id.
    pub id: String,
    /// When it occurs, in UTC.
    pub cron: String,
    /// What it starts.
    pub target: String,
    /// The function by its name; absent where a worker outside has it and the name is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// With what.
    pub input: Value,
    /// The ids of what it starts, as a template.
    pub invocation_id: String,
    /// From an occurrence to the deadline of what it starts, if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What happens while the last one is still going on.
    pub overlap: Overlap,
    /// Labels of what it starts.
    pub labels: BTreeMap<String, String>,
    /// Whether it stands still.
    pub paused: bool,
    /// When it was made.
    pub created_at_ms: i64,
    /// Its next occurrence; absent when there is none any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at_ms: Option<i64>,
    /// The last occurrence for which it started something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at_ms: Option<i64>,
    /// What it started last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_id: Option<String>,
    /// Occurrences it left out: they overlapped, or were missed too long ago.
    pub skipped: u64,
}

/// The answer to `POST /v1/schedules`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleCreated {
    /// False: a schedule with this id existed already, and this is it.
    pub created: bool,
    /// The schedule.
    pub schedule: ScheduleView,
}

/// A page of schedules, by id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    /// The schedules.
    pub items: Vec<ScheduleView>,
    /// Those of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// What to ask for as `after` to see more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which schedules to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduleQuery {
    /// Only ids that begin so.
    pub prefix: Option<String>,
    /// Only those that start things with this label, as `name=value`.
    #[param(pattern = "=")]
    pub label: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// The largest number of items in the page, 1 to 1000; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The body of `POST /v1/schedules/{id}/backfill`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Backfill {
    /// The first instant that counts.
    #[serde(deserialize_with = "super::whole::signed")]
    pub from_at_ms: i64,
    /// The first instant after it that does not; only the past counts in any case.
    #[serde(deserialize_with = "super::whole::signed")]
    pub to_at_ms: i64,
}

/// What a backfill did. It goes through 100 occurrences at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backfilled {
    /// How many were started.
    pub started: u32,
    /// How many had been before.
    pub existing: u32,
    /// How many the overlap rule left out.
    pub skipped: u32,
    /// What to ask for as `from_at_ms` to go on; absent when all is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at_ms: Option<i64>,
}
