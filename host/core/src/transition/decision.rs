//! What a command comes to.

use crate::{delta::Delta, effect::Effect, reply::Reply};

/// What follows from a command: commit the delta, then answer, then act on the effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub reply: Reply,
    /// The rows to write.
    pub delta: Delta,
    /// Hints, in causal order: settlements first, then resumed tasks, then what is to be executed.
    pub effects: Vec<Effect>,
}
