//! Removal of streams.

use super::super::draft::DecisionDraft;
use crate::{
    effect::Effect,
    id::StreamId,
    reply::{Refusal, Reply, StreamRefusal},
};

/// Executes [`Command::StreamDelete`](crate::command::Command::StreamDelete).
pub(crate) fn delete(draft: &mut DecisionDraft<'_>, id: &StreamId) -> Result<Reply, Refusal> {
    draft.existing_stream(id)?;
    if id.owner().is_some() {
        let rule = "it is removed with the execution or the object that it belongs to";
        return Err(StreamRefusal::OfExecution { id: id.clone(), rule }.into());
    }
    draft.remove_stream(id);
    Ok(Reply::Done)
}

/// Executes [`Command::StreamDue`](crate::command::Command::StreamDue).
pub(crate) fn due(draft: &mut DecisionDraft<'_>, id: &StreamId) -> Result<Reply, Refusal> {
    draft.expire(id);
    if draft.stream(id).is_some_and(|stream| stream.deleted && stream.forks == 0) {
        draft.remove_stream(id);
    }
    Ok(Reply::Done)
}

impl DecisionDraft<'_> {
    /// Removes a stream. While forks of it exist, its row stays, so that its id is not used again.
    pub(super) fn remove_stream(&mut self, id: &StreamId) {
        let Some(mut stream) = self.stream(id).cloned() else { return };
        self.delta.clear_stream(id.clone());
        if stream.forks > 0 {
            stream.deleted = true;
            (stream.used_at, stream.bytes) = (self.now, 0);
            self.put_stream(stream);
            return;
        }
        self.effects.push(Effect::StreamChanged(id.clone()));
        self.delta.streams.insert(id.clone(), None);
        let source = stream.origin.and_then(|origin| self.stream(&origin.source).cloned());
        if let Some(mut source) = source {
            source.forks = source.forks.saturating_sub(1);
            // A deleted source without forks is due at once.
            self.put_stream(source);
        }
    }
}
