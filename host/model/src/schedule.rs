//! Schedules and backfills.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::{IntoParams, ToSchema};

use super::{InvocationState, UnreadableRow, whole};

/// Policy for an occurrence while the schedule's last invocation has not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Starts another invocation.
    #[default]
    Allow,
    /// Skips the occurrence.
    Skip,
    /// Creates another invocation, which begins when the last one has ended.
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
        pattern = r"^(?!\.{1,2}$)(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: String,
    /// Cron expression: minute, hour, day of month, month, weekday. With six fields the first one
    /// is the second; with seven the last one is the year.
    #[schema(example = "0 3 * * MON-FRI")]
    pub cron: String,
    /// IANA name of the time zone in which the expression is evaluated; UTC if absent. A local time
    /// skipped by a clock change occurs once, at the first instant after the gap; a local time that
    /// repeats occurs the first time only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub zone: Option<String>,
    /// Maximum random delay between an occurrence and its start, at most one day. The delay of an
    /// occurrence is always the same.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    #[schema(maximum = 86_400_000)]
    pub jitter_ms: Option<u64>,
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
    /// Milliseconds from each occurrence to the deadline of its invocation. Absent: the function's
    /// own default, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub timeout_ms: Option<u64>,
    /// Policy for occurrences while the last invocation has not ended.
    #[serde(default)]
    pub overlap: Overlap,
    /// Labels of the invocations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The budget of each invocation and everything below it: limits by unit, decimal numbers with at
    /// most six places. The host counts `calls`; activities report all others, as `tokens`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub budget: BTreeMap<String, Number>,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    /// The id of the schedule.
    pub id: String,
    /// The cron expression.
    pub cron: String,
    /// IANA name of the time zone in which the expression is evaluated.
    #[serde(default = "utc")]
    pub zone: String,
    /// Maximum random delay between an occurrence and its start, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<u64>,
    /// The address of the function to start.
    pub target: String,
    /// The name of the function; absent for external workers if the name is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The input of the invocations.
    pub input: Value,
    /// The template for the ids of invocations.
    pub invocation_id: String,
    /// Milliseconds from an occurrence to the deadline of its invocation, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Policy for occurrences while the last invocation has not ended.
    pub overlap: Overlap,
    /// Labels of the invocations.
    pub labels: BTreeMap<String, String>,
    /// The budget of each invocation: limits by unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>)]
    pub budget: BTreeMap<String, Number>,
    /// True if the schedule is paused.
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
    /// State of the last invocation, if it is still stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
    /// Number of skipped occurrences.
    pub skipped: u64,
    /// Numbers of skipped occurrences by reason. They may add up to less than `skipped`, because
    /// earlier versions did not record reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<SkipsView>,
    /// Why the next occurrence cannot be started at present: its module or function is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The next ten occurrences, for a paused schedule those after now. Present only when a single
    /// schedule is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upcoming: Vec<Upcoming>,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// The last invocation of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastRun {
    /// State of the invocation.
    pub state: InvocationState,
    /// Failure of the invocation, or the reason of its halt or of its last failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Occurrences skipped for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkipsView {
    /// `overlap`: the last invocation had not ended. `missed`: no host was running in time.
    /// `refused`: the invocation could not be created.
    pub reason: String,
    /// Number of these occurrences.
    pub count: u64,
    /// The latest of these occurrences.
    pub last_at_ms: i64,
    /// Description of the cause.
    pub detail: String,
}

/// A future occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Upcoming {
    /// The instant.
    pub at_ms: i64,
    /// Local time of the occurrence in the schedule's zone.
    pub local: String,
    /// When the invocation starts, if the schedule has jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at_ms: Option<i64>,
}

/// The body of `POST /v1/schedules/{id}/trigger`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// The instant used in the invocation's id; now if absent. The same instant again starts
    /// nothing, so a request with an instant may be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_i64")]
    pub at_ms: Option<i64>,
}

/// The answer to `POST /v1/schedules/{id}/trigger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Triggered {
    /// The id of the invocation.
    pub id: String,
    /// True if this request started it; false if it existed already.
    pub created: bool,
}

/// The answer to `POST /v1/schedules`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleCreated {
    /// True if this request created it. False if a schedule with this id existed already; the
    /// answer shows that one.
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
    /// Addresses of the databases that do not answer, whose rows are left out (`partial`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The `after` of the next page; absent on the last page.
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
    /// True to list what the databases that answer have, if the store has several and one is away.
    /// The page then names those that are `missing`. Without it such a list is refused with 503.
    pub partial: Option<bool>,
    /// The `next` of the previous page.
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
    /// The end of the interval (exclusive), limited to the present.
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
    /// Number of occurrences skipped.
    pub skipped: u32,
    /// Reason of the latest skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The `from_at_ms` to continue with; absent when the interval is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at_ms: Option<i64>,
}
