//! The engine's decision on a command.

use crate::{delta::Delta, effect::Effect, reply::Reply};

/// Result of a command: commit the delta, then reply, then act on the effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub reply: Reply,
    pub delta: Delta,
    /// Hints, in causal order: settlements, resumed tasks, tasks to execute.
    pub effects: Vec<Effect>,
}
