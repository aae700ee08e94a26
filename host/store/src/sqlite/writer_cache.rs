//! The rows of the database that the writer keeps in memory. They are the committed ones, except
//! while a batch is being decided.

use std::sync::Arc;

use super::{
    connection::{Connection, Failed},
    journal_buffer::{ActiveJournals, JournalBuffer},
    load,
};
use crate::sql::Cache;

/// Bytes of promises that are kept, so that a commit about them reads no row.
const CACHED_BYTES: usize = 112 << 20;

/// The rows that the writer keeps.
#[derive(Debug)]
pub(super) struct WriterCache {
    /// The rows that decisions read.
    pub(super) rows: Cache,
    /// Records that the table `journal` does not have yet.
    pub(super) journal_buffer: JournalBuffer,
}

impl WriterCache {
    /// Reads the rows that are always kept. At most `promises` promises will be added to them.
    pub(super) fn read(
        connection: &mut Connection,
        promises: usize,
        active_journals: Arc<ActiveJournals>,
    ) -> Result<Self, Failed> {
        let mut cache = load::begin(connection)?;
        cache.limit = promises;
        cache.byte_limit = CACHED_BYTES;
        Ok(Self { rows: cache, journal_buffer: JournalBuffer::read(connection, active_journals)? })
    }

    /// Drops the rows that can be read again. The journal buffer stays.
    pub(super) fn forget(&mut self) {
        self.rows.forget_all();
    }

    /// Notes that a batch was committed.
    pub(super) fn committed(&mut self) {
        self.rows.end_batch();
        self.journal_buffer.committed();
    }
}
