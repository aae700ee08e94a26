//! Tasks, their holders and leases.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Note, Progress, UnreadableRow};

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
    /// Halted for a person.
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
    /// The fencing token: raised whenever the claim changes hands.
    pub version: u64,
    /// Number of failed attempts since the last progress.
    pub attempt: u32,
    /// Number of claims lost in a row, because their holders died or stalled.
    pub losses: u32,
    /// The holder: a worker by the name that it chose, or a host by its node name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The end of the lease, unless it is extended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// The time by which a heartbeat extends the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// When the holder last sent a heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at_ms: Option<i64>,
    /// The progress of an activity that reports it and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// While pending: when the task is offered next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// While pending: whether the task may be acquired now.
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
    /// The deadline of the promise, if there is one.
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
    /// The `after` of the next page; absent on the last.
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
    /// The `next` of the page before.
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
    /// The name or digest of the module that continues the invocation. It must repeat the journal
    /// so far. Absent: the module that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// The answer to `POST /v1/invocations/{id}/continue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Continued {
    /// The id of the invocation.
    pub id: String,
    /// Always `true`: what is not halted is refused.
    pub changed: bool,
    /// The digest of the module to which the invocation was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Number of records that this module repeated: all there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u32>,
}

/// The body of `POST /v1/invocations/{id}/restart`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartInvocation {
    /// The id of the new invocation: the same id again answers the same invocation. Absent: the
    /// first free of `{id}-r1`, `{id}-r2`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name or digest of the module to run. Absent: the name under which the old one was
    /// started, which may stand for newer code by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// What `DELETE /v1/invocations/{id}` does with what has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemoveQuery {
    /// Whether the invocation and everything that it made is cancelled first; default: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<bool>,
    /// Milliseconds for cleaning up; what has not ended then is killed. Default: 10,000, at most 300,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// The answer to `DELETE /v1/invocations/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Removed {
    /// The id of the invocation.
    pub id: String,
    /// Number of promises that were removed with it: itself and everything that it made.
    pub promises: u32,
}

/// The body of `POST /v1/invocations/{id}/release`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseTask {
    /// The version of the claim to release; absent: any.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub version: Option<u64>,
}
