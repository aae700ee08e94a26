//! Tasks, their holders and leases.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Note, Progress, UnreadableRow, whole};

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Waiting for a worker.
    Pending,
    /// Held by a worker.
    Acquired,
    /// Waiting for a promise.
    Suspended,
    /// Halted until an operator intervenes.
    Halted,
    /// Ended: the promise is settled.
    Fulfilled,
}

impl TaskState {
    /// The states by which tasks are listed.
    pub const LISTED: [Self; 4] = [Self::Pending, Self::Acquired, Self::Suspended, Self::Halted];

    /// The name in JSON and in filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Acquired => "acquired",
            Self::Suspended => "suspended",
            Self::Halted => "halted",
            Self::Fulfilled => "fulfilled",
        }
    }
}

/// A task: the claim on producing a promise's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// The id of the task, which is that of the promise.
    pub id: String,
    /// The address of the workers that may acquire the task.
    pub target: String,
    /// The name of the function, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The state of the task.
    pub state: TaskState,
    /// The fencing token: increases whenever the claim changes hands.
    pub version: u64,
    /// Number of failed attempts since the last progress.
    pub attempt: u32,
    /// Number of consecutive claims lost because their holders died or stalled.
    pub losses: u32,
    /// The holder: a worker by the name that it chose, or a host by its node name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The end of the lease, unless it is extended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// Duration in milliseconds by which a heartbeat extends the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// When the holder last sent a heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at_ms: Option<i64>,
    /// The progress of an activity that reports it and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// For a pending task: when it is offered next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// For a pending task: true if it may be acquired now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    /// The reason of a halt: `requested`, `reported`, `exhausted`, `lost`, `trapped` or `damaged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// The last error of a task that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// When the task was created.
    pub created_at_ms: i64,
    /// The deadline of the promise, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    /// The tasks.
    pub items: Vec<TaskView>,
    /// Tasks of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// Addresses of the databases that do not answer, whose rows are left out (`partial`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The `after` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Parameters of listing tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// State: `pending`, `acquired`, `suspended`, `halted`.
    #[param(pattern = "^(pending|acquired|suspended|halted)$")]
    pub state: Option<String>,
    /// Name of the worker or host that holds the tasks.
    pub holder: Option<String>,
    /// Prefix of ids.
    pub prefix: Option<String>,
    /// True to list what the databases that answer have, if the store has several and one is away.
    /// The page then names those that are `missing`. Without it such a list is refused with 503.
    pub partial: Option<bool>,
    /// The `next` of the previous page.
    #[param(pattern = r"^[0-9]{1,18}$")]
    pub after: Option<String>,
    /// Maximum number of items (1 to 1000; default 100).
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The body of `POST /v1/invocations/{id}/continue`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContinueInvocation {
    /// The alias or digest of the module that continues the invocation. It must repeat the journal
    /// so far. Absent: the module that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// The answer to `POST /v1/invocations/{id}/continue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Continued {
    /// The id of the invocation.
    pub id: String,
    /// Always `true`: the host refuses the request unless the invocation is halted.
    pub changed: bool,
    /// The digest of the module to which the invocation was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Number of records that this module repeated: the whole journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u32>,
}

/// The body of `POST /v1/invocations/{id}/restart`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartInvocation {
    /// The id of the new invocation: the same id again returns the same invocation. Absent: the
    /// first free id of `{id}-r1`, `{id}-r2`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The alias or digest of the module to run. Absent: the alias under which the old invocation
    /// was started, which may point to newer code by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// Parameters of `DELETE /v1/invocations/{id}`, for executions that have not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemoveQuery {
    /// True to cancel the invocation and all its descendants first (default: false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<bool>,
    /// Time for cleaning up, in milliseconds (default 10,000; at most 300,000). Executions that
    /// have not ended by then are killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// The answer to `DELETE /v1/invocations/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Removed {
    /// The id of the invocation.
    pub id: String,
    /// Number of removed promises: the invocation's own and those of all its descendants.
    pub promises: u32,
}

/// The body of `POST /v1/invocations/{id}/release`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseTask {
    /// The version of the claim to release; any version if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole::opt_u64")]
    pub version: Option<u64>,
}
