//! Runs the target of a task under a claim, until the execution or the claim ends.

use std::sync::Arc;

use segno_core::{
    address::GRAPH_RUN,
    id::{Claim, Digest},
    invocation::JournalHead,
    promise::Promise,
    reply::TaskReply,
};
use segno_guest::{Failure, FunctionDescription, FunctionKind, Outcome};
use tracing::Instrument as _;

use super::{
    activity::AttemptCode, budget_call::BudgetTarget, context::WorkerContext,
    execution::WorkflowCode, graph_run::GraphTarget, log_span, stream_call::StreamTarget,
};
use crate::{
    claim::{
        ActiveClaim, ClaimSession, Claimed, ExecutionError, HaltReport, PrefetchedRows, Target,
    },
    metrics::ClaimEnd,
    slots::Slot,
    target, values,
};

/// Runs a task that was just claimed.
pub(super) async fn claim(
    worker: Arc<WorkerContext>,
    acquired: TaskReply,
    prefetched: PrefetchedRows,
    slot: &mut Slot,
) {
    let task = &acquired.task;
    let active = ActiveClaim::new(Claim { id: task.id.clone(), version: task.version });
    worker.claims.add(active.clone());
    let span = log_span::span(&worker.holder, &acquired);
    let session = ClaimSession::new(&worker, active);
    let running = under_claim(Claimed { acquired, prefetched, session: session.clone() }, slot);
    until_it_ends(&session, running).instrument(span).await;
}

/// Runs `running` under a claim until it or the claim ends.
pub(super) async fn until_it_ends(session: &ClaimSession, running: impl Future<Output = ClaimEnd>) {
    let metrics = &session.host().metrics.worker;
    metrics.running.inc();
    let end = tokio::select! {
        biased;
        () = session.active.abort.cancelled() => ClaimEnd::Lost,
        end = running => end,
    };
    session.worker.claims.remove(&session.active);
    tracing::debug!(?end, "claim over");
    metrics.running.dec();
    metrics.claim_over(end);
}

/// Runs the target of the task. The slot may have been taken before the kind of the target was
/// known. If no slot of the right kind is free, the claim is released.
pub(super) async fn under_claim(claimed: Claimed, slot: &mut Slot) -> ClaimEnd {
    let session = claimed.session.clone();
    let module = target::module_of(&claimed.acquired.promise);
    let target = match target_of(&session.worker, &claimed.acquired, slot).await {
        Ok(target) => target,
        Err(NoTarget::Failed(failure)) => return session.reject(&Outcome::Failure(failure)).await,
        Err(NoTarget::Stopped(error)) => return session.give_back(error).await,
    };
    let (kind, places) = target.slot();
    match slot.turn_into(kind, &module, places) {
        true => target.run(claimed).await,
        false => session.give_back(ExecutionError::NoRoom).await,
    }
}

/// The reason why a task cannot be run.
enum NoTarget {
    /// The task is settled with this failure.
    Failed(Failure),
    /// The claim is released.
    Stopped(ExecutionError),
}

impl<E: Into<ExecutionError>> From<E> for NoTarget {
    fn from(error: E) -> Self {
        Self::Stopped(error.into())
    }
}

/// The target of a claimed task. Remembers in `slot` if it is an activity.
async fn target_of(
    worker: &WorkerContext,
    TaskReply { task, promise, head, .. }: &TaskReply,
    slot: &Slot,
) -> Result<Arc<dyn Target>, NoTarget> {
    let named = promise.target().unwrap_or_default();
    match named {
        target::HTTP => return Ok(Arc::new(AttemptCode::Http)),
        target::BUDGET => return Ok(Arc::new(BudgetTarget)),
        target::STREAM => return Ok(Arc::new(StreamTarget)),
        GRAPH_RUN => return Ok(Arc::new(GraphTarget)),
        _ => {}
    }
    if let Some(protocol) = worker.host.protocols.of(named) {
        return Ok(protocol);
    }
    let Some(digest) = task.module else {
        let message = format!("this host has no built-in function `{named}`");
        return Err(HaltReport::new("refused", message).into());
    };
    let functions = worker.host.guests.describe(digest).await?;
    let name = target::function_of(promise);
    let Some(function) = functions.iter().find(|function| function.name == name).cloned() else {
        let failure = no_such_function(&target::module_of(promise), &name, &functions);
        return Err(NoTarget::Failed(failure));
    };
    if let Some(misfit) = misfit(worker, promise, digest, &function, *head) {
        return Err(NoTarget::Failed(misfit));
    }
    Ok(match function.kind {
        FunctionKind::Workflow => {
            slot.learn(named, None);
            Arc::new(WorkflowCode(function))
        }
        FunctionKind::Activity => {
            let places = worker.host.guests.places(digest).await;
            slot.learn(named, Some(places));
            Arc::new(AttemptCode::Function { function, places })
        }
    })
}

/// The failure of an execution whose input does not fit the schema of its function in this module.
/// It then ends before it begins. The creator may not have known this code. An execution that has
/// begun continues.
pub(super) fn misfit(
    worker: &WorkerContext,
    promise: &Promise,
    module: Digest,
    function: &FunctionDescription,
    head: JournalHead,
) -> Option<Failure> {
    if function.input_schema.is_none() || head.len > 0 {
        return None;
    }
    let path = target::path_of(promise);
    let target = match target::module_of(promise) {
        name if name.is_empty() => path.to_owned(),
        name => format!("{name}/{path}"),
    };
    let input = values::input(&promise.spec.param);
    worker.host.schemas.check_input(module, &target, function, &input).err()
}

/// The failure of a call of a function that does not exist.
fn no_such_function(module: &str, function: &str, known: &[FunctionDescription]) -> Failure {
    let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
    Failure {
        code: values::code::NOT_FOUND,
        message: format!(
            "the module `{module}` has no function `{function}`; it has {}",
            names.join(", ")
        ),
        details: None,
    }
}
