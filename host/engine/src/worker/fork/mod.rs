//! Forks: an invocation that begins with the first records of another invocation's journal,
//! optionally with replaced results, and continues independently from there.
//!
//! The records are read ([`Prefix`]), results are replaced ([`Prefix::give`]), and the module
//! repeats the records under the new id ([`Rehearsed`]). Only records that it repeats become a fork
//! ([`Rehearsed::into_fork`]), or are run forward in memory ([`forward`]).

mod error;
mod forward;
mod given;
mod prefix;
mod rehearsed;

pub use error::ForkError;
pub use forward::{AnswerSource, DryRun, DryRunEnd, DryRunStep, forward};
pub use given::GivenOutcome;
pub use prefix::ForkPrefix;
pub use rehearsed::{ForkedInvocation, ReplayedFork};
