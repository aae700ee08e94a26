//! Clients of the Resonate protocol, with their retries.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::time::Millis;
use segno_env::Runtime;
use segno_sim::BEGINNING;
use serde_json::{Value as Json, json};

use super::{
    super::network::Network, caller::Caller, claimed::encoded, errand::Errand, inbox,
    worker::Worker,
};

/// Address at which the client receives settlements.
const ADDRESS: &str = "poll://uni@clients/c";
/// Deadline of a promise without a deadline, in milliseconds since the Unix epoch.
const NEVER: i64 = 9_000_000_000_000;
/// Pause between two reads.
const PAUSE: Millis = Millis(230);

/// A client of the Resonate protocol.
pub(crate) struct Client {
    caller: Arc<Caller>,
    workers: Vec<Arc<Worker>>,
    told: Mutex<BTreeMap<String, Json>>,
}

impl Client {
    /// Starts a client that listens from now on.
    pub(crate) fn start(network: Arc<Network>, workers: Vec<Arc<Worker>>) -> Arc<Self> {
        let caller = Arc::new(Caller::new("r-client".into(), network.clone()));
        let client = Arc::new(Self { caller: caller.clone(), workers, told: Mutex::default() });
        let hearer = client.clone();
        let receive = Arc::new(move |message: Json| hearer.receive(&message));
        let runtime = network.runtime.clone();
        let listening = inbox::listen(caller, runtime.clone(), "clients", "c".into(), receive);
        runtime.spawn("inbox", Box::pin(listening));
        client
    }

    /// Settlements that it received, by promise.
    pub(crate) fn told(&self) -> MutexGuard<'_, BTreeMap<String, Json>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs an errand until it is complete.
    pub(crate) async fn act(&self, id: &str, errand: &Errand) {
        match errand {
            Errand::Rpc { function, input, deadline } => {
                let new = created(id, function, *input, "poll://any@workers", *deadline);
                self.caller.insist("promise.create", new).await;
            }
            Errand::Run { function, input, deadline, worker } => {
                let worker = &self.workers[*worker];
                let target = format!("poll://any@workers/{}", worker.pid());
                let new = created(id, function, *input, &target, *deadline);
                let action = json!({ "kind": "promise.create", "head": {}, "data": new });
                let data = json!({ "pid": worker.pid(), "ttl": 3_000, "action": action });
                if let (200, taken) = self.caller.insist("task.create", data).await {
                    worker.take(taken);
                }
            }
            Errand::Hear => self.hear(id).await,
            Errand::Grant => {
                let granted = format!("{id}{}0", self.workers[0].separator(id));
                let value = encoded(&json!("granted"));
                let data = json!({ "id": granted, "state": "resolved", "value": value });
                self.once_there(id, "promise.settle", data).await;
            }
            Errand::Withdraw => {
                let data = json!({ "id": id, "state": "rejected_canceled" });
                self.once_there(id, "promise.settle", data).await;
            }
            Errand::Hold { lasts } => {
                self.once_there(id, "task.halt", json!({ "id": id })).await;
                self.caller.sleep(Millis(*lasts)).await;
                self.once_there(id, "task.continue", json!({ "id": id })).await;
            }
        }
    }

    /// Registers a listener once, and again only if the message stream has ended or lost a message
    /// since.
    async fn hear(&self, id: &str) {
        loop {
            let missed = self.caller.misses();
            let data = json!({ "awaited": id, "address": ADDRESS });
            let (status, answer) = self.caller.insist("promise.register_listener", data).await;
            if status != 200 {
                // The promise does not exist yet.
                self.caller.sleep(PAUSE).await;
                continue;
            }
            if answer["promise"]["state"] != "pending" {
                self.learn(&answer["promise"]);
            }
            loop {
                if self.told().contains_key(id) {
                    return;
                }
                self.caller.sleep(PAUSE).await;
                if self.caller.misses() > missed {
                    break;
                }
            }
            self.caller.network.log.count("listeners registered again");
        }
    }

    fn receive(&self, message: &Json) {
        if message["kind"] == "unblock" {
            self.learn(&message["data"]["promise"]);
        }
    }

    fn learn(&self, record: &Json) {
        let id = record["id"].as_str().unwrap_or_default().to_owned();
        let known = self.told().insert(id.clone(), record.clone());
        if record["state"] == "pending" || known.is_some_and(|known| known != *record) {
            self.caller.network.log.finding(format_args!("`{id}` was told of as {record}"));
        }
    }

    /// Repeats a request until its object exists, or can no longer exist.
    async fn once_there(&self, root: &str, kind: &str, data: Json) {
        loop {
            let (status, _) = self.caller.insist(kind, data.clone()).await;
            if status != 404 {
                return;
            }
            let (status, answer) = self.caller.insist("promise.get", json!({ "id": root })).await;
            if status == 200 && answer["promise"]["state"] != "pending" {
                return;
            }
            self.caller.sleep(PAUSE).await;
        }
    }
}

/// Data that create a workflow.
fn created(id: &str, function: &str, input: u64, target: &str, deadline: Option<i64>) -> Json {
    let param = encoded(&json!({ "func": function, "args": [input], "version": 1 }));
    let timeout_at = deadline.map_or(NEVER, |deadline| BEGINNING.0 + deadline);
    let tags = json!({
        "resonate:target": target, "resonate:scope": "global",
        "resonate:origin": id, "resonate:branch": id, "resonate:parent": id,
    });
    json!({ "id": id, "timeoutAt": timeout_at, "param": param, "tags": tags })
}
