//! Executions that cannot go on by themselves, and why.
//!
//! One row alone says most of it: it is halted, or nobody takes it. The rest follows from what it
//! waits for. A page of rows costs a few reads, however many executions there are.

mod deadlock;
mod duty;
mod look;
mod reason;

pub use deadlock::circle;
pub use duty::{PAGE, PERIOD, ROUND_PAUSE, Round, turn};
pub use look::{STATES, look, names_a_module};
pub use reason::{Reason, Stuck};
