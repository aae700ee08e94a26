//! A claim on a task: the session that writes under it, and the targets that run in one.
//!
//! A target receives a [`Claimed`] task, writes through its [`ClaimSession`] only, and ends the
//! claim: it settles the task, suspends it or releases it.

// Each file depends on the files below it.
mod target;
mod turn;

mod commit;
mod release;
mod session;

mod active;
mod batch;
mod callee_claims;
mod error;
mod local_outcome;
mod pending;
mod settlement_watch;

pub use active::ActiveClaim;
pub(crate) use active::ActiveClaims;
pub use batch::{ActionResults, ClaimBatch, SuspensionResult};
pub use error::{ExecutionError, HaltReport, note};
pub(crate) use local_outcome::{LocalCallers, LocalOutcome, LocalOutcomes};
pub(crate) use pending::PendingStart;
pub(crate) use release::JournalEnd;
pub use session::ClaimSession;
pub use settlement_watch::SettlementWatch;
pub use target::{Claimed, PrefetchedRows, Target};
pub use turn::TurnSuccessor;
