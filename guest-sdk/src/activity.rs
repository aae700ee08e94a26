//! What an activity is given: what it knows about this attempt, and the little it may ask for.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::segno::workflow::types as wit;
use crate::error::{Error, Result};
use crate::execution::{no_such_function, poll_until_idle};
use crate::function::{Entry, Kind};
use crate::http;
use crate::log::Level;
use crate::payload::{self, Payload};
use crate::time::Timestamp;

/// What an attempt may ask of whoever runs it. These block.
pub(crate) trait Attempt: Send + Sync {
    fn heartbeat(&self, progress: Option<&Payload>) -> bool;
    fn http(&self, request: &wit::HttpRequest) -> Result<wit::HttpResponse, wit::Failure>;
    fn log(&self, level: wit::Level, message: &str);
}

/// One attempt of an activity. Cheap to clone.
///
/// An activity is where effects happen. It may be attempted several times, also when an earlier attempt did its work and only
/// could not say so; so whatever must act once should be given the [`idempotency_key`](Self::idempotency_key).
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

    /// The same for every attempt of one call, and different for any other: pass it on to whatever should act only once.
    pub fn idempotency_key(&self) -> &str {
        &self.0.facts.idempotency_key
    }

    /// Larger for every later claim: a downstream that keeps the largest it has seen refuses stale writers.
    pub fn fence_token(&self) -> u64 {
        self.0.facts.fence_token
    }

    /// 1 for the first.
    pub fn attempt(&self) -> u32 {
        self.0.facts.attempt
    }

    /// When this attempt began.
    pub fn started_at(&self) -> Timestamp {
        Timestamp::from_millis(self.0.facts.started_at_ms)
    }

    /// When the call is given up.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.0.facts.deadline_ms.map(Timestamp::from_millis)
    }

    /// What the previous attempt passed to [`heartbeat`](Self::heartbeat) last.
    ///
    /// # Errors
    /// Code 400 if it is no `T`.
    pub fn last_progress<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.0
            .facts
            .last_progress
            .as_ref()
            .map(|progress| payload::decode("the last progress", progress))
            .transpose()
    }

    /// Says that this attempt is alive and how far it got. True if cancellation was requested: then it should stop.
    ///
    /// # Errors
    /// Code 422 if `progress` cannot be written as JSON.
    pub fn heartbeat<T: Serialize + ?Sized>(&self, progress: &T) -> Result<bool> {
        Ok(self.0.attempt.heartbeat(Some(&payload::encode("the progress", progress)?)))
    }

    /// One HTTP request, if the host's policy allows its address. Nothing is retried, and no header is added.
    ///
    /// # Errors
    /// As the host says: refused by policy, or no answer. Any status is an answer.
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

    /// Adds a line to the log.
    pub fn log(&self, level: Level, message: impl AsRef<str>) {
        self.0.attempt.log(level.into(), message.as_ref());
    }
}

/// Makes one attempt from beginning to end.
pub(crate) fn perform(
    entry: Option<&Entry>,
    function: &str,
    input: &Payload,
    facts: wit::ActivityContext,
    attempt: Box<dyn Attempt>,
) -> wit::Outcome {
    let begun = match entry.map(|entry| (entry.name, entry.kind)) {
        Some((_, Kind::Activity(begin))) => begin(ActivityContext::new(facts, attempt), input),
        Some((name, Kind::Workflow(_))) => Err(wit::Failure {
            code: Error::NOT_FOUND,
            message: format!("`{name}` is a workflow; it is started, not performed"),
            details: None,
        }),
        None => Err(no_such_function(function)),
    };
    match begun {
        Ok(mut future) => poll_until_idle(future.as_mut())
            .unwrap_or_else(|| wit::Outcome::Failure(stuck(function))),
        Err(failure) => wit::Outcome::Failure(failure),
    }
}

fn stuck(function: &str) -> wit::Failure {
    let message = format!(
        "activity `{function}` awaits something that nobody will give: inside an activity only its context's own futures end"
    );
    Error::terminal(Error::REFUSED, message).into_failure()
}
