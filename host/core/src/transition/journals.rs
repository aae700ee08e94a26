//! Removal of the journal of an ended execution, while the execution itself stays. Its outcome and
//! its id stay, so repeated requests are still answered from the stored promise.

use super::{draft::DecisionDraft, requeue::engine_note};
use crate::{
    id::PromiseId,
    invocation::JournalHead,
    promise::{JOURNAL_REMOVED, Task, TaskStatus},
    reply::{Conflict, Refusal, Reply},
};

/// Removes a journal. Refused before the end, since an execution cannot continue without its
/// journal.
pub(super) fn remove(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
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
