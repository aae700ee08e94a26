//! The deployment's side of an attempt of V5 to V7: what a handler asks is matched with the journal
//! or written, and what it is told comes in the order in which the journal has it.
//!
//! A driver polls a guest; while the guest can go on, it issues commands:
//!
//! ```text
//! receive(bytes) until is_ready()           Start and the whole journal are here
//! call, sleep, run, state, …                what the guest asks; the bytes are in take_output()
//! next_notification()                       when the guest waits: one event, then poll it again
//!   None, and more input may come           receive, or execute a run and propose its outcome
//!   None, and the input has ended           suspend(what the guest waits for)
//! finish(outcome)                           when it returns
//! fail(error)                               when it cannot go on
//! ```
//!
//! The order of events is that of the journal, and one comes only when the guest waits. So a guest
//! that does the same with the same events does the same in every attempt, whatever the timing.
//!
//! In the order a newcomer should read: `attempt`, what is known of it, what is told, and how a command is
//! matched or written; `intake`, what comes; `commands`, `state_commands` and `runs`, what a handler asks;
//! `ending`, how it ends; `difference` and `error`, why it is refused.

mod attempt;
mod commands;
mod difference;
mod ending;
mod error;
mod intake;
mod runs;
mod state;
mod state_commands;

pub use attempt::{Attempt, OpenCall};
pub use commands::{Awakeable, CallHandle, RunHandle};
pub use difference::{Difference, Divergence};
pub use error::AttemptError;
pub use state_commands::{KeysRead, StateRead};

#[cfg(test)]
mod conversation;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;
