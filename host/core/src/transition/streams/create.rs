//! Creation of streams.

use super::super::draft::DecisionDraft;
use crate::{
    id::{ObjectId, StreamId},
    promise::Promise,
    reply::{Refusal, Reply, StreamRefusal, StreamReply},
    stream::{
        DEFAULT_CONTENT_TYPE, DurableStream, NewStream, StreamClosure, StreamForkPoint,
        StreamItems, StreamLifetime, StreamOrigin,
    },
    value::Text,
};

/// Executes [`Command::StreamCreate`](crate::command::Command::StreamCreate).
pub(crate) fn create(draft: &mut DecisionDraft<'_>, new: &NewStream) -> Result<Reply, Refusal> {
    new.id.owner().iter().for_each(|owner| draft.touch(owner));
    let mark = draft.mark();
    let made = make(draft, new);
    if made.is_err() {
        draft.go_back(mark);
    }
    made
}

fn make(draft: &mut DecisionDraft<'_>, new: &NewStream) -> Result<Reply, Refusal> {
    draft.expire(&new.id);
    if draft.stream(&new.id).is_some() {
        return repeated(draft, new);
    }
    new.id.check().map_err(StreamRefusal::from)?;
    draft.may_have_stream(&new.id)?;
    if new.id.owner().is_some() && (new.closed || new.lifetime.is_some()) {
        let rule = "it is made open, and has no lifetime of its own";
        return Err(StreamRefusal::OfExecution { id: new.id.clone(), rule }.into());
    }
    draft.check_stream_size(0, &new.items)?;
    let source = match &new.fork {
        Some(fork) => Some(draft.fork_source(fork)?),
        None => None,
    };
    let content_type = content_type(new, source.as_ref())?;
    let lifetime = new.lifetime.or(source.as_ref().map(|source| source.lifetime));
    let mut stream = draft.new_stream(new.id.clone(), content_type);
    stream.lifetime = lifetime.filter(|_| new.id.owner().is_none()).unwrap_or_default();
    stream.closed = new.closed.then(StreamClosure::default);
    if let (Some(fork), Some(source)) = (&new.fork, source) {
        draft.copy_beginning(&mut stream, fork, source)?;
    }
    draft.extend_stream(&mut stream, &new.items, None);
    draft.count_rate(&mut stream, &new.items);
    draft.put_stream(stream.clone());
    let closed = draft.is_closed(&stream);
    Ok(Reply::Stream(Box::new(StreamReply { stream, closed, created: true, duplicate: false })))
}

/// The reply to a repeated creation: the existing stream, if its settings are the same.
fn repeated(draft: &mut DecisionDraft<'_>, new: &NewStream) -> Result<Reply, Refusal> {
    let differs =
        |part| Err::<Reply, Refusal>(StreamRefusal::Differs { id: new.id.clone(), part }.into());
    let stream = draft.existing_stream(&new.id).map_err(|refusal| match refusal {
        Refusal::Stream(gone) if matches!(*gone, StreamRefusal::Gone(_)) => {
            StreamRefusal::Differs { id: new.id.clone(), part: "state: it was deleted" }.into()
        }
        refusal => refusal,
    })?;
    let forked = new.fork.as_ref().map(|fork| &fork.source);
    let given = new.content_type.as_ref().map(Text::as_str);
    let expected = given.or(forked.is_none().then_some(DEFAULT_CONTENT_TYPE));
    if expected.is_some_and(|given| !given.eq_ignore_ascii_case(&stream.content_type)) {
        return differs("content type");
    }
    if new.closed != draft.is_closed(&stream) {
        return differs("state: one of them is closed");
    }
    if forked != stream.origin.as_ref().map(|origin| &origin.source) {
        return differs("source");
    }
    if let (Some(fork), Some(origin)) = (&new.fork, &stream.origin)
        && fork
            .offset
            .is_some_and(|offset| (offset, fork.sub_offset) != (origin.offset, origin.sub_offset))
    {
        return differs("position in its source");
    }
    let lifetime = new.lifetime.or(forked.is_none().then_some(StreamLifetime::Unlimited));
    if lifetime.is_some_and(|lifetime| lifetime != stream.lifetime) {
        return differs("lifetime");
    }
    Ok(draft.stream_reply(stream))
}

/// The content type of a new stream. That of a fork equals its source's.
fn content_type(new: &NewStream, source: Option<&DurableStream>) -> Result<Text, StreamRefusal> {
    let given = new.content_type.as_ref();
    match (source, given) {
        (None, given) => Ok(given.cloned().unwrap_or_else(|| Text::from(DEFAULT_CONTENT_TYPE))),
        (Some(source), Some(given)) if !given.eq_ignore_ascii_case(&source.content_type) => {
            let (stored, given) = (source.content_type.clone(), given.clone());
            Err(StreamRefusal::ContentType { id: source.id.clone(), stored, given })
        }
        (Some(source), _) => Ok(source.content_type.clone()),
    }
}

impl DecisionDraft<'_> {
    /// A stream without data.
    pub(super) fn new_stream(&self, id: StreamId, content_type: Text) -> DurableStream {
        DurableStream {
            id,
            content_type,
            tail: 0,
            bytes: 0,
            created_at: self.now,
            used_at: self.now,
            closed: None,
            lifetime: StreamLifetime::Unlimited,
            label: None,
            producers: [].into(),
            origin: None,
            forks: 0,
            deleted: false,
            busy_until_us: None,
        }
    }

    /// Checks that the execution of a stream exists and has not ended. The promise of an object's
    /// streams is made.
    pub(super) fn may_have_stream(&mut self, id: &StreamId) -> Result<(), Refusal> {
        let Some(owner) = id.owner() else { return Ok(()) };
        if let Some(object) = ObjectId::of_streams(&owner) {
            return self.make_streams_of(&object);
        }
        self.touch(&owner);
        match self.promise(&owner).map(Promise::is_pending) {
            None => Err(StreamRefusal::NoExecution(owner).into()),
            Some(false) => Err(StreamRefusal::Closed { id: id.clone(), tail: 0 }.into()),
            Some(true) => Ok(()),
        }
    }

    /// The source of a fork.
    fn fork_source(&mut self, fork: &StreamForkPoint) -> Result<DurableStream, Refusal> {
        let source = self.existing_stream(&fork.source).map_err(|refusal| match refusal {
            Refusal::Stream(gone) if matches!(*gone, StreamRefusal::Gone(_)) => {
                let part = "state: it was deleted, and cannot be forked";
                StreamRefusal::Differs { id: fork.source.clone(), part }.into()
            }
            refusal => refusal,
        })?;
        let offset = fork.offset.unwrap_or(source.tail).saturating_add(fork.sub_offset);
        if offset > source.tail {
            let (id, tail) = (source.id, source.tail);
            return Err(StreamRefusal::BeyondTail { id, offset, tail }.into());
        }
        Ok(source)
    }

    /// Copies the data before a position into a new stream, and counts the fork.
    fn copy_beginning(
        &mut self,
        stream: &mut DurableStream,
        fork: &StreamForkPoint,
        mut source: DurableStream,
    ) -> Result<(), Refusal> {
        let offset = fork.offset.unwrap_or(source.tail);
        let end = offset + fork.sub_offset;
        let parts: Vec<_> =
            self.view.stream_chunks(&source.id).filter_map(|chunk| chunk.cut(0, end)).collect();
        for part in parts {
            let items = StreamItems { count: part.count, data: part.data };
            self.extend_stream(stream, &items, None);
        }
        stream.origin =
            Some(StreamOrigin { source: source.id.clone(), offset, sub_offset: fork.sub_offset });
        source.forks = source.forks.saturating_add(1);
        self.put_stream(source);
        self.check_stream_size(stream.bytes, &StreamItems::default())?;
        Ok(())
    }
}
