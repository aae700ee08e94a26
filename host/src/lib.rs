//! Segno, the host: durable functions as WebAssembly components, interrupted and replayed.
//!
//! Every layer is a crate of its own; the command line combines them.

#![forbid(unsafe_code)]

pub mod cli;
