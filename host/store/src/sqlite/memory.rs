//! What the writer holds in memory of the database. It is committed, except while a batch is being decided.

use std::sync::Arc;

use super::{
    connection::{Connection, Failed},
    load,
    recent::{Recent, Underway},
};
use crate::sql::Cache;

/// Bytes of promises that are held in memory, so that a commit about them reads nothing.
const CACHED_BYTES: usize = 112 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Memory {
    /// The rows that decisions read.
    pub(super) cache: Cache,
    /// The ends of journals that grow.
    pub(super) recent: Recent,
}

impl Memory {
    /// Reads what is always held. So many promises are held at most, of those that commands will be about.
    pub(super) fn read(
        connection: &mut Connection,
        promises: usize,
        underway: Arc<Underway>,
    ) -> Result<Self, Failed> {
        let mut cache = load::begin(connection)?;
        cache.limit = promises;
        cache.byte_limit = CACHED_BYTES;
        Ok(Self { cache, recent: Recent::read(connection, underway)? })
    }

    /// Forgets what decisions can read again; what claims under way appended stays.
    pub(super) fn forget(&mut self) {
        self.cache.forget_all();
    }

    /// Takes note that a batch is committed.
    pub(super) fn committed(&mut self) {
        self.cache.end_batch();
        self.recent.committed();
    }
}
