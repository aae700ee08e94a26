//! PostgreSQL for tests: a private cluster on a Unix socket in its own directory.
//!
//! - `programs`: finds PostgreSQL on this machine, and the account that it runs as;
//! - `supervisor`: the process between a test and its server, which ends the server when the test
//!   program ends for any reason;
//! - `cluster`: a server with its databases;
//! - `route`: an address that can be redirected to another server;
//! - `patroni`: two servers that Patroni keeps, one the other's standby;
//! - `pooler`: PgBouncer in front of a server;
//! - `strict`: a server that speaks less than PostgreSQL.
//!
//! The API is blocking and independent of its users.

mod cluster;
mod patroni;
mod pooler;
mod programs;
mod route;
mod strict;
mod supervisor;

pub use cluster::{Cluster, Database};
pub use patroni::PatroniGroup;
pub use pooler::Pooler;
pub use route::Route;
pub use strict::{StrictServer, Strictness};
