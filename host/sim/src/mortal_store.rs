//! The store as one incarnation of a host sees it: the host may die or be left in doubt at any of
//! its commits.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use segno_core::{command::Command, reply::Reply};
use segno_store::{Store, StoreError};

use super::{
    commit_fault::PlannedFaults,
    gated_store::{GatedStore, StoreGate},
};

/// Lets everything pass until the host dies, and nothing afterwards.
pub struct MortalGate {
    inner: Arc<dyn Store>,
    faults: Arc<PlannedFaults>,
    dead: AtomicBool,
}

/// The store of one incarnation.
pub type MortalStore = GatedStore<MortalGate>;

impl MortalStore {
    /// Creates the view of a new incarnation.
    pub fn new(inner: Arc<dyn Store>, faults: Arc<PlannedFaults>) -> Self {
        Self(MortalGate { inner, faults, dead: AtomicBool::new(false) })
    }
}

#[async_trait]
impl StoreGate for MortalGate {
    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    async fn pass(&self) -> Result<(), StoreError> {
        if self.dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn commit(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.pass().await?;
        let fault = self.faults.next_commit();
        let write = self.inner.execute(commands);
        let Some(fault) = fault else { return write.await };
        let die = || {
            self.dead.store(true, Ordering::Relaxed);
            self.faults.crash.notify_one();
        };
        Err(fault.perform(write, die).await)
    }
}
