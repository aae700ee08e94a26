//! Invariants of a flow, as pure functions over outside observations. Each returns nothing or a
//! description of the violation.

mod graph;
mod room;
mod saga;
mod senders;
mod stop;
mod turns;

pub use graph::{GraphEnd, NodeRecord, NodeRole, graph};
pub use room::{Span, room};
pub use saga::{Fate, saga};
pub use senders::{entries, in_order};
pub use stop::{Stop, StopEnd, stop};
pub use turns::{Turn, turns};

/// `Ok`, or a description of the violation.
pub type Verdict = Result<(), String>;
