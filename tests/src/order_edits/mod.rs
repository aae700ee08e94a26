//! Changes that people make to the code of `examples/order` while orders are in flight, each as a
//! component.
//!
//! An edit replaces pieces of the example's own source, so it stays an edit of the current example.
//! Each edit states the fact that its author should know beforehand: the point up to which an order
//! that began on the old code can continue on the new code.

mod build;
mod list;

pub use build::components;
pub use list::EDITS;

/// A change of the example.
pub struct Edit {
    /// Name of its crate.
    pub name: &'static str,
    /// Replacements in the source. Each old piece occurs exactly once.
    pub changes: &'static [(&'static str, &'static str)],
    /// Additional lines for the manifest of its crate.
    pub manifest: &'static str,
    /// Effect on orders in flight.
    pub breaks: Breaks,
}

/// Journals whose replay a change breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// No journal: old journals replay unchanged.
    Never,
    /// Journals with this record, as [`story`](crate::world::story) writes it.
    Once(&'static str),
    /// The same, and the new code panics there, also for orders that reach the record later. A
    /// check proves the past only.
    Panics(&'static str),
    /// Journals with a recorded outcome, so none in flight.
    AtTheEnd,
}

impl Breaks {
    /// True if the change breaks the replay of a journal.
    pub fn breaks(self, story: &[String]) -> bool {
        match self {
            Self::Never => false,
            Self::Once(record) | Self::Panics(record) => {
                story.iter().any(|line| line.contains(record))
            }
            Self::AtTheEnd => story.last().is_some_and(|line| line.starts_with("finished")),
        }
    }
}
