//! Linearizability: a check that a store with concurrent clients answers as if operations ran one
//! after the other.
//!
//! - `history`: operations, answers, and their order;
//! - `clients`: clients that conflict on purpose;
//! - `check`: the search for an order that explains the answers;
//! - `broken`: stores with wrong answers, to test the search.

mod broken;
mod check;
mod clients;
mod history;

pub use broken::{Lie, LyingStore};
pub use check::{Rules, Verdict, check, check_by};
pub use clients::{Course, MODULE, Served, run};
pub use history::{Asked, History, Operation};
