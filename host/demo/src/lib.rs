//! The main job from end to end, with real processes: `segno demo`.
//!
//! [`performance`] plays it: a [`server`] that is killed, [`payments`] that remember, and a [`crowd`] of customers who
//! do not notice; the [`verdict`] holds the result against what had to become of each [`order`]. The crash suites use
//! the same parts with other numbers. Nothing here prints; `cli` does.

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
