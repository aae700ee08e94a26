//! Snapshots: what a workflow keeps between two polls, read from its instance and put back into a
//! new one.
//!
//! A workflow's stack is empty while it waits, so all that it knows is in its memory and in the
//! variables of its core modules. Components hide both; [`rewrite`] makes a component of the same
//! code that shows them. Such a component is compiled when the first snapshot of its module is made,
//! beside the original, which everything else runs.
//!
//! What is kept elsewhere refuses a snapshot: handles of WASI that are open, tables that the code
//! changes, several memories in one part of a component, parts within parts.

mod access;
mod accessor;
mod composed;
mod core_module;
mod files;
mod memory;
mod rewrite;
mod source;

use std::ops::Range;

#[cfg(test)]
pub(crate) use self::rewrite::rewrite as rewritten;
pub(crate) use self::{access::Access, source::Accessible};
pub use self::{
    files::{SnapshotFiles, SnapshotKey, SnapshotPolicy},
    memory::{Memory, MemoryChange},
};

/// The bytes of a section.
fn section_bytes(of: &[u8], range: Range<u64>) -> &[u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    of.get(place(range.start)..place(range.end)).unwrap_or_default()
}
