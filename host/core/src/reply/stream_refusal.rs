//! Refusals of commands on streams.

use crate::{
    id::{PromiseId, StreamId, StreamIdError},
    stream::StreamRate,
    time::Millis,
    value::Text,
};

/// Reason why a command on a stream was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamRefusal {
    #[error("{}", absent(.0))]
    NotFound(StreamId),
    #[error(transparent)]
    BadId(#[from] StreamIdError),
    /// The execution that the stream would belong to does not exist.
    #[error("there is no execution `{0}`, so it has no streams")]
    NoExecution(PromiseId),
    /// It was deleted while forks of it existed.
    #[error("the stream `{0}` was deleted, and streams that were forked from it exist")]
    Gone(StreamId),
    #[error("the stream `{id}` is closed at {tail}: nothing can be appended")]
    Closed {
        id: StreamId,
        /// Its final position.
        tail: u64,
    },
    #[error("the stream `{id}` has the content type `{stored}`, and the request has `{given}`")]
    ContentType { id: StreamId, stored: Text, given: Text },
    /// The stream exists with other settings.
    #[error("the stream `{id}` exists, with another {part}")]
    Differs {
        id: StreamId,
        /// The first setting that differs.
        part: &'static str,
    },
    /// The label of the append is not larger than the last one.
    #[error(
        "the sequence `{given}` is not after `{last}`, the last one appended to the stream `{id}`"
    )]
    LabelRegression { id: StreamId, given: Text, last: Text },
    /// A producer of a later epoch has appended.
    #[error("the producer `{producer}` appends in epoch {current} by now, and {given} was given")]
    StaleEpoch { producer: Text, given: u64, current: u64 },
    /// A new epoch begins with another number than 0.
    #[error("the producer `{producer}` begins the epoch {epoch} with batch {seq}: begin with 0")]
    EpochStart { producer: Text, epoch: u64, seq: u64 },
    /// Batches of the producer are missing.
    #[error("the batch {received} of the producer `{producer}` came before batch {expected}")]
    SequenceGap { producer: Text, expected: u64, received: u64 },
    /// The position lies after the end of the source of a fork.
    #[error("the position {offset} lies beyond the end of the stream `{id}`, {tail}")]
    BeyondTail { id: StreamId, offset: u64, tail: u64 },
    /// The stream, or the append, is too large.
    #[error("{bytes} bytes are too many for {of}: {limit} are the most")]
    TooLarge {
        of: &'static str,
        bytes: u64,
        /// Maximum number of bytes.
        limit: u64,
    },
    /// The stream takes no more at its rate for now.
    #[error(
        "the stream `{id}` takes at most {} bytes a second (--limit stream_bytes_per_second={}): append again in {} ms",
        .rate.bytes_per_second, .rate.bytes_per_second, .wait.0
    )]
    TooFast {
        id: StreamId,
        rate: StreamRate,
        /// Time after which the same append is accepted, if nothing else is appended.
        wait: Millis,
    },
    /// A client may not do this to the stream of an execution or of an object.
    #[error("`{id}` is a stream of an execution or of an object: {rule}")]
    OfExecution {
        id: StreamId,
        /// The rule that the request breaks.
        rule: &'static str,
    },
    /// The claim is not that of the execution or of one of its activities.
    #[error("`{claimed}` is no activity of the execution that the stream `{id}` belongs to")]
    Foreign { id: StreamId, claimed: PromiseId },
}

/// Says that a stream does not exist, and how to find those that do.
fn absent(id: &StreamId) -> String {
    match id.owner() {
        None => format!("there is no stream `{id}`"),
        Some(owner) => format!(
            "`{owner}` has no stream `{}`; `segno stream {owner}` shows which there are",
            id.name()
        ),
    }
}

impl StreamRefusal {
    /// Code in the protocol.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadId(_) | Self::EpochStart { .. } | Self::BeyondTail { .. } => 400,
            Self::StaleEpoch { .. } => 403,
            Self::NotFound(_) | Self::NoExecution(_) => 404,
            Self::OfExecution { .. } => 405,
            Self::Closed { .. }
            | Self::ContentType { .. }
            | Self::Differs { .. }
            | Self::LabelRegression { .. }
            | Self::SequenceGap { .. } => 409,
            Self::Gone(_) => 410,
            Self::TooLarge { .. } => 413,
            Self::Foreign { .. } => 422,
            Self::TooFast { .. } => 429,
        }
    }

    /// A short stable identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound(_) | Self::NoExecution(_) => "unknown-stream",
            Self::BadId(_) | Self::EpochStart { .. } => "bad-request",
            Self::Gone(_) => "stream-gone",
            Self::Closed { .. } => "stream-closed",
            Self::ContentType { .. } => "stream-content-type",
            Self::Differs { .. } => "stream-differs",
            Self::LabelRegression { .. } => "stream-sequence",
            Self::StaleEpoch { .. } => "stale-epoch",
            Self::SequenceGap { .. } => "sequence-gap",
            Self::BeyondTail { .. } => "beyond-the-end",
            Self::TooLarge { .. } => "too-large",
            Self::TooFast { .. } => "stream-rate",
            Self::OfExecution { .. } => "stream-of-execution",
            Self::Foreign { .. } => "unprocessable",
        }
    }
}
