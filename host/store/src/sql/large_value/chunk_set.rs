//! Chunks that were read, to put values together.

use std::collections::{BTreeSet, HashMap};

use lz4_flex::block;
use segno_core::id::Digest;

use super::{ChunkList, chunk_list::CHUNK_BYTES_MAX};
use crate::sql::{RowFields, SqlFailure, digest_at};

/// Chunks by digest; see the module documentation.
#[derive(Debug, Default)]
pub(crate) struct ChunkSet(HashMap<Digest, Vec<u8>>);

impl ChunkSet {
    /// The digests to read for these lists.
    pub(crate) fn wanted<'a>(lists: impl IntoIterator<Item = &'a ChunkList>) -> Vec<Digest> {
        let wanted: BTreeSet<_> = lists.into_iter().flat_map(|list| &list.digests).collect();
        wanted.into_iter().copied().collect()
    }

    /// Adds a row `digest, bytes, data`. A damaged row is left out, so that the values with this
    /// chunk are reported as damaged.
    pub(crate) fn add(&mut self, row: &impl RowFields) -> Result<(), SqlFailure> {
        let digest = digest_at(row, 0)?;
        let len = row.int(1)?.and_then(|len| usize::try_from(len).ok()).unwrap_or_default();
        let content = row.blob(2)?.and_then(|data| content(data, len));
        self.0
            .extend(content.filter(|content| Digest::of(content) == digest).map(|it| (digest, it)));
        Ok(())
    }

    /// The value of a list. `None` if a chunk is missing or damaged.
    pub(crate) fn value(&self, list: &ChunkList) -> Option<Vec<u8>> {
        let chunks: Vec<_> =
            list.digests.iter().map(|digest| self.0.get(digest)).collect::<Option<_>>()?;
        let len = chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
        (len == list.len).then(|| chunks.into_iter().flatten().copied().collect())
    }
}

fn content(data: &[u8], len: usize) -> Option<Vec<u8>> {
    if data.len() == len {
        return Some(data.to_vec());
    }
    (len <= CHUNK_BYTES_MAX).then(|| block::decompress(data, len).ok()).flatten()
}
