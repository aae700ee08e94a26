//! A client that calls functions and waits for their outcomes.

use anyhow::bail;
use serde_json::{Value as Json, json};

use super::{
    wire::{MessageStream, ResonateConnection},
    worker::{ResonateWorker, call, decoded},
};

const GROUP: &str = "bench-clients";
const ADDRESS: &str = "poll://uni@bench-clients/here";

/// A client of the Resonate protocol with one stream.
pub(super) struct ResonateClient {
    wire: ResonateConnection,
    messages: MessageStream,
}

impl ResonateClient {
    /// Creates a client and opens its stream.
    pub(super) async fn start(url: &str) -> anyhow::Result<Self> {
        let wire = ResonateConnection::new(url)?;
        let messages = wire.listen(GROUP, "here").await?;
        Ok(Self { wire, messages })
    }

    /// Calls a function on any worker and waits for the outcome.
    pub(super) async fn rpc(
        &mut self,
        id: &str,
        function: &str,
        input: u64,
    ) -> anyhow::Result<Json> {
        self.wire.done("promise.create", call(id, function, input, id, id)).await?;
        let listening = self.listen(id).await?;
        self.outcome(id, listening).await
    }

    /// Calls a function on a worker in this process, which holds the task from the beginning.
    pub(super) async fn run(
        &mut self,
        worker: &ResonateWorker,
        id: &str,
        function: &str,
        input: u64,
    ) -> anyhow::Result<Json> {
        let new = call(id, function, input, id, id);
        let action = json!({ "kind": "promise.create", "head": {}, "data": new });
        let data = json!({ "pid": worker.name(), "ttl": 60_000, "action": action });
        let (_, taken) = self.wire.done("task.create", data).await?;
        let (executed, listening) = futures::join!(worker.execute(&taken), self.listen(id));
        executed?;
        self.outcome(id, listening?).await
    }

    /// Waits for the outcome of an invocation that another client started.
    pub(super) async fn outcome_of(&mut self, id: &str) -> anyhow::Result<Json> {
        let listening = self.listen(id).await?;
        self.outcome(id, listening).await
    }

    /// The state of an invocation's task.
    pub(super) async fn state(&self, id: &str) -> anyhow::Result<Json> {
        let (_, answer) = self.wire.done("task.get", json!({ "id": id })).await?;
        Ok(answer["task"]["state"].clone())
    }

    /// Registers a listener; returns the promise at that time.
    async fn listen(&self, id: &str) -> anyhow::Result<Json> {
        let listen = json!({ "awaited": id, "address": ADDRESS });
        let (_, mut answer) = self.wire.done("promise.register_listener", listen).await?;
        Ok(answer["promise"].take())
    }

    async fn outcome(&mut self, id: &str, mut record: Json) -> anyhow::Result<Json> {
        while record["state"] == "pending" {
            let mut message = self.messages.next().await?;
            let told = message["data"]["promise"].take();
            if told["id"] == id {
                record = told;
            }
        }
        if record["state"] != "resolved" {
            bail!("`{id}` came to {record}");
        }
        decoded(&record["value"])
    }
}
