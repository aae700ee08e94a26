//! Beginning invocations that nobody has stored yet: they run at once, and are stored with what that comes to.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
};

use segno_core::{id::Claim, promise::TaskStatus, reply::TaskReply, time::Millis};
use tracing::Instrument as _;

use super::{
    birth::{Birth, Unborn},
    claims::ActiveClaim,
    dispatcher::{name_of, route, run_claimed, under},
    execution::Execution,
    failure::{ExecutionError, give_back},
    log_span,
    recorder::Recorder,
    shared::Shared,
    taking::Ahead,
};
use crate::{
    metrics::ClaimEnd,
    slots::{OptimisticStart, StartRequest},
};
use segno_guest::{FunctionDescription, FunctionKind};

/// A function that runs for longer is stored first, so that whoever starts it does not wait for it.
const PATIENCE: Millis = Millis(1);
/// The same for one that waits for a permit.
const PATIENCE_IN_LINE: Millis = Millis(200);

/// Begins what is started.
pub struct Begins(pub Arc<Shared>);

impl OptimisticStart for Begins {
    fn begin(&self, start: StartRequest) {
        let beginning = begin(self.0.clone(), start);
        self.0.host.env.runtime.spawn("execution", Box::pin(beginning));
    }
}

async fn begin(shared: Arc<Shared>, start: StartRequest) {
    let StartRequest { slot, new, hold, module, answer } = start;
    let unborn =
        Unborn { new, hold, module, at: shared.now(), born: shared.births.version(), answer };
    let described = unborn.described();
    let mut birth = Birth::Ahead(Box::new(unborn));
    let held =
        ActiveClaim::of(Claim { id: described.task.id.clone(), version: described.task.version });
    let span = log_span::span(&shared.holder, &described);
    let running = run(shared.clone(), held.clone(), described, &mut birth);
    under(&shared, &held, running).instrument(span).await;
    if let Birth::Otherwise(stored) = birth
        && stored.created
        && stored.task.status() == TaskStatus::Acquired
    {
        // It is this host's all the same.
        run_claimed(shared, *stored, Ahead::default()).await;
    }
    drop(slot);
}

async fn run(
    shared: Arc<Shared>,
    held: Arc<ActiveClaim>,
    described: TaskReply,
    birth: &mut Birth,
) -> ClaimEnd {
    let mut recorder = None;
    let prepared = prepare(&shared, &held, &described, birth, &mut recorder).await;
    let (stopped, stored_len) = match prepared {
        Ok(Some(execution)) => match execution.go(birth).await {
            Ok(end) => return end,
            Err(stopped) => stopped,
        },
        Ok(None) => {
            if birth.alone(&shared, &held).await.is_err() {
                return ClaimEnd::Lost;
            }
            return route(shared, held, described, Ahead::default()).await;
        }
        Err(stopped) => (stopped, 0),
    };
    // The claim can be given back once there is one.
    if birth.alone(&shared, &held).await.is_err() || matches!(birth, Birth::Otherwise(_)) {
        return ClaimEnd::Lost;
    }
    give_back(&shared, &held.claim, stopped, stored_len, recorder.as_deref()).await
}

/// An execution of the workflow, when it is its turn; none: it is something else.
async fn prepare(
    shared: &Arc<Shared>,
    held: &Arc<ActiveClaim>,
    described: &TaskReply,
    birth: &mut Birth,
    replayed: &mut Option<Arc<Mutex<Recorder>>>,
) -> Result<Option<Execution>, ExecutionError> {
    let found = workflow(shared, described);
    let Some(function) = stored_meanwhile(shared, held, birth, PATIENCE, found).await?? else {
        return Ok(None);
    };
    let permit = shared.run_limiter.permit();
    let permit = stored_meanwhile(shared, held, birth, PATIENCE_IN_LINE, permit).await?;
    let (known, kept, described) = (shared.clone(), held.clone(), described.clone());
    let ahead = Ahead::default();
    let preparing = Execution::prepare(known, kept, described, function, ahead, permit, replayed);
    stored_meanwhile(shared, held, birth, PATIENCE, preparing).await?.map(Some)
}

/// What `work` comes to. If that takes longer, the invocation is stored meanwhile; an error: it cannot be.
async fn stored_meanwhile<T>(
    shared: &Shared,
    held: &Arc<ActiveClaim>,
    birth: &mut Birth,
    patience: Millis,
    work: impl Future<Output = T>,
) -> Result<T, ExecutionError> {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => Ok(done),
        () = async { shared.host.env.runtime.sleep(patience).await } => {
            birth.alone(shared, held).await?;
            Ok(work.await)
        }
    }
}

/// The workflow that is to run; none: it is something else.
async fn workflow(
    shared: &Shared,
    described: &TaskReply,
) -> Result<Option<FunctionDescription>, ExecutionError> {
    let Some(module) = described.task.module else { return Ok(None) };
    let functions = shared.host.guests.describe(module).await?;
    let name = name_of(&described.promise);
    let found = functions.iter().find(|function| function.name == name);
    Ok(found.filter(|function| function.kind == FunctionKind::Workflow).cloned())
}
