//! Schedules and backfills.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{InvocationState, UnreadableRow};

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
        pattern = r"^(?!\.{1,2}$)(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub id: String,
    /// The occurrences: minute, hour, day of month, month, weekday; with six fields the first is the
    /// second, with seven the last is the year.
    #[schema(example = "0 3 * * MON-FRI")]
    pub cron: String,
    /// The time zone whose clock the expression is about, by its IANA name; UTC if absent. A reading
    /// that the clock leaves out occurs once, at the first instant after the leap; one that comes twice
    /// occurs the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub zone: Option<String>,
    /// The most by which a start is later than its occurrence, by chance and for each occurrence always
    /// the same; at most a day.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
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
    /// The cron expression.
    pub cron: String,
    /// The time zone whose clock it is about.
    #[serde(default = "utc")]
    pub zone: String,
    /// The most by which a start is later than its occurrence, if there is such a length.
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
    /// How the last invocation stands, if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
    /// Number of skipped occurrences.
    pub skipped: u64,
    /// Why they were skipped. The numbers may add up to less: of earlier versions the reasons are not
    /// known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<SkipsView>,
    /// Why the next occurrence cannot be started as things are: its module or its function is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The next ten occurrences; only where one schedule is read. Of a paused one, those after now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upcoming: Vec<Upcoming>,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// The last invocation of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastRun {
    /// Its state.
    pub state: InvocationState,
    /// Its failure, or the reason of its halt or of its last failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Occurrences that were skipped for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkipsView {
    /// `overlap`: the last invocation had not ended. `missed`: no host was there in time. `refused`: the
    /// invocation could not be created.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// The last of them.
    pub last_at_ms: i64,
    /// What was in its way.
    pub detail: String,
}

/// An occurrence to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Upcoming {
    /// The instant.
    pub at_ms: i64,
    /// The same as a clock of the schedule's zone shows it.
    pub local: String,
    /// When the invocation is started, if there is jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at_ms: Option<i64>,
}

/// The body of `POST /v1/schedules/{id}/trigger`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// The instant that the invocation is named after; now if absent. The same instant again starts
    /// nothing, so a request with one may be repeated.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::signed_if_any"
    )]
    pub at_ms: Option<i64>,
}

/// The answer to `POST /v1/schedules/{id}/trigger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Triggered {
    /// The id of the invocation.
    pub id: String,
    /// False: it existed already.
    pub created: bool,
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
    /// Number of occurrences skipped.
    pub skipped: u32,
    /// Why the last of them was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The `from_at_ms` to continue with; absent when the interval is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at_ms: Option<i64>,
}
