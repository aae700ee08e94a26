//! A stream of an execution, and its items. The position of an item is not stored: it is the number
//! of positions before it in the stream.
//!
//! ```text
//! stream = format: u8 (1), then in postcard: name: text, content_type: text, created_at: i64 (ms),
//!          used_at: i64 (ms), closed: bool
//! items  = format: u8 (1), then in postcard: count: u64, records: u32, writer: option of text, data: bytes
//! ```

use segno_core::{
    id::{PromiseId, StreamId},
    stream::{DurableStream, StreamChunk, StreamClosure, StreamLifetime, is_json},
    time::Timestamp,
    value::{Bytes, Text},
};
use serde::{Deserialize, Serialize};

use super::execution::decoded;

const FORMAT: u8 = 1;

/// A stream of the preceding execution. Its producers and labels are not in a bundle: they only
/// concern writers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleStream {
    /// Name within the execution.
    pub name: Text,
    pub content_type: Text,
    pub created_at: Timestamp,
    /// Instant of the last append.
    pub used_at: Timestamp,
    /// True if it was closed before its execution ended.
    pub closed: bool,
}

/// Consecutive items of the preceding stream, which were appended together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleStreamItems {
    /// Number of positions: messages or bytes.
    pub count: u64,
    /// Number of records in the journal of the execution after the append.
    pub records: u32,
    /// The activity that appended. `None`: the workflow itself, or a client.
    pub writer: Option<PromiseId>,
    /// Bytes, or JSON messages with a line break after each.
    pub data: Bytes,
}

#[derive(Serialize, Deserialize)]
struct StoredStream {
    name: Text,
    content_type: Text,
    created_at: i64,
    used_at: i64,
    closed: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredItems {
    count: u64,
    records: u32,
    writer: Option<Text>,
    data: Bytes,
}

impl BundleStream {
    pub fn is_json(&self) -> bool {
        is_json(&self.content_type)
    }

    /// The row of the stream of this execution with these items.
    pub fn row(&self, execution: &PromiseId, items: &[BundleStreamItems]) -> DurableStream {
        DurableStream {
            id: StreamId::of_execution(execution, &self.name),
            content_type: self.content_type.clone(),
            tail: items.iter().fold(0, |tail, items| tail.saturating_add(items.count)),
            bytes: items.iter().map(|items| items.data.len() as u64).sum(),
            created_at: self.created_at,
            used_at: self.used_at,
            closed: self.closed.then(StreamClosure::default),
            lifetime: StreamLifetime::Unlimited,
            label: None,
            producers: Default::default(),
            origin: None,
            forks: 0,
            deleted: false,
            busy_until_us: None,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { name, content_type, created_at, used_at, closed } = self.clone();
        let (created_at, used_at) = (created_at.0, used_at.0);
        let stored = StoredStream { name, content_type, created_at, used_at, closed };
        postcard::to_extend(&stored, vec![FORMAT]).expect("a stream holds nothing postcard refuses")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let stored: StoredStream = decoded(FORMAT, bytes)?;
        let StoredStream { name, content_type, created_at, used_at, closed } = stored;
        let (created_at, used_at) = (Timestamp(created_at), Timestamp(used_at));
        Ok(Self { name, content_type, created_at, used_at, closed })
    }
}

impl From<DurableStream> for BundleStream {
    fn from(stream: DurableStream) -> Self {
        Self {
            name: Text::from(stream.id.name()),
            content_type: stream.content_type,
            created_at: stream.created_at,
            used_at: stream.used_at,
            closed: stream.closed.is_some(),
        }
    }
}

impl BundleStreamItems {
    /// The items as a row of the stream, from a position on.
    pub fn row(&self, stream: &StreamId, position: u64) -> StreamChunk {
        StreamChunk {
            stream: stream.clone(),
            position,
            count: self.count,
            records: self.records,
            writer: self.writer.clone(),
            data: self.data.clone(),
        }
    }

    /// True if the count is that of the data in a stream of this kind.
    pub(crate) fn is_sound(&self, is_json: bool) -> bool {
        let lines = || self.data.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.count > 0
            && match is_json {
                true => self.data.last() == Some(&b'\n') && lines() == self.count,
                false => self.data.len() as u64 == self.count,
            }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { count, records, writer, data } = self;
        let writer = writer.as_ref().map(|writer| Text::from(writer.as_str()));
        let stored = StoredItems { count: *count, records: *records, writer, data: data.clone() };
        postcard::to_extend(&stored, vec![FORMAT]).expect("items hold nothing postcard refuses")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let StoredItems { count, records, writer, data } = decoded(FORMAT, bytes)?;
        let writer = writer.map(|writer| PromiseId::new(writer.as_str()));
        Ok(Self { count, records, writer, data })
    }
}

impl From<StreamChunk> for BundleStreamItems {
    fn from(chunk: StreamChunk) -> Self {
        let StreamChunk { count, records, writer, data, .. } = chunk;
        Self { count, records, writer, data }
    }
}
