//! The database rows that the writer caches. They equal the committed rows, except while a batch is
//! being decided.

use std::sync::Arc;

use super::{
    connection::{Connection, FailedStatement},
    journal_buffer::{ActiveJournals, JournalBuffer},
    load,
};
use crate::sql::Cache;

/// Maximum bytes of cached promises, about which a commit reads no row.
const CACHED_BYTES: usize = 64 << 20;
/// The part of them that settled promises may take.
const SETTLED_BYTES: usize = 8 << 20;

#[derive(Debug)]
pub(super) struct WriterCache {
    /// The rows that decisions read.
    pub(super) rows: Cache,
    /// Records that are not yet in the table `journal`.
    pub(super) journal_buffer: JournalBuffer,
}

impl WriterCache {
    /// Loads the rows that are always cached. Up to `promises` promises will be added.
    pub(super) fn read(
        connection: &mut Connection,
        promises: usize,
        active_journals: Arc<ActiveJournals>,
    ) -> Result<Self, FailedStatement> {
        let mut cache = load::begin(connection)?;
        cache.limit = promises;
        cache.byte_limit = CACHED_BYTES;
        cache.settled_byte_limit = SETTLED_BYTES;
        Ok(Self { rows: cache, journal_buffer: JournalBuffer::read(connection, active_journals)? })
    }

    /// Drops the rows that can be loaded again. The journal buffer stays.
    pub(super) fn forget(&mut self) {
        self.rows.forget_all();
    }

    /// Completes a committed batch.
    pub(super) fn committed(&mut self) {
        self.rows.end_batch();
        self.journal_buffer.committed();
    }
}
