//! The deployment's side of an attempt of V5 to V7. An attempt matches each command of a handler
//! with the journal, or writes it, and delivers notifications in the journal's order.
//!
//! A driver polls a guest; while the guest can continue, it issues commands:
//!
//! ```text
//! receive(bytes) until is_ready()           the start and the whole journal have arrived
//! call, sleep, run, state, …                the guest's commands; the bytes are in take_output()
//! next_notification()                       when the guest waits: one event, then poll it again
//!   None, and more input may come           receive, or execute a run and propose its outcome
//!   None, and the input has ended           suspend(the guest's wait)
//! finish(outcome)                           when the guest returns
//! fail(error)                               when the guest cannot continue
//! ```
//!
//! Events are delivered in the journal's order, and only when the guest waits. So a guest that is
//! deterministic with respect to its events behaves the same in every attempt, regardless of
//! timing.
//!
//! `restate-sdk-shared-core`, the core of Restate's SDKs, is an oracle in tests and not the
//! machine itself. Version 8.2.0 would add two crates and 3 s of compilation, and replace 1,300
//! lines. But it numbers completions differently after eager reads of state, so it waits for ever
//! in a journal that this machine began. Before it returns the stored outcome of a run, it passes
//! over all earlier notifications and forgets their order. It hides the number of failed attempts,
//! the recorded wake-up times and signals of other names than those asked for, so that an adapter
//! would decode each frame a second time. It also takes messages of any length, and results that
//! no command requested.
//!
//! Reading order: `attempt`, the state of an attempt, and the matching of commands; `intake`,
//! incoming frames; `commands`, `state_commands` and `runs`, the commands of a handler; `ending`,
//! the ends of an attempt; `difference` and `error`, reasons for refusals.

mod attempt;
mod commands;
mod difference;
mod ending;
mod error;
mod intake;
mod runs;
mod state;
mod state_commands;

pub use attempt::{DeploymentAttempt, OpenCall};
pub use commands::{AwakeableHandle, CallHandle, RunHandle};
pub use difference::{FieldMismatch, HandlerDivergence};
pub use error::AttemptError;
pub use state_commands::StateRead;

#[cfg(test)]
mod conversation;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;
