//! Tasks as they are shown: who holds what, and until when.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Note, Progress, UnreadableRow};

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Waits for a worker.
    Pending,
    /// A worker holds it.
    Acquired,
    /// Waits for a promise.
    Suspended,
    /// Stopped for a person to look at.
    Halted,
    /// Its promise is settled.
    Fulfilled,
}

impl TaskState {
    /// The states by which tasks are listed.
    pub const LISTED: [Self; 4] = [Self::Pending, Self::Acquired, Self::Suspended, Self::Halted];

    /// As it is written in JSON and in filters.
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

/// The claim on producing one promise's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// Its id, which is that of the promise.
    pub id: String,
    /// The address of the workers that may take it.
    pub target: String,
    /// The function by its name, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where it stands.
    pub state: TaskState,
    /// The fencing token: raised whenever the claim changes hands.
    pub version: u64,
    /// Failed attempts since it last got on.
    pub attempt: u32,
    /// Claims lost in a row: holders that died or stalled.
    pub losses: u32,
    /// Who holds it: a worker by the name that it gave itself, or a host by its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Until when the claim lasts unless it is extended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_at_ms: Option<i64>,
    /// How far a sign of life extends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// When its holder was last heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at_ms: Option<i64>,
    /// How far it got, if it is an activity that says so and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// While pending: when it is offered again, or first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// While pending: it may be taken now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    /// Why it is halted: `requested`, `reported`, `exhausted`, `lost`, `trapped` or `damaged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// The last error of one that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// When it was made.
    pub created_at_ms: i64,
    /// The deadline of its promise, if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<i64>,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    /// The tasks.
    pub items: Vec<TaskView>,
    /// Those of the page whose rows cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRow>,
    /// Pass it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Only those in this state: `pending`, `acquired`, `suspended`, `halted`.
    #[param(pattern = "^(pending|acquired|suspended|halted)$")]
    pub state: Option<String>,
    /// Only those that this worker or host holds.
    pub holder: Option<String>,
    /// Only ids that begin so.
    pub prefix: Option<String>,
    /// The `next` of the page before.
    #[param(pattern = r"^[0-9]{1,18}$")]
    pub after: Option<String>,
    /// The largest number of items in the page, 1 to 1000; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The body of `POST /v1/invocations/{id}/release`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseTask {
    /// Only the claim with this version; whichever there is if it is left out.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::whole::unsigned_if_any"
    )]
    pub version: Option<u64>,
}
