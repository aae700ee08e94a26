//! What must hold of a flow, as pure functions over what was seen of it from outside: each says what
//! is wrong, or nothing.

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

/// Nothing, or what is wrong.
pub type Verdict = Result<(), String>;
