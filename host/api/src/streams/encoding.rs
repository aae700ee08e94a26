//! Chunks of a stream as the body of an answer.

use segno_core::stream::{DurableStream, StreamChunk};

/// Data of a stream, as far as it is sent at once.
#[derive(Debug, Default)]
pub(super) struct StreamPart {
    /// Bytes, or messages with a line break after each.
    pub(super) data: Vec<u8>,
    /// Position after the data.
    pub(super) end: u64,
}

impl StreamPart {
    /// Joins consecutive chunks; `from` is the position of a read that found none.
    pub(super) fn of(chunks: &[StreamChunk], from: u64) -> Self {
        let size = chunks.iter().map(|chunk| chunk.data.len()).sum();
        let mut data = Vec::with_capacity(size);
        chunks.iter().for_each(|chunk| data.extend_from_slice(&chunk.data));
        Self { data, end: chunks.last().map_or(from, StreamChunk::end) }
    }

    /// The body of an answer: the bytes, or a list of the messages.
    pub(super) fn into_body(self, stream: &DurableStream) -> Vec<u8> {
        match stream.is_json() {
            true => list(&self.data),
            false => self.data,
        }
    }

    /// Leaves an incomplete UTF-8 character at the end for the next part.
    pub(super) fn keep_whole_characters(&mut self) {
        let incomplete = match std::str::from_utf8(&self.data) {
            Err(error) if error.error_len().is_none() => self.data.len() - error.valid_up_to(),
            _ => 0,
        };
        self.data.truncate(self.data.len() - incomplete);
        self.end -= incomplete as u64;
    }
}

/// A JSON list of messages.
fn list(lines: &[u8]) -> Vec<u8> {
    let mut list = Vec::with_capacity(lines.len() + 2);
    list.push(b'[');
    list.extend_from_slice(lines);
    if list.len() > 1 {
        list.pop();
    }
    // A message has no line break, only what is after it.
    list.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b',');
    list.push(b']');
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_a_list() {
        assert_eq!(list(b""), b"[]");
        assert_eq!(list(b"1\n"), b"[1]");
        assert_eq!(list(b"1\n{\"a\":[2]}\n\"x\\n\"\n"), b"[1,{\"a\":[2]},\"x\\n\"]");
    }

    #[test]
    fn a_character_is_not_divided() {
        let mut part = StreamPart { data: "aé".as_bytes()[..2].to_vec(), end: 12 };
        part.keep_whole_characters();
        assert_eq!((part.data, part.end), (b"a".to_vec(), 11));
        let mut broken = StreamPart { data: vec![b'a', 0xff, b'b'], end: 3 };
        broken.keep_whole_characters();
        assert_eq!(broken.end, 3, "it never becomes a character");
    }
}
