//! Segno, the host: durable functions as WebAssembly components, interrupted and replayed.

pub mod guest;
pub mod runtime;
pub mod store;
