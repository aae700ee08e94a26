//! Replays: one loop replays a journal on an instance to its end. Used by executions that continue
//! from there, by reports, and by tests.

mod check;
mod cost;
mod follow;
mod held_journal;
mod open_places;
mod pace;
mod rehearsal;
mod replayer;
mod report;
mod stored_journal;

pub use check::{CandidateVerdict, CheckedInvocation, check};
pub use cost::{CostChange, CostMeter};
pub use follow::Follower;
pub use held_journal::CompleteJournal;
pub use open_places::{OpenPlace, open_places};
pub use pace::ReplayPacer;
pub use rehearsal::ReplaySetup;
pub(crate) use rehearsal::{find_workflow, why_not};
pub use replayer::{JournalSource, ReplayFailure, Replayer, StartParameters};
pub use report::{ReplayError, ReplayReport, replay, replay_to};
pub use stored_journal::{JournalReadError, StoredJournal, first_records};
