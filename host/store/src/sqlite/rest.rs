//! Releases the resources of an idle store: the writer's cached rows, SQLite's page caches, and the
//! space of the write-ahead log.
//!
//! All of these are bounded (see the table in `docs/operating/operations.md`), but without this a
//! host would keep the memory of its busiest time forever. The next commit loads again what it
//! needs.

use std::sync::Weak;

use segno_core::time::Millis;
use segno_env::Env;

use super::{SqliteStore, writer::WriterRequest};
use crate::{StoreError, heap};

/// Period of the idle check, and the time a store must be quiet.
const QUIET: Millis = Millis::seconds(5);
/// Maximum number of commits in that time for the store to count as idle.
const FEW: u64 = 5;
/// Bytes of each kind that stay allocated. A host with occasional commits keeps its rows cached,
/// and overwrites its log, which is twice as fast as extending it.
const KEPT: u64 = 4 << 20;

/// Memory and disk space in use before the release, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Rows of promises in the writer's cache.
    pub row_bytes: u64,
    /// Page cache of the writer's connection.
    pub writer_bytes: u64,
    /// Page caches of the read connections.
    pub reader_bytes: u64,
    /// Size of the write-ahead log.
    pub log_bytes: u64,
}

/// Runs until the store is closed or dropped.
pub(super) async fn run(store: Weak<SqliteStore>, env: Env) {
    let mut before = 0;
    loop {
        env.runtime.sleep(QUIET).await;
        let Some(store) = store.upgrade() else { break };
        let commits = store.written().commits;
        let quiet = commits - before <= FEW;
        before = commits;
        if !quiet {
            continue;
        }
        match store.rest(KEPT).await {
            Ok(held) => tracing::debug!(?held, "an idle store released resources"),
            Err(StoreError::Closed) => break,
            Err(error) => tracing::warn!(%error, "an idle store could not release resources"),
        }
    }
}

impl SqliteStore {
    /// Releases each resource that exceeds `kept` bytes, and returns the sizes before.
    ///
    /// # Errors
    /// [`StoreError`], if some of it was not released.
    pub(crate) async fn rest(&self, kept: u64) -> Result<MemoryUse, StoreError> {
        let mut held = self.ask(|answer| WriterRequest::Rest { kept, answer }).await??;
        // The linked SQLite pools unused pages for the whole process: shrinking one connection
        // frees all.
        held.reader_bytes += self.reader.shrink(kept).await?;
        if let Some(clients) = &self.for_clients {
            held.reader_bytes += clients.reader.shrink(kept).await?;
        }
        heap::give_back();
        Ok(held)
    }
}
