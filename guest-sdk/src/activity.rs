//! The context of an activity: information about the attempt, and its operations.

use std::{future::Future, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    attempt_operations::AttemptOperations,
    bindings::segno::workflow::types as wit,
    blob::Blobs,
    budget::Amount,
    error::{Error, Result},
    files::Files,
    http,
    log::Level,
    payload,
    secret::Secret,
    stream::AttemptStream,
    time::Timestamp,
};

/// One attempt of an activity. Cheap to clone.
///
/// Activities perform side effects. An activity may be attempted several times, even if an earlier
/// attempt succeeded but could not report it. Pass the [`idempotency_key`](Self::idempotency_key)
/// to operations that must happen only once.
#[derive(Clone)]
pub struct ActivityContext(Arc<Inner>);

struct Inner {
    facts: wit::ActivityContext,
    attempt: Box<dyn AttemptOperations>,
}

impl ActivityContext {
    pub(crate) fn new(facts: wit::ActivityContext, attempt: Box<dyn AttemptOperations>) -> Self {
        Self(Arc::new(Inner { facts, attempt }))
    }

    pub(crate) fn operations(&self) -> &dyn AttemptOperations {
        &*self.0.attempt
    }

    /// The id of this call.
    pub fn id(&self) -> &str {
        &self.0.facts.invocation
    }

    /// A key that is the same for every attempt of one call, and unique to the call: pass it to
    /// services that should act only once.
    pub fn idempotency_key(&self) -> &str {
        &self.0.facts.idempotency_key
    }

    /// A fencing token that increases with every claim: a service that keeps the largest token it
    /// has seen can refuse stale writers.
    pub fn fence_token(&self) -> u64 {
        self.0.facts.fence_token
    }

    /// The number of the attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.facts.attempt
    }

    /// Start time of this attempt.
    pub fn started_at(&self) -> Timestamp {
        Timestamp::from_millis(self.0.facts.started_at_ms)
    }

    /// The deadline of the call. `None` if it has none.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.0.facts.deadline_ms.map(Timestamp::from_millis)
    }

    /// The last progress that the previous attempt passed to [`heartbeat`](Self::heartbeat).
    ///
    /// # Errors
    /// Code 400 if the progress is not a `T`.
    pub fn last_progress<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.0
            .facts
            .last_progress
            .as_ref()
            .map(|progress| payload::decode("the last progress", progress))
            .transpose()
    }

    /// Reports that this attempt is alive, and its progress, which the next attempt finds in
    /// [`last_progress`](Self::last_progress). Returns true if cancellation was requested: the
    /// attempt should then stop. An attempt that never calls this is not notified.
    ///
    /// # Errors
    /// Code 422 if `progress` cannot be written as JSON.
    pub fn heartbeat<T: Serialize + ?Sized>(&self, progress: &T) -> Result<bool> {
        Ok(self.0.attempt.heartbeat(Some(&payload::encode("the progress", progress)?)))
    }

    /// Sends one HTTP request, if the host's policy allows its address. Does not retry, and adds no
    /// header.
    ///
    /// # Errors
    /// The failure that the host reports: refused by policy, or no response. A response with any
    /// status is a success.
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

    /// Adds to what this attempt costs: `tokens`, `usd`, or any other unit. It is charged to the
    /// budgets of the execution at the end of the attempt, also if it fails, and stays with the
    /// result.
    ///
    /// ```
    /// # extern crate segno_sdk as segno;
    /// #[segno::activity]
    /// async fn complete(ctx: segno::ActivityContext, prompt: String) -> segno::Result<String> {
    ///     ctx.cost("tokens", prompt.len())?;
    ///     ctx.cost("usd", 0.0004)?;
    ///     Ok(prompt.to_uppercase())
    /// }
    ///
    /// #[segno::workflow]
    /// async fn agent(ctx: segno::Context, question: String) -> segno::Result<Vec<String>> {
    ///     let mut answers = Vec::new();
    ///     loop {
    ///         match ctx.call(complete, &question).await {
    ///             Ok(answer) => answers.push(answer),
    ///             Err(error) if error.is_budget_spent() => return Ok(answers),
    ///             Err(error) => return Err(error),
    ///         }
    ///     }
    /// }
    ///
    /// let mut test = segno::testing::Test::new();
    /// test.budget("tokens", 10);
    /// let answers = test.run(agent, &"why".to_owned()).unwrap();
    /// assert_eq!(answers.len(), 4);
    /// assert_eq!(test.spent("tokens"), Some(12.0));
    /// ```
    ///
    /// # Errors
    /// Code 400 if the unit or the amount is refused: a unit has 1 to 64 letters, digits, `-`, `_`
    /// and `.`, `calls` is counted by the host, and an attempt reports at most 16 units.
    pub fn cost(&self, unit: &str, amount: impl Into<Amount>) -> Result<()> {
        let millionths = amount.into().millionths()?;
        self.0.attempt.cost(unit, millionths).map_err(Error::from_failure)
    }

    /// Sends one HTTP request as [`http`](Self::http), and returns when the status and the headers
    /// have arrived. The body is read in pieces, as they arrive.
    ///
    /// # Errors
    /// As for [`http`](Self::http); code 400 if 16 responses are open.
    pub fn http_open(
        &self,
        request: http::Request,
    ) -> impl Future<Output = Result<http::OpenResponse>> + use<> {
        let context = self.clone();
        async move {
            let head = context.0.attempt.http_open(&request.into_wit()?);
            let head = head.map_err(Error::from_failure)?;
            Ok(http::OpenResponse::new(context, head))
        }
    }

    /// The value of a setting of this module: `env.NAME` in the host's `policy.toml`.
    ///
    /// # Errors
    /// Code 403, which is not retried, if it is not set. The message says where to set it.
    pub fn env(&self, name: &str) -> Result<String> {
        self.0.attempt.env(name).map_err(Error::from_failure)
    }

    /// A secret of this module: `secrets.NAME` in the host's `policy.toml`.
    ///
    /// Its value is never stored: log lines, errors and progress contain `{secret:NAME}` instead,
    /// and a result with the value is refused (code 422). A request header may name it instead, as
    /// in `"Bearer {secret:NAME}"`, in workflows too: the host then fills it in.
    ///
    /// # Errors
    /// Code 403, which is not retried, if it is not set.
    pub fn secret(&self, name: &str) -> Result<Secret> {
        let value = self.0.attempt.secret(name).map_err(Error::from_failure)?;
        Ok(Secret::new(name, value))
    }

    /// The files of this module: `dirs` in the host's `policy.toml`.
    pub fn files(&self) -> Files<'_> {
        Files::new(self.0.attempt.files())
    }

    /// Large values that are stored beside the database and passed by reference.
    pub fn blobs(&self) -> Blobs<'_> {
        Blobs::new(&*self.0.attempt)
    }

    /// A stream of JSON messages of the workflow that called the activity, or of the activity
    /// itself.
    pub fn stream(&self, name: &str) -> AttemptStream<'_> {
        AttemptStream::new(&*self.0.attempt, name)
    }

    /// Adds a line to the log.
    pub fn log(&self, level: Level, message: impl AsRef<str>) {
        self.0.attempt.log(level.into(), message.as_ref());
    }
}
