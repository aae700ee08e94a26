//! Streams, read from the model.

use segno_core::{
    id::{PromiseId, StreamId},
    stream::{DurableStream, StreamChunk},
};

use super::kept::MemoryContent;

pub(super) fn of_execution(kept: &MemoryContent, owner: &PromiseId) -> Vec<DurableStream> {
    let of_it = |stream: &&DurableStream| stream.id.owner().as_ref() == Some(owner);
    kept.model.streams().filter(of_it).cloned().collect()
}

pub(super) fn data(
    kept: &MemoryContent,
    id: &StreamId,
    from: u64,
    bytes_max: usize,
) -> Vec<StreamChunk> {
    let mut bytes = 0;
    let fits = |chunk: &StreamChunk| {
        bytes += chunk.data.len();
        bytes == chunk.data.len() || bytes <= bytes_max
    };
    let chunks = kept.model.stream_chunks(id).filter_map(|chunk| chunk.cut(from, u64::MAX));
    chunks.take_while(fits).collect()
}
