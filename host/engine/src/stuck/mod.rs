//! Executions that cannot continue by themselves, with the reasons.
//!
//! Most reasons follow from one row: the execution is halted, or no host claims it. The rest follow
//! from the promises that it waits for. Checking a page of rows takes few reads, however many
//! executions the store has.

mod deadlock;
mod duty;
mod look;
mod reason;

pub use deadlock::circle;
pub use duty::{PAGE, PERIOD, ROUND_PAUSE, StuckRound, turn};
pub use look::{STATES, look, names_a_module};
pub use reason::{StuckExecution, StuckReason};
