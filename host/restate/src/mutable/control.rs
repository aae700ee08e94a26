//! Messages that are not part of the journal.

use prost::Message;

use super::entry::EntryResult;
use crate::version::ProtocolVersion;

/// The result of an entry came.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Completion {
    /// The index of the entry.
    #[prost(uint32, tag = "1")]
    pub entry_index: u32,
    /// The result.
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// The attempt ends here, and the invocation goes on when one of these entries has its result.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Suspension {
    /// The indexes of the entries.
    #[prost(uint32, repeated, tag = "1")]
    pub entry_indexes: Vec<u32>,
}

/// The attempt failed.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ErrorMessage {
    /// The code, one of HTTP or of [`failure`](crate::failure).
    #[prost(uint32, tag = "1")]
    pub code: u32,
    /// The message.
    #[prost(string, tag = "2")]
    pub message: String,
    /// More of it, for the author of the handler.
    #[prost(string, tag = "3")]
    pub description: String,
    /// The entry that it is about.
    #[prost(uint32, optional, tag = "4")]
    pub related_entry_index: Option<u32>,
    /// That entry's name.
    #[prost(string, optional, tag = "5")]
    pub related_entry_name: Option<String>,
    /// That entry's type.
    #[prost(uint32, optional, tag = "6")]
    pub related_entry_type: Option<u32>,
    /// Milliseconds until the next attempt, instead of what the policy says. From V2.
    #[prost(uint64, optional, tag = "8")]
    pub next_retry_delay_ms: Option<u64>,
}

impl ErrorMessage {
    pub(crate) fn trim(&mut self, version: ProtocolVersion) {
        if version < ProtocolVersion::V2 {
            self.next_retry_delay_ms = None;
        }
    }
}

/// An entry is stored, which asked to hear so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct EntryAck {
    /// The index of the entry.
    #[prost(uint32, tag = "1")]
    pub entry_index: u32,
}
