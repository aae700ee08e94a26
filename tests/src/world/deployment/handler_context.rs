//! The context of a handler, through which it issues commands.

use std::{
    sync::{Arc, Mutex},
    task::Poll,
};

use bytes::Bytes;
use segno_core::time::Millis;
use segno_env::Runtime as _;
use segno_restate::{
    deployment::StateRead,
    immutable::{CANCEL_SIGNAL, Call, ErrorMessage, NotificationId, NotificationResult},
    mutable::Entry,
    wire::{Failure, OperationOutcome},
};
use serde_json::Value as Json;

use super::{
    TestDeployment, lock,
    serving::{Shared, SlowRun},
    side::Side,
};
use crate::world::SimRuntime;

/// Context of a handler, through which it issues commands.
#[derive(Clone)]
pub struct HandlerContext {
    pub(super) shared: Arc<Mutex<Shared>>,
    pub(super) deployment: Arc<TestDeployment>,
}

impl HandlerContext {
    /// Id of the invocation.
    pub fn id(&self) -> String {
        lock(&self.shared).attempt.id()
    }

    /// Input of the invocation, as JSON.
    pub fn input(&self) -> Json {
        serde_json::from_slice(&lock(&self.shared).attempt.input()).unwrap_or_default()
    }

    /// Runs an effect with a durable outcome.
    pub async fn run(&self, name: &str, outcome: Result<Json, Failure>) -> Result<Json, Failure> {
        self.run_with(name, |_| outcome).await
    }

    /// Does the same. The effect gets the number of its executions, this one included.
    pub async fn run_with(
        &self,
        name: &str,
        does: impl FnOnce(u64) -> Result<Json, Failure>,
    ) -> Result<Json, Failure> {
        let deployment = self.deployment.clone();
        let outcome = || match does(deployment.does(name)) {
            Ok(value) => OperationOutcome::Success(bytes(&value)),
            Err(failure) => OperationOutcome::Failure(failure),
        };
        let told = self.issue(|attempt| attempt.run(name, outcome)).await;
        self.value(told).await
    }

    /// Begins a run that takes `length`. Returns the id of its completion. The attempt does not
    /// suspend before the run ends.
    pub async fn begin_run(&self, name: &str, length: Millis, value: &Json) -> NotificationId {
        let (id, execute) = self.issue(|attempt| attempt.begin_run(name)).await;
        if execute {
            self.deployment.does(name);
            lock(&self.shared).begun = Some(SlowRun {
                over: SimRuntime::default().sleep(length),
                name: name.to_owned(),
                id: id.clone(),
                outcome: OperationOutcome::Success(bytes(value)),
            });
        }
        id
    }

    /// Sleeps until an instant, in milliseconds since the Unix epoch.
    pub async fn sleep_until(&self, at_ms: u64) {
        let told = self.begin_sleep(at_ms).await;
        self.told(told).await;
    }

    /// Begins to sleep until an instant. Returns the id of the completion.
    pub async fn begin_sleep(&self, at_ms: u64) -> NotificationId {
        self.issue(|attempt| attempt.sleep(at_ms)).await
    }

    /// Begins a call of a handler: `SERVICE[/KEY]/HANDLER`. Returns the id of its completion.
    pub async fn begin_call(&self, target: &str, input: &Json) -> NotificationId {
        self.issue(|attempt| attempt.call(parts(target), bytes(input))).await
    }

    /// Calls a handler: `SERVICE[/KEY]/HANDLER`.
    pub async fn call(&self, target: &str, input: &Json) -> Result<Json, Failure> {
        let told = self.begin_call(target, input).await;
        self.value(told).await
    }

    /// Does the same within a scope, and with a limit key (V7 only).
    pub async fn call_within(
        &self,
        (scope, limit_key): (&str, Option<&str>),
        target: &str,
        input: &Json,
    ) -> Result<Json, Failure> {
        let [service_name, key, handler_name] = parts(target);
        let (scope, limit_key) = (Some(scope.to_owned()), limit_key.map(str::to_owned));
        let parameter = bytes(input);
        let rest = Call::default();
        let call = Call { service_name, key, handler_name, parameter, scope, limit_key, ..rest };
        let told = self.issue(|attempt| attempt.ask_for(call)).await;
        self.value(told).await
    }

    /// Writes an entry of V1 to V3. Returns its index.
    pub async fn enter(&self, entry: impl Into<Entry>) -> u32 {
        let entry = entry.into();
        self.issue(|attempt| attempt.enter(entry)).await
    }

    /// Calls a handler several times, and waits for all results together.
    pub async fn call_all(&self, target: &str, inputs: &[Json]) -> Vec<Json> {
        let mut all = Vec::new();
        for input in inputs {
            all.push(self.issue(|attempt| attempt.call(parts(target), bytes(input))).await);
        }
        std::future::poll_fn(|_| {
            let mut shared = lock(&self.shared);
            let missing = all.iter().filter(|id| !shared.results.contains_key(*id)).cloned();
            shared.all = missing.collect();
            if shared.all.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let mut values = Vec::new();
        for id in all {
            values.push(self.value(id).await.unwrap_or_default());
        }
        values
    }

    /// Requests a run, and never executes it.
    pub async fn run_never_done(&self, name: &str) -> NotificationResult {
        let told = self.issue(|attempt| attempt.run_undone(name)).await;
        self.told(told).await
    }

    /// Calls a handler without waiting for its result.
    pub async fn send(&self, target: &str, input: &Json) {
        let begun = self.issue(|attempt| attempt.send(parts(target), bytes(input))).await;
        if let Some(begun) = begun {
            self.told(begun).await;
        }
    }

    /// Reads a key of the state.
    pub async fn state(&self, key: &'static str) -> Json {
        let content = match self.issue(|attempt| attempt.state(key)).await {
            StateRead::Known(content) => content,
            StateRead::Asked(id) => match self.told(NotificationId::Completion(id)).await {
                NotificationResult::Value(content) => Some(content),
                _ => None,
            },
        };
        content.and_then(|content| serde_json::from_slice(&content).ok()).unwrap_or_default()
    }

    /// Writes a key of the state.
    pub async fn set_state(&self, key: &'static str, value: &Json) {
        let content = value.to_string().into_bytes();
        self.issue(|attempt| attempt.set_state(key, content)).await;
    }

    /// Waits for a promise of the workflow.
    pub async fn promise(&self, key: &str) -> Result<Json, Failure> {
        let told = self.issue(|attempt| attempt.promise(key)).await;
        self.value(told).await
    }

    /// Completes a promise of the workflow.
    pub async fn complete_promise(&self, key: &str, value: &Json) -> Result<Json, Failure> {
        let told = self.issue(|attempt| attempt.complete_promise(key, bytes(value))).await;
        self.value(told).await
    }

    /// Creates an awakeable. Returns its id, and the id of the notification that completes it.
    pub async fn awakeable(&self) -> (String, NotificationId) {
        self.issue(Side::awakeable).await
    }

    /// Completes an awakeable.
    pub async fn complete_awakeable(&self, id: &str, value: &Json) {
        self.issue(|attempt| attempt.complete_awakeable(id, bytes(value))).await;
    }

    /// Waits for a notification. Returns its value as text.
    pub async fn value_text(&self, id: NotificationId) -> String {
        match self.told(id).await {
            NotificationResult::Value(value) => String::from_utf8_lossy(&value).into_owned(),
            other => format!("{other:?}"),
        }
    }

    /// Waits for a notification. Returns its value.
    pub async fn value(&self, id: NotificationId) -> Result<Json, Failure> {
        match self.told(id).await {
            NotificationResult::Value(value) => {
                Ok(serde_json::from_slice(&value).unwrap_or_default())
            }
            NotificationResult::Failure(failure) => Err(failure),
            NotificationResult::Void
            | NotificationResult::InvocationId(_)
            | NotificationResult::StateKeys(_) => Ok(Json::Null),
        }
    }

    /// Waits for a notification. A cancellation ends one wait with the error 409.
    pub async fn told(&self, id: NotificationId) -> NotificationResult {
        std::future::poll_fn(|_| {
            let mut shared = lock(&self.shared);
            if let Some(result) = shared.results.get(&id).cloned() {
                shared.waits.remove(&id);
                return Poll::Ready(result);
            }
            if shared.results.remove(&NotificationId::Signal(CANCEL_SIGNAL)).is_some() {
                shared.waits.remove(&id);
                return Poll::Ready(NotificationResult::Failure(Failure::new(409, "Cancelled")));
            }
            shared.waits.insert(id.clone());
            Poll::Pending
        })
        .await
    }

    /// Waits for the first of these notifications. Returns its index in `ids`.
    pub async fn first_of(&self, ids: &[NotificationId]) -> usize {
        std::future::poll_fn(|_| {
            let mut shared = lock(&self.shared);
            let first = ids.iter().position(|id| shared.results.contains_key(id));
            let Some(first) = first else {
                shared.waits.extend(ids.iter().cloned());
                return Poll::Pending;
            };
            shared.waits.retain(|id| !ids.contains(id));
            Poll::Ready(first)
        })
        .await
    }

    async fn issue<T>(&self, ask: impl FnOnce(&mut Side) -> Result<T, ErrorMessage>) -> T {
        let asked = {
            let mut shared = lock(&self.shared);
            ask(&mut shared.attempt).map_err(|error| shared.attempt.fail(error))
        };
        match asked {
            Ok(asked) => asked,
            Err(()) => pending().await,
        }
    }
}

/// Never completes: the attempt is over.
async fn pending<T>() -> T {
    std::future::pending().await
}

fn bytes(value: &Json) -> Bytes {
    value.to_string().into_bytes().into()
}

/// Splits an address into service, key and handler.
fn parts(target: &str) -> [String; 3] {
    // In an address with a scheme, the module belongs to the service.
    let service = target.find("://").map_or(0, |scheme| scheme + 3);
    let slash = target[service..].find('/').expect("a handler") + service;
    let (service, rest) = (&target[..slash], &target[slash + 1..]);
    let (key, handler) = rest.rsplit_once('/').unwrap_or(("", rest));
    [service, key, handler].map(str::to_owned)
}
