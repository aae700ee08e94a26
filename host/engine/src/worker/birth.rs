//! An invocation that runs before anything of it is stored: the first thing that has to be stored brings the promise and
//! the claim with it.
//!
//! Nothing that a guest does leaves the host before it is committed, so nobody can tell the difference, except by the
//! time it takes: beginning costs a commit less.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use segno_core::{
    command::{Command, Hold},
    id::{Digest, Version},
    invocation::JournalHead,
    promise::{
        Birth as Born, Lease, NewPromise, Promise, PromiseState, Task, TaskState, TaskStatus,
    },
    reply::{Reply, TaskReply},
    time::Timestamp,
};
use tokio::sync::oneshot;

use super::{claims::ActiveClaim, failure::ExecutionError, shared::Shared};
use segno_store::StoreError;

/// How an invocation that runs here stands to the store.
pub enum Birth {
    /// It is stored, and so is the claim on it.
    Stored,
    /// Nothing of it is stored.
    Ahead(Box<Unborn>),
    /// It is stored as another one than what ran here: another module, or another's claim.
    Otherwise(Box<TaskReply>),
}

/// What will be stored of it.
pub struct Unborn {
    /// The promise.
    pub new: NewPromise,
    /// For whom.
    pub hold: Hold,
    /// The module that runs.
    pub module: Digest,
    /// When it began.
    pub at: Timestamp,
    /// The version at which tasks are born, as far as this host knows.
    pub born: Version,
    /// Is told how it was stored.
    pub answer: oneshot::Sender<Result<Reply, StoreError>>,
}

/// The version at which this host takes tasks to be born. It rises where retention removes trees, which a host learns when
/// a task is born at another version than it took: that one begins by the longer way.
#[derive(Debug, Default)]
pub struct Births(AtomicU64);

impl Births {
    /// The version.
    pub fn version(&self) -> Version {
        Version(self.0.load(Ordering::Relaxed))
    }

    /// Takes note of a task that this host made and holds.
    fn learn(&self, task: &Task) {
        if task.status() == TaskStatus::Acquired {
            self.0.fetch_max(task.version.0.saturating_sub(1), Ordering::Relaxed);
        }
    }
}

impl Birth {
    /// Whether nothing of it is stored.
    pub fn is_ahead(&self) -> bool {
        matches!(self, Self::Ahead(_))
    }

    /// Commits `commands`, which are done under the claim, and with the first of them the invocation itself.
    pub async fn submit(
        &mut self,
        shared: &Shared,
        held: &Arc<ActiveClaim>,
        commands: Vec<Command>,
    ) -> Result<Vec<Reply>, ExecutionError> {
        match std::mem::replace(self, Self::Stored) {
            Self::Stored => shared.submit(commands).await,
            Self::Ahead(unborn) => self.store(*unborn, shared, held, commands).await,
            Self::Otherwise(stored) => {
                *self = Self::Otherwise(stored);
                Err(ExecutionError::Lost)
            }
        }
    }

    /// Stores the invocation by itself, if nothing of it is stored.
    pub async fn alone(
        &mut self,
        shared: &Shared,
        held: &Arc<ActiveClaim>,
    ) -> Result<(), ExecutionError> {
        match self.is_ahead() {
            true => self.submit(shared, held, Vec::new()).await.map(drop),
            false => Ok(()),
        }
    }

    async fn store(
        &mut self,
        unborn: Unborn,
        shared: &Shared,
        held: &Arc<ActiveClaim>,
        commands: Vec<Command>,
    ) -> Result<Vec<Reply>, ExecutionError> {
        let mut reply = shared.host.attempt(unborn.begin(commands.clone())).await;
        // What is refused under the claim is refused again, and then dealt with as always: but first there is a claim.
        let mut rest = Vec::new();
        if let (Ok(Reply::Refused(_)), false) = (&reply, commands.is_empty()) {
            reply = shared.host.attempt(unborn.begin(Vec::new())).await;
            rest = commands.clone();
        }
        let replies = match &reply {
            Ok(Reply::Begun { first: Some(replies), .. }) => {
                shared.claims.add(held.clone());
                if rest.is_empty() {
                    shared.note(&commands, replies);
                }
                Some(replies.clone())
            }
            Ok(Reply::Begun { task, first: None }) => {
                if task.created {
                    shared.births.learn(&task.task);
                }
                *self = Self::Otherwise(task.clone());
                None
            }
            _ => None,
        };
        // A client that hung up is not answered.
        let _ = unborn.answer.send(reply);
        match replies {
            Some(_) if !rest.is_empty() => shared.submit(rest).await,
            Some(replies) => Ok(replies),
            None => Err(ExecutionError::Lost),
        }
    }
}

impl Unborn {
    /// What the store will say of it, if it is stored as it is.
    pub fn described(&self) -> TaskReply {
        let Self { new, hold, module, at, born, .. } = self;
        let lease = Lease::begin(hold.holder.clone(), hold.nonce, hold.ttl, *at);
        let task = Task::born(new.id.clone(), *born, TaskState::Acquired { lease }, Some(*module));
        let birth = Born {
            id: new.id.clone(),
            param: new.param.clone(),
            tags: new.tags.clone(),
            made_by: None,
            timeout_at: new.timeout_at,
            created_at: *at,
        };
        TaskReply {
            task: Task { version: born.next(), ..task },
            promise: Promise { birth: Arc::new(birth), state: PromiseState::Pending },
            head: JournalHead::default(),
            resumes: 0,
            created: true,
        }
    }

    fn begin(&self, first: Vec<Command>) -> Command {
        let Self { new, hold, module, at, born, .. } = self;
        let (new, hold, module, at, born) = (new.clone(), hold.clone(), *module, *at, *born);
        Command::TaskBegin { new, hold, module, at, born, first }
    }
}
