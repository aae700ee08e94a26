//! Invocations: the journal of one run of a function, its encoding and its replay. This module
//! knows nothing of promise rows or tasks.

mod callees;
mod codec;
mod cursor;
mod divergence;
mod head;
mod outline;
mod record;
mod request;
mod seed;

pub use callees::{PROMISE_FIELD, open_callees};
pub use codec::{CodecError, FORMAT, decode_records, encode_records, join_records};
pub use cursor::{CommandMatch, CursorError, EndMatch, IssuedCommand, NextEvent, ReplayCursor};
pub use divergence::{Difference, Divergence, ReplayStep};
pub use head::{AppendRefusal, JournalHead};
pub use outline::Outline;
pub use record::{
    CommandKind, EngineFacts, LogLevel, LogLine, Outcome, Record, RecordBody, StepResult,
};
pub use request::{CommandRequest, FieldValue, RequestField};
pub use seed::Seed;
