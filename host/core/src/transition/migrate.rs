//! Moving an execution to other code. An execution keeps the module it began with; only where it is
//! halted, and its journal is the one that the other module was shown to repeat, may that take over.

use super::draft::Draft;
use crate::{
    id::{Digest, PromiseId},
    promise::Task,
    reply::{Conflict, Refusal, Reply},
};

pub(super) fn migrate(
    draft: &mut Draft<'_>,
    id: &PromiseId,
    module: &Digest,
    records: u32,
) -> Result<Reply, Refusal> {
    draft.touch(id);
    let task = draft.halted_task(id)?;
    if task.module.is_none() {
        return Err(Refusal::Unprocessable(format!(
            "`{id}` runs on no module: what an external worker or a host itself does is not moved"
        )));
    }
    if !draft.view.has_module(module) {
        return Err(Refusal::Unprocessable(format!(
            "the module `{module}` was never uploaded; upload it first"
        )));
    }
    let current = draft.view.head(id).len;
    if current != records {
        return Err(Conflict::JournalGrew { id: id.clone(), given: records, current }.into());
    }
    draft.offer_again(Task { module: Some(*module), ..task });
    Ok(Reply::Done)
}
