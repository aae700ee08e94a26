//! The store interface: executes commands, and gives access to the read operations.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{command::Command, reply::Reply};

use super::{CallTree, Modules, Read, Scan, StoreError, WorkQueue};

/// A durable store of promises, tasks, journals and modules.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Decides `commands` in order, each on the state left by the previous one, and commits them
    /// together. Other submissions may share the transaction. Returns one reply per command, in
    /// order.
    ///
    /// # Errors
    /// See [`StoreError`]. After `UnknownOutcome` the commit may have happened; the same commands
    /// may be sent again.
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError>;

    /// Like [`Store::execute`], for a caller that keeps the commands for a retry.
    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.execute(commands.to_vec()).await
    }

    /// Read operations on single entities and listings.
    fn read(&self) -> &dyn Read;

    /// The work that waits for a host.
    fn work_queue(&self) -> &dyn WorkQueue;

    /// Read operations over the whole store, page by page.
    fn scan(&self) -> &dyn Scan;

    /// Reads of the call tree.
    fn call_tree(&self) -> &dyn CallTree;

    fn modules(&self) -> &dyn Modules;

    /// The same store for reads by API clients, which use separate connections so that they take
    /// none from the engine, and have a time limit each ([`StoreError::TooLong`]). `None` if this
    /// store does not separate clients from the engine.
    fn for_clients(&self) -> Option<Arc<dyn Store>>;

    /// Checks that writes currently succeed: a recent commit counts as proof, otherwise a small
    /// write is made.
    async fn check_writes(&self) -> Result<(), StoreError>;

    /// The databases of a store of several that did not answer lately, by their addresses.
    fn missing(&self) -> Vec<String> {
        Vec::new()
    }

    /// The same store for lists that leave out the databases that are [`missing`](Self::missing).
    /// `None` if the store has one database.
    fn present(&self) -> Option<Arc<dyn Store>> {
        None
    }

    /// Returns a bounded amount of free space to the file system. Returns true if there is more.
    /// Does nothing if the database does this by itself.
    async fn vacuum(&self) -> Result<bool, StoreError>;

    /// Deletes everything except modules, aliases and hosts; for debugging.
    async fn wipe(&self) -> Result<(), StoreError>;

    /// Commits pending submissions and releases the data directory.
    async fn close(&self);
}
