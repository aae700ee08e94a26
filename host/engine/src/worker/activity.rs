//! One attempt of an activity or of an HTTP step: real I/O, no journal, at-least-once.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    id::{Claim, CommandIndex},
    invocation::LogLine,
    promise::{CancelState, FenceToken, Promise, RetryDecision, RetryPolicy, Verdict},
    reply::{Reply, TaskReply},
    tags,
    time::{Millis, Timestamp},
    value::{Bytes, Text, Value},
};
use segno_guest::{
    ActivityContext, ActivityHost, Failure, FunctionDescription, GuestError, HttpRequest,
    HttpResponse, Level, Outcome, Payload,
};

use tokio_util::sync::CancellationToken;

use super::{
    claims::ActiveClaim,
    context::WorkerContext,
    error::{ExecutionError, note},
    http_step,
    release::{JournalEnd, give_back, give_back_after},
};
use crate::{
    attempt_limit,
    metrics::ClaimEnd,
    target,
    values::{self, code, journals},
};

/// The code of an attempt.
pub enum AttemptCode {
    /// A function of a module.
    Function(FunctionDescription),
    /// The built-in activity `segno:http`.
    Http,
}

/// The log lines of an attempt are numbered from a multiple of this, so that the lines of several
/// attempts stay in order.
const LINES_PER_ATTEMPT: u32 = 100_000;

/// Runs one attempt under this claim. The claim is released in every case.
pub async fn run(
    worker: Arc<WorkerContext>,
    active: Arc<ActiveClaim>,
    acquired: TaskReply,
    kind: AttemptCode,
) -> ClaimEnd {
    let claim = active.claim.clone();
    let TaskReply { task, promise, .. } = acquired;
    let attempt = task.attempt + 1;
    if task.cancel == CancelState::Requested {
        // No attempt is running, so the task is settled without one.
        return reject(&worker, &active, &cancelled()).await;
    }
    let lines = Arc::new(AttemptLog {
        worker: worker.clone(),
        first: attempt.saturating_mul(LINES_PER_ATTEMPT),
        kept: Mutex::default(),
    });
    let said = promise.spec.param.headers.get(tags::ATTEMPT_TIMEOUT_HEADER);
    let limit = match attempt_limit::read(said.map(String::as_str)) {
        Ok(limit) => limit,
        Err(refused) => return reject(&worker, &active, &Outcome::Failure(refused)).await,
    };
    let beginning = AttemptStart {
        worker: worker.clone(),
        active: active.clone(),
        is_bounded: policy(&promise, &kind).is_ok_and(|policy| policy.max_attempts.is_some()),
        begun: CancellationToken::new(),
    };
    let doing = perform(&beginning, &task, &promise, attempt, &kind, lines.clone());
    let performed = tokio::select! {
        biased;
        () = active.abort.cancelled() => return ClaimEnd::Lost,
        performed = doing => performed,
        limit = beginning.passed(limit) => Ok(Outcome::Failure(attempt_limit::passed(attempt, limit))),
    };
    let logs = lines.take();
    let stopped = match performed {
        Ok(outcome) => match decide(&active, &promise, &kind, attempt, outcome) {
            AttemptDecision::Settle(outcome) => {
                let settlement = http_step::settlement(&promise, &outcome);
                match fulfill(&worker, &active, logs, settlement).await {
                    Ok(end) => return end,
                    Err(stopped) => stopped,
                }
            }
            AttemptDecision::Again(stopped) => {
                let kept = kept(&worker, &active, logs);
                return again(&worker, &claim, kept, stopped).await;
            }
        },
        Err(error) => {
            let kept = kept(&worker, &active, logs);
            return again(&worker, &claim, kept, error.into()).await;
        }
    };
    give_back(&worker, &claim, stopped).await
}

/// Releases the claim for another attempt, and stores the log lines and progress of the failed one.
async fn again(
    worker: &WorkerContext,
    claim: &Claim,
    kept: Vec<Command>,
    error: ExecutionError,
) -> ClaimEnd {
    give_back_after(worker, claim, kept, error, &JournalEnd::default()).await
}

async fn perform(
    beginning: &AttemptStart,
    task: &segno_core::promise::Task,
    promise: &Promise,
    attempt: u32,
    kind: &AttemptCode,
    lines: Arc<AttemptLog>,
) -> Result<Outcome, GuestError> {
    let AttemptStart { worker, active, .. } = beginning;
    let module = target::module_of(promise);
    match kind {
        AttemptCode::Http => {
            beginning.happen().await;
            Ok(http_step::send(&*worker.host.outbound, &module, promise).await)
        }
        AttemptCode::Function(function) => {
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
                lines,
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
        return AttemptDecision::Settle(cancelled());
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
        AttemptCode::Function(FunctionDescription { retry: Some(options), .. }) => {
            values::policy(options)
        }
        AttemptCode::Function(_) | AttemptCode::Http => RetryPolicy::default(),
    })
}

async fn fulfill(
    worker: &WorkerContext,
    active: &ActiveClaim,
    logs: Vec<LogLine>,
    (verdict, value): (Verdict, Value),
) -> Result<ClaimEnd, ExecutionError> {
    let claim = active.claim.clone();
    let fulfill = Command::TaskFulfill { claim, records: Vec::new(), logs, verdict, value };
    match worker.submit(vec![fulfill]).await?.pop() {
        Some(Reply::Promise { .. }) => Ok(ClaimEnd::Finished),
        Some(Reply::Refused(refusal)) => Err(ExecutionError::refused(refusal)),
        _ => Ok(ClaimEnd::Lost),
    }
}

/// The commands that store the log lines and the progress of a failed attempt for the next one. No
/// record would reveal a repetition of these lines, so they are committed together with the
/// release.
fn kept(worker: &WorkerContext, active: &ActiveClaim, logs: Vec<LogLine>) -> Vec<Command> {
    let mut commands = Vec::with_capacity(2);
    let item = active.item();
    if matches!(item.progress, Some((_, Some(_)))) {
        let holder = worker.holder.clone();
        commands.push(Command::TaskHeartbeat { holder, items: vec![item] });
    }
    if !logs.is_empty() {
        let claim = active.claim.clone();
        let (records, actions) = (Vec::new(), Vec::new());
        commands.push(Command::TaskFence { claim, records, logs, actions });
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
    worker: Arc<WorkerContext>,
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
    lines: Arc<AttemptLog>,
}

/// The start of an attempt, which may have to wait for a free instance.
#[derive(Clone)]
struct AttemptStart {
    worker: Arc<WorkerContext>,
    active: Arc<ActiveClaim>,
    /// True if the number of attempts is limited, so that each must be counted exactly.
    is_bounded: bool,
    begun: CancellationToken,
}

impl AttemptStart {
    /// Records that the attempt begins. If it must not begin, this never completes, and the attempt
    /// is dropped.
    async fn happen(&self) {
        if let Err(error) = self.worker.begin_attempt(&self.active, self.is_bounded).await {
            tracing::warn!(?error, "an attempt does not begin: its claim is lost");
            self.active.abort.cancel();
            std::future::pending().await
        }
        self.begun.cancel();
    }

    /// Completes when the attempt has begun and its time limit has passed.
    async fn passed(&self, limit: Option<Millis>) -> Millis {
        let Some(limit) = limit else { return std::future::pending().await };
        self.begun.cancelled().await;
        self.worker.host.env.runtime.sleep(limit).await;
        limit
    }
}

#[async_trait]
impl ActivityHost for WorkerActivityHost {
    async fn begin(&self) {
        self.beginning.happen().await;
    }

    async fn heartbeat(&self, progress: Option<Payload>) -> bool {
        self.beginning.active.report(progress.as_ref().map(progress_bytes));
        self.beginning.active.cancel_requested()
    }

    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        self.beginning.active.advance(1);
        self.beginning.worker.host.outbound.send(&self.module, request).await
    }

    fn log(&self, level: Level, message: String) {
        let mut kept = self.lines.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = self.lines.first + u32::try_from(kept.len()).unwrap_or(u32::MAX);
        kept.push(LogLine {
            seq,
            level: journals::level(level),
            at: self.lines.worker.now(),
            message: Text::from(message),
        });
    }
}

/// The outcome of a cancelled activity that did not succeed. It is not retried.
pub fn cancelled() -> Outcome {
    Outcome::Failure(Failure { code: code::CANCELLED, message: "cancelled".into(), details: None })
}

/// The outcome of a call of a function that does not exist.
pub fn no_such_function(module: &str, function: &str, known: &[FunctionDescription]) -> Outcome {
    let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
    Outcome::Failure(Failure {
        code: code::NOT_FOUND,
        message: format!(
            "the module `{module}` has no function `{function}`; it has {} (of a crate: what `segno::module!` lists)",
            names.join(", ")
        ),
        details: None,
    })
}

/// Settles a task whose function cannot be run.
pub async fn reject(worker: &WorkerContext, active: &ActiveClaim, outcome: &Outcome) -> ClaimEnd {
    match fulfill(worker, active, Vec::new(), values::verdict(outcome)).await {
        Ok(end) => end,
        Err(stopped) => give_back(worker, &active.claim, stopped).await,
    }
}
