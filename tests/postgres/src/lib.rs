//! PostgreSQL for tests: a cluster of one's own on a Unix socket in a directory of its own.
//!
//! - `programs`: where this machine keeps PostgreSQL, and as whom it runs;
//! - `supervisor`: the process between a test and its server, which ends the server when the test
//!   program ends, however that ends;
//! - `cluster`: a server with its databases.
//!
//! It blocks, and knows nothing of what it is used for.

mod cluster;
mod programs;
mod supervisor;

pub use cluster::{Cluster, Database};
