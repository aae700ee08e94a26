//! The speculative start: an invocation runs immediately, and is stored with its first commit. That
//! saves one commit per start.
//!
//! Nothing that a guest does leaves the host before it is committed, so only the duration differs.
//! A service is called after its invocation is stored.
//! [`WorkerSettings::speculative_starts`](super::WorkerSettings) turns this off: each invocation is
//! then stored, with its claim, before its guest runs.

use std::{pin::pin, sync::Arc};

use segno_core::{id::Claim, promise::TaskStatus, reply::TaskReply, time::Millis};
use segno_guest::{FunctionDescription, FunctionKind};
use tracing::Instrument as _;

use super::{
    acquire,
    context::WorkerContext,
    execution::{ExecutionInputs, LiveExecution},
    log_span,
    recording::SharedRecorder,
    run,
};
use crate::{
    claim::{
        ActiveClaim, ClaimSession, Claimed, ExecutionError, JournalEnd, PendingStart,
        PrefetchedRows,
    },
    metrics::ClaimEnd,
    slots::{ClaimedTask, OptimisticStart, Slot, StartRequest},
    target,
};

/// Maximum time that an invocation waits for a permit to run before it is stored separately.
const PERMIT_TIMEOUT: Millis = Millis(200);

/// Starts invocations that are not stored yet.
pub(super) struct SpeculativeStart(pub Arc<WorkerContext>);

impl OptimisticStart for SpeculativeStart {
    fn begin(&self, start: StartRequest) {
        let starting = begin(self.0.clone(), start);
        self.0.host.env.runtime.spawn("execution", Box::pin(starting));
    }

    fn run(&self, claimed: Vec<ClaimedTask>) {
        let running = acquire::run_claimed(self.0.clone(), claimed);
        self.0.host.env.runtime.spawn("execution", Box::pin(running));
    }
}

async fn begin(worker: Arc<WorkerContext>, start: StartRequest) {
    let (mut slot, pending) = PendingStart::new(start, worker.now(), worker.task_versions.first());
    let expected = pending.expected_task();
    let task = &expected.task;
    let active = ActiveClaim::new(Claim { id: task.id.clone(), version: task.version });
    let session = ClaimSession::speculative(&worker, active, pending);
    let span = log_span::span(&worker.holder, &expected);
    let running = run(&session, expected, &mut slot);
    run::until_it_ends(&session, running).instrument(span).await;
    if let Some(stored) = session.stored_otherwise()
        && stored.created
        && stored.task.status() == TaskStatus::Acquired
    {
        // The invocation is stored with another module or version, and this host has claimed it.
        run::claim(worker, stored, PrefetchedRows::default(), &mut slot).await;
    }
    drop(slot);
}

async fn run(session: &Arc<ClaimSession>, expected: TaskReply, slot: &mut Slot) -> ClaimEnd {
    let worker = &session.worker;
    let protocol = worker.host.protocols.of(expected.promise.target().unwrap_or_default());
    if let Some(protocol) = protocol.filter(|_| worker.speculative_starts) {
        return protocol.run(Claimed::new(session, expected)).await;
    }
    let mut recorder = None;
    let prepared = prepare(session, &expected, &mut recorder).await;
    let (error, len) = match prepared {
        Ok(Some(execution)) => match execution.go().await {
            Ok(end) => return end,
            Err(stopped) => stopped,
        },
        Ok(None) => {
            if session.store().await.is_err() {
                return ClaimEnd::Lost;
            }
            return run::under_claim(Claimed::new(session, expected), slot).await;
        }
        Err(error) => (error, 0),
    };
    let journal = JournalEnd { len, recorder: recorder.as_ref() };
    session.give_back_after(Vec::new(), error, &journal).await
}

/// Prepares an execution of the workflow, with its permit to run. `None` if the function is not a
/// workflow, or if the invocation must be stored first.
async fn prepare(
    session: &Arc<ClaimSession>,
    expected: &TaskReply,
    recorder: &mut Option<SharedRecorder>,
) -> Result<Option<LiveExecution>, ExecutionError> {
    let worker = &session.worker;
    if !worker.speculative_starts {
        return Ok(None);
    }
    let found = workflow(worker, expected);
    let Some(function) = or_store(session, ClaimSession::PENDING_TIMEOUT, found).await?? else {
        return Ok(None);
    };
    let module = target::module_of(&expected.promise);
    let permit = worker.run_limiter.permit(&module);
    let permit = or_store(session, PERMIT_TIMEOUT, permit).await?;
    let claimed = Claimed::new(session, expected.clone());
    let preparation = ExecutionInputs { worker: worker.clone(), claimed, function, permit };
    let preparing = LiveExecution::start_new(preparation, recorder);
    or_store(session, ClaimSession::PENDING_TIMEOUT, preparing).await?.map(Some)
}

/// The result of `work`. If `work` takes longer than `patience`, the invocation is stored in the
/// meantime. An error means that the invocation cannot be stored.
async fn or_store<T>(
    session: &ClaimSession,
    patience: Millis,
    work: impl Future<Output = T>,
) -> Result<T, ExecutionError> {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => Ok(done),
        () = async { session.host().env.runtime.sleep(patience).await } => {
            session.store().await?;
            Ok(work.await)
        }
    }
}

async fn workflow(
    worker: &WorkerContext,
    expected: &TaskReply,
) -> Result<Option<FunctionDescription>, ExecutionError> {
    let Some(module) = expected.task.module else { return Ok(None) };
    let functions = worker.host.guests.describe(module).await?;
    let name = target::function_of(&expected.promise);
    let found = functions.iter().find(|function| function.name == name);
    let found = found.filter(|function| function.kind == FunctionKind::Workflow);
    // An invocation whose input does not fit is refused under its claim.
    let misfit = |function: &&FunctionDescription| {
        run::misfit(worker, &expected.promise, module, function, expected.head).is_some()
    };
    Ok(found.filter(|function| !misfit(function)).cloned())
}
