//! A chaos driver: real hosts, faults from outside, and an oracle that does not rely on the hosts'
//! own reports.
//!
//! [`run`] plays a [`Plan`]: [`flows`] start executions through [`proxy`] connections that are cut
//! at random and know beforehand what each must come to; the [`ledger`] counts effects outside;
//! [`events`] takes what is published; while [`faults`] kills, pauses and restarts hosts, and with
//! a [`preload`]ed library fills their disk and moves their clock. An [`oracle`] decides what was
//! seen of a flow, and [`quiet`] looks at what is left. The [`report`] says what was done and what
//! was wrong. The binary `chaos` is its command line.

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
