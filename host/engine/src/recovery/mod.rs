//! The background duties of a host: one driver, and the duties as a table.
//!
//! Every action is a command that checks again if it is due. Therefore any number of hosts may run
//! the duties concurrently, and early, late or repeated runs are harmless.

mod driver;
mod next_turn;
mod policy;

mod isolate;

mod outbox;
mod timers;
mod wakes;

pub mod blobs;
mod damage;
mod reconcile;
pub mod retention;

mod doctor;

#[cfg(test)]
mod tests;

pub use damage::{DamageClass, ORPHANS, RecoveryAction, class};
pub use doctor::{Repair, describe, repair};
pub use driver::{Duty, Recovery, duties};
pub use isolate::each;
pub(crate) use isolate::is_of_some;
pub use next_turn::NextTurn;
pub use policy::{DutyRow, RecoveryPolicy, policy};
pub use reconcile::{RepairStep, repair_all};
