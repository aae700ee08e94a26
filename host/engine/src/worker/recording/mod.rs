//! The host side of a workflow's imports. Commands of the guest are compared with the journal while
//! records are left, and collected after the last one. No I/O.

mod batch;
mod ledger;
mod object_state;
mod open_commands;
mod place;
mod recorder;
mod requests;

pub use batch::Batch;
pub use ledger::Ledger;
pub use object_state::{Found, Lookup, ObjectState};
pub use open_commands::{Open, OpenCommands};
pub use place::Place;
pub use recorder::{Recorder, SharedRecorder, StoredEvent};
