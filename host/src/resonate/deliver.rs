//! Messages to workers outside: which way each of them goes, and what is said to have come of it.

use async_trait::async_trait;
use bytes::Bytes;
use segno_core::{
    command::Command,
    id::{PromiseId, Version},
    promise::{Deferral, Delivery, MessageKind, OutboxKey, Promise, TaskState},
    time::Millis,
};
use serde_json::json;
use std::sync::Arc;

use crate::{
    delivery::{Channel, Delivered},
    host::Host,
};

use super::{
    address::Destination,
    push::Push,
    records,
    streams::{Sent, Streams},
};

/// So long after a settlement its listeners are told; whoever still cares then has asked again meanwhile.
const UNBLOCK_KEPT: Millis = Millis::seconds(3_600);

/// Until a full stream is tried again.
const FULL: Millis = Millis(200);

/// The channel to workers outside.
pub(super) struct Deliverer {
    host: Host,
    streams: Arc<Streams>,
    push: Push,
    server_url: String,
}

impl Deliverer {
    pub(super) fn new(host: Host, streams: Arc<Streams>, push: Push, server_url: String) -> Self {
        Self { host, streams, push, server_url }
    }

    /// A task is offered once; its retry offers it again.
    fn execute(&self, task: &PromiseId, version: Version, target: &str) -> Delivered {
        let message = execute(task, version, &self.server_url);
        match Destination::parse(target) {
            Some(Destination::Poll { group, worker, alone }) => {
                let sent = self.streams.send(&group, worker.as_deref(), alone, task, &message);
                if sent != Sent::Accepted {
                    let only = worker.as_deref().filter(|_| alone);
                    self.streams.wait(&group, only, OutboxKey::Execute(task.clone()));
                    tracing::debug!(%task, target, ?sent, "no worker can take the task now");
                }
                Delivered::Done
            }
            Some(Destination::Http(url)) => {
                self.push.insist(url, message);
                Delivered::Done
            }
            None => Delivered::NotMine,
        }
    }

    /// A settlement is told until the transport takes it.
    async fn unblock(&self, promise: &Promise, address: &str) -> Delivered {
        let now = self.host.surroundings.clock.now();
        let settled_at = promise.settlement().map(|settlement| settlement.settled_at);
        if settled_at.is_none_or(|at| now.since(at) > UNBLOCK_KEPT) {
            tracing::debug!(id = %promise.id(), address, "nobody took the news of a settlement");
            return Delivered::Done;
        }
        let message = unblock(promise);
        match Destination::parse(address) {
            Some(Destination::Poll { group, worker, alone }) => {
                let id = promise.id();
                match self.streams.send(&group, worker.as_deref(), alone, id, &message) {
                    Sent::Accepted => Delivered::Done,
                    Sent::Full => Delivered::Again { after: FULL },
                    Sent::Nobody => {
                        let key = OutboxKey::Unblock(promise.id().clone(), address.into());
                        self.streams.wait(&group, worker.as_deref().filter(|_| alone), key);
                        Delivered::Again { after: Millis::ZERO }
                    }
                }
            }
            Some(Destination::Http(url)) => match self.push.once(&url, message).await {
                true => Delivered::Done,
                false => Delivered::Again { after: FULL },
            },
            None => Delivered::NotMine,
        }
    }
}

#[async_trait]
impl Channel for Deliverer {
    fn name(&self) -> &'static str {
        "resonate"
    }

    fn takes(&self, kind: MessageKind) -> bool {
        matches!(kind, MessageKind::Execute | MessageKind::Unblock)
    }

    async fn deliver(&self, delivery: &Delivery) -> Delivered {
        match delivery {
            Delivery::Execute { task, version, target } => self.execute(task, *version, target),
            Delivery::Unblock { promise, address } => self.unblock(promise, address).await,
            Delivery::Event { .. } => Delivered::NotMine,
        }
    }
}

/// Offers what waited for a stream that has opened now.
pub(super) async fn offer(
    host: &Host,
    streams: &Streams,
    server_url: &str,
    waiting: Vec<OutboxKey>,
) {
    for key in waiting {
        match key {
            OutboxKey::Execute(id) => {
                let Ok(Some(row)) = host.store.promise(&id).await else { continue };
                let Some(task) = &row.task else { continue };
                let TaskState::Pending { offered: true, .. } = task.state else { continue };
                let target = row.promise.target().unwrap_or_default();
                if let Some(Destination::Poll { group, worker, alone }) = Destination::parse(target)
                {
                    let message = execute(&id, task.version, server_url);
                    let sent = streams.send(&group, worker.as_deref(), alone, &id, &message);
                    tracing::debug!(%id, ?sent, "a task that had waited was offered");
                }
            }
            key => {
                let offered = Command::OutboxDefer { key, until: Deferral::Offered };
                if let Err(error) = host.store.execute(vec![offered]).await {
                    tracing::debug!(%error, "a message that waited comes a little later");
                }
                host.hub.wake_outbox();
            }
        }
    }
}

fn execute(task: &PromiseId, version: Version, server_url: &str) -> Bytes {
    let message = json!({
        "kind": "execute",
        "head": { "serverUrl": server_url },
        "data": { "task": { "id": task.as_str(), "version": version.0 } },
    });
    message.to_string().into()
}

fn unblock(promise: &Promise) -> Bytes {
    let record = records::promise(promise);
    let message = json!({ "kind": "unblock", "head": {}, "data": { "promise": record } });
    message.to_string().into()
}
