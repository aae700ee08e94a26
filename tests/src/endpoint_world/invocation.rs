//! An invocation as the runtime keeps it: its start, its notifications, and the conditions for its
//! next attempt.

use std::collections::VecDeque;

use bytes::Bytes;
use segno_core::time::Timestamp;
use segno_restate::{
    id::AwakeableId,
    immutable::{
        ErrorMessage, Future, Input, Message, Notification, NotificationId, NotificationKind,
        NotificationOutcome, NotificationResult,
    },
    manifest::HandlerType,
    wire::{self, Header, OperationOutcome, ValueMessage},
};

use super::World;

/// State that the runtime keeps for an invocation.
pub(super) struct Invocation {
    pub(super) service: String,
    pub(super) handler: String,
    pub(super) key: String,
    /// Access to its key. `None` for a service without keys.
    pub(super) ty: Option<HandlerType>,
    pub(super) journal: Vec<Bytes>,
    /// Notifications not yet delivered, in order of arrival.
    pub(super) pending: VecDeque<Notification>,
    /// Condition under which a suspended invocation resumes. `None` if it is not suspended.
    pub(super) waits: Option<Future>,
    pub(super) outcome: Option<OperationOutcome>,
    /// Invocations that wait for the outcome, with their completion ids.
    pub(super) callers: Vec<(String, u32)>,
    pub(super) failed: u32,
    pub(super) retry_at: Option<Timestamp>,
    pub(super) paused: Option<ErrorMessage>,
    pub(super) children: u32,
}

impl World {
    /// Begins an invocation. If the key's workflow has already run, the outcome says so, and no
    /// attempt is made.
    pub(super) fn call(
        &mut self,
        id: &str,
        service: &str,
        key: &str,
        handler: &str,
        input: Bytes,
        headers: Vec<Header>,
    ) {
        let ty = self.handler_type(service, handler);
        let has_run = |other: &Invocation| {
            other.ty == Some(HandlerType::Workflow)
                && (&*other.service, &*other.key) == (service, key)
        };
        let refused = ty == Some(HandlerType::Workflow) && self.invocations.values().any(has_run);
        let outcome = refused.then(|| {
            OperationOutcome::Failure(wire::Failure::new(
                409,
                "the workflow method was already invoked",
            ))
        });
        let input =
            Input { headers, value: Some(ValueMessage { content: input }), name: String::new() };
        let input = Message::Command(input.into()).encode(self.course.version).to_bytes();
        let invocation = Invocation {
            service: service.to_owned(),
            handler: handler.to_owned(),
            key: key.to_owned(),
            ty,
            journal: vec![input],
            pending: VecDeque::new(),
            waits: None,
            outcome,
            callers: Vec::new(),
            failed: 0,
            retry_at: None,
            paused: None,
            children: 0,
        };
        assert!(self.invocations.insert(id.to_owned(), invocation).is_none(), "`{id}` exists");
        self.order.push(id.to_owned());
    }

    fn handler_type(&self, service: &str, handler: &str) -> Option<HandlerType> {
        let services = &self.endpoint.offer.manifest.services;
        let of = services.iter().find(|known| known.name == service).expect("it is offered");
        let of_name = |known: &&segno_restate::manifest::ManifestHandler| known.name == handler;
        of.handler_type(of.handlers.iter().find(of_name).expect("it is offered"))
    }

    pub(super) fn child(&mut self, id: &str) -> String {
        let it = self.invocations.get_mut(id).expect("it exists");
        it.children += 1;
        format!("{id}.{}", it.children)
    }

    /// First runnable invocation, in the order of the calls. Exclusive invocations of a key run one
    /// at a time.
    pub(super) fn runnable(&self) -> Option<String> {
        let can = |id: &&String| {
            let it = &self.invocations[*id];
            if it.outcome.is_some() || it.paused.is_some() || it.retry_at.is_some() {
                return false;
            }
            let holds = self.order.iter().take_while(|other| other != id).any(|other| {
                let other = &self.invocations[other];
                other.outcome.is_none()
                    && (&other.service, &other.key, other.ty) == (&it.service, &it.key, it.ty)
                    && it.ty == Some(HandlerType::Exclusive)
            });
            let told = |id: &NotificationId| {
                let pending = it.pending.iter().find(|pending| pending.id == *id)?;
                Some(if pending.is_failure() {
                    NotificationOutcome::Failed
                } else {
                    NotificationOutcome::Succeeded
                })
            };
            !holds && it.waits.as_ref().is_none_or(|waits| waits.is_satisfied(told))
        };
        self.order.iter().find(can).cloned()
    }

    pub(super) fn tell(&mut self, id: &str, notification: Notification) {
        let invocation = self.invocations.get_mut(id).expect("it exists");
        if invocation.outcome.is_none() {
            invocation.pending.push_back(notification);
        }
    }

    /// Notifies an invocation of a completion.
    pub(super) fn tell_completion(
        &mut self,
        id: &str,
        kind: NotificationKind,
        completion_id: u32,
        result: NotificationResult,
    ) {
        self.tell(id, Notification::completion(kind, completion_id, result));
    }

    /// Sends the outcome of an invocation, if there is one, to its callers.
    pub(super) fn tell_callers(&mut self, id: &str) {
        let it = self.invocations.get_mut(id).expect("it exists");
        let Some(outcome) = it.outcome.clone() else { return };
        for (caller, completion) in std::mem::take(&mut it.callers) {
            let result = outcome.clone().into();
            self.tell_completion(&caller, NotificationKind::Call, completion, result);
        }
    }

    pub(super) fn complete(&mut self, awakeable: &str, result: NotificationResult) {
        let id: AwakeableId = awakeable.parse().expect("an awakeable");
        let owner = String::from_utf8(id.invocation.to_vec()).expect("ids are texts here");
        self.tell(&owner, Notification::signal(id.index, result));
    }
}
