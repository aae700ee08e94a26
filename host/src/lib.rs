//! Segno, the host: durable functions as WebAssembly components, interrupted and replayed.

pub mod api;
pub mod bench;
pub mod build;
pub mod cli;
pub mod client;
pub mod demo;
pub mod resonate;

pub use segno_env as runtime;

pub use segno_guest as guest;

pub use segno_engine::{
    boot, commit_time, delivery, desk, events, host, hub, lengths, metrics, quarantine, recovery,
    traces, worker,
};
pub use segno_store as store;
