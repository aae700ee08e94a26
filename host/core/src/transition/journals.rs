//! Removing the journal of an execution that has ended, before the execution goes itself. Its outcome stays, and so
//! does its id: whoever asks for it again is answered with what is there.

use super::{draft::Draft, requeue::engine_note};
use crate::{
    id::PromiseId,
    invocation::JournalHead,
    promise::{JOURNAL_REMOVED, Task, TaskStatus},
    reply::{Conflict, Refusal, Reply},
};

/// Refused before the end: an execution cannot go on without its journal.
pub(super) fn remove(draft: &mut Draft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    let task = draft.task(id).cloned().ok_or_else(|| Refusal::NotFound(id.clone()))?;
    let status = task.status();
    if status != TaskStatus::Fulfilled {
        return Err(Conflict::WrongState { id: id.clone(), status }.into());
    }
    if draft.head(id) == JournalHead::default() {
        return Ok(Reply::Done);
    }
    let said = format!("its journal was removed on {}; its outcome is kept", draft.now.in_utc());
    draft.put_task(Task { note: Some(engine_note(JOURNAL_REMOVED, said)), ..task });
    draft.delta.dropped_journals.insert(id.clone());
    Ok(Reply::Done)
}
