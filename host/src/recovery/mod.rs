//! What the host does on its own: one driver, and its duties as a table.
//!
//! Every action is a command that checks again whether it is due, so any number of hosts may drive at once, and early,
//! late or repeated firing is harmless.

mod driver;
mod outbox;
mod timers;

pub use driver::{Duty, Recovery, duties};
