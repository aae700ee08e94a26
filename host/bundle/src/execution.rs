//! A promise with its task, in the layout of a bundle. The layouts are defined here, apart from
//! those of the core: those may change, these may not.
//!
//! ```text
//! execution = format: u8 (1), then StoredExecution in postcard
//! execution = format: u8 (2), then (StoredExecution, StoredInbox) in postcard: it was sent something, or
//!             handed over
//! ```

use std::sync::Arc;

use segno_core::{
    id::{Digest, Holder, HostName, PromiseId, Version},
    promise::{
        CancelState, ClaimProgress, HaltReason, Inbox, Lease, Note, Promise, PromiseSpec,
        PromiseState, RepeatedTrap, Settlement, Task, TaskState, TrapKey, Verdict,
    },
    time::{Millis, Timestamp},
    value::{Bytes, Tags, Text, Value},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

const FORMAT: u8 = 1;
const WITH_INBOX: u8 = 2;

/// The reason that a promise is in a bundle. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum BundleRole {
    /// The export requested it.
    Asked = 1,
    /// A member of the tree of a requested one.
    Member = 2,
    /// A journal refers to its value. Its own journal is not in the bundle.
    Value = 3,
}

/// A promise, with its task if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleExecution {
    /// The reason that it is in the bundle.
    pub role: BundleRole,
    pub promise: Promise,
    /// The task that produces its value, if it has one.
    pub task: Option<Task>,
}

#[derive(Serialize, Deserialize)]
struct StoredExecution {
    role: u8,
    id: Text,
    param: StoredValue,
    tags: Tags,
    made_by: Option<Text>,
    timeout_at: i64,
    created_at: i64,
    settlement: Option<StoredSettlement>,
    task: Option<StoredTask>,
}

#[derive(Serialize, Deserialize)]
struct StoredValue {
    headers: Tags,
    data: Bytes,
}

#[derive(Serialize, Deserialize)]
struct StoredSettlement {
    verdict: u8,
    value: Option<StoredValue>,
    settled_at: i64,
}

#[derive(Serialize, Deserialize)]
struct StoredTask {
    version: u64,
    state: StoredState,
    attempt: u32,
    losses: u32,
    traps: Option<StoredTraps>,
    module: Option<[u8; 32]>,
    note: Option<StoredNote>,
    progress: StoredProgress,
    stall_limit: Option<i64>,
    last_heartbeat: Option<i64>,
    fulfilled_by: Option<u64>,
    cancel: u8,
    signals: u32,
    children: bool,
}

/// The fields that were added after the first format.
#[derive(Serialize, Deserialize)]
struct StoredInbox {
    heard: Option<u32>,
    unread: u32,
    kept: Vec<Text>,
    successors: u32,
}

#[derive(Serialize, Deserialize)]
enum StoredState {
    Pending { since: i64, retry_at: i64, offered: bool },
    Acquired { node: Text, incarnation: u64, nonce: u64, ttl: i64, until: i64 },
    Suspended,
    Halted { reason: u8 },
    Fulfilled,
}

#[derive(Serialize, Deserialize)]
struct StoredTraps {
    journal_len: u32,
    message: Text,
    count: u32,
}

#[derive(Serialize, Deserialize)]
struct StoredNote {
    kind: Text,
    message: Text,
    details: Bytes,
}

#[derive(Serialize, Deserialize)]
struct StoredProgress {
    seq: u64,
    at: i64,
    payload: Option<Bytes>,
}

impl BundleRole {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Asked, Self::Member, Self::Value].into_iter().find(|role| *role as u8 == number)
    }
}

impl BundleExecution {
    pub fn id(&self) -> &PromiseId {
        self.promise.id()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let stored = StoredExecution::of(self);
        let encoded = match self.task.as_ref().and_then(StoredInbox::of) {
            Some(inbox) => postcard::to_extend(&(stored, inbox), vec![WITH_INBOX]),
            None => postcard::to_extend(&stored, vec![FORMAT]),
        };
        encoded.expect("an execution holds nothing postcard refuses")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes.first() != Some(&WITH_INBOX) {
            return decoded::<StoredExecution>(FORMAT, bytes)?.execution();
        }
        let (stored, inbox) = decoded::<(StoredExecution, StoredInbox)>(WITH_INBOX, bytes)?;
        let mut execution = stored.execution()?;
        if let Some(task) = &mut execution.task {
            let StoredInbox { heard, unread, kept, successors } = inbox;
            (task.inbox, task.successors) = (Inbox { heard, unread, kept }, successors);
        }
        Ok(execution)
    }
}

/// Decodes a value stored after its format number.
pub(crate) fn decoded<T: DeserializeOwned>(format: u8, bytes: &[u8]) -> Result<T, String> {
    match bytes.split_first() {
        Some((found, rest)) if *found == format => match postcard::take_from_bytes(rest) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(format!("{} bytes are left behind it", rest.len())),
            Err(error) => Err(format!("it is unreadable ({error})")),
        },
        Some((found, _)) => Err(format!("it has format {found}, and only {format} is known")),
        None => Err("it is empty".to_owned()),
    }
}

impl StoredExecution {
    fn of(execution: &BundleExecution) -> Self {
        let BundleExecution { role, promise, task } = execution;
        let spec = &promise.spec;
        let settlement = promise.settlement().map(|settled| StoredSettlement {
            verdict: settled.verdict.number(),
            value: settled.value.as_ref().map(StoredValue::of),
            settled_at: settled.settled_at.0,
        });
        Self {
            role: *role as u8,
            id: Text::from(spec.id.as_str()),
            param: StoredValue::of(&spec.param),
            tags: spec.tags.clone(),
            made_by: spec.made_by.as_ref().map(|maker| Text::from(maker.as_str())),
            timeout_at: spec.timeout_at.0,
            created_at: spec.created_at.0,
            settlement,
            task: task.as_ref().map(StoredTask::of),
        }
    }

    fn execution(self) -> Result<BundleExecution, String> {
        let id = PromiseId::new(self.id.as_str());
        let state = match self.settlement {
            None => PromiseState::Pending,
            Some(settled) => PromiseState::Settled(Arc::new(Settlement {
                verdict: Verdict::from_number(settled.verdict)
                    .ok_or_else(|| format!("there is no outcome {}", settled.verdict))?,
                value: settled.value.map(StoredValue::value),
                settled_at: Timestamp(settled.settled_at),
            })),
        };
        let spec = PromiseSpec {
            id: id.clone(),
            param: self.param.value(),
            tags: self.tags,
            made_by: self.made_by.map(|maker| PromiseId::new(maker.as_str())),
            timeout_at: Timestamp(self.timeout_at),
            created_at: Timestamp(self.created_at),
        };
        let role = BundleRole::from_number(self.role);
        Ok(BundleExecution {
            role: role.ok_or_else(|| format!("there is no role {}", self.role))?,
            promise: Promise { spec: Arc::new(spec), state },
            task: self.task.map(|task| task.task(id)).transpose()?,
        })
    }
}

impl StoredValue {
    fn of(value: &Value) -> Self {
        Self { headers: value.headers.clone(), data: value.data.clone() }
    }

    fn value(self) -> Value {
        Value { headers: self.headers, data: self.data }
    }
}

impl StoredTask {
    fn of(task: &Task) -> Self {
        Self {
            version: task.version.0,
            state: StoredState::of(&task.state),
            attempt: task.attempt,
            losses: task.losses,
            traps: task.traps.as_ref().map(|traps| StoredTraps {
                journal_len: traps.key.journal_len,
                message: traps.key.message.clone(),
                count: traps.count,
            }),
            module: task.module.map(|digest| digest.0),
            note: task.note.as_ref().map(|note| StoredNote {
                kind: note.kind.clone(),
                message: note.message.clone(),
                details: note.details.clone(),
            }),
            progress: StoredProgress {
                seq: task.progress.seq,
                at: task.progress.at.0,
                payload: task.progress.payload.clone(),
            },
            stall_limit: task.stall_limit.map(|limit| limit.0),
            last_heartbeat: task.last_heartbeat.map(|at| at.0),
            fulfilled_by: task.fulfilled_by.map(|version| version.0),
            cancel: task.cancel.number(),
            signals: task.signals,
            children: task.children,
        }
    }

    fn task(self, id: PromiseId) -> Result<Task, String> {
        let Self { progress, .. } = self;
        let state = self.state.state()?;
        let status = state.status();
        Ok(Task {
            id,
            version: Version(self.version),
            state,
            attempt: self.attempt,
            losses: self.losses,
            traps: self.traps.map(|traps| RepeatedTrap {
                key: TrapKey { journal_len: traps.journal_len, message: traps.message },
                count: traps.count,
            }),
            module: self.module.map(Digest),
            note: self.note.map(|StoredNote { kind, message, details }| Note {
                kind,
                message,
                details,
            }),
            progress: ClaimProgress {
                seq: progress.seq,
                at: Timestamp(progress.at),
                payload: progress.payload,
            },
            stall_limit: self.stall_limit.map(Millis),
            last_heartbeat: self.last_heartbeat.map(Timestamp),
            fulfilled_by: self.fulfilled_by.map(Version),
            cancel: CancelState::from_number(self.cancel, status)
                .ok_or_else(|| format!("there is no cancellation {}", self.cancel))?,
            signals: self.signals,
            children: self.children,
            inbox: match self.signals {
                0 => Inbox::default(),
                _ => Inbox { heard: None, ..Inbox::default() },
            },
            successors: 0,
        })
    }
}

impl StoredInbox {
    /// `None` if the first format suffices.
    fn of(task: &Task) -> Option<Self> {
        let Inbox { heard, unread, kept } = task.inbox.clone();
        let is_read = match task.signals {
            0 => heard.is_none_or(|heard| heard == 0),
            _ => heard.is_none(),
        };
        let is_plain = is_read && unread == 0 && kept.is_empty() && task.successors == 0;
        (!is_plain).then_some(Self { heard, unread, kept, successors: task.successors })
    }
}

impl StoredState {
    fn of(state: &TaskState) -> Self {
        match state {
            TaskState::Pending { since, retry_at, offered } => {
                Self::Pending { since: since.0, retry_at: retry_at.0, offered: *offered }
            }
            TaskState::Acquired { lease: Lease { holder, nonce, ttl, until } } => Self::Acquired {
                node: Text::from(holder.node.as_str()),
                incarnation: holder.incarnation,
                nonce: *nonce,
                ttl: ttl.0,
                until: until.0,
            },
            TaskState::Suspended => Self::Suspended,
            TaskState::Halted { reason } => Self::Halted { reason: reason.number() },
            TaskState::Fulfilled => Self::Fulfilled,
        }
    }

    fn state(self) -> Result<TaskState, String> {
        Ok(match self {
            Self::Pending { since, retry_at, offered } => TaskState::Pending {
                since: Timestamp(since),
                retry_at: Timestamp(retry_at),
                offered,
            },
            Self::Acquired { node, incarnation, nonce, ttl, until } => TaskState::Acquired {
                lease: Lease {
                    holder: Holder { node: HostName::new(node.as_str()), incarnation },
                    nonce,
                    ttl: Millis(ttl),
                    until: Timestamp(until),
                },
            },
            Self::Suspended => TaskState::Suspended,
            Self::Halted { reason } => TaskState::Halted {
                reason: HaltReason::from_number(reason)
                    .ok_or_else(|| format!("there is no reason {reason} to halt"))?,
            },
            Self::Fulfilled => TaskState::Fulfilled,
        })
    }
}
