//! An invocation that is not stored yet, and the claim under which it runs until then.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{
    command::{ClaimRequest, Command},
    id::{Digest, Version},
    invocation::JournalHead,
    promise::{Lease, NewPromise, Promise, PromiseSpec, PromiseState, Task, TaskState},
    reply::{Reply, TaskReply},
    time::Timestamp,
};
use segno_store::StoreError;
use tokio::sync::oneshot;

use crate::{
    slots::{Slot, StartRequest},
    worker::{
        claims::ActiveClaim, context::WorkerContext, error::ExecutionError, execution::ClaimWriter,
    },
};

/// An invocation that is not stored yet.
pub struct PendingStart {
    new: NewPromise,
    request: ClaimRequest,
    /// The module that runs.
    module: Digest,
    /// The instant at which the invocation begins.
    at: Timestamp,
    /// The version at which new tasks begin, as far as this host knows.
    first_version: Version,
    /// Receives the reply of the store.
    answer: oneshot::Sender<Result<Reply, StoreError>>,
}

impl PendingStart {
    /// A start for this request, beginning now, and its slot.
    pub fn new(request: StartRequest, worker: &WorkerContext) -> (Slot, Self) {
        let StartRequest { slot, new, request, module, answer } = request;
        let (at, first_version) = (worker.now(), worker.task_versions.first());
        (slot, Self { new, request, module, at, first_version, answer })
    }

    /// The task as the store will return it, if it is stored as expected.
    pub fn expected_task(&self) -> TaskReply {
        let Self { new, request, module, at, first_version, .. } = self;
        let lease = Lease::begin(request.holder.clone(), request.nonce, request.ttl, *at);
        let state = TaskState::Acquired { lease };
        let task = Task::born(new.id.clone(), *first_version, state, Some(*module));
        let spec = PromiseSpec {
            id: new.id.clone(),
            param: new.param.clone(),
            tags: new.tags.clone(),
            made_by: None,
            timeout_at: new.timeout_at,
            created_at: *at,
        };
        TaskReply {
            task: Task { version: first_version.next(), ..task },
            promise: Promise { spec: Arc::new(spec), state: PromiseState::Pending },
            head: JournalHead::default(),
            resumes: 0,
            created: true,
        }
    }

    fn command(&self, first: Vec<Command>) -> Command {
        let Self { new, request, module, at, first_version, .. } = self;
        let (new, request, module, at) = (new.clone(), request.clone(), *module, *at);
        Command::TaskBegin { new, request, module, at, born: *first_version, first }
    }
}

/// The claim of an invocation that is stored together with the first commands under the claim.
pub struct SpeculativeClaim {
    worker: Arc<WorkerContext>,
    active: Arc<ActiveClaim>,
    state: StartState,
}

enum StartState {
    Pending(Box<PendingStart>),
    /// The invocation and the claim are stored as expected.
    Stored,
    /// The invocation is stored with a module, version or claim other than that of this execution.
    Otherwise(Box<TaskReply>),
}

impl SpeculativeClaim {
    /// The claim of `pending`.
    pub fn new(
        worker: Arc<WorkerContext>,
        active: Arc<ActiveClaim>,
        pending: PendingStart,
    ) -> Self {
        Self { worker, active, state: StartState::Pending(Box::new(pending)) }
    }

    /// Stores the invocation separately, if it is not stored yet.
    ///
    /// # Errors
    /// The invocation is stored differently, or not at all: this execution must write nothing.
    pub async fn store(&mut self) -> Result<(), ExecutionError> {
        match self.state {
            StartState::Pending(_) => self.submit(Vec::new()).await.map(drop),
            StartState::Stored | StartState::Otherwise(_) => Ok(()),
        }
    }

    /// True if the stored task is not the one that runs here.
    pub fn is_stored_otherwise(&self) -> bool {
        matches!(self.state, StartState::Otherwise(_))
    }

    /// The task that is stored in place of the one that ran here.
    pub fn stored_otherwise(self) -> Option<TaskReply> {
        match self.state {
            StartState::Otherwise(task) => Some(*task),
            StartState::Pending(_) | StartState::Stored => None,
        }
    }

    async fn store_with(
        &mut self,
        pending: PendingStart,
        commands: Vec<Command>,
    ) -> Result<Vec<Reply>, ExecutionError> {
        let worker = self.worker.clone();
        let mut reply = worker.host.attempt(pending.command(commands.clone())).await;
        // Commands that are refused under the claim are sent again once the claim is stored. Their
        // refusal is then handled in the usual way.
        let mut rest = Vec::new();
        if let (Ok(Reply::Refused(_)), false) = (&reply, commands.is_empty()) {
            reply = worker.host.attempt(pending.command(Vec::new())).await;
            rest = commands.clone();
        }
        let replies = match &reply {
            Ok(Reply::Begun { first: Some(replies), .. }) => {
                worker.claims.add(self.active.clone());
                if rest.is_empty() {
                    worker.note(&commands, replies);
                }
                Some(replies.clone())
            }
            Ok(Reply::Begun { task, first: None }) => {
                if task.created {
                    worker.task_versions.learn(&task.task);
                }
                self.state = StartState::Otherwise(task.clone());
                None
            }
            _ => None,
        };
        // A client that disconnected receives no reply.
        let _ = pending.answer.send(reply);
        match replies {
            Some(_) if !rest.is_empty() => worker.submit(rest).await,
            Some(replies) => Ok(replies),
            None => Err(ExecutionError::Lost),
        }
    }
}

#[async_trait]
impl ClaimWriter for SpeculativeClaim {
    async fn submit(&mut self, commands: Vec<Command>) -> Result<Vec<Reply>, ExecutionError> {
        match std::mem::replace(&mut self.state, StartState::Stored) {
            StartState::Stored => self.worker.submit(commands).await,
            StartState::Pending(pending) => self.store_with(*pending, commands).await,
            otherwise @ StartState::Otherwise(_) => {
                self.state = otherwise;
                Err(ExecutionError::Lost)
            }
        }
    }
}
