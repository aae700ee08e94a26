//! What the writer holds in memory of the database. It is committed, except while a batch is being decided.

use std::sync::Arc;

use super::{
    connection::{Connection, Failed},
    journal_buffer::{ActiveJournals, JournalBuffer},
    load,
};
use crate::sql::Cache;

/// Bytes of promises that are held in memory, so that a commit about them reads nothing.
const CACHED_BYTES: usize = 112 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct WriterCache {
    /// The rows that decisions read.
    pub(super) rows: Cache,
    /// The ends of journals that grow.
    pub(super) journal_buffer: JournalBuffer,
}

impl WriterCache {
    /// Reads what is always held. So many promises are held at most, of those that commands will be about.
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

    /// Forgets what decisions can read again; what claims under way appended stays.
    pub(super) fn forget(&mut self) {
        self.rows.forget_all();
    }

    /// Takes note that a batch is committed.
    pub(super) fn committed(&mut self) {
        self.rows.end_batch();
        self.journal_buffer.committed();
    }
}
