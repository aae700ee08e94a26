//! The host side of a workflow's imports. Commands of the guest are compared with the journal while
//! records are left, and collected after the last one. No I/O.

mod batch;
mod ledger;
mod object_state;
mod open_commands;
mod place;
mod recorder;
mod requests;

pub use batch::CommitBatch;
pub use ledger::CommandLedger;
pub use object_state::{LookupResult, ObjectState, StateLookup};
pub use open_commands::{OpenCommand, OpenCommands};
pub use place::RecorderPosition;
pub use recorder::{Recorder, SharedRecorder, StoredEvent};
