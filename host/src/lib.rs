//! Segno, the host: durable functions as WebAssembly components, interrupted and replayed.

pub mod api;
pub mod bench;
pub mod boot;
pub mod build;
pub mod cli;
pub mod client;
pub mod commit_time;
pub mod delivery;
pub mod demo;
pub mod desk;
pub mod events;
pub mod host;
pub mod hub;
pub mod lengths;
pub mod metrics;
pub mod quarantine;
pub mod recovery;
pub mod resonate;
pub mod traces;
pub mod worker;

pub use segno_env as runtime;

pub use segno_guest as guest;

pub use segno_store as store;
