//! Delivery of messages to external workers: selects the transport of each message, and handles the
//! result.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use segno_core::{
    command::Command,
    id::{PromiseId, Version},
    promise::{Delivery, OutboxKey, OutboxMessageKind, Promise, Task, TaskState},
    time::Millis,
};
use segno_engine::{
    delivery::{Channel, DeliveryResult},
    host::Host,
};
use serde_json::{Value as Json, json};

use super::{
    address::Destination,
    push::{PushClient, PushRefusal},
    streams::{StreamSendResult, WorkerStreams},
    wire,
};

/// Number of attempts to deliver a settlement before its listener is removed. With the back-off of
/// the outbox (100 ms, doubled, at most 60 s) they take more than an hour of host uptime. A client
/// that still listens has registered again meanwhile, as clients do every minute.
pub(super) const UNBLOCK_ATTEMPTS: u32 = 75;

/// Delay before a message to a full stream is sent again.
const FULL: Millis = Millis(200);

/// Delivers messages to external workers. Cheap to clone.
#[derive(Clone)]
pub(super) struct MessageDeliverer {
    host: Host,
    streams: Arc<WorkerStreams>,
    pub(super) push: PushClient,
    server_url: String,
}

impl MessageDeliverer {
    pub(super) fn new(
        host: Host,
        streams: Arc<WorkerStreams>,
        push: PushClient,
        server_url: String,
    ) -> Self {
        Self { host, streams, push, server_url }
    }

    /// Offers a task once; the task's retry timer offers it again.
    fn execute(&self, task: &PromiseId, version: Version, target: &str) -> DeliveryResult {
        let message = execute(task, version, &self.server_url);
        match Destination::parse(target) {
            Some(Destination::Poll { group, worker, alone }) => {
                let sent = self.streams.send(&group, worker.as_deref(), alone, task, &message);
                if sent != StreamSendResult::Accepted {
                    let only = worker.as_deref().filter(|_| alone);
                    self.streams.wait(&group, only, OutboxKey::Execute(task.clone()));
                    tracing::debug!(%task, target, ?sent, "no worker can take the task now");
                }
                match sent {
                    StreamSendResult::Nobody => DeliveryResult::Elsewhere,
                    StreamSendResult::Accepted | StreamSendResult::Full => DeliveryResult::Done,
                }
            }
            Some(Destination::Http(url)) => {
                self.push.insist(url, message);
                DeliveryResult::Done
            }
            None => DeliveryResult::NotMine,
        }
    }

    /// Delivers a settlement, with retries until the transport accepts it.
    async fn unblock(&self, promise: &Promise, address: &str, attempt: u32) -> DeliveryResult {
        if attempt > UNBLOCK_ATTEMPTS {
            tracing::info!(id = %promise.id(), address, "a listener took no message in an hour of attempts and is given up");
            return DeliveryResult::Done;
        }
        let message = unblock(promise);
        match Destination::parse(address) {
            Some(Destination::Poll { group, worker, alone }) => {
                let id = promise.id();
                match self.streams.send(&group, worker.as_deref(), alone, id, &message) {
                    StreamSendResult::Accepted => DeliveryResult::Done,
                    StreamSendResult::Full => DeliveryResult::Again { after: FULL },
                    StreamSendResult::Nobody => {
                        let key = OutboxKey::Unblock(promise.id().clone(), address.into());
                        self.streams.wait(&group, worker.as_deref().filter(|_| alone), key);
                        DeliveryResult::Elsewhere
                    }
                }
            }
            Some(Destination::Http(url)) => match self.push.once(&url, message).await {
                Ok(()) => DeliveryResult::Done,
                Err(PushRefusal { wait }) => DeliveryResult::Again { after: wait },
            },
            None => DeliveryResult::NotMine,
        }
    }

    /// Delivers messages that waited for a stream that has just opened, or had no receiver at
    /// another host.
    pub(super) async fn offer(&self, waiting: Vec<OutboxKey>) {
        for key in waiting {
            let Ok(Some(row)) = self.host.store.read().promise(key.promise()).await else {
                continue;
            };
            let (promise, task) = (&row.promise, row.task.as_ref());
            match &key {
                OutboxKey::Execute(id) => {
                    let Some(Task {
                        state: TaskState::Pending { offered: true, .. }, version, ..
                    }) = task
                    else {
                        continue;
                    };
                    let target = promise.target().unwrap_or_default();
                    let message = execute(id, *version, &self.server_url);
                    let sent = self.send(target, id, &message);
                    tracing::debug!(%id, ?sent, "a task that had waited was offered");
                }
                OutboxKey::Unblock(id, address) if !promise.is_pending() => {
                    let sent = self.send(address, id, &unblock(promise));
                    tracing::debug!(%id, ?sent, "the news of a settlement had waited");
                    if sent == Some(StreamSendResult::Accepted) {
                        // If this command is lost, the settlement is delivered again.
                        let _ = self.host.store.execute(vec![Command::OutboxAck { key }]).await;
                    }
                }
                OutboxKey::Unblock(..)
                | OutboxKey::Event(..)
                | OutboxKey::CancelChildren(_)
                | OutboxKey::LeaveLimit(..) => {}
            }
        }
    }

    /// Sends a message to the streams of this host.
    fn send(&self, address: &str, about: &PromiseId, message: &Bytes) -> Option<StreamSendResult> {
        match Destination::parse(address)? {
            Destination::Poll { group, worker, alone } => {
                Some(self.streams.send(&group, worker.as_deref(), alone, about, message))
            }
            Destination::Http(_) => None,
        }
    }
}

#[async_trait]
impl Channel for MessageDeliverer {
    fn name(&self) -> &'static str {
        "resonate"
    }

    fn takes(&self, kind: OutboxMessageKind) -> bool {
        matches!(kind, OutboxMessageKind::Execute | OutboxMessageKind::Unblock)
    }

    fn wanted(&self, key: &OutboxKey) {
        if self.streams.count() == 0 {
            return;
        }
        let (deliverer, key) = (self.clone(), key.clone());
        let offering = async move { deliverer.offer(vec![key]).await };
        self.host.env.runtime.spawn("offer", Box::pin(offering));
    }

    async fn deliver(&self, delivery: &Delivery) -> DeliveryResult {
        match delivery {
            Delivery::Execute { task, version, target } => self.execute(task, *version, target),
            Delivery::Unblock { promise, address, attempt } => {
                self.unblock(promise, address, *attempt).await
            }
            Delivery::Event { .. } => DeliveryResult::NotMine,
        }
    }
}

fn execute(task: &PromiseId, version: Version, server_url: &str) -> Bytes {
    let message = json!({
        "kind": "execute",
        "head": { "serverUrl": server_url },
        "data": { "task": { "id": task.as_str(), "version": version.0 } },
    });
    line(&message)
}

fn unblock(promise: &Promise) -> Bytes {
    let record = wire::promise(promise);
    let message = json!({ "kind": "unblock", "head": {}, "data": { "promise": record } });
    line(&message)
}

/// Serializes a message as one line for every reader: JSON allows three characters that some
/// readers treat as line ends.
fn line(message: &Json) -> Bytes {
    const ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    let text = message.to_string();
    if !text.contains(ENDS) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        match ENDS.contains(&character) {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => escaped.push(character),
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_for_every_reader() {
        let message = json!({ "id": "a\u{2028}b\u{85}c\u{2029}d\ne", "plain": "ключ" });
        let line = String::from_utf8(line(&message).to_vec()).expect("text");
        let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{85}', '\u{2028}', '\u{2029}'];
        assert!(!line.contains(ends), "{line}");
        assert_eq!(serde_json::from_str::<Json>(&line).expect("JSON"), message);
    }
}
