//! A worker that behaves like the released clients: it listens, claims tasks, runs functions from
//! the beginning, and creates and settles their steps under its claim.

use std::sync::Arc;

use anyhow::Context as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::{
    NEVER,
    wire::{MessageStream, ResonateConnection},
};

/// The group whose tasks the worker claims.
pub(super) const GROUP: &str = "bench";

/// Duration of its claims, in milliseconds.
const TTL: i64 = 60_000;

/// A worker with one stream. Cheap to clone.
#[derive(Clone)]
pub(super) struct ResonateWorker {
    wire: ResonateConnection,
    name: Arc<str>,
}

/// A claimed task.
struct HeldTask<'a> {
    wire: &'a ResonateConnection,
    id: String,
    version: u64,
    origin: String,
    branch: String,
}

impl ResonateWorker {
    /// Starts a worker; its serving task is spawned on `running`.
    pub(super) async fn start(
        url: &str,
        name: &str,
        running: &mut JoinSet<anyhow::Result<()>>,
    ) -> anyhow::Result<Self> {
        let worker = Self { wire: ResonateConnection::new(url)?, name: name.into() };
        let messages = worker.wire.listen(GROUP, name).await?;
        running.spawn(worker.clone().serve(messages));
        Ok(worker)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    async fn serve(self, mut messages: MessageStream) -> anyhow::Result<()> {
        let mut tasks = JoinSet::new();
        loop {
            let message = messages.next().await?;
            let task = message["data"]["task"].clone();
            let worker = self.clone();
            // A failure shows in the client's answer, or as a missing answer.
            tasks.spawn(async move { worker.perform(&task).await });
            while tasks.try_join_next().is_some() {}
        }
    }

    /// Claims an offered task and runs it, unless another worker was faster.
    async fn perform(&self, task: &Json) -> anyhow::Result<()> {
        let (id, version) = (&task["id"], &task["version"]);
        let data = json!({ "id": id, "version": version, "pid": self.name(), "ttl": TTL });
        match self.wire.ask("task.acquire", data).await? {
            (200, taken) => self.execute(&taken).await,
            _ => Ok(()),
        }
    }

    /// Runs a claimed task until it waits or is done.
    pub(super) async fn execute(&self, taken: &Json) -> anyhow::Result<()> {
        let (task, promise) = (&taken["task"], &taken["promise"]);
        let tag = |name: &str| promise["tags"][name].as_str().unwrap_or_default().to_owned();
        let task = HeldTask {
            wire: &self.wire,
            id: task["id"].as_str().context("a task has an id")?.to_owned(),
            version: task["version"].as_u64().context("a task has a version")?,
            origin: tag("resonate:origin"),
            branch: tag("resonate:branch"),
        };
        let call = decoded(&promise["param"])?;
        let input = call["args"][0].as_u64().unwrap_or_default();
        let value = match call["func"].as_str() {
            Some("fibonacci") => task.fibonacci(input).await?,
            _ => Some(task.step(input).await?),
        };
        match value {
            Some(value) => task.fulfill(value).await,
            None => Ok(()),
        }
    }
}

impl HeldTask<'_> {
    /// Performs one local step.
    async fn step(&self, input: u64) -> anyhow::Result<u64> {
        let id = format!("{}:0", self.id);
        let tags = json!({
            "resonate:scope": "local", "resonate:origin": self.origin,
            "resonate:branch": self.branch, "resonate:parent": self.id,
        });
        let step = json!({ "id": id, "timeoutAt": NEVER, "param": {}, "tags": tags });
        self.fence("promise.create", step).await?;
        let value = input + 1;
        let settle = json!({ "id": id, "state": "resolved", "value": encoded(&json!(value)) });
        self.fence("promise.settle", settle).await?;
        Ok(value)
    }

    /// Makes two remote calls. `None` if they must be awaited.
    async fn fibonacci(&self, n: u64) -> anyhow::Result<Option<u64>> {
        if n < 2 {
            return Ok(Some(n));
        }
        loop {
            let mut values = Vec::new();
            let mut awaited = Vec::new();
            for (child, input) in [n - 1, n - 2].into_iter().enumerate() {
                // The separator distinguishes a child from the steps of the child.
                let separator = if self.id.contains(':') { '.' } else { ':' };
                let id = format!("{}{separator}{child}", self.id);
                let new = call(&id, "fibonacci", input, &self.origin, &self.id);
                let record = self.fence("promise.create", new).await?;
                match record["state"].as_str() {
                    Some("pending") => awaited.push(id),
                    _ => values.push(decoded(&record["value"])?.as_u64().context("a number")?),
                }
            }
            if awaited.is_empty() {
                return Ok(Some(values.iter().sum()));
            }
            let actions = awaited.iter().map(|awaited| {
                let data = json!({ "awaited": awaited, "awaiter": self.id });
                json!({ "kind": "promise.register_callback", "head": {}, "data": data })
            });
            let actions: Vec<Json> = actions.collect();
            let data = json!({ "id": self.id, "version": self.version, "actions": actions });
            if let (false, _) = self.wire.done("task.suspend", data).await? {
                return Ok(None);
            }
        }
    }

    async fn fulfill(&self, value: u64) -> anyhow::Result<()> {
        let value = encoded(&json!(value));
        let data = json!({ "id": self.id, "state": "resolved", "value": value });
        let action = json!({ "kind": "promise.settle", "head": {}, "data": data });
        let data = json!({ "id": self.id, "version": self.version, "action": action });
        self.wire.done("task.fulfill", data).await.map(drop)
    }

    async fn fence(&self, kind: &str, data: Json) -> anyhow::Result<Json> {
        let action = json!({ "kind": kind, "head": {}, "data": data });
        let data = json!({ "id": self.id, "version": self.version, "action": action });
        let (_, mut answer) = self.wire.done("task.fence", data).await?;
        Ok(answer["action"]["data"]["promise"].take())
    }
}

/// The data for calling a worker of the group.
pub(super) fn call(id: &str, function: &str, input: u64, origin: &str, parent: &str) -> Json {
    let param = encoded(&json!({ "func": function, "args": [input], "version": 1 }));
    let tags = json!({
        "resonate:target": format!("poll://any@{GROUP}"), "resonate:scope": "global",
        "resonate:origin": origin, "resonate:branch": id, "resonate:parent": parent,
    });
    json!({ "id": id, "timeoutAt": NEVER, "param": param, "tags": tags })
}

/// Encodes a value like released clients.
pub(super) fn encoded(value: &Json) -> Json {
    json!({ "headers": {}, "data": BASE64_STANDARD.encode(value.to_string()) })
}

/// Decodes a value encoded by released clients.
pub(super) fn decoded(value: &Json) -> anyhow::Result<Json> {
    let bytes = BASE64_STANDARD.decode(value["data"].as_str().context("a value has data")?)?;
    Ok(serde_json::from_slice(&bytes)?)
}
