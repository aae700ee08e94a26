//! Forks: an invocation that begins with the first records of another invocation's journal,
//! optionally with replaced results, and continues independently from there.
//!
//! The records are read ([`ForkPrefix`]), results are replaced ([`ForkPrefix::give`]), and the module
//! repeats the records under the new id ([`ReplayedFork`]). Only records that it repeats become a fork
//! ([`ReplayedFork::into_fork`]), or are run forward in memory ([`mod@forward`]). There, a policy
//! answers commands that have no recorded answer ([`MissingAnswer`]).

mod error;
mod forward;
mod given;
mod missing;
mod prefix;
mod rehearsed;
mod streams;

pub use error::ForkError;
pub use forward::{AnswerSource, DryRun, DryRunEnd, DryRunStep, forward};
pub use given::GivenOutcome;
pub use missing::MissingAnswer;
pub use prefix::ForkPrefix;
pub use rehearsed::{ForkedInvocation, ReplayedFork};
pub use streams::{DryRunStream, StreamMatch};
