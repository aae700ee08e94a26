//! One attempt of a scripted activity.

use std::sync::Arc;

use segno_core::time::Millis;
use segno_guest::{ActivityContext, ActivityHost, Failure, GuestError, Outcome, Payload};
use segno_sim::sleep;

/// Input, context and host of one attempt.
pub struct Attempt {
    /// Name of the module in policies.
    pub module: String,
    /// Input of the call.
    pub input: Payload,
    /// Identity of the attempt and its invocation.
    pub context: ActivityContext,
    /// Implementation of the activity's imports.
    pub host: Arc<dyn ActivityHost>,
}

impl Attempt {
    /// The input as JSON text.
    pub fn input(&self) -> &str {
        match &self.input {
            Payload::Json(text) => text,
            Payload::Bytes(_) => "bytes",
        }
    }

    /// Reports progress. Returns true if cancellation was requested.
    pub async fn heartbeat(&self, progress: &str) -> bool {
        self.host.heartbeat(Some(Payload::Json(progress.into()))).await
    }

    /// Progress of an earlier attempt, as JSON text. `None` if there is none.
    pub fn last_progress(&self) -> Option<&str> {
        match &self.context.last_progress {
            Some(Payload::Json(text)) => Some(text),
            Some(Payload::Bytes(_)) => Some("bytes"),
            None => None,
        }
    }

    /// Appends an item to a stream of messages of the workflow.
    pub async fn append(&self, stream: &str, json: &str) {
        let item = Payload::Json(json.into());
        let appended = self.host.stream_append(stream, "application/json", item).await;
        appended.expect("the stream takes it");
    }

    /// Sleeps in virtual time.
    pub async fn sleep(&self, ms: i64) {
        sleep(Millis(ms)).await;
    }

    /// Succeeds with JSON text.
    pub fn succeed(&self, json: impl Into<String>) -> Result<Outcome, GuestError> {
        Ok(Outcome::Success(Payload::Json(json.into())))
    }

    /// Fails with a code.
    pub fn fail(&self, code: u32) -> Result<Outcome, GuestError> {
        let message = format!("attempt {} failed", self.context.attempt);
        Ok(Outcome::Failure(Failure { code, message, details: None }))
    }

    /// Traps.
    pub fn trap(&self, message: &str) -> Result<Outcome, GuestError> {
        Err(GuestError::Trap {
            message: message.into(),
            last_words: String::new(),
            backtrace: None,
        })
    }
}
