//! What clients look at: lists, inspections, trees and events.
//!
//! Looking takes nothing from the engine: reads of clients have connections of their own, and there is room for a few of
//! them at a time, so that the processor is left to the work. What comes beyond waits for a moment, in the order in which it
//! came, and is then refused and told when to come again. What a start or a wait reads of its own invocation is not among
//! this: it is one row.

use std::{ops::Deref, sync::Arc};

use segno_core::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    admission::{self, AdmissionLimits},
    error::ApiError,
};
use segno_engine::host::Host;
use segno_store::Store;

const FULL: &str = "as many reads as it takes are going on";

/// Room for reads. Cheap to clone.
#[derive(Clone)]
pub struct Reads {
    places: Arc<Semaphore>,
    patience: Millis,
}

/// The store, as long as there is a place for it. It is held no longer than reads take, and never while something else is
/// waited for.
pub(crate) struct Read {
    store: Arc<dyn Store>,
    _place: OwnedSemaphorePermit,
}

impl Reads {
    /// Everything is free.
    pub(super) fn new(limits: AdmissionLimits) -> Self {
        let places = limits.reads.clamp(1, Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(places)), patience: limits.patience }
    }

    /// A place, when there is one.
    ///
    /// # Errors
    /// There is none for a while.
    pub(super) async fn place(&self, host: &Host) -> Result<Read, ApiError> {
        let place = admission::place(&self.places, self.patience, &host.env, FULL);
        Ok(Read { _place: place.await?, store: store(host) })
    }
}

/// The store as clients read it.
pub(super) fn store(host: &Host) -> Arc<dyn Store> {
    host.store.for_clients().unwrap_or_else(|| host.store.clone())
}

impl Deref for Read {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}
