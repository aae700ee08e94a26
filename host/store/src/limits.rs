//! Bounds of pages and reads, the same for every store.

use segno_core::time::Millis;

/// Default page length.
const DEFAULT_LIMIT: u32 = 100;

/// Maximum number of rows examined for a page when no index answers the filter. The cost of a page
/// therefore does not depend on the size of the store: 200,000 invocations without a match are 40
/// pages of a few milliseconds.
pub(super) const LOOKED_AT: u32 = 5_000;

/// Maximum number of rows examined for the counts of a listing.
pub(super) const COUNTED_BY_STATE: u32 = 10_000;

/// Maximum number of index rows that are sorted; a larger list is read in index order.
pub(super) const SORTED: u32 = 2_000;

/// Maximum bytes of parameters and values on a page of promises; the page ends with the promise
/// that reaches this size.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// Longest parameter or value in a listing of invocations; the statements have the number too.
pub(super) const LISTED_BYTES: usize = 16 << 10;

/// Longest parameter or value in a listing of children; the statements have the number too.
pub(super) const CHILD_BYTES: usize = 64 << 10;

/// Time limit of a statement run for an API client.
pub(super) const CLIENT_READ: Millis = Millis(5_000);

/// The length of a page; 0 means the default.
pub(super) fn page_limit(asked: u32) -> u32 {
    if asked == 0 { DEFAULT_LIMIT } else { asked }
}
