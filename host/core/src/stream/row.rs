//! The row of a stream.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_json;
use crate::{
    id::StreamId,
    time::{Millis, Timestamp},
    value::Text,
};

/// Longest time after a use in which reads do not extend the lifetime of a stream.
const EXTENSION_PERIOD_MAX: Millis = Millis(60_000);

/// A stream, without its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurableStream {
    pub id: StreamId,
    pub content_type: Text,
    /// Position after the last item.
    pub tail: u64,
    /// Stored bytes.
    pub bytes: u64,
    pub created_at: Timestamp,
    /// Instant of the last append, or of the last read that extended the lifetime.
    pub used_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<StreamClosure>,
    #[serde(default, skip_serializing_if = "StreamLifetime::is_unlimited")]
    pub lifetime: StreamLifetime,
    /// The largest label of an append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Text>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub producers: BTreeMap<Text, ProducerState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<StreamOrigin>,
    /// Number of streams that were forked from it and exist.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forks: u32,
    /// True if it was deleted while forks of it existed. Its data is gone; its id stays taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// The end of the time that the data takes at the limit of its rate, in microseconds since
    /// 1970. `None` if the host that appended last has no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_until_us: Option<i64>,
}

/// The batch that closed a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamClosure {
    /// Producer, epoch and number of the batch. `None` if it had no producer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<(Text, u64, u64)>,
}

/// When a stream expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamLifetime {
    #[default]
    Unlimited,
    /// At an instant.
    Until(Timestamp),
    /// After this time without a read or an append.
    Idle(Millis),
}

/// Position of a producer in its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerState {
    pub epoch: u64,
    /// Number of its last batch.
    pub seq: u64,
    /// Instant of its last batch.
    pub at: Timestamp,
}

/// The stream and the position that a stream was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamOrigin {
    pub source: StreamId,
    pub offset: u64,
    #[serde(default, skip_serializing_if = "is_zero_position")]
    pub sub_offset: u64,
}

/// State of a stream for its readers and writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStatus {
    Open,
    Closed,
    /// Deleted, while forks of it exist.
    Gone,
    /// Expired, and not removed yet.
    Expired,
}

impl StreamLifetime {
    fn is_unlimited(&self) -> bool {
        *self == Self::Unlimited
    }
}

impl DurableStream {
    /// True if the stream consists of JSON messages.
    pub fn is_json(&self) -> bool {
        is_json(&self.content_type)
    }

    /// True if it belongs to no execution.
    pub(crate) fn owner_is_none(&self) -> bool {
        self.id.owner().is_none()
    }

    /// Instant at which it expires. `None` if it does not.
    pub fn expires_at(&self) -> Option<Timestamp> {
        match self.lifetime {
            StreamLifetime::Unlimited => None,
            StreamLifetime::Until(at) => Some(at),
            StreamLifetime::Idle(ttl) => Some(self.used_at + ttl),
        }
    }

    /// The state, if the execution that it belongs to is not settled.
    pub fn status(&self, now: Timestamp) -> StreamStatus {
        match () {
            () if self.deleted => StreamStatus::Gone,
            () if self.expires_at().is_some_and(|at| at <= now) => StreamStatus::Expired,
            () if self.closed.is_some() => StreamStatus::Closed,
            () => StreamStatus::Open,
        }
    }

    /// True if a read now extends the lifetime. A read shortly after another use does not, so that
    /// many readers cost few writes.
    pub fn is_extended_by_read(&self, now: Timestamp) -> bool {
        match self.lifetime {
            StreamLifetime::Unlimited | StreamLifetime::Until(_) => false,
            StreamLifetime::Idle(ttl) => {
                now.since(self.used_at) >= Millis(ttl.0 / 20).min(EXTENSION_PERIOD_MAX)
            }
        }
    }

    /// Instant at which the engine has to look at the stream. `None` if there is nothing to do.
    pub fn due_at(&self) -> Option<Timestamp> {
        match self.deleted {
            true => (self.forks == 0).then_some(self.used_at),
            false => self.expires_at(),
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_zero_position(position: &u64) -> bool {
    *position == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stored form: later versions must read what this version writes.
    #[test]
    fn a_row_is_read_as_it_was_written() {
        let small = r#"{"id":"w/stream/out","content_type":"text/plain","tail":3,"bytes":3,"created_at":5,"used_at":7}"#;
        let whole = r#"{"id":"a","content_type":"application/json","tail":2,"bytes":8,"created_at":1,"used_at":2,"closed":{"by":["p",1,0]},"lifetime":{"idle":1000},"label":"9","producers":{"p":{"epoch":1,"seq":0,"at":2}},"origin":{"source":"b","offset":1,"sub_offset":1},"forks":2,"deleted":true,"busy_until_us":1000}"#;
        for stored in [small, whole] {
            let row: DurableStream = serde_json::from_str(stored).expect("a stored row");
            assert_eq!(serde_json::to_string(&row).expect("JSON"), stored);
        }
        let row: DurableStream = serde_json::from_str(whole).expect("a stored row");
        assert_eq!(row.closed, Some(StreamClosure { by: Some(("p".into(), 1, 0)) }));
        assert_eq!(row.lifetime, StreamLifetime::Idle(Millis(1_000)));
    }
}
