//! Deterministic simulation: several real hosts (worker, recovery, outbox) in virtual time on one
//! thread, over one store behind lossy links. One seed decides everything.
//!
//! - `dice`: random numbers; `event_log`: the event log with the findings;
//! - `scenario`, `fault`: operations of clients and faults, as a script that can be printed,
//!   shortened and repeated;
//! - `judge`, `metrics`: the rules for every step, tracked outside the engine;
//! - `statements`, `view`, `locks`: the database in PostgreSQL's way: statements with snapshots,
//!   and rows that are waited for;
//! - `database`, `network`, `link`, `remote`, `bus`: the store, a host's view of it, and the
//!   receivers of commit hints;
//! - `timetable`, `holding`, `trip`, `tally`, `crowd`: schedules, resources, sagas, objects and
//!   limits, and their invariants;
//! - `resonate`: workers and clients of the Resonate protocol; `services`: deployments of services,
//!   and their invariants;
//! - `host`, `outside`, `effects`: hosts and their incarnations, external workers and clients, and
//!   the functions that they run;
//! - `run`, `simulation`: one scenario from start to end; `inject`: the injection of faults;
//!   `again`: repeated commands; `verdict`: the rules for the end; `shrink`: the shortest failing
//!   script.

mod again;
mod bus;
mod crowd;
mod database;
mod dice;
mod effects;
mod event_log;
mod fault;
mod holding;
mod host;
mod inject;
mod judge;
mod link;
mod locks;
mod metrics;
mod network;
mod occurrences;
mod outside;
mod remote;
mod resonate;
mod run;
mod running_hosts;
mod scenario;
mod services;
mod shrink;
mod simulation;
mod statements;
mod tally;
mod timetable;
mod tokens;
mod trip;
mod trip_rules;
mod verdict;

pub use dice::Dice;
pub use event_log::EventLog;
pub use fault::{Fault, FrameFault, MessageFault};
pub use resonate::Errand;
pub use run::{Report, run};
pub use scenario::{Op, Scenario};
pub use services::{Errand as ServiceErrand, Mode};
pub use shrink::shrink;
