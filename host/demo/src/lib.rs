//! Runs the whole product end to end, with real processes: `segno demo`.
//!
//! [`scenario`] runs the demo: it kills a [`server`], checks that the [`payments`] service charges
//! once, and lets [`clients`] retry transparently; the [`verdict`] compares the result with the
//! expected outcome of each [`order`]. The crash suites use the same parts with other parameters.
//! Nothing here prints; `cli` does.

#![forbid(unsafe_code)]

pub mod client;
pub mod clients;
pub mod order;
pub mod scenario;
pub mod verdict;

pub mod example;
pub mod payments;
pub mod process;
pub mod server;

pub mod retry;
pub mod rng;
