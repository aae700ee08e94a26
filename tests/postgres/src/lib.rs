//! PostgreSQL for tests: a cluster of one's own on a Unix socket in a directory of its own.
//!
//! - `programs`: where this machine keeps PostgreSQL, and as whom it runs;
//! - `supervisor`: the process between a test and its server, which ends the server when the test
//!   program ends, however that ends;
//! - `cluster`: a server with its databases;
//! - `route`: an address that can be led to another server.
//!
//! It blocks, and knows nothing of what it is used for.

mod cluster;
mod programs;
mod route;
mod supervisor;

pub use cluster::{Cluster, Database};
pub use route::Route;
