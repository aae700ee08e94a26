//! Gives back what a store holds to be fast, once next to nothing is committed any more: the rows
//! that the writer keeps, the pages that SQLite keeps, and the room of the write-ahead log.
//!
//! All of it is bounded (`docs/operations.md` has the table), but what a busy host took would stay
//! for ever: nothing that a quiet one does pushes it out. The next commit reads what it needs
//! again.

use std::sync::Weak;

use segno_core::time::Millis;
use segno_env::Env;

use super::{SqliteStore, writer::WriterRequest};
use crate::{StoreError, heap};

/// How long a store has to be quiet, and how often it gives back what it holds by then.
const QUIET: Millis = Millis(30_000);
/// A store with no more commits than this in that time is idle.
const FEW: u64 = 30;
/// Bytes of each kind that are kept: a host that does a little now and then has its rows at
/// hand, and overwrites its log, which takes half as long as making it longer.
const KEPT: u64 = 4 << 20;

/// What was held, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Rows of promises that the writer kept for its next decisions.
    pub row_bytes: u64,
    /// Pages that the writer's connection kept.
    pub writer_bytes: u64,
    /// Pages that readers' connections kept.
    pub reader_bytes: u64,
    /// The write-ahead log.
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
            Ok(held) => tracing::debug!(?held, "a quiet store gave back what it held"),
            Err(StoreError::Closed) => break,
            Err(error) => tracing::warn!(%error, "a quiet store could not give back what it holds"),
        }
    }
}

impl SqliteStore {
    /// Gives back what is held, where that is more than `kept` bytes, and says what was held.
    ///
    /// # Errors
    /// [`StoreError`]: some of it is still held.
    pub(crate) async fn rest(&self, kept: u64) -> Result<Held, StoreError> {
        let mut held = self.ask(|answer| WriterRequest::Rest { kept, answer }).await??;
        // The SQLite that is linked here pools the unused pages of the process: one connection that
        // shrinks empties all.
        held.reader_bytes += self.reader.shrink(kept).await?;
        if let Some(clients) = &self.for_clients {
            held.reader_bytes += clients.reader.shrink(kept).await?;
        }
        heap::give_back();
        Ok(held)
    }
}
