//! Appends to streams.

use std::collections::BTreeMap;

use super::super::draft::DecisionDraft;
use crate::{
    id::{Claim, ObjectId, PromiseId, StreamId},
    reply::{Refusal, Reply, StreamRefusal, StreamReply},
    stream::{
        DEFAULT_CONTENT_TYPE, DurableStream, PRODUCERS_MAX, ProducerPosition, ProducerState,
        StreamAppend, StreamClosure, StreamItem, StreamItems,
    },
    time::Timestamp,
    value::Text,
};

/// Object and name of a stream that a workflow writes.
type StreamName<'i> = (&'i Option<ObjectId>, &'i Text);

/// Executes [`Command::StreamAppend`](crate::command::Command::StreamAppend).
pub(crate) fn append(draft: &mut DecisionDraft<'_>, new: &StreamAppend) -> Result<Reply, Refusal> {
    let mut stream = match &new.claim {
        Some(claim) => draft.stream_under(claim, new)?,
        None => draft.existing_stream(&new.id)?,
    };
    if let Some(owner) = new.id.owner() {
        draft.touch(&owner);
        if new.closes && new.claim.is_none() && !new.id.is_of_object() {
            let rule = "only the execution closes it, at its end at the latest";
            return Err(StreamRefusal::OfExecution { id: new.id.clone(), rule }.into());
        }
    }
    let batch =
        new.producer.as_ref().map(|producer| (producer.id.clone(), producer.epoch, producer.seq));
    if draft.is_closed(&stream) {
        let by = stream.closed.as_ref().and_then(|closed| closed.by.as_ref());
        let repeated = batch.is_some() && by == batch.as_ref();
        let closes_again = new.closes && new.items.is_empty() && batch.is_none();
        if repeated || closes_again {
            return Ok(replied(draft, stream, repeated));
        }
        return Err(StreamRefusal::Closed { id: new.id.clone(), tail: stream.tail }.into());
    }
    if !new.items.is_empty() {
        let given = new.content_type.clone().unwrap_or_else(|| Text::from(DEFAULT_CONTENT_TYPE));
        fits_type(&stream, &given)?;
    }
    if let Some(producer) = &new.producer {
        let known = stream.producers.get(&producer.id);
        if !is_next(producer, known)? {
            return Ok(replied(draft, stream, true));
        }
    }
    if let (Some(given), Some(last)) = (&new.label, &stream.label)
        && given.as_bytes() <= last.as_bytes()
    {
        let (given, last) = (given.clone(), last.clone());
        return Err(StreamRefusal::LabelRegression { id: new.id.clone(), given, last }.into());
    }
    draft.check_stream_size(stream.bytes, &new.items)?;
    draft.check_rate(&stream, &new.items)?;
    draft.count_rate(&mut stream, &new.items);
    if let Some(producer) = &new.producer {
        count_batch(&mut stream.producers, producer, draft.now);
    }
    stream.label = new.label.clone().or(stream.label);
    stream.used_at = draft.now;
    stream.closed = new.closes.then_some(StreamClosure { by: batch });
    let writer = new.claim.as_ref().map(|claim| &claim.id);
    draft.extend_stream(&mut stream, &new.items, writer);
    draft.put_stream(stream.clone());
    Ok(replied(draft, stream, false))
}

fn replied(draft: &DecisionDraft<'_>, stream: DurableStream, duplicate: bool) -> Reply {
    let closed = draft.is_closed(&stream);
    Reply::Stream(Box::new(StreamReply { stream, closed, created: false, duplicate }))
}

fn fits_type(stream: &DurableStream, given: &Text) -> Result<(), StreamRefusal> {
    match given.eq_ignore_ascii_case(&stream.content_type) {
        true => Ok(()),
        false => Err(StreamRefusal::ContentType {
            id: stream.id.clone(),
            stored: stream.content_type.clone(),
            given: given.clone(),
        }),
    }
}

/// True if the batch is the next one of its producer; false if it was stored before.
fn is_next(batch: &ProducerPosition, known: Option<&ProducerState>) -> Result<bool, StreamRefusal> {
    let ProducerPosition { id, epoch, seq } = batch;
    let producer = id.clone();
    let (next_of_epoch, received) = match known {
        Some(known) if *epoch < known.epoch => {
            let (given, current) = (*epoch, known.epoch);
            return Err(StreamRefusal::StaleEpoch { producer, given, current });
        }
        Some(known) if *epoch == known.epoch => {
            if *seq <= known.seq {
                return Ok(false);
            }
            (known.seq + 1, *seq)
        }
        Some(_) if *seq != 0 => {
            return Err(StreamRefusal::EpochStart { producer, epoch: *epoch, seq: *seq });
        }
        Some(_) | None => (0, *seq),
    };
    match received == next_of_epoch {
        true => Ok(true),
        false => Err(StreamRefusal::SequenceGap { producer, expected: next_of_epoch, received }),
    }
}

/// Stores the position of a producer, and forgets the producer that is silent for the longest time
/// if there are too many.
fn count_batch(
    producers: &mut BTreeMap<Text, ProducerState>,
    batch: &ProducerPosition,
    now: Timestamp,
) {
    let state = ProducerState { epoch: batch.epoch, seq: batch.seq, at: now };
    producers.insert(batch.id.clone(), state);
    if producers.len() > PRODUCERS_MAX {
        let silent = producers.iter().filter(|(id, _)| **id != batch.id);
        let oldest = silent.min_by_key(|(_, state)| state.at).map(|(id, _)| id.clone());
        if let Some(oldest) = oldest {
            producers.remove(&oldest);
        }
    }
}

impl DecisionDraft<'_> {
    /// The stream that a claim may append to, created if it does not exist.
    fn stream_under(
        &mut self,
        claim: &Claim,
        new: &StreamAppend,
    ) -> Result<DurableStream, Refusal> {
        self.touch(&claim.id);
        self.claimed(claim)?;
        let maker = self.promise(&claim.id).and_then(|promise| promise.spec.made_by.clone());
        let maker = maker.map(|maker| maker.generation_of().map_or(maker, |(first, _)| first));
        let owner = new.id.owner();
        if owner.as_ref() != Some(&claim.id) && owner != maker {
            let (id, claimed) = (new.id.clone(), claim.id.clone());
            return Err(StreamRefusal::Foreign { id, claimed }.into());
        }
        match self.stream(&new.id) {
            Some(_) => self.existing_stream(&new.id),
            None => {
                new.id.check().map_err(StreamRefusal::from)?;
                self.may_have_stream(&new.id)?;
                let given = new.content_type.clone();
                let content_type = given.unwrap_or_else(|| Text::from(DEFAULT_CONTENT_TYPE));
                Ok(self.new_stream(new.id.clone(), content_type))
            }
        }
    }

    /// Checks that a workflow may append these items, in order. No item is recorded without being
    /// stored, so this check precedes the append of the records.
    pub(crate) fn may_append_items<'i>(
        &self,
        invocation: &PromiseId,
        items: impl Iterator<Item = &'i StreamItem>,
    ) -> Result<(), Refusal> {
        let mut streams: BTreeMap<StreamName<'_>, DurableStream> = BTreeMap::new();
        for item in items {
            if let Some(object) = &item.object {
                self.may_write_held_stream(invocation, object, &item.name)?;
            }
            let stream = streams
                .entry((&item.object, &item.name))
                .or_insert_with(|| self.stream_of_item(invocation, item));
            stream.id.check().map_err(StreamRefusal::from)?;
            if !item.items.is_empty() {
                if stream.closed.is_some() {
                    let (id, tail) = (stream.id.clone(), stream.tail);
                    return Err(StreamRefusal::Closed { id, tail }.into());
                }
                fits_type(stream, &item.content_type)?;
                self.check_stream_size(stream.bytes, &item.items)?;
            }
            stream.tail += item.items.count;
            stream.bytes += item.items.data.len() as u64;
            stream.closed = stream.closed.take().or(item.closes.then(StreamClosure::default));
        }
        Ok(())
    }

    /// Appends items of a workflow, in order. Those of one stream become one piece of data.
    pub(crate) fn append_items<'i>(
        &mut self,
        invocation: &PromiseId,
        items: impl Iterator<Item = &'i StreamItem>,
    ) {
        let mut of_streams: BTreeMap<StreamName<'_>, Vec<&StreamItem>> = BTreeMap::new();
        for item in items {
            of_streams.entry((&item.object, &item.name)).or_default().push(item);
        }
        for items in of_streams.into_values() {
            let Some(first) = items.first() else { continue };
            let mut stream = self.stream_of_item(invocation, first);
            let pieces: Vec<&[u8]> = items.iter().map(|item| item.items.data.as_slice()).collect();
            let count = items.iter().map(|item| item.items.count).sum();
            let joined = StreamItems { count, data: pieces.concat().into() };
            let writer = Some(invocation).filter(|id| stream.id.owner().as_ref() != Some(id));
            self.extend_stream(&mut stream, &joined, writer);
            // The records exist, so the items are stored at any rate.
            self.count_rate(&mut stream, &joined);
            stream.used_at = self.now;
            if items.iter().any(|item| item.closes) {
                stream.closed = stream.closed.or(Some(StreamClosure::default()));
            }
            self.put_stream(stream);
        }
    }

    /// The stream that a workflow's item is for, or a new one.
    fn stream_of_item(&self, invocation: &PromiseId, item: &StreamItem) -> DurableStream {
        let id = match &item.object {
            Some(object) => object.stream(&item.name),
            None => StreamId::of_execution(&self.first_generation(invocation), &item.name),
        };
        let stored = self.stream(&id).cloned();
        stored.unwrap_or_else(|| self.new_stream(id, item.content_type.clone()))
    }
}
