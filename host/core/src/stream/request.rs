//! Parameters of commands on streams.

use super::{StreamItems, StreamLifetime};
use crate::{
    id::{Claim, ObjectId, PromiseId, StreamId},
    value::Text,
};

/// Parameters of a new stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStream {
    pub id: StreamId,
    /// `None`: that of the stream it is forked from, else
    /// [`DEFAULT_CONTENT_TYPE`](super::DEFAULT_CONTENT_TYPE).
    pub content_type: Option<Text>,
    /// `None`: that of the stream it is forked from, else it does not expire.
    pub lifetime: Option<StreamLifetime>,
    /// True if nothing can be appended after the first data.
    pub closed: bool,
    /// The first data.
    pub items: StreamItems,
    pub fork: Option<StreamForkPoint>,
}

/// Where a fork leaves its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamForkPoint {
    pub source: StreamId,
    /// Position in the source. `None`: its end.
    pub offset: Option<u64>,
    /// Number of further positions.
    pub sub_offset: u64,
}

/// Data for the end of a stream, or a request to close it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamAppend {
    pub id: StreamId,
    /// Content type of the data. `None` if there is none.
    pub content_type: Option<Text>,
    pub items: StreamItems,
    /// Position of the producer, so that a repetition is stored once.
    pub producer: Option<ProducerPosition>,
    /// A label that is larger than that of every earlier append with a label, compared by bytes.
    pub label: Option<Text>,
    /// True if nothing can be appended afterwards.
    pub closes: bool,
    /// The claim of an activity that appends. The stream belongs to its execution, or to the one
    /// that called it, and is created if it does not exist.
    pub claim: Option<Claim>,
}

/// Position of a producer in its own sequence of batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerPosition {
    pub id: Text,
    /// Raised by each restart of the producer; a smaller one is refused.
    pub epoch: u64,
    /// Number of the batch, from 0 in each epoch.
    pub seq: u64,
}

/// Data that a workflow appends to a stream of its own execution, or of its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamItem {
    /// The object that the stream belongs to. `None`: it belongs to the execution.
    pub object: Option<ObjectId>,
    /// Name of the stream within the execution or the object.
    pub name: Text,
    /// Content type of the stream, if it does not exist yet.
    pub content_type: Text,
    pub items: StreamItems,
    /// True if nothing can be appended afterwards.
    pub closes: bool,
}

impl StreamItem {
    /// The streams that the item may be for: that of the object, or that of the invocation, and that
    /// of its first generation.
    pub fn streams_of(&self, invocation: &PromiseId) -> impl Iterator<Item = StreamId> {
        let owners = match &self.object {
            Some(object) => [Some(object.streams()), None],
            None => {
                let first = invocation.generation_of().map(|(first, _)| first);
                [Some(invocation.clone()), first]
            }
        };
        owners.into_iter().flatten().map(|id| StreamId::of_execution(&id, &self.name))
    }
}
