//! Snapshots: what a workflow keeps between two polls, read from its instance and put back into a
//! new one.
//!
//! A workflow's stack is empty while it waits, so all that it knows is in its memories, in the
//! variables of its core modules, and in which handles of resources come next. Components hide all of
//! it; [`rewrite`] makes a component of the same code that shows them. Such a component is compiled
//! when the first snapshot of its module is made, beside the original, which everything else runs.
//!
//! What is kept elsewhere refuses a snapshot. What the code may do is looked for before it runs, in
//! [`survey`], [`core_module`] and [`composed`]: tables and segments that the code changes, variables
//! that are references, parts within parts, modules and components that are handed around. What an
//! instance does is looked for when it is read: handles that are open.

mod access;
mod accessor;
mod composed;
mod core_module;
mod files;
mod memory;
mod rewrite;
mod source;
mod survey;

use std::ops::Range;

pub(crate) use self::{access::Access, rewrite::rewrite, source::Accessible};
pub use self::{
    files::{SnapshotFiles, SnapshotKey, SnapshotPolicy},
    memory::{Memory, MemoryChange},
};

/// The bytes of a section.
fn section_bytes(of: &[u8], range: Range<u64>) -> &[u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    of.get(place(range.start)..place(range.end)).unwrap_or_default()
}
