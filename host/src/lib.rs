//! Segno, the host: durable functions as WebAssembly components, interrupted and replayed.
//!
//! Every layer is a crate, re-exported here under one name; the command line combines them.

#![forbid(unsafe_code)]

pub mod cli;

pub use segno_api as api;
pub use segno_bench as bench;
pub use segno_build as build;
pub use segno_client as client;
pub use segno_demo as demo;
pub use segno_endpoint as endpoint;
pub use segno_engine::{
    boot, bundles, commit_latency, delivery, events, host, lease_ttl, metrics, notifier,
    quarantine, recovery, slots, stuck, target, traces, values, worker,
};
pub use segno_env as runtime;
pub use segno_guest as guest;
pub use segno_resonate as resonate;
pub use segno_services as services;
pub use segno_store as store;
