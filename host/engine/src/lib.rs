//! The engine: what makes the core's decisions last. Workers take tasks and run guests against their journals, recovery
//! does what is due, deliveries carry what is owed to others.

pub mod boot;
pub mod commit_time;
pub mod delivery;
pub mod desk;
pub mod events;
pub mod host;
pub mod hub;
pub mod lengths;
pub mod metrics;
pub mod quarantine;
pub mod recovery;
pub mod traces;
pub mod worker;

#[cfg(test)]
mod testing;
