//! Messages outside the journal.

use prost::Message;

use super::entry::EntryResult;
use crate::version::ProtocolVersion;

/// Delivers the result of an entry.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Completion {
    /// Index of the entry.
    #[prost(uint32, tag = "1")]
    pub entry_index: u32,
    #[prost(oneof = "EntryResult", tags = "13, 14, 15")]
    pub result: Option<EntryResult>,
}

/// Ends the attempt; the invocation continues when one of these entries has its result.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Suspension {
    /// Indexes of the entries.
    #[prost(uint32, repeated, tag = "1")]
    pub entry_indexes: Vec<u32>,
}

/// Reports that the attempt failed.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ErrorMessage {
    /// The code: an HTTP status, or one of [`failure`](crate::failure).
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "2")]
    pub message: String,
    /// Details for the author of the handler.
    #[prost(string, tag = "3")]
    pub description: String,
    /// Index of the related entry.
    #[prost(uint32, optional, tag = "4")]
    pub related_entry_index: Option<u32>,
    /// Name of the related entry.
    #[prost(string, optional, tag = "5")]
    pub related_entry_name: Option<String>,
    /// Type of the related entry.
    #[prost(uint32, optional, tag = "6")]
    pub related_entry_type: Option<u32>,
    /// Milliseconds until the next attempt; overrides the retry policy. From V2.
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

/// Acknowledges that an entry is stored, if its sender requested it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct EntryAck {
    /// Index of the entry.
    #[prost(uint32, tag = "1")]
    pub entry_index: u32,
}
