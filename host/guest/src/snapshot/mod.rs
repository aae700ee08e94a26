//! Snapshots: the state of a workflow between two polls, read from its instance and restored into a
//! new one.
//!
//! A workflow's stack is empty while it waits, so all of its state is in its memories, in the
//! globals of its core modules, and in the reuse order of resource handles. Components hide this
//! state; [`mod@rewrite`] builds a component with the same code that exposes it. Such a component is
//! compiled when the first snapshot of its module is made, in addition to the original, which runs
//! everything else.
//!
//! State kept elsewhere prevents a snapshot. [`survey`], [`core_module`] and [`composed`] check the
//! code before it runs, for tables and segments that the code changes, globals that are references,
//! nested parts of parts, and modules and components that are passed around. Reading an instance
//! checks for open handles.

mod access;
mod accessor;
mod composed;
mod core_module;
mod files;
mod image;
mod initializer;
mod memory;
mod rewrite;
mod source;
mod survey;

use std::ops::Range;

pub(crate) use self::{
    access::InstanceAccess,
    accessor::ACCESSOR,
    image::{ModuleImage, NewImage},
    initializer::Initialization,
    rewrite::rewrite,
    source::AccessibleSource,
};
pub use self::{
    files::{SnapshotFiles, SnapshotKey, SnapshotPolicy},
    memory::{Memory, MemoryChange},
};

/// The bytes of a section.
fn section_bytes(of: &[u8], range: Range<u64>) -> &[u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    of.get(place(range.start)..place(range.end)).unwrap_or_default()
}
