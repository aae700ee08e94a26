//! The list of the chunks of a value.

use std::ops::Range;

use fastcdc::v2020::FastCDC;
use segno_core::id::Digest;

/// First byte of a list. No format of a journal has this number.
const LIST_MARK: u8 = 0xC1;
const DIGEST_BYTES: usize = 32;
const HEAD_BYTES: usize = 1 + size_of::<u64>();

/// Bytes of a chunk, except for the last one of a value. They may change: a stored list says where
/// its value was cut.
const CHUNK_BYTES_MIN: usize = 4 << 10;
const CHUNK_BYTES_AIM: usize = 16 << 10;
pub(super) const CHUNK_BYTES_MAX: usize = 64 << 10;

/// The chunks of a value, in order.
///
/// ```text
/// list = LIST_MARK, length of the value: u64 little endian, SHA-256 of each chunk
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkList {
    /// Length of the value, in bytes.
    pub(crate) len: u64,
    pub(crate) digests: Vec<Digest>,
}

impl ChunkList {
    /// Cuts a value. Returns the list, and the place of each chunk in the value.
    pub(super) fn cut(value: &[u8]) -> (Self, Vec<Range<usize>>) {
        let chunks = FastCDC::new(value, CHUNK_BYTES_MIN, CHUNK_BYTES_AIM, CHUNK_BYTES_MAX);
        let places: Vec<_> =
            chunks.map(|chunk| chunk.offset..chunk.offset + chunk.length).collect();
        let digests = places.iter().map(|place| Digest::of(&value[place.clone()])).collect();
        (Self { len: value.len() as u64, digests }, places)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut encoded = Vec::with_capacity(HEAD_BYTES + self.digests.len() * DIGEST_BYTES);
        encoded.push(LIST_MARK);
        encoded.extend(self.len.to_le_bytes());
        self.digests.iter().for_each(|digest| encoded.extend(digest.0));
        encoded
    }

    /// The list in a column that may instead hold the value itself, which never starts with
    /// [`LIST_MARK`].
    pub(crate) fn marked(column: &[u8]) -> Option<Self> {
        Self::is_marked(column).then(|| Self::decode(column)).flatten()
    }

    /// True if such a column holds a list.
    pub(crate) fn is_marked(column: &[u8]) -> bool {
        column.starts_with(&[LIST_MARK])
    }

    /// `None` if the bytes are not a list.
    pub(crate) fn decode(encoded: &[u8]) -> Option<Self> {
        let (head, digests) = encoded.split_at_checked(HEAD_BYTES)?;
        let (mark, len) = head.split_first()?;
        let (digests, rest) = digests.as_chunks::<DIGEST_BYTES>();
        let list = Self {
            len: u64::from_le_bytes(len.try_into().ok()?),
            digests: digests.iter().map(|digest| Digest(*digest)).collect(),
        };
        (*mark == LIST_MARK && rest.is_empty()).then_some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64, bytes: usize) -> Vec<u8> {
        let mut state = seed;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..bytes).map(next).collect()
    }

    #[test]
    fn a_longer_value_shares_the_chunks_of_its_beginning() {
        let mut value = noise(1, 1 << 20);
        let (before, _) = ChunkList::cut(&value);
        value.extend(noise(2, 10_000));
        let (after, places) = ChunkList::cut(&value);
        let shared =
            before.digests.iter().zip(&after.digests).take_while(|(one, other)| one == other);
        assert!(shared.count() + 1 >= before.digests.len(), "only the last chunk differs");
        assert_eq!(places.last().map(|place| place.end), Some(value.len()));
        assert!(places.iter().all(|place| place.len() <= CHUNK_BYTES_MAX));
    }

    #[test]
    fn a_change_in_the_middle_costs_few_chunks() {
        let mut value = noise(3, 1 << 20);
        let (before, _) = ChunkList::cut(&value);
        value.splice(500_000..500_000, *b"inserted");
        let (after, _) = ChunkList::cut(&value);
        let new = after.digests.iter().filter(|digest| !before.digests.contains(digest)).count();
        assert!((1..=3).contains(&new), "{new} of {} are new", after.digests.len());
    }

    /// Lists are stored for ever.
    #[test]
    fn a_list_of_the_first_version_stays_readable() {
        let list = ChunkList { len: 0x1_0203, digests: vec![Digest([7; 32]), Digest([9; 32])] };
        let golden = [&[0xC1, 3, 2, 1, 0, 0, 0, 0, 0][..], &[7; 32], &[9; 32]].concat();
        assert_eq!(list.encode(), golden);
        assert_eq!(ChunkList::marked(&golden), Some(list));
        for broken in [&golden[..golden.len() - 1], &golden[1..], &[]] {
            assert_eq!(ChunkList::decode(broken), None);
        }
        assert_eq!(ChunkList::marked(&[1, 2, 3]), None, "records start with their format");
    }
}
