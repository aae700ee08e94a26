//! What a handler asks with.

use std::{
    sync::{Arc, Mutex},
    task::Poll,
};

use segno_restate::{
    deployment::{Attempt, AttemptError, StateRead},
    immutable::{Call, NotificationId, NotificationResult, OneWayCall},
    wire::{Failure, Outcome},
};
use serde_json::Value as Json;

use super::{TestDeployment, lock, serving::Shared};

/// What a handler asks with.
#[derive(Clone)]
pub struct HandlerContext {
    pub(super) shared: Arc<Mutex<Shared>>,
    pub(super) deployment: Arc<TestDeployment>,
}

impl HandlerContext {
    /// The input.
    pub fn input(&self) -> Json {
        let shared = lock(&self.shared);
        let value = shared.attempt.input().value.clone().unwrap_or_default();
        serde_json::from_slice(&value.content).unwrap_or_default()
    }

    /// Does something whose outcome is kept.
    pub async fn run(&self, name: &str, outcome: Result<Json, Failure>) -> Result<Json, Failure> {
        let id = self
            .issue(|attempt| {
                let handle = attempt.run(name)?;
                if handle.execute {
                    *lock(&self.deployment.done).entry(name.to_owned()).or_default() += 1;
                    let outcome = match outcome {
                        Ok(value) => Outcome::Success(value.to_string().into_bytes().into()),
                        Err(failure) => Outcome::Failure(failure),
                    };
                    attempt.propose_run(handle.completion_id, outcome)?;
                }
                Ok(handle.completion_id)
            })
            .await;
        self.value(NotificationId::Completion(id)).await
    }

    /// Waits until an instant.
    pub async fn sleep_until(&self, at_ms: u64) {
        let id = self.issue(|attempt| attempt.sleep(at_ms, "")).await;
        self.told(NotificationId::Completion(id)).await;
    }

    /// Calls a handler: `SERVICE[/KEY]/HANDLER`.
    pub async fn call(&self, target: &str, input: &Json) -> Result<Json, Failure> {
        let (service_name, key, handler_name) = parts(target);
        let call = Call {
            service_name,
            handler_name,
            key,
            parameter: input.to_string().into_bytes().into(),
            ..Call::default()
        };
        let handle = self.issue(|attempt| attempt.call(call)).await;
        self.value(NotificationId::Completion(handle.result)).await
    }

    /// Calls a handler, and lets it go.
    pub async fn send(&self, target: &str, input: &Json) -> String {
        let (service_name, key, handler_name) = parts(target);
        let call = OneWayCall {
            service_name,
            handler_name,
            key,
            parameter: input.to_string().into_bytes().into(),
            ..OneWayCall::default()
        };
        let id = self.issue(|attempt| attempt.send(call)).await;
        match self.told(NotificationId::Completion(id)).await {
            NotificationResult::InvocationId(id) => id,
            other => format!("{other:?}"),
        }
    }

    /// Reads a key of state.
    pub async fn state(&self, key: &'static str) -> Json {
        let content = match self.issue(|attempt| attempt.state(key, "")).await {
            StateRead::Known(content) => content,
            StateRead::Asked(id) => match self.told(NotificationId::Completion(id)).await {
                NotificationResult::Value(content) => Some(content),
                _ => None,
            },
        };
        content.and_then(|content| serde_json::from_slice(&content).ok()).unwrap_or_default()
    }

    /// Writes a key of state.
    pub async fn set_state(&self, key: &'static str, value: &Json) {
        let content = value.to_string().into_bytes();
        self.issue(|attempt| attempt.set_state(key, content, "")).await;
    }

    /// Waits for a promise of the workflow.
    pub async fn promise(&self, key: &str) -> Result<Json, Failure> {
        let id = self.issue(|attempt| attempt.promise(key, "")).await;
        self.value(NotificationId::Completion(id)).await
    }

    /// Completes a promise of the workflow.
    pub async fn complete_promise(&self, key: &str, value: &Json) -> Result<Json, Failure> {
        let outcome = Outcome::Success(value.to_string().into_bytes().into());
        let id = self.issue(|attempt| attempt.complete_promise(key, outcome, "")).await;
        self.value(NotificationId::Completion(id)).await
    }

    /// A new awakeable: its id, and its signal.
    pub async fn awakeable(&self) -> (String, NotificationId) {
        let made = self.issue(Attempt::awakeable).await;
        (made.id, NotificationId::Signal(made.signal))
    }

    /// Completes an awakeable.
    pub async fn complete_awakeable(&self, id: &str, value: &Json) {
        let outcome = Outcome::Success(value.to_string().into_bytes().into());
        self.issue(|attempt| attempt.complete_awakeable(id, outcome, "")).await;
    }

    /// Waits for something, and reads its value.
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

    /// Waits for something. Being asked to stop ends one wait.
    pub async fn told(&self, id: NotificationId) -> NotificationResult {
        std::future::poll_fn(|_| {
            let mut shared = lock(&self.shared);
            if let Some(result) = shared.results.get(&id).cloned() {
                shared.waits.remove(&id);
                return Poll::Ready(result);
            }
            if shared.results.remove(&NotificationId::Signal(1)).is_some() {
                shared.waits.remove(&id);
                return Poll::Ready(NotificationResult::Failure(Failure::new(409, "Cancelled")));
            }
            shared.waits.insert(id.clone());
            Poll::Pending
        })
        .await
    }

    async fn issue<T>(&self, ask: impl FnOnce(&mut Attempt) -> Result<T, AttemptError>) -> T {
        let asked = {
            let mut shared = lock(&self.shared);
            ask(&mut shared.attempt).map_err(|error| shared.attempt.fail(error.to_message()))
        };
        match asked {
            Ok(asked) => asked,
            Err(()) => pending().await,
        }
    }
}

/// The attempt is over: the handler goes no further.
async fn pending<T>() -> T {
    std::future::pending().await
}

fn parts(target: &str) -> (String, String, String) {
    let (service, rest) = target.split_once('/').expect("a handler");
    let (key, handler) = rest.rsplit_once('/').unwrap_or(("", rest));
    (service.to_owned(), key.to_owned(), handler.to_owned())
}
