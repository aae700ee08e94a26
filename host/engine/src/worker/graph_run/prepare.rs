//! The coordinator of a run: cached since the last claim, or rebuilt from its rows.

use std::collections::{BTreeSet, VecDeque};

use segno_core::{
    graph::{GraphRunError, GraphRunParameters, NodeEvent, NodeRow, is_run},
    id::PromiseId,
    promise::{CancelState, Promise},
    reply::TaskReply,
    tags,
    value::Text,
};

use super::{ClaimedRun, RunStop, failure, is_own};
use crate::{
    claim::{Claimed, ExecutionError, HaltReport, SettlementWatch},
    graph::{Coordinator, OwnModule},
    target,
    values::{self, code},
    worker::context::WorkerContext,
};

impl ClaimedRun {
    /// A run that is ready for its next turn.
    pub(super) async fn prepare(
        Claimed { acquired, session, .. }: Claimed,
    ) -> Result<Self, RunStop> {
        let (worker, task) = (session.worker.clone(), &acquired.task);
        if task.cancel == CancelState::Requested {
            return Err(RunStop::Ended(values::cancelled()));
        }
        let id = task.id.clone();
        let watch = SettlementWatch::new(worker.host.notifier.clone());
        if let Some(coordinator) = worker.runs.take(&id, task.version) {
            worker.host.metrics.worker.warm_start();
            return Ok(Self { worker, session, id, coordinator, watch, unseen: VecDeque::new() });
        }
        let module = acquired.promise.module_name();
        let permit = worker.run_limiter.permit(&module).await;
        let rows = worker.host.store.read().graph_nodes(&id).await?;
        let start =
            GraphRunParameters::of(&acquired.promise).map_err(|error| refused(&error, &rows))?;
        let module = own_module(&worker, &acquired).await?;
        let continues = start.continues.clone();
        let history = history(&worker, &id, &rows).await?;
        let coordinator = Coordinator::recover(id.clone(), start, module, &rows, &history);
        let coordinator = coordinator.map_err(|error| {
            let message = format!("the rows of the run contradict its plan: {error}");
            HaltReport::new("damaged", message)
        })?;
        let mut run = Self { worker, session, id, coordinator, watch, unseen: VecDeque::new() };
        run.find_attempts().await?;
        if let Some(from) = continues {
            run = run.take_over(&from, rows).await?;
        }
        drop(permit);
        Ok(run)
    }

    /// Looks for the attempts that the rows refer to. A missing attempt is created again.
    async fn find_attempts(&mut self) -> Result<(), RunStop> {
        let said = self.coordinator.said_to_run();
        let mut found = BTreeSet::new();
        for page in self.pages(&said).await? {
            let rows = self.worker.promises(&page).await?.into_iter().flatten();
            let own = rows.filter(|row| is_own(&self.id, &row.promise));
            found.extend(own.map(|row| row.promise.id().clone()));
        }
        self.coordinator.found(&found);
        Ok(())
    }

    /// Reuses the results of another run of the same plan, unless that has been done already.
    async fn take_over(
        mut self,
        from: &PromiseId,
        mut rows: Vec<(Text, NodeRow)>,
    ) -> Result<Self, RunStop> {
        let is_new = rows.is_empty();
        let before = self.worker.promises(std::slice::from_ref(from)).await?.pop().flatten();
        let Some(before) = before else {
            let message = format!("the run to continue, `{from}`, does not exist");
            return if is_new {
                Err(RunStop::Ended(failure(code::NOT_FOUND, message)))
            } else {
                Ok(self)
            };
        };
        let refuse = |message: String| Err(RunStop::Ended(failure(code::REFUSED, message)));
        match GraphRunParameters::of(&before.promise) {
            Err(error) => return refuse(format!("`{from}` cannot be continued: {error}")),
            Ok(start) if start.plan.digest() != self.coordinator.start().plan.digest() => {
                return refuse(format!("`{from}` ran another plan: continue it with its own"));
            }
            Ok(_) if before.promise.is_pending() => {
                return refuse(format!("`{from}` has not ended: wait for it, or cancel it"));
            }
            Ok(_) => {}
        }
        let done = self.worker.host.store.read().graph_nodes(from).await?;
        let wanted = self.coordinator.to_take_over(from, &done);
        let outputs: Vec<PromiseId> =
            wanted.iter().filter_map(|node| node.output.clone()).collect();
        let mut nodes = wanted.iter();
        let mut acts = Vec::new();
        for page in self.pages(&outputs).await? {
            for row in self.worker.promises(&page).await? {
                let Some(row) = row else {
                    return refuse(format!("an output of `{from}` is gone: start a new run"));
                };
                for node in nodes.by_ref() {
                    let output = node.output.as_ref().map(|_| &row.promise);
                    acts.extend(self.coordinator.take_over(node.node, output));
                    if output.is_some() {
                        break;
                    }
                }
            }
            self.commit(std::mem::take(&mut acts)).await?;
        }
        acts.extend(nodes.flat_map(|node| self.coordinator.take_over(node.node, None)));
        self.commit(acts).await?;
        if wanted.is_empty() {
            return Ok(self);
        }
        rows = self.worker.host.store.read().graph_nodes(&self.id).await?;
        let history = history(&self.worker, &self.id, &rows).await?;
        self.coordinator = self.coordinator.again(&rows, &history).map_err(|error| {
            HaltReport::new(
                "damaged",
                format!("what was taken over from `{from}` is not whole: {error}"),
            )
        })?;
        self.find_attempts().await?;
        Ok(self)
    }
}

/// The history of a run. Empty without a read if no node has a second attempt.
async fn history(
    worker: &WorkerContext,
    run: &PromiseId,
    rows: &[(Text, NodeRow)],
) -> Result<Vec<NodeEvent>, RunStop> {
    match rows.iter().any(|(_, row)| row.attempt > 0) {
        true => Ok(worker.host.store.read().graph_history(run).await?),
        false => Ok(Vec::new()),
    }
}

/// The stop for a plan that cannot be run: it ends a new run, and halts one that has begun, since
/// its plan has changed.
fn refused(error: &GraphRunError, rows: &[(Text, NodeRow)]) -> RunStop {
    match rows {
        [] => RunStop::Ended(failure(code::REFUSED, error.to_string())),
        _ => HaltReport::new("damaged", format!("the plan of the run has changed: {error}")).into(),
    }
}

/// The module whose functions the plan names without a module.
async fn own_module(worker: &WorkerContext, acquired: &TaskReply) -> Result<OwnModule, RunStop> {
    let name = target::module_of(&acquired.promise);
    let functions = match acquired.task.module {
        Some(digest) => {
            worker.host.guests.describe(digest).await.map_err(ExecutionError::Guest)?.to_vec()
        }
        None => Vec::new(),
    };
    let may_request = may_request(worker, &acquired.promise).await?;
    Ok(OwnModule { name, functions, may_request })
}

/// True if the author of a plan may send requests under the policy of its module, with its secrets.
/// That is the code of a module, or a client with all rights, but not one with rights over some ids
/// only.
async fn may_request(worker: &WorkerContext, run: &Promise) -> Result<bool, RunStop> {
    let mut run = run.clone();
    loop {
        if !run.spec.tags.contains_key(tags::RIGHTS) || !is_run(&run) {
            return Ok(true);
        }
        let Some(parent) = run.spec.made_by.clone() else { return Ok(false) };
        match worker.promises(&[parent]).await?.pop().flatten() {
            Some(row) => run = row.promise,
            None => return Ok(false),
        }
    }
}
