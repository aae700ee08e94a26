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
    activity::{self, AttemptCode},
    claimed::Claimed,
    claims::ActiveClaim,
    context::WorkerContext,
    error::{ExecutionError, HaltReport},
    execution::{self, PrefetchedRows},
    graph_run, log_span,
    release::give_back,
};
use crate::{
    metrics::ClaimEnd,
    slots::{Slot, SlotKind},
    target, values,
};

/// A claimed task, and the rows that were read for it.
pub struct ClaimedWork {
    /// The task as it was claimed.
    pub acquired: TaskReply,
    pub prefetched: PrefetchedRows,
}

/// Runs a task that was just claimed.
pub async fn claim(worker: Arc<WorkerContext>, work: ClaimedWork, slot: &mut Slot) {
    let task = &work.acquired.task;
    let active = ActiveClaim::new(Claim { id: task.id.clone(), version: task.version });
    worker.claims.add(active.clone());
    let span = log_span::span(&worker.holder, &work.acquired);
    let running = under_claim(worker.clone(), active.clone(), work, slot);
    until_it_ends(&worker, &active, running).instrument(span).await;
}

/// Runs `work` under a claim until the work or the claim ends.
pub async fn until_it_ends(
    worker: &WorkerContext,
    active: &Arc<ActiveClaim>,
    running: impl Future<Output = ClaimEnd>,
) {
    let metrics = &worker.host.metrics.worker;
    metrics.running.inc();
    let end = tokio::select! {
        biased;
        () = active.abort.cancelled() => ClaimEnd::Lost,
        end = running => end,
    };
    worker.claims.remove(active);
    tracing::debug!(?end, "claim over");
    metrics.running.dec();
    metrics.claim_over(end);
}

/// Runs the target of the task: a workflow, an activity, an HTTP step or a graph. The slot may have
/// been taken before the kind of the target was known. If no slot of the right kind is free, the
/// claim is released.
pub async fn under_claim(
    worker: Arc<WorkerContext>,
    active: Arc<ActiveClaim>,
    work: ClaimedWork,
    slot: &mut Slot,
) -> ClaimEnd {
    let acquired = &work.acquired;
    let named = acquired.promise.target().unwrap_or_default();
    let module = target::module_of(&acquired.promise);
    let no_room = || give_back(&worker, &active.claim, ExecutionError::NoRoom);
    if named == target::HTTP {
        return match slot.turn_into(SlotKind::Request, &module, 1) {
            true => activity::run(worker, active, work.acquired, AttemptCode::Http).await,
            false => no_room().await,
        };
    }
    if named == GRAPH_RUN {
        return match slot.turn_into(SlotKind::Execution, &module, 1) {
            true => graph_run::run(worker, active, work).await,
            false => no_room().await,
        };
    }
    if let Some(protocol) = worker.host.protocols.of(named) {
        return match slot.turn_into(SlotKind::Request, &module, 1) {
            true => protocol.run(Claimed::new(&worker, &active, work)).await,
            false => no_room().await,
        };
    }
    let Some(digest) = acquired.task.module else {
        let message = format!("this host has no built-in function `{named}`");
        let halt = HaltReport::new("refused", message);
        return give_back(&worker, &active.claim, halt.into()).await;
    };
    let functions = match worker.host.guests.describe(digest).await {
        Ok(functions) => functions,
        Err(error) => {
            return give_back(&worker, &active.claim, ExecutionError::Guest(error)).await;
        }
    };
    let name = target::function_of(&acquired.promise);
    let Some(function) = functions.iter().find(|function| function.name == name).cloned() else {
        let outcome = activity::no_such_function(&module, &name, &functions);
        return activity::reject(&worker, &active, &outcome).await;
    };
    if let Some(misfit) = misfit(&worker, &acquired.promise, digest, &function, acquired.head) {
        return activity::reject(&worker, &active, &Outcome::Failure(misfit)).await;
    }
    match function.kind {
        FunctionKind::Workflow => {
            slot.learn(named, None);
            match slot.turn_into(SlotKind::Execution, &module, 1) {
                true => execution::run(worker, active, work, function).await,
                false => no_room().await,
            }
        }
        FunctionKind::Activity => {
            let places = worker.host.guests.places(digest).await;
            slot.learn(named, Some(places));
            match slot.turn_into(SlotKind::Activity, &module, places) {
                true => {
                    activity::run(worker, active, work.acquired, AttemptCode::Function(function))
                        .await
                }
                false => no_room().await,
            }
        }
    }
}

/// The failure of an execution whose input does not fit the schema of its function in this module.
/// It then ends before it begins. The creator may not have known this code. An execution that has
/// begun continues.
pub fn misfit(
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
