//! Stores that give wrong answers on purpose.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use segno_core::{
    command::Command, id::PromiseId, promise::Settlement, reply::Reply, time::Timestamp,
};
use segno_store::{PromiseRow, StoreError};

use super::clients::Served;

/// Defect of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Some reads return an earlier state.
    StaleRead,
    /// Some settlements are confirmed but not stored.
    LostWrite,
    /// Some claims are granted twice.
    DoubleGrant,
}

/// A store with a defect.
pub struct LyingStore {
    honest: Arc<dyn Served>,
    lie: Lie,
    count: AtomicU64,
    seen: Mutex<BTreeMap<PromiseId, Reply>>,
    now: Timestamp,
}

impl LyingStore {
    /// Wraps a correct store whose clock shows `now`.
    pub fn new(honest: Arc<dyn Served>, lie: Lie, now: Timestamp) -> Self {
        Self { honest, lie, count: AtomicU64::new(0), seen: Mutex::default(), now }
    }

    async fn tell(&self, command: Command) -> Result<Reply, StoreError> {
        self.honest.execute(command).await
    }
}

#[async_trait]
impl Served for LyingStore {
    async fn read(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        self.honest.read(id).await
    }

    async fn execute(&self, command: Command) -> Result<Reply, StoreError> {
        let lies = self.count.fetch_add(1, Ordering::Relaxed) % 5 == 4;
        match (&command, self.lie) {
            (Command::PromiseGet { id }, Lie::StaleRead) if lies => {
                let old = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
                if let Some(old) = old {
                    return Ok(old);
                }
            }
            (Command::PromiseSettle { id, verdict, value }, Lie::LostWrite) if lies => {
                let get = Command::PromiseGet { id: id.clone() };
                if let Reply::Promise { promise, .. } = self.tell(get).await?
                    && promise.is_pending()
                {
                    let (verdict, value) = (*verdict, Some(value.clone()));
                    let settlement = Settlement { verdict, value, settled_at: self.now };
                    return Ok(Reply::Promise {
                        promise: promise.settled(settlement),
                        changed: true,
                    });
                }
            }
            (Command::TaskAcquire { claim, .. }, Lie::DoubleGrant) => {
                let reply = self.tell(command.clone()).await?;
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Reply::Task(_) = &reply {
                    seen.insert(claim.id.clone(), reply.clone());
                } else if let Some(granted) = seen.get(&claim.id) {
                    return Ok(granted.clone());
                }
                return Ok(reply);
            }
            _ => {}
        }
        let reply = self.tell(command).await?;
        if let Reply::Promise { promise, .. } = &reply {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.entry(promise.id().clone()).or_insert_with(|| reply.clone());
        }
        Ok(reply)
    }
}
