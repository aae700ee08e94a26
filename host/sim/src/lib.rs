//! The parts of a simulated host: the real engine, in virtual time, on one thread, over a store
//! that fails where a test or an explorer says.
//!
//! No rule of the engine is here, and no random number: `segno verify`, the worlds of the tests and
//! the simulation of several hosts decide what fails and when.

#![forbid(unsafe_code)]

mod clock;
mod commit_fault;
mod gated_store;
mod hint_switch;
mod host_life;
mod mortal_store;
mod runtime;

pub use clock::{BEGINNING, SimClock};
pub use commit_fault::{CommitFault, PlannedFaults};
pub use gated_store::{GatedStore, StoreGate, unknown_outcome};
pub use hint_switch::HintSwitch;
pub use host_life::HostLife;
pub use mortal_store::{MortalGate, MortalStore};
pub use runtime::{SimRuntime, TaskPanic, TaskPanics, sleep};
