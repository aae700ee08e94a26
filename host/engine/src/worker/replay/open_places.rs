//! The position of a waiting workflow: the places in its code that issued the commands it waits
//! for.
//!
//! A waiting guest has an empty stack. But a replay finds the commands that are open at its end. A
//! second replay that is stopped at such a command has the stack of the code that issued it.

use std::sync::PoisonError;

use segno_core::{
    id::{CommandIndex, Digest, PromiseId},
    invocation::CommandKind,
};

use super::{ReplayError, ReplayFailure, ReplaySetup};
use crate::{host::Host, worker::TrapReport};

/// Maximum number of open commands whose stacks are read. Each takes one replay.
const PLACES: usize = 8;

/// An open command, and the place in the code that issued it.
#[derive(Debug)]
pub struct OpenPlace {
    pub index: CommandIndex,
    pub kind: CommandKind,
    /// The promise that completes the command. `None` for other completions.
    pub promise: Option<PromiseId>,
    /// The stack of the code. Empty if it is not known.
    pub stack: TrapReport,
}

/// The open commands after the first `records` of the journal of `id`, or at its end, by index.
/// With `only`, just those that this promise completes.
///
/// # Errors
/// [`ReplayError`].
pub async fn open_places(
    host: &Host,
    id: &PromiseId,
    records: Option<u32>,
    only: Option<&PromiseId>,
) -> Result<Vec<OpenPlace>, ReplayError> {
    let mut rehearsal = ReplaySetup::new(host, id, None, records).await?;
    // Commands that are open where the code fails or diverges count as well.
    let (commands, records) = (rehearsal.outline.head().commands, rehearsal.outline.head().len);
    match rehearsal.run(|| {}).await {
        Ok(()) | Err(ReplayFailure::Guest(_)) => {}
        Err(ReplayFailure::Unread(not_read)) => return Err(ReplayError::unread(id, not_read)),
    }
    let mut places = Vec::new();
    {
        let recorder = rehearsal.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        // Beyond the last record, the code may already have issued further commands.
        for (index, open) in recorder.open().entries().filter(|(index, _)| *index < commands) {
            let promise = open.completion.promise().cloned();
            if only.is_none_or(|only| promise.as_ref() == Some(only)) {
                let index = CommandIndex(index);
                let stack = TrapReport::default();
                places.push(OpenPlace { index, kind: open.kind, promise, stack });
            }
        }
    }
    drop(rehearsal);
    for place in places.iter_mut().take(PLACES) {
        place.stack = stack(host, id, None, Some(records), place.index).await?;
    }
    Ok(places)
}

/// The stack of the code that issues a command, in the module that runs the execution or in
/// another one.
pub(super) async fn stack(
    host: &Host,
    id: &PromiseId,
    module: Option<Digest>,
    records: Option<u32>,
    command: CommandIndex,
) -> Result<TrapReport, ReplayError> {
    let mut rehearsal = ReplaySetup::new(host, id, module, records).await?;
    rehearsal.recorder.lock().unwrap_or_else(PoisonError::into_inner).halt_at(command.0);
    let backtrace = match rehearsal.run(|| {}).await {
        Err(ReplayFailure::Guest(error)) => error.backtrace().cloned(),
        Ok(()) | Err(ReplayFailure::Unread(_)) => None,
    };
    Ok(TrapReport::new(backtrace.as_ref(), None))
}
