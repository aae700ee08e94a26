//! An invocation of a service under one claim. Its deployment receives the journal, issues further
//! commands, receives notifications, and ends, waits or fails.
//!
//! The order is the guarantee: commands of a deployment are committed with their records before
//! they are executed, and notifications are committed before they are sent. So whatever breaks,
//! another attempt continues from the stored state.

mod action;
mod attempt;
mod callee;
mod commit;
mod journal;
mod live;
mod machine;
mod prepare;
mod record;
mod recording_error;
mod restart;
mod state;
mod waiting;
mod wish;

use std::sync::Arc;

use segno_core::{
    id::{ObjectId, PromiseId},
    time::Millis,
};
use segno_engine::{
    claim::{ClaimSession, Claimed, ExecutionError, HaltReport, SettlementWatch, note},
    metrics::ClaimEnd,
    values::{self, code},
};
use segno_guest::{Failure, Outcome};
use segno_restate::immutable::{ErrorBehavior, ErrorMessage};
use segno_store::StoreError;

use self::{
    attempt::AttemptEnd, journal::ServiceJournal, recording_error::RecordingError,
    waiting::DeploymentWait,
};
pub(crate) use self::{
    restart::{RestartPrefix, RestartRefusal},
    waiting::WaitCache,
};
use crate::deployments::{
    ConnectError, Deployment, FailedAttempt, FailedCommand, HandlerRetryPolicy, PauseRequest,
    Services, Timeouts,
};

/// An invocation under a claim.
struct ServiceRun {
    services: Arc<Services>,
    session: Arc<ClaimSession>,
    id: PromiseId,
    handler: CalledHandler,
    journal: ServiceJournal,
    watch: SettlementWatch,
    pause: Arc<PauseRequest>,
    /// True if the invocation draws on a budget.
    is_charged: bool,
    /// Number of consecutive failed attempts before this claim, since the journal last grew.
    failed: u32,
    /// True if the next signal may have been sent before it was watched.
    signal_unread: bool,
    /// The length of the journal at the end of the last attempt whose wait was over immediately.
    last_len: Option<u32>,
    /// The wait of the deployment at the end of its last attempt.
    waiting: Option<DeploymentWait>,
}

/// The called handler, and the settings of the call.
struct CalledHandler {
    deployment: Arc<Deployment>,
    service: String,
    name: String,
    scope: Option<String>,
    key: Option<String>,
    idempotency_key: Option<String>,
    object: Option<ObjectId>,
    /// The object whose turn the invocation has. `None` if it takes no turns.
    turn: Option<ObjectId>,
    sends_state: bool,
    retry: HandlerRetryPolicy,
    timeouts: Timeouts,
}

/// The reason why an invocation does not continue under this claim.
enum InvocationStop {
    /// The promise is settled with this outcome.
    Ended(Outcome),
    /// The attempt failed, and may be retried.
    Failed(AttemptFailure),
    /// The claim is released.
    Error(ExecutionError),
}

/// The failure of an attempt.
struct AttemptFailure {
    code: u32,
    message: String,
    /// The code under which the failure is documented.
    error: &'static str,
    /// The command at which the attempt failed.
    command: Option<FailedCommand>,
    /// The delay before the next attempt that the deployment requested.
    retry_after: Option<Millis>,
    behavior: ErrorBehavior,
}

/// Runs the invocation of this claim until it ends, waits or fails. The claim is released in every
/// case. An invocation that is not stored yet is stored together with the first record of its
/// journal, before its deployment is called.
pub(crate) async fn run(services: Arc<Services>, claimed: Claimed) -> ClaimEnd {
    let session = claimed.session.clone();
    let is_new = session.is_pending();
    let mut prepared = ServiceRun::prepare(services, claimed).await;
    if is_new {
        let is_stored = match &mut prepared {
            Ok(run) => run.fence().await.is_ok(),
            Err(_) => session.store().await.is_ok(),
        };
        if !is_stored {
            return ClaimEnd::Lost;
        }
    }
    finish(&session, prepared).await
}

/// Makes attempts until the claim ends, and releases it. A pause that was requested in the meantime
/// is not lost.
async fn finish(session: &ClaimSession, prepared: Result<ServiceRun, InvocationStop>) -> ClaimEnd {
    let pause = prepared.as_ref().ok().map(|run| run.pause.clone());
    let end = given_back(session, prepared).await;
    // The command is refused if the invocation has ended. Then there is nothing to pause.
    if pause.is_some_and(|pause| pause.close()) && session.halt().await.is_err() {
        let id = &session.active.claim.id;
        tracing::warn!(%id, "the requested pause could not be stored: request it again");
    }
    end
}

/// Makes attempts until the claim ends, and releases it.
async fn given_back(
    session: &ClaimSession,
    prepared: Result<ServiceRun, InvocationStop>,
) -> ClaimEnd {
    let stopped = match prepared {
        Ok(mut run) => match run.go().await {
            Ok(end) => return end,
            Err(InvocationStop::Failed(failure)) => run.failed(failure),
            Err(stopped) => stopped,
        },
        Err(stopped) => stopped,
    };
    match stopped {
        InvocationStop::Ended(outcome) => session.reject(&outcome).await,
        InvocationStop::Error(error) => session.give_back(error).await,
        InvocationStop::Failed(failure) => session.give_back(failure.again(None)).await,
    }
}

impl ServiceRun {
    /// Makes attempts until the claim ends.
    async fn go(&mut self) -> Result<ClaimEnd, InvocationStop> {
        loop {
            if self.session.active.abort.is_cancelled() {
                return Err(ExecutionError::Lost.into());
            }
            if self.pause.is_asked() {
                return self.halt().await;
            }
            match self.attempt().await? {
                AttemptEnd::Over(end) => return Ok(end),
                AttemptEnd::Again if self.pause.is_asked() => {}
                AttemptEnd::Again => self.got_on()?,
            }
        }
    }

    /// Releases the claim until an operator resumes the invocation.
    async fn halt(&mut self) -> Result<ClaimEnd, InvocationStop> {
        self.pause.close();
        match self.session.halt().await? {
            true => Ok(ClaimEnd::Released),
            false => Err(ExecutionError::Lost.into()),
        }
    }

    /// Checks that an attempt whose wait was over immediately made progress. One such attempt
    /// without a record is allowed, since the next one may find results that arrived in the
    /// meantime.
    ///
    /// # Errors
    /// Nothing was recorded since the previous such attempt. A cancelled invocation that does not
    /// end by itself then ends as cancelled.
    fn got_on(&mut self) -> Result<(), InvocationStop> {
        let len = self.journal.recorded();
        if self.last_len.replace(len) != Some(len) {
            return Ok(());
        }
        if self.journal.cancel_told() {
            return Err(InvocationStop::Ended(values::cancelled()));
        }
        let message = "the deployment suspended twice and issued no command in between: it waits for results that it has received, or for a run that it alone can execute";
        Err(AttemptFailure::new(571, message).into())
    }

    /// The consequence of a failed attempt.
    fn failed(&self, failure: AttemptFailure) -> InvocationStop {
        if self.pause.close() {
            return HaltReport::new("paused", failure.sentence()).into();
        }
        let failed = match self.journal.has_grown() {
            true => 1,
            false => self.failed.saturating_add(1),
        };
        let policy = &self.handler.retry;
        tracing::info!(code = failure.code, message = failure.message, failed, "an attempt failed");
        let is_last = policy.most.is_some_and(|most| u64::from(failed) >= most);
        match failure.behavior {
            ErrorBehavior::Fail => InvocationStop::Ended(failure.outcome()),
            ErrorBehavior::Retry if is_last && policy.fails => {
                InvocationStop::Ended(failure.outcome())
            }
            ErrorBehavior::Pause => HaltReport::new("paused", failure.sentence()).into(),
            ErrorBehavior::Retry if is_last => {
                let message =
                    format!("{failed} attempts failed, the last one: {}", failure.sentence());
                HaltReport::new("paused", message).into()
            }
            ErrorBehavior::Retry => failure.again(Some(policy.wait(failed))).into(),
        }
    }
}

impl AttemptFailure {
    fn new(code: u32, message: impl Into<String>) -> Self {
        let error = match code {
            570 => "RT0016",
            571 => "RT0012",
            _ => "RT0007",
        };
        let (retry_after, behavior) = (None, ErrorBehavior::Retry);
        Self { code, message: message.into(), error, command: None, retry_after, behavior }
    }

    /// The failure of a deployment that was inactive for too long.
    fn late(message: impl Into<String>) -> Self {
        Self { error: "RT0001", ..Self::new(code::FAILED, message) }
    }

    /// The message, with the name of the failed command.
    fn sentence(&self) -> String {
        let name = self.command.as_ref().and_then(|command| command.name.as_ref());
        match name.filter(|name| !name.is_empty()) {
            Some(name) => format!("`{name}`: {}", self.message),
            None => self.message.clone(),
        }
    }

    fn outcome(self) -> Outcome {
        let (code, message) = (self.code, self.sentence());
        Outcome::Failure(Failure { code, message, details: None })
    }

    fn again(self, wait: Option<Millis>) -> ExecutionError {
        let said = format!("{} (code {})", self.sentence(), self.code);
        let Self { code, message, error, command, retry_after, .. } = self;
        let facts = FailedAttempt { code, message, error: error.to_owned(), command };
        let facts = serde_json::to_value(&facts).expect("its keys are texts");
        let error = note("failure", &said, Some(&facts));
        ExecutionError::Failed { error, retry_after: retry_after.or(wait) }
    }
}

impl From<ErrorMessage> for AttemptFailure {
    fn from(error: ErrorMessage) -> Self {
        let behavior = error.behavior();
        let command = FailedCommand {
            index: error.related_command_index,
            name: error.related_command_name,
            number: error.related_command_type.and_then(|number| u16::try_from(number).ok()),
        };
        let is_about_one = command.index.is_some() || command.name.is_some();
        let retry_after =
            error.next_retry_delay_ms.map(|ms| Millis(i64::try_from(ms).unwrap_or(i64::MAX)));
        let command = is_about_one.then_some(command);
        Self { retry_after, behavior, command, ..Self::new(error.code, error.message) }
    }
}

impl From<ConnectError> for AttemptFailure {
    fn from(error: ConnectError) -> Self {
        let retry_after = match &error {
            ConnectError::Status { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self { retry_after, error: "RT0010", ..Self::new(code::FAILED, error.to_string()) }
    }
}

impl From<RecordingError> for InvocationStop {
    fn from(refused: RecordingError) -> Self {
        let code = match &refused {
            RecordingError::Unknown(_) => code::NOT_FOUND,
            RecordingError::Invalid(_) => 571,
        };
        AttemptFailure::new(code, refused.to_string()).into()
    }
}

impl From<AttemptFailure> for InvocationStop {
    fn from(failure: AttemptFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<ConnectError> for InvocationStop {
    fn from(error: ConnectError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<segno_restate::ProtocolViolation> for InvocationStop {
    fn from(violation: segno_restate::ProtocolViolation) -> Self {
        let message = format!("the deployment broke the protocol: {violation}");
        Self::Failed(AttemptFailure::new(violation.code.into(), message))
    }
}

impl From<ExecutionError> for InvocationStop {
    fn from(error: ExecutionError) -> Self {
        Self::Error(error)
    }
}

impl From<HaltReport> for InvocationStop {
    fn from(halt: HaltReport) -> Self {
        Self::Error(halt.into())
    }
}

impl From<StoreError> for InvocationStop {
    fn from(error: StoreError) -> Self {
        Self::Error(error.into())
    }
}
