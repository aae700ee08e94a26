//! An invocation that is not stored yet.

use std::sync::Arc;

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

use crate::slots::{Slot, StartRequest};

/// An invocation that is not stored yet.
pub(crate) struct PendingStart {
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
    /// A start for this request, beginning at this instant, and its slot. New tasks begin at
    /// `first_version`, as far as this host knows.
    pub(crate) fn new(
        request: StartRequest,
        at: Timestamp,
        first_version: Version,
    ) -> (Slot, Self) {
        let StartRequest { slot, new, request, module, answer } = request;
        (slot, Self { new, request, module, at, first_version, answer })
    }

    /// The task as the store will return it, if it is stored as expected.
    pub(crate) fn expected_task(&self) -> TaskReply {
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

    /// The command that stores the invocation, the claim, and the first commands under it.
    pub(crate) fn command(&self, first: Vec<Command>) -> Command {
        let Self { new, request, module, at, first_version, .. } = self;
        let (new, request, module, at) = (new.clone(), request.clone(), *module, *at);
        Command::TaskBegin { new, request, module, at, born: *first_version, first }
    }

    /// Passes the reply of the store to the client. One that disconnected receives nothing.
    pub(crate) fn answer(self, reply: Result<Reply, StoreError>) {
        let _ = self.answer.send(reply);
    }
}

/// The state of the invocation of a session.
pub(super) enum StartState {
    Pending(Box<PendingStart>),
    /// The invocation and the claim are stored as expected.
    Stored,
    /// The invocation is stored with a module, version or claim other than that of this execution.
    Otherwise(Box<TaskReply>),
}
