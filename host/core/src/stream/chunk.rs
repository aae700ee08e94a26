//! Rows with the data of streams.

use serde::{Deserialize, Serialize};

use crate::{
    id::{PromiseId, StreamId},
    value::Bytes,
};

/// Bytes up to which appends of one commit are gathered in one row.
const CHUNK_BYTES: usize = 64 << 10;

/// Consecutive items of a stream, which were appended together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamChunk {
    pub stream: StreamId,
    /// Position of the first item.
    pub position: u64,
    /// Number of positions.
    pub count: u64,
    /// Number of records in the journal of the stream's execution after the append. Zero in streams
    /// without an execution.
    pub records: u32,
    /// The activity that appended. `None`: the workflow itself, or a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<PromiseId>,
    /// Bytes, or JSON messages with a line break after each.
    pub data: Bytes,
}

/// The generation of an execution that appended data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterGeneration {
    /// Number of the generation, from 1.
    pub number: u32,
    /// True for the workflow itself and for clients, false for an activity that it called.
    pub is_workflow: bool,
}

impl WriterGeneration {
    /// The generation of `owner` that `id` is or belongs to.
    pub fn of(owner: Option<&PromiseId>, id: &PromiseId) -> Self {
        let Some(rest) = owner.and_then(|owner| id.as_str().strip_prefix(owner.as_str())) else {
            return Self { number: 1, is_workflow: true };
        };
        match rest.strip_prefix("/g/") {
            None => Self { number: 1, is_workflow: rest.is_empty() },
            Some(rest) => {
                let (number, below) =
                    rest.split_once('/').map_or((rest, false), |(number, _)| (number, true));
                Self { number: number.parse().unwrap_or(1), is_workflow: !below }
            }
        }
    }
}

impl StreamChunk {
    /// The generation that appended the items.
    pub fn writer_generation(&self) -> WriterGeneration {
        match &self.writer {
            None => WriterGeneration { number: 1, is_workflow: true },
            Some(writer) => WriterGeneration::of(self.stream.owner().as_ref(), writer),
        }
    }

    /// Position after the last item.
    pub fn end(&self) -> u64 {
        self.position + self.count
    }

    /// The items from `start` to `end`. `None` if the chunk has none of them.
    pub fn cut(&self, start: u64, end: u64) -> Option<Self> {
        let (start, end) = (start.max(self.position), end.min(self.end()));
        if start >= end {
            return None;
        }
        if (start, end) == (self.position, self.end()) {
            return Some(self.clone());
        }
        let (from, to) = (self.byte_of(start), self.byte_of(end));
        let data = Bytes::from(self.data.get(from..to).unwrap_or_default());
        Some(Self { position: start, count: end - start, data, ..self.clone() })
    }

    /// True if `next` follows without a gap and the two are small enough for one row.
    pub fn may_grow_by(&self, next: &Self) -> bool {
        self.end() == next.position
            && (self.records, &self.writer) == (next.records, &next.writer)
            && self.data.len() + next.data.len() <= CHUNK_BYTES
    }

    /// Adds the items of the next chunk.
    pub fn grow(&mut self, next: &Self) {
        self.count += next.count;
        self.data = [self.data.as_slice(), next.data.as_slice()].concat().into();
    }

    /// Index of the first byte of an item within the data.
    fn byte_of(&self, position: u64) -> usize {
        let skipped = (position - self.position) as usize;
        if self.count == self.data.len() as u64 {
            return skipped;
        }
        if skipped == 0 {
            return 0;
        }
        let mut ends = self.data.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        ends.nth(skipped - 1).map_or(self.data.len(), |(index, _)| index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(position: u64, count: u64, data: &[u8]) -> StreamChunk {
        StreamChunk {
            stream: "s".into(),
            position,
            count,
            records: 0,
            writer: None,
            data: data.into(),
        }
    }

    #[test]
    fn a_chunk_is_cut_at_items() {
        let messages = chunk(10, 3, b"1\n{\"a\":2}\n3\n");
        let cut =
            |start, end| messages.cut(start, end).map(|cut| (cut.position, cut.data.to_vec()));
        assert_eq!(cut(0, 99), Some((10, b"1\n{\"a\":2}\n3\n".to_vec())));
        assert_eq!(cut(11, 12), Some((11, b"{\"a\":2}\n".to_vec())));
        assert_eq!(cut(12, 13), Some((12, b"3\n".to_vec())));
        assert_eq!(cut(13, 20), None);
        assert_eq!(cut(0, 10), None);
        let bytes = chunk(4, 5, b"a\nbc\n");
        assert_eq!(bytes.cut(5, 8).map(|cut| cut.data), Some(b"\nbc"[..].into()));
    }
}
