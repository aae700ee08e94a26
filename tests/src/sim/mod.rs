//! Deterministic simulation: several real hosts (worker, recovery, outbox) in virtual time on one thread, over one store
//! behind lossy links, with one seed that decides everything.
//!
//! - `dice`: the draws; `book`: what happened, line by line, and what was wrong;
//! - `scenario`, `fault`: what clients do and what goes wrong, as a script that can be printed, shortened and repeated;
//! - `judge`, `metrics`: what must be true of every step, kept outside the engine;
//! - `database`, `link`, `bus`: the store, what a host sees of it, and who hears of its commits;
//! - `host`, `outside`, `effects`: hosts and their lives, workers and clients outside, the functions they run;
//! - `run`: one scenario from beginning to end; `verdict`: what must be true of the end; `shrink`: the shortest script.

mod book;
mod bus;
mod database;
mod dice;
mod effects;
mod fault;
mod host;
mod judge;
mod link;
mod metrics;
mod outside;
mod run;
mod scenario;
mod shrink;
mod verdict;

pub use book::Book;
pub use dice::Dice;
pub use fault::{CommitFault, Fault, Noise};
pub use run::{Report, run};
pub use scenario::{Op, Scenario};
pub use shrink::shrink;
