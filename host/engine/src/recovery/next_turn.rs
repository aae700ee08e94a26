//! The time of the next turn of a duty.

use segno_core::time::Millis;

/// The delay before the next turn of a duty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextTurn {
    /// Immediately: there is more to do.
    Now,
    /// After this time, or earlier if a hint arrives.
    After(Millis),
    /// When a hint arrives, or when the period is over.
    Idle,
}
