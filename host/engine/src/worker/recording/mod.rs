//! The host's side of a workflow's imports: what the guest asks is matched with the journal while
//! records are left, and collected where they run out. Nothing here does I/O.

mod batch;
mod open_commands;
mod recorder;
mod requests;

pub use batch::Batch;
pub use open_commands::{Open, OpenCommands};
pub use recorder::{Recorder, SharedRecorder, StoredEvent};
