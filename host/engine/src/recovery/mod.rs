//! The work that the host does on its own: one driver, and its duties as a table.
//!
//! Every action is a command that checks again whether it is due, so any number of hosts may run
//! the duties at once, and early, late or repeated firing is harmless.

mod driver;
mod policy;

mod isolate;

mod outbox;
mod timers;
mod wakes;

mod reconcile;
pub mod retention;

mod doctor;

#[cfg(test)]
mod tests;

pub use doctor::{Repair, describe, repair};
pub use driver::{Duty, NextTurn, Recovery, duties};
pub use isolate::each;
pub use policy::{Action, Class, ORPHANS, RecoveryPolicy, class, policy};
pub use reconcile::{RepairStep, repair_all};
