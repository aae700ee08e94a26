//! The chunks that a delta writes, and who uses them.

use std::collections::BTreeMap;

use lz4_flex::block;
use segno_core::id::{Digest, ObjectId};

use super::{ChunkList, INLINE_BYTES_MAX, ValueOwner};
use crate::sql::SqlCell;

/// The chunks of the values of one delta.
#[derive(Debug, Default)]
pub(crate) struct ValueRows {
    /// The content of each chunk, in the order in which rows are locked.
    pub(crate) chunks: BTreeMap<Digest, Vec<u8>>,
    /// Owner and digest of each use.
    pub(crate) uses: Vec<[SqlCell; 2]>,
    /// Owners whose earlier uses end: their values are replaced or deleted.
    pub(crate) released: Vec<[SqlCell; 1]>,
    /// Objects whose entries' uses end.
    pub(crate) released_objects: Vec<ObjectId>,
}

impl ValueRows {
    /// The cells of a value: itself or the list of its chunks, and its length if it is a list.
    pub(crate) fn cells(&mut self, owner: ValueOwner<'_>, value: &[u8]) -> [SqlCell; 2] {
        match self.chunked(owner, value) {
            None => [value.into(), SqlCell::Null],
            Some(list) => [list.into(), (value.len() as i64).into()],
        }
    }

    /// Cuts a large value. Returns the encoded list of its chunks; `None` if the value is not
    /// large.
    pub(crate) fn chunked(&mut self, owner: ValueOwner<'_>, value: &[u8]) -> Option<Vec<u8>> {
        if value.len() <= INLINE_BYTES_MAX {
            return None;
        }
        let (list, places) = ChunkList::cut(value);
        let owner = SqlCell::from(owner);
        for (digest, place) in list.digests.iter().zip(places) {
            self.chunks.entry(*digest).or_insert_with(|| value[place].to_vec());
            self.uses.push([owner.clone(), digest.0.as_slice().into()]);
        }
        Some(list.encode())
    }

    /// True if nothing is to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }
}

/// The columns `digest, bytes, data` of a chunk.
pub(crate) fn chunk_cells(digest: &Digest, content: &[u8]) -> [SqlCell; 3] {
    let compressed = block::compress(content);
    let data = if compressed.len() < content.len() { compressed } else { content.to_vec() };
    [digest.0.as_slice().into(), (content.len() as i64).into(), data.into()]
}
