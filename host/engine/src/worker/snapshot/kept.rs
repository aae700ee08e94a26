//! A snapshot as it is kept.

use segno_core::invocation::Record;
use segno_guest::MemoryChange;
use serde::{Deserialize, Serialize};

use crate::worker::recording::Place;

/// The program that wrote a snapshot: others make their own.
const WRITER: &str = concat!("segno ", env!("CARGO_PKG_VERSION"), ", format 3");

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    writer: String,
    /// The last record that the instance repeated: with it and the first one, the journal is known
    /// to be the same.
    pub last: Record,
    /// Where its recorder stood.
    pub place: Place,
    /// What its instance kept that a new one does not.
    pub change: MemoryChange,
}

impl Kept {
    /// A snapshot of this program.
    pub fn new(last: Record, place: Place, change: MemoryChange) -> Self {
        Self { writer: WRITER.to_owned(), last, place, change }
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a snapshot holds nothing postcard refuses")
    }

    /// What was encoded, if this program did it.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        // The writer first: what follows may be of another shape.
        let (writer, _) = postcard::take_from_bytes::<String>(bytes).ok()?;
        (writer == WRITER).then(|| postcard::from_bytes(bytes).ok()).flatten()
    }

    /// Number of records that the instance repeated.
    pub fn len(&self) -> u32 {
        self.place.outline().head().len
    }
}
