//! A chaos driver: real hosts, faults injected from outside, and an oracle that does not rely on
//! the hosts' own reports.
//!
//! [`run()`] plays a [`Plan`]. The [`flows`] start executions through [`proxy`] connections that are
//! cut at random, and know the expected outcome of each beforehand. The [`ledger`] counts effects
//! outside, and [`events`] consumes published events. Meanwhile [`faults`] kills, pauses and
//! restarts hosts, and uses a [`preload`]ed library to fill their disk and move their clock. An
//! [`oracle`] judges the observations of each flow, and [`quiet`] checks for remaining work. The
//! [`report`] lists faults, flows and findings. The binary `chaos` is the command line.

pub mod access;
pub mod events;
pub mod faults;
pub mod flows;
pub mod ledger;
pub mod memory;
pub mod oracle;
pub mod outside;
pub mod plan;
pub mod preload;
pub mod proxy;
pub mod quiet;
pub mod report;
pub mod run;

pub use plan::Plan;
pub use run::run;
