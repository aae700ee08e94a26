//! The engine makes the core's decisions durable. Workers claim tasks and run guests against their
//! journals, recovery performs duties that are due, and deliveries carry messages to other systems.

#![forbid(unsafe_code)]

pub mod attempt_limit;
pub mod boot;
pub mod bundles;
pub mod changes;
pub mod claim;
pub mod commit_latency;
pub mod delivery;
mod description_cache;
pub mod events;
mod fair_queue;
pub mod graph;
mod held_timers;
pub mod host;
pub mod lease_ttl;
pub mod metrics;
pub mod notifier;
pub mod protocols;
pub mod quarantine;
pub mod recovery;
pub mod resend;
pub mod signal_check;
pub mod slots;
pub mod stream_watch;
pub mod stuck;
pub mod target;
pub mod traces;
pub mod values;
pub mod worker;

#[cfg(test)]
mod testing;
