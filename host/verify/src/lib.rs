//! Verifies a workflow under every fault that the engine knows, in virtual time: the engine itself,
//! over a store in memory, on one thread; an explorer that chooses the next event and the faults;
//! and a report.
//!
//! No rule of the engine is implemented here: commits, cancellation, timers and retries are those
//! of the core, worker and recovery. This crate decides only *when* the events happen that hosts
//! wait for: the edges of the host ([`outside`]) and its clock stop until the explorer releases
//! them.

#![forbid(unsafe_code)]

// The subject of a verification.
mod recorded;
mod script;
mod setup;

// A run.
mod decide;
mod effect;
mod footprint;
mod journal;
mod outside;
mod run;
mod schedule;
mod world;

// The selection of runs, and the findings.
mod explorer;
mod finding;
mod orders;
mod report;

mod error;

pub use error::VerifyError;
pub use explorer::{ExplorationBounds, explore, repeat};
pub use recorded::{RecordedExecution, recorded};
pub use report::{FindingReport, OrdersReport, VerifyReport};
pub use schedule::{
    EventChoice, InjectedFault, RelativeId, RunSchedule, ScheduleEntry, ScheduleError,
};
pub use script::{VerifyScript, VerifyScriptError};
pub use setup::{VerifiedComponent, VerifySetup};
