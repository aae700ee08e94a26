//! An invocation, as the runtime keeps it: how it begins, what it is told, and when it can go on.

use std::collections::VecDeque;

use bytes::Bytes;
use segno_core::time::Timestamp;
use segno_restate::{
    id::AwakeableId,
    immutable::{
        ErrorMessage, Future, Input, Message, Notification, NotificationId, NotificationResult,
        Settled,
    },
    wire::{Header, Outcome, Value},
};

use super::World;

/// An invocation as the runtime keeps it.
pub(super) struct Invocation {
    pub(super) service: String,
    pub(super) handler: String,
    pub(super) key: String,
    pub(super) journal: Vec<Bytes>,
    /// What it is to be told, in the order in which it came.
    pub(super) pending: VecDeque<Notification>,
    /// Told or stored since the last wait.
    pub(super) waits: Option<Future>,
    pub(super) outcome: Option<Outcome>,
    /// Who waits for the outcome, and under which completion id.
    pub(super) callers: Vec<(String, u32)>,
    pub(super) failed: u32,
    pub(super) retry_at: Option<Timestamp>,
    pub(super) paused: Option<ErrorMessage>,
    pub(super) children: u32,
}

impl World {
    pub(super) fn call(
        &mut self,
        id: &str,
        service: &str,
        key: &str,
        handler: &str,
        input: Bytes,
        headers: Vec<Header>,
    ) {
        let input = Input { headers, value: Some(Value { content: input }), name: String::new() };
        let input = Message::Command(input.into()).encode(self.course.version).to_bytes();
        let invocation = Invocation {
            service: service.to_owned(),
            handler: handler.to_owned(),
            key: key.to_owned(),
            journal: vec![input],
            pending: VecDeque::new(),
            waits: None,
            outcome: None,
            callers: Vec::new(),
            failed: 0,
            retry_at: None,
            paused: None,
            children: 0,
        };
        assert!(self.invocations.insert(id.to_owned(), invocation).is_none(), "`{id}` exists");
        self.order.push(id.to_owned());
    }

    pub(super) fn child(&mut self, id: &str) -> String {
        let it = self.invocations.get_mut(id).expect("it exists");
        it.children += 1;
        format!("{id}.{}", it.children)
    }

    /// The first invocation, in the order of their calls, that can go on. One of a key at a time.
    pub(super) fn runnable(&self) -> Option<String> {
        let can = |id: &&String| {
            let it = &self.invocations[*id];
            if it.outcome.is_some() || it.paused.is_some() || it.retry_at.is_some() {
                return false;
            }
            let holds = self.order.iter().take_while(|other| other != id).any(|other| {
                let other = &self.invocations[other];
                let same = (&other.service, &other.key) == (&it.service, &it.key);
                !it.key.is_empty() && same && other.outcome.is_none()
            });
            let told = |id: &NotificationId| {
                let pending = it.pending.iter().find(|pending| pending.id == *id)?;
                Some(if pending.is_failure() { Settled::Failed } else { Settled::Succeeded })
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

    pub(super) fn complete(&mut self, awakeable: &str, result: NotificationResult) {
        let id: AwakeableId = awakeable.parse().expect("an awakeable");
        let owner = String::from_utf8(id.invocation.to_vec()).expect("ids are texts here");
        self.tell(&owner, Notification::signal(id.index, result));
    }
}
