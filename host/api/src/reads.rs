//! Read permits for lists, inspections, trees and events.
//!
//! Client reads do not slow the engine down: they have separate database connections and few
//! permits, so that the processors stay available for commands. A read beyond the permits waits
//! briefly, in order of arrival, and is then refused with an indication of when to retry. The reads
//! of a start or a wait about its own invocation need no permit: they concern one row.

use std::{ops::Deref, sync::Arc};

use segno_core::time::Millis;
use segno_engine::host::Host;
use segno_store::{Store, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    admission::{self, AdmissionLimits},
    error::ApiError,
};

const FULL: &str = "the limit of concurrent reads is reached";

/// The read permits. Cheap to clone.
#[derive(Clone)]
pub struct ReadPermits {
    places: Arc<Semaphore>,
    patience: Millis,
}

/// The store with a read permit. A handler must hold it only during its reads, never while it waits
/// for something else.
pub struct PermittedRead {
    store: Arc<dyn Store>,
    /// The databases that were missing when a list began that leaves them out. `None` for other
    /// reads.
    missing: Option<Vec<String>>,
    _place: OwnedSemaphorePermit,
}

impl ReadPermits {
    /// Creates the permits, all of them free.
    pub(super) fn new(limits: AdmissionLimits) -> Self {
        let places = limits.reads.clamp(1, Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(places)), patience: limits.patience }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// No permit was free in time.
    pub(super) async fn place(&self, host: &Host) -> Result<PermittedRead, ApiError> {
        let place = admission::place(&self.places, self.patience, &host.env, FULL);
        Ok(PermittedRead { _place: place.await?, store: store(host), missing: None })
    }
}

/// The store's interface for client reads.
pub(super) fn store(host: &Host) -> Arc<dyn Store> {
    host.store.for_clients().unwrap_or_else(|| host.store.clone())
}

impl PermittedRead {
    /// The same, for a list that leaves out databases that do not answer if `partial` is true.
    pub(super) fn listing(self, partial: Option<bool>) -> Self {
        match self.store.present().filter(|_| partial == Some(true)) {
            Some(present) => Self { missing: Some(present.missing()), store: present, ..self },
            None => self,
        }
    }

    /// The error of a list. It names the databases that do not answer.
    pub(super) fn incomplete(&self, error: StoreError) -> ApiError {
        match (error, self.store.missing()) {
            (reason @ StoreError::Away { .. }, missing) if !missing.is_empty() => {
                ApiError::Incomplete { reason, missing }
            }
            (error, _) => error.into(),
        }
    }

    /// The databases that were left out, by their addresses.
    pub(super) fn left_out(&self) -> Vec<String> {
        let Some(mut missing) = self.missing.clone() else { return Vec::new() };
        missing.extend(self.store.missing());
        missing.sort();
        missing.dedup();
        missing
    }
}

impl Deref for PermittedRead {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}
