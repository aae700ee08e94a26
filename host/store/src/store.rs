//! The store: commands in, replies out, and the parts that are read.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{command::Command, reply::Reply};

use super::{CallTree, Modules, Read, Scan, StoreError, WorkQueue};

/// Where everything that matters is kept.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Decides `commands` one after the other, each on the state that the one before it left, and
    /// commits them together; other submissions may share the transaction. One reply each, in
    /// order.
    ///
    /// # Errors
    /// See [`StoreError`]: `UnknownOutcome` means it may have happened, and the same commands may
    /// be sent again.
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError>;

    /// As [`Store::execute`], for a caller that keeps the commands to send them again.
    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError>;

    /// Reads.
    fn read(&self) -> &dyn Read;

    /// The work that waits for a host.
    fn work_queue(&self) -> &dyn WorkQueue;

    /// Reads of the whole store, a page at a time.
    fn scan(&self) -> &dyn Scan;

    /// Reads of the tree of calls.
    fn call_tree(&self) -> &dyn CallTree;

    /// The modules.
    fn modules(&self) -> &dyn Modules;

    /// The same store for the reads of clients. They have connections of their own, so that they
    /// take none from the engine, and a time limit each ([`StoreError::TooLong`]). None: this store
    /// does not tell clients apart.
    fn for_clients(&self) -> Option<Arc<dyn Store>>;

    /// Checks that writes are committed at present: the last one was, a moment ago, or a small one
    /// is made.
    async fn check_writes(&self) -> Result<(), StoreError>;

    /// Gives a bounded amount of free space back to the file system. Returns whether there is more.
    /// A store whose database does this by itself has nothing to do.
    async fn vacuum(&self) -> Result<bool, StoreError>;

    /// Removes everything but modules, aliases and hosts; for debugging.
    async fn wipe(&self) -> Result<(), StoreError>;

    /// Commits what was submitted, and gives the data directory back.
    async fn close(&self);
}
