//! The stored form of a snapshot.

use segno_core::invocation::Record;
use segno_guest::MemoryChange;
use serde::{Deserialize, Serialize};

use crate::worker::recording::RecorderPosition;

/// The program version that wrote a snapshot. Other versions do not use it.
const WRITER: &str = concat!("segno ", env!("CARGO_PKG_VERSION"), ", format 3");

/// A snapshot in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredSnapshot {
    writer: String,
    /// The last record that the instance repeated. Together with the first one, it identifies the
    /// journal.
    pub last: Record,
    /// The place of its recorder.
    pub place: RecorderPosition,
    /// The memory of its instance, as the difference from a new one.
    pub change: MemoryChange,
}

impl StoredSnapshot {
    /// A snapshot of this program version.
    pub(super) fn new(last: Record, place: RecorderPosition, change: MemoryChange) -> Self {
        Self { writer: WRITER.to_owned(), last, place, change }
    }

    /// The encoded snapshot.
    pub(super) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a snapshot holds nothing postcard refuses")
    }

    /// Decodes a snapshot. `None` if another program version wrote it.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        // The writer is read first, since the rest may have another format.
        let (writer, _) = postcard::take_from_bytes::<String>(bytes).ok()?;
        (writer == WRITER).then(|| postcard::from_bytes(bytes).ok()).flatten()
    }

    /// Number of records that the instance repeated.
    pub(super) fn len(&self) -> u32 {
        self.place.outline().head().len
    }
}
