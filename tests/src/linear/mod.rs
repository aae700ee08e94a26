//! Whether a store that many clients use at once answers as if it did one thing after the other.
//!
//! - `history`: what was asked and answered, and when;
//! - `clients`: clients that get into each other's way on purpose;
//! - `check`: the search for an order that the rules would have answered so;
//! - `broken`: stores that lie, to know that the search finds it.

mod broken;
mod check;
mod clients;
mod history;

pub use broken::{Lie, LyingStore};
pub use check::{Verdict, check};
pub use clients::{Course, HandClock, MODULE, Served, run};
pub use history::{Asked, History, Operation};
