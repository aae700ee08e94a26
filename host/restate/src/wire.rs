//! Messages of both families: `Start`, and the components of other messages.
//!
//! The messages have the fields of all versions. [`StartMessage::in_version`] and similar functions remove
//! the fields that an earlier version lacks.

use bytes::Bytes;
use prost::Message;

use crate::version::ProtocolVersion;

/// The first frame of an attempt, sent by the runtime.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StartMessage {
    /// The bytes of the invocation's id, the same in every attempt.
    #[prost(bytes = "bytes", tag = "1")]
    pub id: Bytes,
    /// The textual id, for display.
    #[prost(string, tag = "2")]
    pub debug_id: String,
    /// Number of stored frames that follow, including the input.
    #[prost(uint32, tag = "3")]
    pub known_entries: u32,
    /// State of the handler's key.
    #[prost(message, repeated, tag = "4")]
    pub state_map: Vec<StateEntry>,
    /// True if there may be more state than in `state_map`.
    #[prost(bool, tag = "5")]
    pub partial_state: bool,
    /// The key of an object or a workflow; empty for other services.
    #[prost(string, tag = "6")]
    pub key: String,
    /// Number of failed attempts since the journal last grew. From V2.
    #[prost(uint32, tag = "7")]
    pub retry_count: u32,
    /// Milliseconds since the journal last grew. From V2.
    #[prost(uint64, tag = "8")]
    pub since_last_entry_ms: u64,
    /// Seed of the handler's random numbers, the same in every attempt. From V6.
    #[prost(uint64, tag = "9")]
    pub random_seed: u64,
    /// The scope of the invocation. From V7.
    #[prost(string, optional, tag = "10")]
    pub scope: Option<String>,
    /// The concurrency limit that applies to the invocation. From V7.
    #[prost(string, optional, tag = "11")]
    pub limit_key: Option<String>,
    /// The idempotency key of the call. From V7.
    #[prost(string, optional, tag = "12")]
    pub idempotency_key: Option<String>,
}

impl StartMessage {
    /// Removes the fields that `version` does not have.
    pub fn in_version(mut self, version: ProtocolVersion) -> Self {
        if version < ProtocolVersion::V2 {
            self.retry_count = 0;
            self.since_last_entry_ms = 0;
        }
        if version < ProtocolVersion::V6 {
            self.random_seed = 0;
        }
        if version < ProtocolVersion::V7 {
            self.scope = None;
            self.limit_key = None;
            self.idempotency_key = None;
        }
        self
    }
}

/// A state key with its value. The value may be empty.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StateEntry {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// A header of a request.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Header {
    /// Name of the header.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Value of the header.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// The result without a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Void {}

/// Bytes, possibly empty, wrapped in a message so that they can also be absent.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ValueMessage {
    #[prost(bytes = "bytes", tag = "1")]
    pub content: Bytes,
}

impl From<Bytes> for ValueMessage {
    fn from(content: Bytes) -> Self {
        Self { content }
    }
}

/// A terminal failure: visible to the handler or its caller, and not retried.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Failure {
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "2")]
    pub message: String,
    /// Additional facts. From V6.
    #[prost(message, repeated, tag = "3")]
    pub metadata: Vec<FailureMetadata>,
}

impl Failure {
    /// Creates a failure without metadata.
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), metadata: Vec::new() }
    }

    pub(crate) fn trim(&mut self, version: ProtocolVersion) {
        if version < ProtocolVersion::V6 {
            self.metadata.clear();
        }
    }
}

/// A fact about a failure.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct FailureMetadata {
    /// Name of the fact.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Value of the fact.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// The keys of the whole state.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StateKeys {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub keys: Vec<Bytes>,
}

/// A reference to an invocation by workflow name and key.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct WorkflowTarget {
    #[prost(string, tag = "1")]
    pub workflow_name: String,
    #[prost(string, tag = "2")]
    pub workflow_key: String,
    /// The scope. From V7.
    #[prost(string, optional, tag = "3")]
    pub scope: Option<String>,
}

/// A reference to an invocation by the idempotency key of its call.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct IdempotentRequestTarget {
    #[prost(string, tag = "1")]
    pub service_name: String,
    /// The key of an object or a workflow.
    #[prost(string, optional, tag = "2")]
    pub service_key: Option<String>,
    #[prost(string, tag = "3")]
    pub handler_name: String,
    #[prost(string, tag = "4")]
    pub idempotency_key: String,
    /// The scope. From V7.
    #[prost(string, optional, tag = "5")]
    pub scope: Option<String>,
}

/// Outcome of an operation: bytes, or a failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OperationOutcome {
    /// Success with these bytes.
    Success(Bytes),
    /// Failure with these details.
    Failure(Failure),
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The field numbers in a message, in ascending order.
    pub(crate) fn fields(mut payload: &[u8]) -> Vec<u32> {
        let mut tags = Vec::new();
        while !payload.is_empty() {
            let (tag, kind) = prost::encoding::decode_key(&mut payload).unwrap();
            prost::encoding::skip_field(kind, tag, &mut payload, Default::default()).unwrap();
            tags.push(tag);
        }
        tags.sort_unstable();
        tags
    }

    fn whole() -> StartMessage {
        let text = || Some("t".to_owned());
        let entry = StateEntry { key: "k".into(), value: "v".into() };
        StartMessage {
            id: "id".into(),
            debug_id: "inv".into(),
            known_entries: 3,
            state_map: vec![entry],
            partial_state: true,
            key: "key".into(),
            retry_count: 1,
            since_last_entry_ms: 2,
            random_seed: 3,
            scope: text(),
            limit_key: text(),
            idempotency_key: text(),
        }
    }

    #[test]
    fn a_start_has_the_fields_of_its_version() {
        let rows = [
            (ProtocolVersion::V1, (0, 0, 0, false)),
            (ProtocolVersion::V2, (1, 2, 0, false)),
            (ProtocolVersion::V3, (1, 2, 0, false)),
            (ProtocolVersion::V5, (1, 2, 0, false)),
            (ProtocolVersion::V6, (1, 2, 3, false)),
            (ProtocolVersion::V7, (1, 2, 3, true)),
            (ProtocolVersion::V8, (1, 2, 3, true)),
        ];
        for (version, (retries, since, seed, scoped)) in rows {
            let start = whole().in_version(version);
            let numbers = (start.retry_count, start.since_last_entry_ms, start.random_seed);
            assert_eq!(numbers, (retries, since, seed), "{version}");
            for field in [&start.scope, &start.limit_key, &start.idempotency_key] {
                assert_eq!(field.is_some(), scoped, "{version}");
            }
        }
    }

    #[test]
    fn the_fields_of_a_start_have_these_numbers() {
        assert_eq!(fields(&whole().encode_to_vec()), (1..=12).collect::<Vec<_>>());
    }
}
