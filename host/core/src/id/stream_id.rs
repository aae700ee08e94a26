//! Ids of streams.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{MalformedName, NameLengthError, ObjectId, PromiseId, check_name, fits};
use crate::value::Text;

/// Separates the id of an execution from the name of its stream.
const OF_EXECUTION: &str = "/stream/";

/// Id of a stream: `{invocation}/stream/{name}` for a stream of an execution, any other path for a
/// stream that belongs to nothing. The streams of an object belong to a promise of the object
/// ([`ObjectId::streams`]).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StreamId(Text);

/// Error: a text that cannot be the id of a new stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamIdError {
    #[error(transparent)]
    Malformed(#[from] MalformedName),
    #[error(transparent)]
    TooLong(#[from] NameLengthError),
    /// The name of a stream contains a slash.
    #[error("the stream name `{0}` contains a slash: a name is one segment of the address")]
    Slash(String),
}

impl StreamId {
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    /// The stream with this name of an execution.
    pub fn of_execution(invocation: &PromiseId, name: &str) -> Self {
        Self::new(format!("{invocation}{OF_EXECUTION}{name}"))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The execution that the stream belongs to. `None` if it belongs to nothing.
    pub fn owner(&self) -> Option<PromiseId> {
        self.parts().map(|(owner, _)| PromiseId::from(owner))
    }

    /// True if the stream belongs to an object, whose executions write it in turn.
    pub fn is_of_object(&self) -> bool {
        self.owner().is_some_and(|owner| ObjectId::of_streams(&owner).is_some())
    }

    /// The name within the execution, or the whole path.
    pub fn name(&self) -> &str {
        self.parts().map_or(self.as_str(), |(_, name)| name)
    }

    /// Checks the id of a new stream.
    ///
    /// # Errors
    /// [`StreamIdError`].
    pub fn check(&self) -> Result<(), StreamIdError> {
        fits("the id of the stream", self.as_str())?;
        if let Some((_, after)) = self.as_str().rsplit_once(OF_EXECUTION)
            && after.contains('/')
        {
            return Err(StreamIdError::Slash(after.to_owned()));
        }
        Ok(check_name("the name of the stream", self.name())?)
    }

    fn parts(&self) -> Option<(&str, &str)> {
        let (owner, name) = self.as_str().rsplit_once(OF_EXECUTION)?;
        (!owner.is_empty() && !name.contains('/')).then_some((owner, name))
    }
}

impl From<&str> for StreamId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_stream_names_its_execution() {
        let id = StreamId::of_execution(&"order/42".into(), "tokens");
        assert_eq!(id.as_str(), "order/42/stream/tokens");
        assert_eq!((id.owner(), id.name()), (Some("order/42".into()), "tokens"));
        let nested = StreamId::from("a/stream/b/stream/c");
        assert_eq!((nested.owner(), nested.name()), (Some("a/stream/b".into()), "c"));
        for free in ["chat/1", "stream/x", "/stream/x", "x/streams/y"] {
            assert_eq!(StreamId::from(free).owner(), None, "{free}");
            assert_eq!(StreamId::from(free).check(), Ok(()), "{free}");
        }
        for bad in ["a/stream/", "a/stream/b/c", "", "a/stream/.."] {
            assert!(StreamId::from(bad).check().is_err(), "{bad}");
        }
        assert!(StreamId::new("x".repeat(3_000)).check().is_err());
    }
}
