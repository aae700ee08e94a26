//! The bounds of pages and of reads, the same for every store.

use segno_core::time::Millis;

/// The length of a page when the caller does not say.
const DEFAULT_LIMIT: u32 = 100;

/// The number of rows that are examined for a page by a filter that no index answers. The cost of
/// a page therefore does not depend on the size of the store: 200,000 invocations without a match
/// are 40 pages of a few milliseconds.
pub(super) const LOOKED_AT: u32 = 5_000;

/// The number of rows that are examined for the counts of a list.
pub(super) const COUNTED_BY_STATE: u32 = 10_000;

/// The greatest number of rows of an index that are sorted; a larger list is walked in its own
/// order.
pub(super) const SORTED: u32 = 2_000;

/// Bytes of parameters and values on a page of promises; the page ends with the promise that
/// reaches this size.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// The time limit of a statement that a client of the API asks for.
pub(super) const CLIENT_READ: Millis = Millis(5_000);

/// The length of a page; 0 asks for the default.
pub(super) fn page_limit(asked: u32) -> u32 {
    if asked == 0 { DEFAULT_LIMIT } else { asked }
}
