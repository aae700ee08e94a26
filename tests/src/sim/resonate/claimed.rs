//! A task that a worker has claimed. Its steps are promises that are created and settled under the
//! claim.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_core::time::Millis;
use serde_json::{Value as Json, json};

use super::{super::effects, worker::Worker};

/// Maximum number of attempts of one request before a worker gives the task up.
const ATTEMPTS: u32 = 3;

/// Reason why a function does not continue.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stop {
    /// The function waits for these promises.
    Awaits(BTreeSet<String>),
    /// The function failed with this error.
    Failed(Json),
    /// The claim has ended.
    Lost,
    /// No host can be reached.
    Unreachable,
}

/// A claimed task.
pub(super) struct Claimed {
    worker: Arc<Worker>,
    /// Id of the task and its promise.
    pub id: String,
    /// Version of the claim.
    pub version: u64,
    record: Json,
    /// Known records of its steps, by id.
    known: BTreeMap<String, Json>,
    next: u32,
    open: BTreeSet<String>,
}

/// Record of a step that was begun.
pub(super) struct Begun(Json);

impl Claimed {
    /// Creates the task from an answer to `task.create` or `task.acquire`. `None` if the task is
    /// not this worker's.
    pub(super) fn of(worker: Arc<Worker>, taken: &Json) -> Option<Self> {
        let (task, record) = (&taken["task"], taken["promise"].clone());
        let id = task["id"].as_str()?.to_owned();
        let mine = task["state"] == "acquired" && task["pid"] == worker.pid();
        let claimed = Self {
            worker,
            id,
            version: task["version"].as_u64()?,
            record,
            known: BTreeMap::new(),
            next: 0,
            open: BTreeSet::new(),
        };
        let mut claimed = mine.then_some(claimed)?;
        claimed.learn(&taken["preload"]);
        Some(claimed)
    }

    /// Function to run, with its arguments.
    pub(super) fn call(&self) -> (String, Vec<Json>) {
        let call = decoded(&self.record["param"]);
        let function = call["func"].as_str().unwrap_or_default().to_owned();
        (function, call["args"].as_array().cloned().unwrap_or_default())
    }

    /// Prepares for a run of the body from its start.
    pub(super) fn begin(&mut self) {
        self.next = 0;
        self.open.clear();
    }

    /// Does the task's own work: an external effect. Returns its receipt.
    pub(super) async fn work(&mut self) -> Json {
        self.worker.works(&self.id.clone()).await
    }

    /// Runs a step in this worker.
    pub(super) async fn step(&mut self) -> Result<Json, Stop> {
        let id = self.child();
        let record = self.created(&id, json!({ "resonate:scope": "local" }), None, None).await?;
        if record["state"] != "pending" {
            return outcome(&record);
        }
        let receipt = self.worker.works(&id).await;
        let settle = json!({ "id": id, "state": "resolved", "value": encoded(&receipt) });
        let record = self.fenced("promise.settle", settle).await?;
        outcome(&record)
    }

    /// Begins a call of a function elsewhere.
    pub(super) async fn call_of(
        &mut self,
        function: &str,
        input: u64,
        target: &str,
        within: Option<i64>,
    ) -> Result<Begun, Stop> {
        let id = self.child();
        let param = encoded(&json!({ "func": function, "args": [input], "version": 1 }));
        let tags =
            json!({ "resonate:target": target, "resonate:scope": "global", "resonate:branch": id });
        self.created(&id, tags, within, Some(param)).await.map(Begun)
    }

    /// Begins to sleep. Released clients differ in whether the timer has a target.
    pub(super) async fn sleep(&mut self, length: i64) -> Result<Begun, Stop> {
        let id = self.child();
        let mut tags =
            json!({ "resonate:timer": "true", "resonate:scope": "global", "resonate:branch": id });
        if self.worker.is_of_the_colon_dialect() {
            tags["resonate:target"] = json!("poll://any@workers");
        }
        self.created(&id, tags, Some(length), None).await.map(Begun)
    }

    /// Creates a promise that is settled from outside.
    pub(super) async fn promise(&mut self) -> Result<Begun, Stop> {
        let id = self.child();
        self.created(&id, json!({ "resonate:scope": "global" }), None, None).await.map(Begun)
    }

    /// Outcome of a step. If it is pending, the function must wait.
    pub(super) fn done(&mut self, begun: &Begun) -> Result<Json, Stop> {
        match begun.0["state"].as_str() {
            Some("pending") => Err(Stop::Awaits(self.open.clone())),
            _ => outcome(&begun.0),
        }
    }

    /// Suspends the task until one of these promises is settled. Returns true if one already is, so
    /// that the function continues immediately.
    pub(super) async fn suspend(&mut self, awaited: &BTreeSet<String>) -> Result<bool, Stop> {
        let action = |awaited: &String| {
            let data = json!({ "awaited": awaited, "awaiter": self.id });
            json!({ "kind": "promise.register_callback", "head": {}, "data": data })
        };
        let actions: Vec<Json> = awaited.iter().map(action).collect();
        let data = json!({ "id": self.id, "version": self.version, "actions": actions });
        let (status, answer) = self.asked("task.suspend", data).await?;
        self.known.clear();
        self.learn(&answer["preload"]);
        Ok(status == 300)
    }

    /// Completes the task.
    pub(super) async fn fulfill(&mut self, state: &str, value: &Json) -> Result<(), Stop> {
        let data = json!({ "id": self.id, "state": state, "value": encoded(value) });
        let action = json!({ "kind": "promise.settle", "head": {}, "data": data });
        let data = json!({ "id": self.id, "version": self.version, "action": action });
        self.asked("task.fulfill", data).await.map(drop)
    }

    fn child(&mut self) -> String {
        self.next += 1;
        format!("{}{}{}", self.id, self.worker.separator(&self.id), self.next - 1)
    }

    async fn created(
        &mut self,
        id: &str,
        mut tags: Json,
        within: Option<i64>,
        param: Option<Json>,
    ) -> Result<Json, Stop> {
        if let Some(known) = self.known.get(id) {
            let known = known.clone();
            return Ok(self.noted(id, known));
        }
        let own = &self.record["tags"];
        tags["resonate:origin"] = own["resonate:origin"].clone();
        tags["resonate:parent"] = json!(self.id);
        if tags.get("resonate:branch").is_none() {
            tags["resonate:branch"] = own["resonate:branch"].clone();
        }
        let deadline = self.record["timeoutAt"].as_i64().unwrap_or_default();
        let now = self.worker.caller().network.log.now();
        let timeout_at = within.map_or(deadline, |within| deadline.min((now + Millis(within)).0));
        let param = param.unwrap_or_else(|| json!({}));
        let data = json!({ "id": id, "timeoutAt": timeout_at, "tags": tags, "param": param });
        let record = self.fenced("promise.create", data).await?;
        Ok(self.noted(id, record))
    }

    fn noted(&mut self, id: &str, record: Json) -> Json {
        let waits = record["state"] == "pending" && record["tags"]["resonate:scope"] != "local";
        if waits {
            self.open.insert(id.to_owned());
        }
        record
    }

    async fn fenced(&mut self, kind: &str, data: Json) -> Result<Json, Stop> {
        let head = json!({ "corrId": "c", "version": segno_resonate::envelope::VERSION });
        let action = json!({ "kind": kind, "head": head, "data": data });
        let data = json!({ "id": self.id, "version": self.version, "action": action });
        let (_, answer) = self.asked("task.fence", data).await?;
        Ok(answer["action"]["data"]["promise"].clone())
    }

    /// Sends a request under the claim.
    async fn asked(&mut self, kind: &str, data: Json) -> Result<(u16, Json), Stop> {
        for _ in 0..ATTEMPTS {
            match self.worker.caller().ask(kind, data.clone()).await {
                Some((status @ (200 | 300), answer)) => return Ok((status, answer)),
                Some((404 | 409, _)) => return Err(Stop::Lost),
                Some((status @ (400 | 422), answer)) => {
                    let log = &self.worker.caller().network.log;
                    log.finding(format_args!("{kind} was answered {status}: {answer} ({data})"));
                    return Err(Stop::Lost);
                }
                Some(_) | None => self.worker.caller().sleep(Millis(90)).await,
            }
        }
        Err(Stop::Unreachable)
    }

    fn learn(&mut self, preload: &Json) {
        for record in preload.as_array().into_iter().flatten() {
            let id = record["id"].as_str().unwrap_or_default().to_owned();
            // A pending promise may have been settled since, so it is not kept.
            if record["state"] != "pending" {
                self.known.insert(id, record.clone());
            }
        }
    }
}

fn outcome(record: &Json) -> Result<Json, Stop> {
    match record["state"].as_str() {
        Some("resolved") => Ok(decoded(&record["value"])),
        Some("rejected_timedout") => Err(Stop::Failed(json!("late"))),
        Some("rejected_canceled") => Err(Stop::Failed(json!("withdrawn"))),
        _ => Err(Stop::Failed(decoded(&record["value"]))),
    }
}

/// Encodes a value as released clients write it.
pub(super) fn encoded(value: &Json) -> Json {
    json!({ "headers": {}, "data": BASE64_STANDARD.encode(value.to_string()) })
}

/// Decodes a value as released clients read it.
pub(super) fn decoded(value: &Json) -> Json {
    let bytes = BASE64_STANDARD.decode(value["data"].as_str().unwrap_or_default());
    serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default()
}

/// Receipt of a run of a step.
pub(super) fn receipt(key: &str, run: u32) -> Json {
    serde_json::from_str(&effects::receipt(key, run)).expect("receipts are JSON")
}
