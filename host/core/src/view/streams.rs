//! Streams and their data.

use std::collections::BTreeMap;

use super::View;
use crate::{
    delta::Delta,
    footprint::Footprint,
    id::{PromiseId, StreamId},
    stream::{DurableStream, StreamChunk},
};

/// Rows of streams. Data is loaded only for forks.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamRows {
    rows: BTreeMap<StreamId, DurableStream>,
    chunks: BTreeMap<StreamId, BTreeMap<u64, StreamChunk>>,
}

impl StreamRows {
    pub(super) fn write(&mut self, delta: &Delta) {
        for id in &delta.cleared_streams {
            self.chunks.remove(id);
        }
        for (id, row) in &delta.streams {
            match row {
                Some(row) => drop(self.rows.insert(id.clone(), row.clone())),
                None => drop(self.rows.remove(id)),
            }
        }
        delta.stream_chunks.iter().for_each(|chunk| self.put(chunk.clone()));
    }

    fn put(&mut self, chunk: StreamChunk) {
        self.chunks.entry(chunk.stream.clone()).or_default().insert(chunk.position, chunk);
    }

    /// Removes the streams of a removed execution.
    pub(super) fn remove(&mut self, owner: &PromiseId) {
        if self.rows.is_empty() {
            return;
        }
        let of_it = |id: &StreamId| id.owner().as_ref() == Some(owner);
        self.rows.retain(|id, _| !of_it(id));
        self.chunks.retain(|id, _| !of_it(id));
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.chunks.values().map(BTreeMap::len).sum::<usize>()
    }
}

impl View {
    pub fn stream(&self, id: &StreamId) -> Option<&DurableStream> {
        self.lookups.streams.rows.get(id)
    }

    pub fn streams(&self) -> impl Iterator<Item = &DurableStream> {
        self.lookups.streams.rows.values()
    }

    /// The loaded data of a stream, in order.
    pub fn stream_chunks(&self, id: &StreamId) -> impl Iterator<Item = &StreamChunk> {
        self.lookups.streams.chunks.get(id).into_iter().flat_map(BTreeMap::values)
    }

    /// The data of all streams.
    pub fn all_stream_chunks(&self) -> impl Iterator<Item = &StreamChunk> {
        self.lookups.streams.chunks.values().flat_map(BTreeMap::values)
    }

    pub fn put_stream(&mut self, stream: DurableStream) {
        self.lookups.streams.rows.insert(stream.id.clone(), stream);
    }

    pub fn put_stream_chunk(&mut self, chunk: StreamChunk) {
        self.lookups.streams.put(chunk);
    }

    /// Copies the wanted streams into another view.
    pub(crate) fn load_streams(&self, wanted: &Footprint, to: &mut View) {
        for id in &wanted.streams {
            self.stream(id).into_iter().for_each(|row| to.put_stream(row.clone()));
        }
        for id in &wanted.stream_data {
            self.stream_chunks(id).for_each(|chunk| to.put_stream_chunk(chunk.clone()));
        }
    }
}
