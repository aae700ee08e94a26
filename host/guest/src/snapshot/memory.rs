//! The state of an instance between two polls, and its difference from a new instance.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Size of the unit that is compared and stored, in bytes.
const PAGE_BYTES: usize = 4 << 10;

/// The complete state of an instance between two polls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The state behind each accessor of its component; most have one.
    pub(super) parts: Vec<MemoryPart>,
    /// Positions of its random number generators. Empty if it has none.
    pub(super) drawn: Vec<u128>,
}

/// The state behind one accessor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MemoryPart {
    /// The bytes of its memory.
    pub(super) bytes: Vec<u8>,
    /// The bits of its mutable globals.
    pub(super) globals: Vec<u64>,
    /// The order in which freed handles are reused, as far as it differs from 1, 2, 3 and so on.
    pub(super) handles: Vec<u32>,
}

/// The difference between the state of an instance and that of a new one of its module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    pub(super) parts: Vec<PartChange>,
    pub(crate) drawn: Vec<u128>,
}

/// The difference behind one accessor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartChange {
    /// Length of the memory, in bytes.
    pub(super) len: u32,
    /// Changed bytes by offset: whole pages, with adjacent ones merged.
    pub(super) runs: Vec<(u32, Vec<u8>)>,
    pub(super) globals: Vec<u64>,
    pub(super) handles: Vec<u32>,
}

impl Memory {
    /// The same state with these positions of the random number generators.
    pub(crate) fn having_drawn(self, drawn: Vec<u128>) -> Self {
        Self { drawn, ..self }
    }

    /// The difference from `base`, the state of a new instance.
    pub fn since(&self, base: &Self) -> MemoryChange {
        let none = MemoryPart::default();
        let bases = base.parts.iter().chain(std::iter::repeat(&none));
        let parts = self.parts.iter().zip(bases).map(|(part, base)| part.since(base)).collect();
        MemoryChange { parts, drawn: self.drawn.clone() }
    }
}

impl MemoryPart {
    fn since(&self, base: &Self) -> PartChange {
        let changed = self.changed(base, PAGE_BYTES).into_iter();
        let runs = changed.map(|run| (place(run.start), self.bytes[run].to_vec())).collect();
        let Self { bytes, globals, handles } = self;
        PartChange {
            len: place(bytes.len()),
            runs,
            globals: globals.clone(),
            handles: handles.clone(),
        }
    }

    /// The pages of this size that differ from `base`, with adjacent ones merged.
    pub(super) fn changed(&self, base: &Self, page_bytes: usize) -> Vec<Range<usize>> {
        let mut changed: Vec<Range<usize>> = Vec::new();
        for (n, page) in self.bytes.chunks(page_bytes).enumerate() {
            let range = n * page_bytes..n * page_bytes + page.len();
            let is_same = match base.bytes.get(range.clone()) {
                Some(old) => page == old,
                None => page.iter().all(|byte| *byte == 0),
            };
            match changed.last_mut() {
                _ if is_same => {}
                Some(last) if last.end == range.start => last.end = range.end,
                _ => changed.push(range),
            }
        }
        changed
    }
}

impl MemoryChange {
    /// Number of memory bytes that differ.
    pub fn bytes(&self) -> usize {
        let runs = self.parts.iter().flat_map(|part| &part.runs);
        runs.map(|(_, run)| run.len()).sum()
    }
}

/// An offset in a 32-bit memory. A memory that is read has at most 4 GiB less one page.
pub(super) fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: Vec<u8>) -> Memory {
        Memory {
            parts: vec![MemoryPart { bytes, globals: vec![7], handles: vec![] }],
            drawn: vec![],
        }
    }

    #[test]
    fn only_pages_that_differ_are_kept_and_those_that_touch_in_one_run() {
        let base = memory(vec![0; 4 * PAGE_BYTES]);
        let mut bytes = vec![0; 6 * PAGE_BYTES];
        bytes[PAGE_BYTES] = 1;
        bytes[3 * PAGE_BYTES - 1] = 2;
        bytes[5 * PAGE_BYTES + 3] = 3;
        let change = memory(bytes).since(&base);
        let runs: Vec<_> = change.parts[0].runs.iter().map(|(at, run)| (*at, run.len())).collect();
        assert_eq!(runs, [(4096, 8192), (5 * 4096, 4096)]);
        assert_eq!((change.bytes(), change.parts[0].len), (3 * PAGE_BYTES, 6 << 12));
    }

    #[test]
    fn what_became_zero_is_kept() {
        let (base, now) = (memory(vec![1; PAGE_BYTES]), memory(vec![0; PAGE_BYTES]));
        assert_eq!(now.since(&base).parts[0].runs, [(0, vec![0; PAGE_BYTES])]);
        assert_eq!(now.since(&now).parts[0].runs, []);
    }
}
