//! A workflow under every fault the engine knows, in virtual time: the engine itself, over a store in
//! memory, on one thread; an explorer that decides what happens next and what goes wrong; and a report.
//!
//! No rule of the engine is written here: commits, cancellation, timers and retries are those of the
//! core, worker and recovery. What this crate decides is only *when* something happens that hosts wait
//! for: the edges of the host ([`outside`]) and its clock ([`time`]) stand still until the explorer lets
//! them go on.

// What is verified.
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
mod store;
mod time;
mod world;

// Which runs are made, and what is wrong with them.
mod explorer;
mod finding;
mod orders;
mod report;

mod error;

pub use error::VerifyError;
pub use explorer::{Bounds, explore, repeat};
pub use recorded::{Recorded, recorded};
pub use report::{Failure, OrdersReport, Report};
pub use schedule::{Choice, Entry, Fault, NoSchedule, Place, Schedule};
pub use script::{BadScript, Script};
pub use setup::{Component, Setup};
