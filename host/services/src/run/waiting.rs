//! What a deployment waits for since its last attempt, kept on this host while the invocation is suspended: where only
//! some of it came, no attempt is made. It is a hint: a host that does not have it asks the deployment.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use segno_core::id::PromiseId;
use segno_restate::immutable::{CANCEL_SIGNAL, Future, NotificationId};

use super::journal::Journal;

/// The number of invocations whose waits are kept.
const WAITS_MAX: usize = 10_000;

/// A wait.
#[derive(Debug, Clone)]
pub struct Waiting {
    awaiting: Future,
    /// The number of frames with which the attempt began.
    opened_with: usize,
}

impl Waiting {
    /// A wait of an attempt that began with this many frames.
    pub fn new(awaiting: Future, opened_with: usize) -> Self {
        Self { awaiting, opened_with }
    }

    /// Everything that it waits for.
    pub fn leaves(&self) -> BTreeSet<NotificationId> {
        self.awaiting.leaves()
    }

    /// Whether the first that comes may not be enough.
    pub fn is_tree(&self) -> bool {
        !self.awaiting.is_race()
    }

    /// Whether enough came for the deployment to go on: in doubt it did.
    pub fn is_over(&self, journal: &Journal) -> bool {
        let came = journal.came(self.opened_with);
        came.contains_key(&NotificationId::Signal(CANCEL_SIGNAL))
            || self.awaiting.is_satisfied(|id| came.get(id).copied())
    }
}

/// The waits of invocations that are suspended.
#[derive(Debug, Default)]
pub struct KeptWaits(Mutex<BTreeMap<PromiseId, (u32, Waiting)>>);

impl KeptWaits {
    /// Keeps the wait of an invocation whose journal has this many records, if it is more than a race.
    pub fn keep(&self, id: &PromiseId, waiting: Waiting, recorded: u32) {
        if !waiting.is_tree() {
            return;
        }
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.len() >= WAITS_MAX {
            waits.pop_first();
        }
        waits.insert(id.clone(), (recorded, waiting));
    }

    /// The wait of an invocation that goes on, unless its journal grew elsewhere.
    pub fn take(&self, id: &PromiseId, recorded: u32) -> Option<Waiting> {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (len, waiting) = waits.remove(id)?;
        (len == recorded).then_some(waiting)
    }
}
