//! Replays: one loop brings an instance to the end of its journal, for an execution that continues
//! from there, for a report, and for tests.

mod check;
mod cost;
mod follow;
mod rehearsal;
mod replayer;
mod report;
mod stored_journal;

pub use check::{Checked, Verdict, check};
pub use cost::{CostChange, CostMeter};
pub use follow::Follower;
pub use rehearsal::Rehearsal;
pub use replayer::{JournalSource, ReplayStopped, Replayer, Start};
pub use report::{ReplayError, ReplayReport, replay, replay_to};
pub use stored_journal::{NotRead, StoredJournal};
