//! One attempt of an activity or of an HTTP step: real I/O, no journal, at-least-once.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use segno_core::{
    budget::Costs,
    command::Command,
    id::CommandIndex,
    invocation::LogLine,
    promise::{CancelState, FenceToken, Promise, RetryDecision, RetryPolicy},
    reply::TaskReply,
    tags,
    time::Timestamp,
    value::{Bytes, Text},
};
use segno_guest::{
    ActivityBlobs, ActivityContext, ActivityHost, Failure, FunctionDescription, GuestError,
    HttpRequest, HttpResponse, Level, OpenedResponse, Outcome, Payload,
};

use super::{
    attempt_blobs::AttemptBlobs,
    attempt_body::AttemptBody,
    attempt_costs::{AttemptCosts, with_costs},
    attempt_start::AttemptStart,
    attempt_streams::AttemptStreams,
    http_step,
};
use crate::{
    attempt_limit,
    claim::{
        ActiveClaim, ClaimBatch, ClaimSession, Claimed, ExecutionError, JournalEnd, Target, note,
    },
    metrics::ClaimEnd,
    slots::SlotKind,
    target,
    values::{self, journals},
};

/// The code of an attempt.
pub(super) enum AttemptCode {
    /// A function of a module, whose instances take this number of places.
    Function { function: FunctionDescription, places: usize },
    /// The built-in activity `segno:http`.
    Http,
}

/// The log lines of an attempt are numbered from a multiple of this, so that the lines of several
/// attempts stay in order.
const LINES_PER_ATTEMPT: u32 = 100_000;

#[async_trait]
impl Target for AttemptCode {
    fn slot(&self) -> (SlotKind, usize) {
        match self {
            Self::Function { places, .. } => (SlotKind::Activity, *places),
            Self::Http => (SlotKind::Request, 1),
        }
    }

    /// Runs one attempt.
    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd {
        let Claimed { acquired: TaskReply { task, promise, .. }, session, .. } = claimed;
        let attempt = task.attempt + 1;
        if task.cancel == CancelState::Requested {
            // No attempt is running, so the task is settled without one.
            return session.reject(&values::cancelled()).await;
        }
        let lines = Arc::new(AttemptLog {
            session: session.clone(),
            first: attempt.saturating_mul(LINES_PER_ATTEMPT),
            kept: Mutex::default(),
        });
        let said = promise.spec.param.headers.get(tags::ATTEMPT_TIMEOUT_HEADER);
        let limit = match attempt_limit::read(said.map(String::as_str)) {
            Ok(limit) => limit,
            Err(refused) => return session.reject(&Outcome::Failure(refused)).await,
        };
        let is_bounded = policy(&promise, &self).is_ok_and(|policy| policy.max_attempts.is_some());
        let beginning = AttemptStart::new(session.clone(), &promise, is_bounded);
        let costs = Arc::new(AttemptCosts::default());
        let streams = AttemptStreams::new(session.clone(), &promise);
        let written =
            AttemptOutput { lines: lines.clone(), streams: streams.clone(), costs: costs.clone() };
        let doing = perform(&beginning, &task, &promise, attempt, &self, written);
        let performed = tokio::select! {
            biased;
            () = session.active.abort.cancelled() => return ClaimEnd::Lost,
            performed = doing => performed,
            refused = beginning.refused() => Ok(Outcome::Failure(refused)),
            limit = beginning.passed(limit) => Ok(Outcome::Failure(attempt_limit::passed(attempt, limit))),
        };
        let logs = lines.take();
        let performed = match (streams.end().await, performed) {
            (Err(refused), Ok(Outcome::Success(_))) => Ok(Outcome::Failure(refused)),
            (_, performed) => performed,
        };
        let decision = performed
            .map(|outcome| decide(&session.active, &promise, &self, attempt, outcome))
            .unwrap_or_else(|error| AttemptDecision::Again(error.into()));
        match decision {
            AttemptDecision::Settle(outcome) => {
                let batch = ClaimBatch { logs, ..ClaimBatch::default() };
                let settlement = http_step::settlement(&promise, &outcome);
                let settlement = with_costs(settlement, &costs.take());
                match session.fulfil_call(&promise, vec![batch], settlement).await {
                    Ok(()) => ClaimEnd::Finished,
                    Err(stopped) => session.give_back(stopped).await,
                }
            }
            AttemptDecision::Again(stopped) => {
                let kept = kept(&session, &promise, logs, costs.take());
                session.give_back_after(kept, stopped, &JournalEnd::default()).await
            }
        }
    }
}

async fn perform(
    beginning: &AttemptStart,
    task: &segno_core::promise::Task,
    promise: &Promise,
    attempt: u32,
    kind: &AttemptCode,
    written: AttemptOutput,
) -> Result<Outcome, GuestError> {
    let ClaimSession { worker, active, .. } = &*beginning.session;
    let module = target::module_of(promise);
    match kind {
        AttemptCode::Http => {
            beginning.happen().await;
            Ok(http_step::send(&*worker.host.outbound, &module, promise).await)
        }
        AttemptCode::Function { function, .. } => {
            let digest =
                task.module.ok_or_else(|| GuestError::Host("the task names no module".into()))?;
            let context = ActivityContext {
                invocation: promise.id().as_str().to_owned(),
                idempotency_key: promise.id().as_str().to_owned(),
                fence_token: FenceToken::of(active.claim.version, CommandIndex(0)).0,
                attempt,
                last_progress: task.progress.payload.as_ref().and_then(stored_progress),
                started_at_ms: u64::try_from(worker.now().0).unwrap_or(0),
                deadline_ms: (promise.spec.timeout_at < Timestamp::NEVER)
                    .then(|| u64::try_from(promise.spec.timeout_at.0).unwrap_or(0)),
            };
            let input = values::input(&promise.spec.param);
            let host = Arc::new(WorkerActivityHost {
                beginning: beginning.clone(),
                module: module.clone(),
                written,
                blobs: AttemptBlobs::new(beginning.session.clone(), promise),
            });
            worker.host.guests.perform(digest, &module, &function.name, input, context, host).await
        }
    }
}

enum AttemptDecision {
    Settle(Outcome),
    Again(ExecutionError),
}

fn decide(
    active: &ActiveClaim,
    promise: &Promise,
    kind: &AttemptCode,
    attempt: u32,
    outcome: Outcome,
) -> AttemptDecision {
    let Outcome::Failure(failure) = &outcome else { return AttemptDecision::Settle(outcome) };
    if active.cancel_requested() {
        return AttemptDecision::Settle(values::cancelled());
    }
    let policy = match policy(promise, kind) {
        Ok(policy) => policy,
        Err(reason) => {
            let message = format!("{}; {reason}", failure.message);
            return AttemptDecision::Settle(Outcome::Failure(Failure {
                message,
                ..failure.clone()
            }));
        }
    };
    match policy.decide(attempt, failure.code, promise.id()) {
        RetryDecision::GiveUp => AttemptDecision::Settle(outcome),
        RetryDecision::After(wait) => {
            let error = note(
                "failure",
                &format!("attempt {attempt} failed with {}: {}", failure.code, failure.message),
                None,
            );
            AttemptDecision::Again(ExecutionError::Failed { error, retry_after: Some(wait) })
        }
    }
}

/// The retry policy of the call, or else of the function, or else the default.
///
/// # Errors
/// The policy of the call cannot be parsed.
fn policy(promise: &Promise, kind: &AttemptCode) -> Result<RetryPolicy, String> {
    if let Some(said) = promise.spec.param.headers.get(tags::RETRY_HEADER) {
        return values::read_policy(said);
    }
    Ok(match kind {
        AttemptCode::Function {
            function: FunctionDescription { retry: Some(options), .. },
            ..
        } => values::policy(options),
        AttemptCode::Function { .. } | AttemptCode::Http => RetryPolicy::default(),
    })
}

/// The commands that store the log lines and the progress of a failed attempt for the next one, and
/// charge what it cost. No record would reveal a repetition of these lines, so they are committed
/// together with the release.
fn kept(
    session: &ClaimSession,
    promise: &Promise,
    logs: Vec<LogLine>,
    costs: Costs,
) -> Vec<Command> {
    let mut commands = Vec::with_capacity(3);
    if promise.is_charged() && !costs.is_empty() {
        let claim = session.active.claim.clone();
        commands.push(Command::BudgetCharge { claim, begins: false, costs });
    }
    let item = session.active.item();
    if matches!(item.progress, Some((_, Some(_)))) {
        let holder = session.worker.holder.clone();
        commands.push(Command::TaskHeartbeat { holder, items: vec![item] });
    }
    if !logs.is_empty() {
        commands.push(session.fence_of(ClaimBatch { logs, ..ClaimBatch::default() }));
    }
    commands
}

/// Decodes stored progress: JSON text, or bytes after a zero byte.
fn stored_progress(bytes: &Bytes) -> Option<Payload> {
    match bytes.as_slice() {
        [0, rest @ ..] => Some(Payload::Bytes(rest.to_vec())),
        text => String::from_utf8(text.to_vec()).ok().map(Payload::Json),
    }
}

fn progress_bytes(payload: &Payload) -> Bytes {
    match payload {
        Payload::Json(text) => text.as_bytes().into(),
        Payload::Bytes(bytes) => [&[0], bytes.as_slice()].concat().into(),
    }
}

/// The log lines of an attempt so far.
struct AttemptLog {
    session: Arc<ClaimSession>,
    first: u32,
    kept: Mutex<Vec<LogLine>>,
}

impl AttemptLog {
    fn take(&self) -> Vec<LogLine> {
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct WorkerActivityHost {
    beginning: AttemptStart,
    module: String,
    written: AttemptOutput,
    blobs: Arc<AttemptBlobs>,
}

/// The destinations of what an attempt writes beside its outcome.
struct AttemptOutput {
    lines: Arc<AttemptLog>,
    streams: Arc<AttemptStreams>,
    costs: Arc<AttemptCosts>,
}

#[async_trait]
impl ActivityHost for WorkerActivityHost {
    async fn begin(&self) {
        self.beginning.happen().await;
    }

    async fn heartbeat(&self, progress: Option<Payload>) -> bool {
        let active = &self.beginning.session.active;
        active.report(progress.as_ref().map(progress_bytes));
        active.cancel_requested()
    }

    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let session = &self.beginning.session;
        session.active.advance(1);
        session.host().outbound.send(&self.module, request).await
    }

    fn report_cost(&self, unit: &str, millionths: u64) -> Result<(), Failure> {
        self.written.costs.report(unit, millionths)
    }

    async fn http_open(&self, request: HttpRequest) -> Result<OpenedResponse, Failure> {
        let session = &self.beginning.session;
        session.active.advance(1);
        let opened = session.host().outbound.open(&self.module, request).await?;
        Ok(AttemptBody::of(opened, session.clone()))
    }

    async fn stream_kept(&self, name: &str) -> Result<u64, Failure> {
        self.written.streams.kept(name).await
    }

    async fn stream_append(
        &self,
        name: &str,
        content_type: &str,
        item: Payload,
    ) -> Result<(), Failure> {
        self.beginning.session.active.advance(1);
        self.written.streams.append(name, content_type, &item).await
    }

    fn blobs(&self) -> Option<&dyn ActivityBlobs> {
        Some(&*self.blobs)
    }

    fn log(&self, level: Level, message: String) {
        let lines = &self.written.lines;
        let mut kept = lines.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = lines.first + u32::try_from(kept.len()).unwrap_or(u32::MAX);
        kept.push(LogLine {
            seq,
            level: journals::level(level),
            at: lines.session.now(),
            message: Text::from(message),
        });
    }
}
