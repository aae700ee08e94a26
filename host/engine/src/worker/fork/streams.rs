//! The streams of a dry run, compared with those of the original invocation.
//!
//! The workflow of the dry run writes its own items. The items of activities are those of the
//! original, if the dry run calls the same. They come where they came in the original: a piece of
//! data is stored with the length of the journal, and precedes the event with that number.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::{CommandIndex, PromiseId},
    invocation::{CommandKind, Record, RecordBody},
    stream::{
        StreamChunk, StreamDifference, StreamItems, WriterGeneration, is_json, stream_difference,
    },
    value::Text,
};

use super::{ForkError, ForkPrefix};
use crate::{host::Host, worker::recording::Recorder};

/// Maximum size of a stream that is compared, in bytes.
const COMPARED_BYTES: u64 = 16 << 20;

/// A stream of a dry run and of the original invocation.
#[derive(Debug, PartialEq, Eq)]
pub struct DryRunStream {
    pub name: Text,
    pub content_type: Text,
    /// Position after the last item in the original.
    pub recorded_len: u64,
    /// Position after the last item in the dry run.
    pub len: u64,
    pub compared: StreamMatch,
}

/// The result of the comparison of two streams.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamMatch {
    Equal,
    Differs(StreamDifference),
    /// The stream of the original has too much data to compare.
    TooLarge,
}

/// The streams while the dry run goes on.
pub(super) struct ForwardStreams {
    streams: BTreeMap<Text, ForwardStream>,
    /// Number of items of the workflow that were written.
    written: usize,
}

struct ForwardStream {
    content_type: Text,
    /// The data of the original, up to the generation that is forked, and its length.
    recorded: Vec<u8>,
    recorded_len: u64,
    is_too_large: bool,
    data: Vec<u8>,
    len: u64,
    /// Data of the original that others than the workflow wrote, in order.
    pending: Vec<PendingItems>,
}

/// Data of the original that the dry run has not reached.
struct PendingItems {
    /// The command that called the activity. `None`: a client wrote it.
    command: Option<CommandIndex>,
    records: u32,
    items: StreamItems,
}

impl ForwardStreams {
    /// Reads the streams of the original.
    pub(super) async fn read(host: &Host, prefix: &ForkPrefix) -> Result<Self, ForkError> {
        let (owner, of) = (prefix.stream_owner(), prefix.row.promise.id());
        let own = names(prefix.records.iter().chain(&prefix.later));
        let mut streams = BTreeMap::new();
        for row in host.store.read().streams_of(&owner).await? {
            if row.deleted {
                continue;
            }
            let name = Text::from(row.id.name());
            let mut stream = ForwardStream::new(row.content_type.clone());
            stream.is_too_large = row.bytes > COMPARED_BYTES;
            if stream.is_too_large {
                stream.recorded_len = row.tail;
            } else {
                let bytes_max = COMPARED_BYTES as usize;
                let chunks = host.store.read().stream_data(&row.id, 0, bytes_max).await?;
                let is_own = own.contains(&name);
                chunks.iter().for_each(|chunk| stream.add_recorded(chunk, of, &owner, is_own));
            }
            streams.insert(name, stream);
        }
        Ok(Self { streams, written: 0 })
    }

    /// Writes the items of the records that the fork begins with.
    pub(super) fn repeat(&mut self, prefix: &ForkPrefix, recorder: &Recorder) {
        let mut asked = BTreeSet::new();
        for record in &prefix.records {
            match &record.body {
                RecordBody::Command { index, .. } => {
                    asked.insert(index.0);
                    self.write_until(recorder, index.0);
                }
                body if body.is_event() => self.reach(record.seq, &asked),
                _ => {}
            }
        }
    }

    /// Writes the new items of the workflow.
    pub(super) fn write(&mut self, recorder: &Recorder) {
        self.write_until(recorder, u32::MAX);
    }

    fn write_until(&mut self, recorder: &Recorder, last: u32) {
        let items = recorder.ledger().map_or(&[][..], |ledger| ledger.stream_items());
        for (index, item) in items.iter().skip(self.written) {
            if index.0 > last {
                return;
            }
            self.written += 1;
            let of_type = || ForwardStream::new(item.content_type.clone());
            self.streams.entry(item.name.clone()).or_insert_with(of_type).append(&item.items);
        }
    }

    /// Writes what others had written when the journal of the original had `records` records:
    /// clients, and the activities of these commands of the original.
    pub(super) fn reach(&mut self, records: u32, called: &BTreeSet<u32>) {
        for stream in self.streams.values_mut() {
            let later = stream.pending.iter().position(|items| items.records > records);
            let later = later.unwrap_or(stream.pending.len());
            let is_called = |items: &PendingItems| {
                items.command.is_none_or(|command| called.contains(&command.0))
            };
            let (reached, left) =
                stream.pending.drain(..later).partition::<Vec<PendingItems>, _>(is_called);
            stream.pending.splice(..0, left);
            reached.iter().for_each(|reached| stream.append(&reached.items));
        }
    }

    /// The streams of both, compared.
    pub(super) fn compared(self) -> Vec<DryRunStream> {
        let streams = self.streams.into_iter();
        streams.map(|(name, stream)| stream.compared(name)).collect()
    }
}

impl ForwardStream {
    fn new(content_type: Text) -> Self {
        Self {
            content_type,
            recorded: Vec::new(),
            recorded_len: 0,
            is_too_large: false,
            data: Vec::new(),
            len: 0,
            pending: Vec::new(),
        }
    }

    fn append(&mut self, items: &StreamItems) {
        self.len += items.count;
        if self.data.len() as u64 <= COMPARED_BYTES {
            self.data.extend_from_slice(&items.data);
        }
    }

    /// Adds a piece of data of the original. `is_own`: the workflow of the original writes the
    /// stream. Then data without a writer is its own, also if a client wrote it.
    fn add_recorded(
        &mut self,
        chunk: &StreamChunk,
        of: &PromiseId,
        owner: &PromiseId,
        is_own: bool,
    ) {
        let forked = WriterGeneration::of(Some(owner), of).number;
        let by = chunk.writer_generation();
        if by.number > forked {
            return;
        }
        let items = StreamItems { count: chunk.count, data: chunk.data.clone() };
        self.recorded_len += items.count;
        self.recorded.extend_from_slice(&items.data);
        // A fork has the data of the original's earlier generations from its beginning.
        if by.number < forked || (by.is_workflow && chunk.records == 0) {
            self.append(&items);
            return;
        }
        let command = match (&chunk.writer, by.is_workflow) {
            (Some(writer), false) => called_by(of, writer),
            _ => None,
        };
        if !(by.is_workflow && is_own) {
            self.pending.push(PendingItems { command, records: chunk.records, items });
        }
    }

    fn compared(self, name: Text) -> DryRunStream {
        let Self { content_type, recorded, recorded_len, is_too_large, data, len, .. } = self;
        let is_json = is_json(&content_type);
        let difference = stream_difference(&recorded, &data, is_json);
        let compared = match difference {
            _ if is_too_large || data.len() as u64 > COMPARED_BYTES => StreamMatch::TooLarge,
            Some(difference) => StreamMatch::Differs(difference),
            None => StreamMatch::Equal,
        };
        DryRunStream { name, content_type, recorded_len, len, compared }
    }
}

/// The names of the streams that the workflow appends to.
fn names<'a>(journal: impl Iterator<Item = &'a Record>) -> BTreeSet<Text> {
    let appends = |record: &Record| match &record.body {
        RecordBody::Command { kind: CommandKind::AppendStream, name, .. } => Some(name.clone()),
        _ => None,
    };
    journal.filter_map(appends).collect()
}

/// The command of `of` that called an activity.
fn called_by(of: &PromiseId, activity: &PromiseId) -> Option<CommandIndex> {
    let below = activity.as_str().strip_prefix(of.as_str())?.strip_prefix('/')?;
    below.split('/').next()?.parse().ok().map(CommandIndex)
}
