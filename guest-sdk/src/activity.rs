//! The context of an activity: its view of the attempt, and the requests that it may make.

use std::{future::Future, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    files::{FileSystem, Files},
    http,
    log::Level,
    payload::{self, Payload},
    secret::Secret,
    time::Timestamp,
};

/// The operations of an attempt, implemented by the host or by a test. They block.
pub(crate) trait Attempt: Send + Sync {
    fn heartbeat(&self, progress: Option<&Payload>) -> bool;
    fn http(&self, request: &wit::HttpRequest) -> Result<wit::HttpResponse, wit::Failure>;
    fn log(&self, level: wit::Level, message: &str);
    fn env(&self, name: &str) -> Result<String, wit::Failure>;
    fn secret(&self, name: &str) -> Result<String, wit::Failure>;
    fn files(&self) -> &dyn FileSystem;
}

/// One attempt of an activity. Cheap to clone.
///
/// An activity is where effects happen. It may be attempted several times, also when an earlier
/// attempt did its work and could not report it; so an operation that must happen once should be
/// given the [`idempotency_key`](Self::idempotency_key).
#[derive(Clone)]
pub struct ActivityContext(Arc<Inner>);

struct Inner {
    facts: wit::ActivityContext,
    attempt: Box<dyn Attempt>,
}

impl ActivityContext {
    pub(crate) fn new(facts: wit::ActivityContext, attempt: Box<dyn Attempt>) -> Self {
        Self(Arc::new(Inner { facts, attempt }))
    }

    /// The id of this call.
    pub fn id(&self) -> &str {
        &self.0.facts.invocation
    }

    /// A key that is the same for every attempt of one call, and different for any other: pass it
    /// on to services that should act only once.
    pub fn idempotency_key(&self) -> &str {
        &self.0.facts.idempotency_key
    }

    /// A token that is larger for every later claim: a service that keeps the largest token it has
    /// seen refuses stale writers.
    pub fn fence_token(&self) -> u64 {
        self.0.facts.fence_token
    }

    /// The number of the attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.facts.attempt
    }

    /// When this attempt began.
    pub fn started_at(&self) -> Timestamp {
        Timestamp::from_millis(self.0.facts.started_at_ms)
    }

    /// The deadline of the call, if there is one.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.0.facts.deadline_ms.map(Timestamp::from_millis)
    }

    /// The last progress that the previous attempt passed to [`heartbeat`](Self::heartbeat).
    ///
    /// # Errors
    /// Code 400 if the progress is no `T`.
    pub fn last_progress<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.0
            .facts
            .last_progress
            .as_ref()
            .map(|progress| payload::decode("the last progress", progress))
            .transpose()
    }

    /// Reports that this attempt is alive, and its progress, which the next attempt finds in
    /// [`last_progress`](Self::last_progress). True if cancellation was requested: then the attempt
    /// should stop. An attempt that never asks is not told.
    ///
    /// # Errors
    /// Code 422 if `progress` cannot be written as JSON.
    pub fn heartbeat<T: Serialize + ?Sized>(&self, progress: &T) -> Result<bool> {
        Ok(self.0.attempt.heartbeat(Some(&payload::encode("the progress", progress)?)))
    }

    /// Sends one HTTP request, if the host's policy allows its address. Nothing is retried, and no
    /// header is added.
    ///
    /// # Errors
    /// The failure that the host reports: refused by policy, or no answer. Any status is an answer.
    pub fn http(
        &self,
        request: http::Request,
    ) -> impl Future<Output = Result<http::Response>> + use<> {
        let context = self.clone();
        async move {
            let answer = context.0.attempt.http(&request.into_wit()?);
            answer.map(http::Response::from_wit).map_err(Error::from_failure)
        }
    }

    /// The value of a setting of this module: `env.NAME` in the host's `policy.toml`.
    ///
    /// # Errors
    /// Code 403, which is not tried again: it is not set. The message says where to set it.
    pub fn env(&self, name: &str) -> Result<String> {
        self.0.attempt.env(name).map_err(Error::from_failure)
    }

    /// A secret of this module: `secrets.NAME` in the host's `policy.toml`.
    ///
    /// Nothing that is stored contains it: in log lines, errors and progress `{secret:NAME}` stands
    /// in its place, and a result with it is refused (code 422). A header of a request may name it
    /// instead, `"Bearer {secret:NAME}"`, in workflows too: then only the host knows it.
    ///
    /// # Errors
    /// Code 403, which is not tried again: it is not set.
    pub fn secret(&self, name: &str) -> Result<Secret> {
        let value = self.0.attempt.secret(name).map_err(Error::from_failure)?;
        Ok(Secret::new(name, value))
    }

    /// The files of this module: `dirs` in the host's `policy.toml`.
    pub fn files(&self) -> Files<'_> {
        Files::new(self.0.attempt.files())
    }

    /// Adds a line to the log.
    pub fn log(&self, level: Level, message: impl AsRef<str>) {
        self.0.attempt.log(level.into(), message.as_ref());
    }
}
