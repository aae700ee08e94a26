//! The whole product from end to end, with real processes: `segno demo`.
//!
//! [`scenario`] runs it: a [`server`] that is killed, [`payments`] that remember, and [`clients`]
//! that do not notice; the [`verdict`] compares the result with the expected outcome of each
//! [`order`]. The crash suites use the same parts with other numbers. Nothing here prints; `cli`
//! does.

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
