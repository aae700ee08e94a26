//! Streams: creation, appends, removal.

mod append;
mod create;
mod forked;
mod remove;

use super::draft::DecisionDraft;
use crate::{
    effect::Effect,
    id::{PromiseId, StreamId},
    reply::{Refusal, Reply, StreamRefusal, StreamReply},
    stream::{DurableStream, StreamChunk, StreamItems, StreamStatus, WriterGeneration},
};

pub(super) use self::{
    append::append,
    create::create,
    remove::{delete, due},
};

/// Executes [`Command::StreamTouch`](crate::command::Command::StreamTouch).
pub(super) fn touch(draft: &mut DecisionDraft<'_>, id: &StreamId) -> Result<Reply, Refusal> {
    let mut stream = draft.existing_stream(id)?;
    if stream.is_extended_by_read(draft.now) {
        stream.used_at = draft.now;
        draft.put_stream(stream.clone());
    }
    Ok(draft.stream_reply(stream))
}

impl DecisionDraft<'_> {
    pub(super) fn stream(&self, id: &StreamId) -> Option<&DurableStream> {
        match self.delta.streams.get(id) {
            Some(row) => row.as_ref(),
            None => self.view.stream(id),
        }
    }

    /// A stream that was not deleted and has not expired.
    fn existing_stream(&self, id: &StreamId) -> Result<DurableStream, Refusal> {
        let absent = || StreamRefusal::NotFound(id.clone());
        let stream = self.stream(id).ok_or_else(absent)?;
        match stream.status(self.now) {
            StreamStatus::Gone => Err(StreamRefusal::Gone(id.clone()).into()),
            StreamStatus::Expired if stream.forks > 0 => {
                Err(StreamRefusal::Gone(id.clone()).into())
            }
            StreamStatus::Expired => Err(absent().into()),
            StreamStatus::Open | StreamStatus::Closed => Ok(stream.clone()),
        }
    }

    /// Removes a stream that has expired.
    fn expire(&mut self, id: &StreamId) {
        let row = self.stream(id);
        if row.is_some_and(|row| row.status(self.now) == StreamStatus::Expired) {
            self.remove_stream(id);
        }
    }

    /// True if nothing can be appended to the stream: it was closed, or its execution has ended.
    fn is_closed(&self, stream: &DurableStream) -> bool {
        let ended = |id: PromiseId| self.promise(&id).is_some_and(|owner| !owner.is_pending());
        stream.closed.is_some() || stream.id.owner().is_some_and(ended)
    }

    /// Adds data to the end of a stream. `writer` is the activity that appends it.
    fn extend_stream(
        &mut self,
        stream: &mut DurableStream,
        items: &StreamItems,
        writer: Option<&PromiseId>,
    ) {
        if items.is_empty() {
            return;
        }
        let owner = stream.id.owner();
        // The journal of an activity's items is that of the workflow that called it.
        let journal = match writer {
            Some(writer) if WriterGeneration::of(owner.as_ref(), writer).is_workflow => {
                Some(writer.clone())
            }
            Some(writer) => {
                self.promise(writer).and_then(|promise| promise.spec.made_by.clone()).or(owner)
            }
            None => owner,
        };
        let records = journal.map_or(0, |journal| self.head(&journal).len);
        let chunk = StreamChunk {
            stream: stream.id.clone(),
            position: stream.tail,
            count: items.count,
            records,
            writer: writer.cloned(),
            data: items.data.clone(),
        };
        self.extend_by_chunk(stream, chunk);
    }

    /// Adds a piece of data to the end of a stream.
    fn extend_by_chunk(&mut self, stream: &mut DurableStream, chunk: StreamChunk) {
        let (count, bytes) = (chunk.count, chunk.data.len() as u64);
        let (id, position) = (stream.id.clone(), stream.tail);
        self.delta.put_stream_chunk(StreamChunk { stream: id, position, ..chunk });
        stream.tail += count;
        stream.bytes += bytes;
    }

    fn put_stream(&mut self, stream: DurableStream) {
        stream.due_at().into_iter().for_each(|at| self.due(at));
        self.effects.push(Effect::StreamChanged(stream.id.clone()));
        self.delta.streams.insert(stream.id.clone(), Some(stream));
    }

    fn stream_reply(&self, stream: DurableStream) -> Reply {
        let closed = self.is_closed(&stream);
        Reply::Stream(Box::new(StreamReply { stream, closed, created: false, duplicate: false }))
    }

    /// Checks that the rate of a stream allows an append now.
    fn check_rate(&self, stream: &DurableStream, items: &StreamItems) -> Result<(), StreamRefusal> {
        let Some(rate) = self.config.stream.rate.filter(|_| !items.is_empty()) else {
            return Ok(());
        };
        let wait = rate.wait(stream.busy_until_us, items.data.len() as u64, self.now);
        let refused = |wait| StreamRefusal::TooFast { id: stream.id.clone(), rate, wait };
        wait.map_or(Ok(()), |wait| Err(refused(wait)))
    }

    /// Counts an append for the rate of the stream.
    fn count_rate(&self, stream: &mut DurableStream, items: &StreamItems) {
        let (before, bytes) = (stream.busy_until_us, items.data.len() as u64);
        let rate = self.config.stream.rate;
        stream.busy_until_us = rate.map(|rate| rate.busy_until_us(before, bytes, self.now));
    }

    /// Checks that an append fits into the stream.
    fn check_stream_size(&self, stored: u64, items: &StreamItems) -> Result<(), StreamRefusal> {
        let bounds = self.config.stream;
        let bytes = items.data.len() as u64;
        if bytes > bounds.append_bytes {
            let limit = bounds.append_bytes;
            return Err(StreamRefusal::TooLarge { of: "one append to a stream", bytes, limit });
        }
        let (bytes, limit) = (stored + bytes, bounds.stream_bytes);
        match bytes > limit {
            true => Err(StreamRefusal::TooLarge { of: "a stream", bytes, limit }),
            false => Ok(()),
        }
    }
}
