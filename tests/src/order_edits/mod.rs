//! Changes that people make to the code of `examples/order` while orders are in flight, each as a
//! component.
//!
//! An edit replaces pieces of the example's own source, so it stays an edit of what the example is
//! now. What is said of each is what its author should know beforehand: up to where an order that
//! began on the old code can be continued on the new one.

mod build;
mod list;

pub use build::components;
pub use list::EDITS;

/// A change of the example.
pub struct Edit {
    /// A name for its crate.
    pub name: &'static str,
    /// Which pieces of the source become which; each is there exactly once.
    pub changes: &'static [(&'static str, &'static str)],
    /// Lines for the manifest of its crate.
    pub manifest: &'static str,
    /// What it is for orders in flight.
    pub breaks: Breaks,
}

/// For which journals a change is another execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// None: old journals are repeated as they are.
    Never,
    /// Those that have such a record, as [`story`](crate::world::story) writes it.
    Once(&'static str),
    /// The same, and the new code ends there, for orders that come there later as well: a check
    /// proves the past only.
    Panics(&'static str),
    /// Those whose outcome is recorded: none that is in flight.
    AtTheEnd,
}

impl Breaks {
    /// Whether the change is another execution for a journal.
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
