//! Forks: an invocation that begins with the first records of another one's journal, with results of
//! one's choice, and goes on by itself from there.
//!
//! The records are read ([`Prefix`]), results are put in the place of recorded ones
//! ([`Prefix::give`]), and the module repeats the records under the new id ([`Rehearsed`]): only
//! what it repeats becomes a fork ([`Rehearsed::into_fork`]), or is run forward in memory ([`forward`]).

mod error;
mod forward;
mod given;
mod prefix;
mod rehearsed;

pub use error::ForkError;
pub use forward::{Answered, DryRun, End, Step, forward};
pub use given::Given;
pub use prefix::Prefix;
pub use rehearsed::{Origin, Rehearsed};
