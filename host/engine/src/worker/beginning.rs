//! Beginning invocations that nobody has stored yet: they run at once, and are stored with what that comes to.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
};

use segno_core::{id::Claim, promise::TaskStatus, reply::TaskReply, time::Millis};
use tracing::Instrument as _;

use super::{
    birth::{Birth, Unborn},
    claims::Held,
    dispatcher::{name_of, route, run_claimed, under},
    execution::Execution,
    failure::{End, Stopped, give_back},
    recorder::Recorder,
    says,
    shared::Shared,
    taking::Ahead,
};
use crate::desk::{Beginnings, Start};
use segno_guest::{FunctionDescription, FunctionKind};

/// A function that runs for longer is stored first, so that whoever starts it does not wait for it.
const PATIENCE: Millis = Millis(1);
/// The same for one that waits for its turn.
const PATIENCE_IN_LINE: Millis = Millis(200);

/// Begins what is started.
pub struct Begins(pub Arc<Shared>);

impl Beginnings for Begins {
    fn begin(&self, start: Start) {
        let beginning = begin(self.0.clone(), start);
        self.0.host.surroundings.runtime.spawn("execution", Box::pin(beginning));
    }
}

async fn begin(shared: Arc<Shared>, start: Start) {
    let Start { seat, new, hold, module, answer } = start;
    let unborn =
        Unborn { new, hold, module, at: shared.now(), born: shared.births.version(), answer };
    let described = unborn.described();
    let mut birth = Birth::Ahead(Box::new(unborn));
    let held = Held::of(Claim { id: described.task.id.clone(), version: described.task.version });
    let span = says::span(&shared.holder, &described);
    let running = run(shared.clone(), held.clone(), described, &mut birth);
    under(&shared, &held, running).instrument(span).await;
    if let Birth::Otherwise(stored) = birth
        && stored.created
        && stored.task.status() == TaskStatus::Acquired
    {
        // It is this host's all the same.
        run_claimed(shared, *stored, Ahead::default()).await;
    }
    drop(seat);
}

async fn run(shared: Arc<Shared>, held: Arc<Held>, described: TaskReply, birth: &mut Birth) -> End {
    let mut recorder = None;
    let prepared = prepare(&shared, &held, &described, birth, &mut recorder).await;
    let (stopped, stored_len) = match prepared {
        Ok(Some(execution)) => match execution.go(birth).await {
            Ok(end) => return end,
            Err(stopped) => stopped,
        },
        Ok(None) => {
            if birth.alone(&shared, &held).await.is_err() {
                return End::Lost;
            }
            return route(shared, held, described, Ahead::default()).await;
        }
        Err(stopped) => (stopped, 0),
    };
    // The claim can be given back once there is one.
    if birth.alone(&shared, &held).await.is_err() || matches!(birth, Birth::Otherwise(_)) {
        return End::Lost;
    }
    give_back(&shared, &held.claim, stopped, stored_len, recorder.as_deref()).await
}

/// An execution of the workflow, when it is its turn; none: it is something else.
async fn prepare(
    shared: &Arc<Shared>,
    held: &Arc<Held>,
    described: &TaskReply,
    birth: &mut Birth,
    replayed: &mut Option<Arc<Mutex<Recorder>>>,
) -> Result<Option<Execution>, Stopped> {
    let found = workflow(shared, described);
    let Some(function) = stored_meanwhile(shared, held, birth, PATIENCE, found).await?? else {
        return Ok(None);
    };
    let turn = shared.concurrency.turn();
    let turn = stored_meanwhile(shared, held, birth, PATIENCE_IN_LINE, turn).await?;
    let (known, kept, described) = (shared.clone(), held.clone(), described.clone());
    let ahead = Ahead::default();
    let preparing = Execution::prepare(known, kept, described, function, ahead, turn, replayed);
    stored_meanwhile(shared, held, birth, PATIENCE, preparing).await?.map(Some)
}

/// What `work` comes to. If that takes longer, the invocation is stored meanwhile; an error: it cannot be.
async fn stored_meanwhile<T>(
    shared: &Shared,
    held: &Arc<Held>,
    birth: &mut Birth,
    patience: Millis,
    work: impl Future<Output = T>,
) -> Result<T, Stopped> {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => Ok(done),
        () = async { shared.host.surroundings.runtime.sleep(patience).await } => {
            birth.alone(shared, held).await?;
            Ok(work.await)
        }
    }
}

/// The workflow that is to run; none: it is something else.
async fn workflow(
    shared: &Shared,
    described: &TaskReply,
) -> Result<Option<FunctionDescription>, Stopped> {
    let Some(module) = described.task.module else { return Ok(None) };
    let functions = shared.host.guests.describe(module).await?;
    let name = name_of(&described.promise);
    let found = functions.iter().find(|function| function.name == name);
    Ok(found.filter(|function| function.kind == FunctionKind::Workflow).cloned())
}
